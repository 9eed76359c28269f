"""Texts with a prefix on every line: the number of the line, or a gutter.

A gutter is, for example, the graph of `git log --graph`, the `==31==` of valgrind, or the `[INFO]` of Maven.
Such a text is split and opened as it would be without the prefixes. Its units become whole lines again, with
their prefixes. Units that share a line become one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from tersely.split.lines import Format, Lines, Range, find_lines, mask, strip
from tersely.split.markers import ARROWS
from tersely.split.nodes import join_lines, join_wrapped
from tersely.units import UNLINKED, Link, Series, Unit

_NUMBERED = re.compile(
    rf"""[ \t]*+(?:[{ARROWS}][ ]*+(?=\d+[ ]?[|│]))?+(?:
      (?P<number>\d{{1,7}})
      (?: (?P<tab>\t) | (?P<arrow>→) | (?P<pipe>[ ]?[|│]) | (?P<colon>:) | (?P<other>[-=]))
    | \^?[0-9a-f]{{7,40}}\ [^\n()]*\([^\n()]*\ (?P<blamed>\d{{1,7}})(?P<blame>\))
    )""",
    re.VERBOSE,
)
_SEPARATOR = re.compile(r"[ \t]*(?:-{2,3}|\.{3}|…|⋮|\[\.{3}\])[ \t]*$")
_BAR = re.compile(r"[ \t]*\|")
"""The line above or below an excerpt in the message of a compiler."""
_TWO_DIGITS = re.compile(r"\d\d(?!\w)")
_FEWEST = 3
_PROCESS = re.compile(r"(?P<sign>==|--)\d+(?P=sign) ?")
_GRAPH = re.compile(r"(?:[*|\\/_] ?)+(?: *(?=(?:commit [0-9a-f]{7}|[A-Z][A-Za-z]*: )))?| {2,}(?=\S)")
_LEVEL = re.compile(r"\[(?:INFO|WARNING|ERROR|DEBUG)\](?: |$)")
_MAVEN = re.compile(r"\[INFO\] (?:Scanning for projects\.|-{3})")
_MARGIN = re.compile(r" *\|(?:  | *$)")
"""The bar that pydoc prints in front of each line about a class."""
_GUTTER = re.compile(
    rf"{_PROCESS.pattern}|\* +commit [0-9a-f]{{7}}|{_MAVEN.pattern}| *\|  \S.*[^|\s] *$", re.MULTILINE
)
_MOST_PRINTED = 1_000
"""Largest number of lines that a test may print between two lines of Maven."""


def _read(line: str) -> tuple[int, str, int] | None:
    """Return the number, the kind of sign and the length of the prefix of a line; None without a prefix."""
    match = _NUMBERED.match(line)
    if match is None:
        return None
    sign = match.lastgroup or ""
    return int(match["number"] or match["blamed"]), "colon" if sign == "other" else sign, match.end()


def _find_numbered_end(lines: Lines, index: int) -> int | None:
    """Return the index after three or more lines with ascending numbers and one kind of sign."""
    begin = _read(lines.texts[index])
    if begin is None:
        return None
    last, sign, _ = begin
    numbered, end = [index], index + 1
    while (following := _skip_separators(lines, end)) < len(lines):
        entry = _read(lines.texts[following])
        if entry is None or entry[1] != sign or entry[0] <= last:
            break
        if following > end and lines.is_blank(end) and entry[0] - last not in (1, following - end + 1):
            break  # a tool numbers blank lines too, or no blank line
        last, end = entry[0], following + 1
        numbered.append(following)
    is_marked = sign == "pipe" and any(_BAR.match(line) for line in lines.texts[max(0, index - 1) : end + 1])
    if is_marked or len(numbered) < _FEWEST or not _is_numbered([lines.texts[at] for at in numbered], sign):
        lines.none_before[_find_numbered_end] = end
        return None
    return end


def _skip_separators(lines: Lines, index: int) -> int:
    """Return the index after the blank lines, or the separator, between two groups of lines."""
    is_separated = index < len(lines) and _SEPARATOR.match(lines.texts[index])
    return index + 1 if is_separated else lines.skip_blank(index)


def _is_numbered(lines: Sequence[str], sign: str) -> bool:
    """Return whether the ascending numbers in front of lines are line numbers, not cells or times."""
    bodies = [line[entry[2] :] for line in lines if (entry := _read(line))]
    if sign in ("tab", "pipe"):
        return not all("\t|"[sign == "pipe"] in body for body in bodies)
    if sign == "colon":
        is_time = all(_TWO_DIGITS.match(body) for body in bodies)
        return not is_time and any(":" in line[: entry[2]] for line in lines if (entry := _read(line)))
    return True


def _find_gutter_end(lines: Lines, index: int) -> int | None:
    """Return the index after lines with the gutter of the first one.

    A gutter of spaces may leave a line blank. Between Maven's lines, tests may print lines without a gutter.
    """
    pattern, last = _find_pattern(lines.texts[index]), index
    most = _MOST_PRINTED if pattern is _LEVEL else 1
    for number in range(index + 1, len(lines)):
        if pattern.match(lines.texts[number]):
            last = number
        elif number - last > most or not (pattern is _LEVEL or lines.is_blank(number)):
            break
    return last + 1 if last + 1 - index >= _FEWEST else None


def _find_pattern(line: str) -> re.Pattern[str]:
    if _MAVEN.match(line):
        return _LEVEL
    if _MARGIN.match(line):
        return _MARGIN
    process = _PROCESS.match(line)
    return re.compile(re.escape(process[0].rstrip()) + " ?") if process else _GRAPH


PREFIXED = (
    Format("numbered", _NUMBERED, _find_numbered_end),
    Format("numbered", _GUTTER, _find_gutter_end),
)


class Line(NamedTuple):
    """A line of a text: its prefix is `text[start:body]`, and `text[body:end]` is the rest."""

    start: int
    body: int
    end: int
    is_apart: bool = False
    """True if it does not continue the line above."""


Group = tuple[Sequence[Line], Sequence[Unit]]
"""Lines, and the units of the body that are in them."""


class Prefixed:
    """The lines of a text, and the text without their prefixes.

    Attributes:
        are_scattered: True if they are single lines from all over a file.
        body: the text without prefixes. A blank line is added above each line that does not continue the one
            above it.
    """

    def __init__(
        self, text: str, lines: Sequence[Line], *, are_numbered: bool, are_scattered: bool = False
    ) -> None:
        self.are_scattered = are_scattered
        self._text = text
        self._lines = lines
        self._starts: list[int] = []
        self._breaks: list[int] = []
        parts: list[str] = []
        length = 0
        for line in lines:
            part = "\n" * line.is_apart + text[line.body : line.end] + "\n"
            self._starts.append(length)
            if line.is_apart and are_numbered:
                self._breaks.append(length)
            parts.append(part)
            length += len(part)
        self.body = "".join(parts)

    def list_ranges(self) -> list[Range]:
        """Return the ranges of the body with consecutive line numbers; a single range for a gutter."""
        return [*pairwise([0, *self._breaks, len(self.body)])]

    def list_scattered(self) -> list[Unit]:
        """Return each line of the body as a unit.

        A line `12=def lift():`, as `git grep -p` prints it, is the head of the lines down to the next one.
        """
        units: list[Unit] = []
        head: int | None = None
        for span in find_lines(self.body, 0, len(self.body)):
            line = self._lines[bisect_right(self._starts, span[0]) - 1]
            at = len(units)
            if self._text[line.start : line.body].rstrip().endswith("="):
                head = at
                link = Link(None, 1, (at + 1,), "frame")
            else:
                link = UNLINKED if head is None else Link(None, 1, (head,))
            units.append(Unit(*span, "line", True, link=link))
        if units and head == len(units) - 1:
            units[-1] = replace(units[-1], link=UNLINKED)
        return units

    def estimate_source(self, unit: Unit) -> Unit:
        """Return a unit of the text that is as long as a unit of the body and begins on the same line."""
        start = self._lines[self._find_lines(unit)[0]].start
        return Unit(start, start + unit.end - unit.start, unit.kind, unit.divisible)

    def _find_lines(self, unit: Unit) -> tuple[int, int]:
        return bisect_right(self._starts, unit.start) - 1, bisect_right(self._starts, unit.end - 1) - 1

    def restore(
        self, units: Sequence[Unit], first: int, is_large: Callable[[Unit], bool], size: int
    ) -> list[Unit]:
        """Return the units of the body as units of the text, the first at position `first`.

        Units that share a line become one; if that is too large, it is cut between lines into parts of about
        `size` code points. A blank line belongs to the unit above it.
        """
        groups = self.group(units)
        spans: list[list[Range]] = []
        places: list[range] = []
        position = first
        for lines, group in groups:
            span = strip(self._text, lines[0].start, lines[-1].end) or (lines[0].start, lines[-1].end)
            parts = [span]
            if len(group) > 1 and is_large(Unit(*span, "code", True)):
                cut = [strip(self._text, line.start, line.end) for line in lines]
                wrapped = join_wrapped(self._text, [part for part in cut if part])
                parts = [(node.start, node.end) for node in join_lines(wrapped, size)]
            spans.append(parts)
            places.append(range(position, position + len(parts)))
            position += len(parts)
        series = Series()
        return [
            Unit(*span, "code", True, link=merge_links(group, series, needs))
            for (_, group), own, needs in zip(groups, spans, list_needs(groups, places), strict=True)
            for span in own
        ]

    def group(self, units: Sequence[Unit]) -> list[Group]:
        """Return the units of the body in groups that share no line, with the lines of each group."""
        groups: list[list[Unit]] = []
        edges: list[int] = []
        last = -1
        for unit in units:
            begin, end = self._find_lines(unit)
            if begin <= last:
                groups[-1].append(unit)
            else:
                groups.append([unit])
                edges.append(begin if edges else 0)
            last = end
        return [
            (self._lines[begin:end], group)
            for group, (begin, end) in zip(groups, pairwise([*edges, len(self._lines)]), strict=True)
        ]


def list_needs(groups: Sequence[Group], places: Sequence[Sequence[int]]) -> Iterator[tuple[int, ...]]:
    """Yield the positions that each group needs; `places` are those of the units made from each group."""
    owners = [number for number, (_, group) in enumerate(groups) for _ in group]
    for number, (_, group) in enumerate(groups):
        needed = {owners[need] for unit in group for need in unit.link.needs} - {number}
        yield tuple(sorted(at for owner in needed for at in places[owner]))


def merge_links(units: Sequence[Unit], otherwise: Series, needs: tuple[int, ...]) -> Link:
    """Return the link of a unit that several units are merged into."""
    links = [Link(otherwise, 1, ()) if unit.link is UNLINKED else unit.link for unit in units]
    series = links[0].series
    items = sum(link.items for link in links if link.series is series) if series else 1
    role = links[0].role if len({link.role for link in links}) == 1 else "content"
    return Link(series or otherwise, items, needs, role, shape=links[0].shape)


def read_prefixed(text: str, start: int, end: int) -> Prefixed:
    """Return the lines of a block that a format of PREFIXED found."""
    found = list(list_lines(text, start, end))
    if _GUTTER.match(text, start):
        pattern = _find_pattern(found[0][1])
        ends = [match.end() if (match := pattern.match(line)) else 0 for _, line in found]
        guttered = [
            Line(at, at + end, at + len(line), pattern is _LEVEL and end > end_above == 0)
            for (at, line), end_above, end in zip(found, [1, *ends], ends, strict=False)
        ]
        return Prefixed(text, guttered, are_numbered=False)
    entries = [_read(line) for _, line in found]
    # Some tools put a space after the sign, and leave it out on blank lines.
    bodies = [line[entry[2] :] for (_, line), entry in zip(found, entries, strict=True) if entry]
    is_spaced = all(body[:1] in (" ", "") for body in bodies)
    lines: list[Line] = []
    above: int | None = None
    for (at, line), entry in zip(found, entries, strict=True):
        body = len(line) if entry is None else min(entry[2] + is_spaced, len(line))
        is_apart = entry is not None and above is not None and entry[0] != above + 1
        lines.append(Line(at, at + body, at + len(line), is_apart))
        above = entry[0] if entry else above
    are_scattered = sum(line.is_apart for line in lines) * 2 > len(bodies)
    return Prefixed(text, lines, are_numbered=True, are_scattered=are_scattered)


def list_lines(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    """Yield the offset of each line of a block, and the line without its line break."""
    for line in mask(text[start:end]).split("\n"):
        stop = start + len(line)
        yield start, line.rstrip(" ") if text[stop - 1 : stop + 1] == "\r\n" else line
        start = stop + 1
