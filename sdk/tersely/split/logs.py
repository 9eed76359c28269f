"""Logs: entries, the likeness between them, and logs of several sources.

Entries stay single units. They form one series. A mark in it says how many of the missing entries are like
the entry above. Two entries are alike if their first lines are the same without numbers and quoted texts.

`docker compose logs` and `kubectl logs --prefix` print the lines of several containers in turn. CI systems
print the name of a step or a time before each line of any text. Each source is split as a text of its own.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from tersely.split.lines import Format, Lines
from tersely.split.prefixed import Group, Line, Prefixed, list_lines, list_needs, merge_links
from tersely.units import Series, Unit

_STAMP = re.compile(
    r"""[^\S\n]*[\[(<]?(?:
      \d{4}[-/.]\d\d[-/.]\d\d[T\ _,]+\d\d:\d\d
    | \d{1,2}[-/.]\d{1,2}[-/.]\d{2,4},?[T\ ]+\d{1,2}:\d\d
    | \d{1,2}/[A-Z][a-z]{2}/\d{4}[:\ ]\d\d:\d\d
    | (?:[A-Z][a-z]{2},?\ )?\d{1,2}[\ -][A-Z][a-z]{2}[\ -]\d{4}[:,]?\ \d\d:\d\d
    | [A-Z][a-z]{2}\ \d{1,2},\ \d{4},?\ \d{1,2}:\d\d
    | (?:[A-Z][a-z]{2}\ )?[A-Z][a-z]{2}\ [\ \d]\d\ \d\d:\d\d
    | \S+(?:\ \S+)?\ \S+\ \S+\ \[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:
    | \d{1,3}(?:\.\d{1,3}){3}\ \S+\ \S+\ \[
    | [IWEF]\d{4}\ \d\d:\d\d
    | 1\d{9}(?:\.\d+)?[\ \]]
    | thread\ '[^'\n]*'\ panicked\ at
    | \d\d:\d\d:\d\d(?:[.,]\d+)?\]?[^\S\n]+\[?(?:\S+[^\S\n]+)?\[?
      (?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL|CRITICAL)
    )""",
    re.VERBOSE,
)
_CLOCK = re.compile(r"[\d:.,]*(?:Z|[+-]\d\d:?\d\d)?[\])>]?")
"""The rest of a time, which `_STAMP` does not match: seconds, and the zone."""
_SEVERITY = re.compile(
    r"""[^\S\n]*[\[(]?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)[\])]?
    (?::|[^\S\n]+-|[^\S\n])[^\S\n]*\S""",
    re.VERBOSE,
)
_DETAIL = re.compile(r"\s(?:DETAIL|HINT|CONTEXT|STATEMENT|QUERY|LOCATION):[^\S\n]{2}")
"""The word before a detail that PostgreSQL adds to the entry above."""
_VARIABLE = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|\b0x[0-9a-fA-F]+|\b[0-9a-fA-F]*\d[\w.:,/+-]*")
_LONGEST_SHAPE = 200
_LINE_STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.,]\d{3,9}Z(?: (?:stdout|stderr) [FP])?(?: |$)"
_SOURCE_NAME = rf"[\w.-]+[-_]\d+ *\||\[pod/[^\]\s]+\]|[^\t\n]+\t[^\t\n]+(?=\t{_LINE_STAMP})"
_SOURCE = re.compile(rf"(?:(?P<name>{_SOURCE_NAME})[ \t]?)?(?:{_LINE_STAMP})?", re.MULTILINE)
_STREAM = re.compile(rf"{_LINE_STAMP}|{_SOURCE_NAME}", re.MULTILINE)
_FEWEST = 3


def _find_entry_end(lines: Lines, index: int) -> int | None:
    """Return the index after an entry that starts with a time, with the lines below that are indented or add
    to it.

    Return None for a single line that is too long.
    """
    end = index + 1
    has_details = False
    while end < len(lines) and not lines.is_blank(end):
        if _is_detail(lines, index, end) and lines.is_short(index, end + 1):
            has_details = True
        elif lines.indent(end) <= lines.indent(index) or (not has_details and starts_entry(lines.texts[end])):
            break
        end += 1
    return end if end > index + 1 or lines.is_short(index, end) else None


def _is_detail(lines: Lines, index: int, below: int) -> bool:
    """Return whether a line of a log of PostgreSQL adds to the entry that starts at `index`."""
    detail = _DETAIL.search(lines.texts[below])
    return detail is not None and lines.texts[below][: detail.start()] == lines.texts[index][: detail.start()]


def _find_rated_end(lines: Lines, index: int) -> int | None:
    """Return the index after an entry that starts with a severity; None if other text is right below it."""
    below = index + 1
    if below < len(lines) and not lines.is_blank(below) and not starts_entry(lines.texts[below]):
        return None
    return _find_entry_end(lines, index)


def starts_entry(line: str) -> bool:
    """Return whether a line begins with a time or a severity."""
    return bool(_STAMP.match(line) or _SEVERITY.match(line))


ENTRIES = (
    Format("log", _STAMP, _find_entry_end),
    Format("log", _SEVERITY, _find_rated_end, only_starts_paragraphs=True),
)


def find_text_indent(line: str) -> int:
    """Return the number of spaces between the time at the start of a line and its text."""
    stamp = _STAMP.match(line)
    clock = _CLOCK.match(line, stamp.end() if stamp else 0)
    text = line[clock.end() if clock else 0 :]
    return len(text) - len(text.lstrip(" "))


def find_shape(text: str, start: int, end: int) -> str:
    """Return the part of the first line of an entry that is the same in similar entries."""
    line = text[start : min(end, start + _LONGEST_SHAPE)].split("\n", 1)[0]
    return " ".join(_VARIABLE.sub("#", line).split())


def _find_stream_end(lines: Lines, index: int) -> int | None:
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
    lines.none_before[_find_stream_end] = end
    return None


STREAMS = Format("numbered", _STREAM, _find_stream_end)


def open_streams(
    text: str, start: int, end: int, first: int, arrange: Callable[[Prefixed], Sequence[Unit]]
) -> list[Unit]:
    """Return the units of a log, the first at position `first`. Only neighbouring lines may share a unit.

    Args:
        arrange: returns the units of the body of a source.
    """
    groups: list[Group] = []
    needs: list[tuple[int, ...]] = []  # the numbers of the groups that each group needs
    numbers = {at: number for number, (at, _) in enumerate(list_lines(text, start, end))}
    for lines in _read_sources(text, start, end):
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


def _read_sources(text: str, start: int, end: int) -> Iterator[Prefixed]:
    """Return the lines of each source in a log."""
    rows = [(at, line, found) for at, line in list_lines(text, start, end) if (found := _SOURCE.match(line))]
    has_indent = any(line[found.end() :][:1] in (" ", "\t") for _, line, found in rows)
    # Times before entries belong to these, if no line is indented.
    keeps_time = not has_indent and all(found["name"] for _, _, found in rows)
    sources: dict[str | None, list[Line]] = defaultdict(list)
    for at, line, found in rows:
        body = found.end("name") + 1 if keeps_time else found.end()
        sources[found["name"]].append(Line(at, at + min(body, len(line)), at + len(line)))
    return (Prefixed(text, lines, are_numbered=False) for lines in sources.values())
