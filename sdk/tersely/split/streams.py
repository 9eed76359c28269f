"""Logs with the name of their source before each line, or with a time before each line of any text.

`docker compose logs` and `kubectl logs --prefix` print the lines of several containers in turn. CI systems
print the name of a step or a time before each line. Each source is split as a text of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from tersely.split.lines import Format, Lines
from tersely.split.prefixed import Line, Prefixed, list_lines, list_needs, merge_links
from tersely.units import Series, Unit

_STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.,]\d{3,9}Z(?: (?:stdout|stderr) [FP])?(?: |$)"
_NAME = rf"[\w.-]+[-_]\d+ *\||\[pod/[^\]\s]+\]|[^\t\n]+\t[^\t\n]+(?=\t{_STAMP})"
_SOURCE = re.compile(rf"(?:(?P<name>{_NAME})[ \t]?)?(?:{_STAMP})?", re.MULTILINE)
_START = re.compile(rf"{_STAMP}|{_NAME}", re.MULTILINE)
_FEWEST = 3


def _find_end(lines: Lines, index: int) -> int | None:
    """Return the index after three or more lines that have names, or times before a text with indents."""
    if index < lines.none_before["log"]:
        return None
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
    lines.none_before["log"] = end
    return None


STREAMS = Format("numbered", _START, _find_end)


@dataclass
class _Stream:
    """The lines of one source."""

    numbers: dict[int, int]
    """The number of each line among all lines, by its offset."""
    lines: Prefixed


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
    groups: list[tuple[_Stream, Sequence[Line], Sequence[Unit]]] = []
    pieces: list[tuple[int, int, int]] = []  # start, end, and number of the group
    needs: list[tuple[int, tuple[int, ...]]] = []
    for stream in _read(text, start, end):
        own = stream.lines.group(arrange(stream.lines))
        offset = len(groups)
        places = [[offset + number] for number in range(len(own))]
        needs += enumerate(list_needs(own, places), offset)
        groups += ((stream, lines, units) for lines, units in own)
    for number, (stream, lines, _) in enumerate(groups):
        numbered = [(stream.numbers[line.start] - at, line) for at, line in enumerate(lines)]
        for _, run in groupby(numbered, key=lambda entry: entry[0]):
            near = [line for _, line in run]
            pieces.append((near[0].start, near[-1].end, number))
    pieces.sort()
    places_of: dict[int, list[int]] = {}
    for position, (_, _, number) in enumerate(pieces, first):
        places_of.setdefault(number, []).append(position)
    series = Series(flows=True)
    wanted = dict(needs)
    units: list[Unit] = []
    for position, (begin, stop, number) in enumerate(pieces, first):
        heads = {at for need in wanted[number] for at in places_of[need]}
        heads |= {places_of[number][0]} - {position}
        link = merge_links(groups[number][2], series, tuple(sorted(heads)))
        units.append(Unit(begin, stop, "code", True, link=link))
    return units


def _read(text: str, start: int, end: int) -> Iterator[_Stream]:
    """Yield the lines of each source in a log."""
    rows = [(at, line, _SOURCE.match(line)) for at, line in list_lines(text, start, end)]
    matches = [found for _, _, found in rows if found]
    names = {found["name"] for found in matches}
    bodies = [found.string[found.end() :] for found in matches]
    # Times before entries belong to these, if no line is indented.
    keeps_time = None not in names and not any(body[:1] in (" ", "\t") for body in bodies)
    for name in dict.fromkeys(found["name"] for found in matches):
        lines: list[Line] = []
        numbers: dict[int, int] = {}
        for number, (at, line, found) in enumerate(rows):
            if found and found["name"] == name:
                body = found.end("name") + 1 if keeps_time else found.end()
                lines.append(Line(at, at + min(body, len(line)), at + len(line)))
                numbers[at] = number
        yield _Stream(numbers, Prefixed(text, lines))
