"""Parts of a web page: the sentences or lines of a block of text, and the rows of tables."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from tersely.split.lines import Range
from tersely.split.nodes import DEEPEST, Node
from tersely.split.sentence_starts import find_sentence_starts

_BREAK = re.compile(r"\r?\n|\r")
_LETTER = re.compile(r"[^\W\d_]")
_MOST_PIECES = 64
"""Largest number of pieces, divided by tags, of a sentence or a line. A longer one is cut."""
_EDGE = re.compile(r"<(/?)(tr|table|thead|tbody|tfoot)\b[^>]*>", re.IGNORECASE)
TAG = re.compile(r"<(/?)([a-zA-Z][\w:-]*)((?:[^>\"']|\"[^\"]*\"|'[^']*')*+>|[^>]*>)")
_CELL = re.compile(r"<(t[dh])\b([^>]*)>([^<]*(?:<(?!/?t[dhr]\b)[^<]*)*)", re.IGNORECASE)
_SPAN = re.compile(r"\browspan\s*=\s*[\"']?\s*(\d{1,4})", re.IGNORECASE)
_BLOCK = re.compile(r"<(?:h[1-6]|pre|dl|form|script|style|section|article)\b", re.IGNORECASE)
_OPTIONAL = frozenset({"td", "th", "p", "li", "dt", "dd", "tr"})
_VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())  # noqa: SIM905
_TAGS = re.compile(r"<[^>]*>|&nbsp;")
_MOST_ROWS = 8


def cut_sentences(text: str, ranges: list[Range]) -> list[list[Node]]:
    """Return the pieces of each sentence of a block. There is at least one range."""
    first, last = ranges[0][0], ranges[-1][1]
    plain = [" "] * (last - first)
    for left, right in ranges:
        plain[left - first : right - first] = text[left:right]
    prose = "".join(plain).replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
    previous, ends = 0, list[int]()
    for start in find_sentence_starts(re.sub(r"\s", " ", prose)):
        if _LETTER.search(prose, previous, start):  # the number of a heading is not a sentence
            ends.append(first + start)
            previous = start
    return cut(text, ranges, [*ends, last])


def cut_lines(text: str, ranges: list[Range], size: int) -> list[list[Node]]:
    """Return the pieces of each line of a listing. One of at most `size` code points counts as one line.

    A line needs the less indented lines above it that enclose it.
    """
    first, last = ranges[0][0], ranges[-1][1]
    if last - first <= size:
        return cut(text, ranges, [last])
    breaks = [line.end() for left, right in ranges for line in _BREAK.finditer(text, left, right)]
    lines = cut(text, ranges, [*breaks, last])
    around: list[tuple[int, list[Node]]] = []
    for pieces in lines:
        start = pieces[0].start
        line = text[text.rfind("\n", first, start) + 1 or first : start]
        body = text[start : pieces[0].end]
        indent = len(line) - len(line.rstrip()) + len(body) - len(body.lstrip())
        while around and around[-1][0] >= indent:
            around.pop()
        heads = [node for _, nodes in around[-DEEPEST:] for node in nodes]
        for piece in pieces:
            piece.wants += heads
        around.append((indent, pieces))
    return lines


def cut(text: str, ranges: list[Range], ends: list[int]) -> list[list[Node]]:
    """Cut the ranges at the offsets `ends`; the last offset is the end of the ranges.

    Return the pieces of each stretch of text. The pieces of one stretch need each other.
    """
    groups: list[list[Node]] = [[]]
    number = 0
    for left, right in ranges:
        while left < right:
            if ends[number] <= left or len(groups[-1]) == _MOST_PIECES:
                groups.append([])
            while ends[number] <= left:
                number += 1
            stop = min(right, ends[number])
            if not text[left:stop].isspace():
                groups[-1].append(Node(left, stop, items=0 if groups[-1] else 1))
            left = stop
    for pieces in groups:
        for piece in pieces:
            piece.wants = [other for other in pieces if other is not piece]
    return [pieces for pieces in groups if pieces]


class Row(NamedTuple):
    """A row of a table."""

    end: int
    cells: int
    span: int
    """Number of rows below that one of its cells spans; -1 for all."""
    is_named: bool
    """True if all its cells with text are names."""
    is_title: bool
    """Read only for a row with a single cell: true if it names the rows below."""


@dataclass(slots=True)
class Rows:
    """The rows read so far that later rows may need."""

    names: list[Node] = field(default_factory=list[Node])
    groups: list[Node] = field(default_factory=list[Node])
    """The last rows in the body of the table that name the rows below them."""
    spans: list[tuple[int, Node]] = field(default_factory=list[tuple[int, Node]])
    """Rows with cells that span later rows, each with the number of rows left."""
    has_body: bool = False
    is_below_group: bool = False

    def add(self, node: Node, row: Row, *, is_head: bool) -> tuple[list[Node], bool]:
        """Add a row; return the rows that it needs, and whether it is a head."""
        spanning = [other for _, other in self.spans]
        self.spans = [(left - 1, other) for left, other in self.spans if left != 1][-_MOST_ROWS:]
        if row.span:
            self.spans.append((row.span, node))
        if is_head or (not self.has_body and row.is_named and row.cells > 1):
            needs = [*self.names, *spanning]
            self.names = [*self.names, node][-_MOST_ROWS:]
            return needs, True
        self.has_body = True
        if not spanning and (row.is_named or row.cells == 1):
            if not self.is_below_group:
                self.groups = []
            needs = [*self.names, *self.groups]
            self.groups = [*self.groups, node][-_MOST_ROWS:]
            self.is_below_group = True
            return needs, True
        self.is_below_group = False
        return list({id(n): n for n in (*self.names, *self.groups, *spanning)}.values()), False


def find_row(text: str, start: int, inner: int, end: int, longest: int) -> Row | None:
    """Return the row that starts at a tag; None if it contains blocks or cannot be parsed.

    Args:
        inner: the offset after the tag.
        longest: largest size of a row in code points; anything longer is read as text.
    """
    edge = _EDGE.search(text, inner, end)
    if edge is None or edge.end() - start > longest or (edge[2].lower() == "table" and not edge[1]):
        return None
    stop = edge.end() if edge[1] and edge[2].lower() == "tr" else edge.start()
    stop = start + len(text[start:stop].rstrip())
    body = text[start:stop]
    if _BLOCK.search(body) or not _is_balanced(body):
        return None
    cells = list(_CELL.finditer(body))
    spans = [int(span[1]) for cell in cells if (span := _SPAN.search(cell[2]))]
    filled = [cell for cell in cells if _TAGS.sub("", cell[3]).strip()]
    if not filled:
        return None
    longest_span = -1 if 0 in spans else max([*spans, 1]) - 1
    is_named = all(cell[1].lower() == "th" for cell in filled)
    return Row(stop, len(cells), longest_span, is_named, is_named or "colspan" in cells[0][2].lower())


def _is_balanced(body: str) -> bool:
    """Return whether each tag in a row is closed in it."""
    names: list[str] = []
    for tag in TAG.finditer(body):
        name = tag[2].lower()
        if name in _VOID or tag[3].endswith("/>"):
            continue
        if not tag[1]:
            names.append(name)
            continue
        while names and names[-1] != name and names[-1] in _OPTIONAL:
            names.pop()
        if not names or names.pop() != name:
            return False
    return all(name in _OPTIONAL for name in names)
