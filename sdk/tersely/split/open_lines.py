"""Structure in lines: log entries, rows of a table, rows of values, fenced blocks of anything."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from tersely.split.parts import Node
from tersely.units import Series

_LINE = re.compile(r"[^\n\r]*")
_DELIMITER_ROW = re.compile(r"[\s|+:=-]+$")
_MOST_HEAD_LINES = 4


def find_lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The ranges of the lines in `text[start:end]` that are not blank, without their line breaks."""
    for line in _LINE.finditer(text, start, end):
        if line[0] and not line[0].isspace():
            yield line.span()


def open_table(text: str, start: int, end: int) -> Node | None:
    """A table by its rows. The rows up to the rule below the column names are its head."""
    lines = list(find_lines(text, start, end))
    head = 1
    for number, (left, right) in enumerate(lines[1:_MOST_HEAD_LINES], 1):
        if _DELIMITER_ROW.match(text, left, right):
            head = number + 1
    tail = len(lines)
    while tail > head and _DELIMITER_ROW.match(text, *lines[tail - 1]):
        tail -= 1
    if tail - head < 2:
        return None
    has_pipes = text[slice(*lines[head])].lstrip().startswith("|")
    series = Series("| ", " |") if has_pipes else Series()
    rows = [
        Node(left, right) for left, right in lines[head:tail] if not _DELIMITER_ROW.match(text, left, right)
    ]
    return Node(start, end, _join_rules(rows, lines[head:tail]), series)


def _join_rules(rows: list[Node], lines: list[tuple[int, int]]) -> list[Node]:
    """The rows, each with the rule below it, if there is one."""
    starts = [row.start for row in rows]
    lefts = [left for left, _ in lines]
    for row, following in zip(rows, [*starts[1:], lines[-1][1] + 1], strict=True):
        row.end = lines[bisect_left(lefts, following) - 1][1]
    return rows


_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})")


def find_fences(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The range inside a fenced block; None where no fence opens it and closes it."""
    lines = list(find_lines(text, start, end))
    if len(lines) < 3 or not _FENCE.match(text, *lines[0]) or not _FENCE.match(text, *lines[-1]):
        return None
    return lines[1][0], lines[-2][1]


def open_lines(text: str, start: int, end: int, size: int) -> Node | None:
    """Text of unknown structure, by lines; short neighbours share a part of at most `size` code points.

    The first line is the head of the others, since it says what they are about.
    """
    lines = list(find_lines(text, start, end))
    nodes = _join_lines(lines[1:], size)
    return Node(start, end, nodes, Series()) if nodes else None


def open_quote(text: str, start: int, end: int, size: int) -> Node | None:
    """A fenced block or a table in a block quote, by lines. Fences, or the first two rows, are its frame."""
    lines = list(find_lines(text, start, end))
    bodies = [text[left:right].lstrip("> ") for left, right in lines]
    is_fenced = _FENCE.match(bodies[0]) is not None
    last = len(lines) - 1 if is_fenced and _FENCE.match(bodies[-1]) else len(lines)
    nodes = _join_lines(lines[1 if is_fenced else 2 : last], size if is_fenced else 0)
    if not nodes:
        return None
    return Node(start, end, nodes, Series("> ") if is_fenced else Series("> | ", " |"))


def _join_lines(lines: Sequence[tuple[int, int]], size: int) -> list[Node]:
    """A node for each line, or for neighbours of together at most `size` code points."""
    nodes: list[Node] = []
    for left, right in lines:
        if nodes and right - nodes[-1].start <= size:
            nodes[-1].end = right
            nodes[-1].items += 1
        else:
            nodes.append(Node(left, right))
    return nodes
