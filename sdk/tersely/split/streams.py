"""Logs with the name of their source before each line, or with a time before each line of any text.

`docker compose logs` and `kubectl logs --prefix` print the lines of several containers in turn. CI systems
print the name of a step or a time before each line. Each source is split as a text of its own.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from tersely.split.lines import Format, Lines
from tersely.split.prefixed import Group, Line, Prefixed, list_lines, list_needs, merge_links
from tersely.units import Series, Unit

_STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.,]\d{3,9}Z(?: (?:stdout|stderr) [FP])?(?: |$)"
_NAME = rf"[\w.-]+[-_]\d+ *\||\[pod/[^\]\s]+\]|[^\t\n]+\t[^\t\n]+(?=\t{_STAMP})"
_SOURCE = re.compile(rf"(?:(?P<name>{_NAME})[ \t]?)?(?:{_STAMP})?", re.MULTILINE)
_START = re.compile(rf"{_STAMP}|{_NAME}", re.MULTILINE)
_FEWEST = 3


def _find_end(lines: Lines, index: int) -> int | None:
    """Return the index after three or more lines that have names, or times before a text with indents."""
    first = _SOURCE.match(lines.texts[index])
    has_name = first is not None and first["name"] is not None
    end, is_indented = index, False
    while end < len(lines) and (found := _SOURCE.match(lines.texts[end])) and found[0]:
        if (found["name"] is not None) != has_name:
            break
        is_indented |= lines.texts[end][found.end() :][:1] in (" ", "\t")
        end += 1
    if end - index >= _FEWEST and (has_name or is_indented):
        return end
    lines.none_before[_find_end] = end
    return None


STREAMS = Format("numbered", _START, _find_end)


def is_stream(text: str, start: int) -> bool:
    """Return whether a block that begins at `start` is a log of sources."""
    return _START.match(text, start) is not None


def open_streams(
    text: str, start: int, end: int, first: int, arrange: Callable[[Prefixed], Sequence[Unit]]
) -> list[Unit]:
    """Return the units of a log, the first at position `first`. Lines that are not neighbours share no unit.

    Args:
        arrange: returns the units of the body of a source.
    """
    groups: list[Group] = []
    needs: list[tuple[int, ...]] = []  # the numbers of the groups that each group needs
    numbers = {at: number for number, (at, _) in enumerate(list_lines(text, start, end))}
    for lines in _read(text, start, end):
        own = lines.group(arrange(lines))
        needs += list_needs(own, [[len(groups) + number] for number in range(len(own))])
        groups += own
    pieces: list[tuple[int, int, int]] = []  # start, end, and number of the group
    for number, (lines, _) in enumerate(groups):
        numbered = [(numbers[line.start] - at, line) for at, line in enumerate(lines)]
        for _, run in groupby(numbered, key=lambda entry: entry[0]):
            near = [line for _, line in run]
            pieces.append((near[0].start, near[-1].end, number))
    pieces.sort()
    places: dict[int, list[int]] = defaultdict(list)
    for position, (_, _, number) in enumerate(pieces, first):
        places[number].append(position)
    series = Series(flows=True)
    units: list[Unit] = []
    for position, (begin, stop, number) in enumerate(pieces, first):
        heads = {at for need in needs[number] for at in places[need]}
        heads |= {places[number][0]} - {position}
        link = merge_links(groups[number][1], series, tuple(sorted(heads)))
        units.append(Unit(begin, stop, "code", True, link=link))
    return units


def _read(text: str, start: int, end: int) -> Iterator[Prefixed]:
    """Yield the lines of each source in a log."""
    rows = [(at, line, found) for at, line in list_lines(text, start, end) if (found := _SOURCE.match(line))]
    has_indent = any(line[found.end() :][:1] in (" ", "\t") for _, line, found in rows)
    # Times before entries belong to these, if no line is indented.
    keeps_time = not has_indent and all(found["name"] for _, _, found in rows)
    sources: dict[str | None, list[Line]] = defaultdict(list)
    for at, line, found in rows:
        body = found.end("name") + 1 if keeps_time else found.end()
        sources[found["name"]].append(Line(at, at + min(body, len(line)), at + len(line)))
    for lines in sources.values():
        yield Prefixed(text, lines, are_numbered=False)
