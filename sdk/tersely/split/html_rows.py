"""Rows of HTML tables: where one ends, and which rows above it a reader needs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from tersely.split.nodes import Node

_EDGE = re.compile(r"<(/?)(tr|table|thead|tbody|tfoot)\b[^>]*>", re.IGNORECASE)
_TAG = re.compile(r"<(/?)([a-zA-Z][\w:-]*)((?:[^>\"']|\"[^\"]*\"|'[^']*')*+>|[^>]*>)")
_CELL = re.compile(r"<(t[dh])\b([^>]*)>([^<]*(?:<(?!/?t[dhr]\b)[^<]*)*)", re.IGNORECASE)
_SPAN = re.compile(r"\browspan\s*=\s*[\"']?\s*(\d{1,4})", re.IGNORECASE)
_BLOCK = re.compile(r"<(?:h[1-6]|pre|dl|form|script|style|section|article)\b", re.IGNORECASE)
_OPTIONAL = frozenset({"td", "th", "p", "li", "dt", "dd", "tr"})
_VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())  # noqa: SIM905
_TAGS = re.compile(r"<[^>]*>|&nbsp;")
_MOST_ROWS = 8


class Row(NamedTuple):
    """A row of a table."""

    end: int
    cells: int
    span: int
    """Rows below it that one of its cells spans; -1 for all."""
    is_named: bool
    """Whether all its cells are names."""
    is_title: bool
    """Whether it names the rows below it if it has a single cell."""


@dataclass(slots=True)
class Rows:
    """The rows of a table so far that rows below need."""

    names: list[Node] = field(default_factory=list[Node])
    groups: list[Node] = field(default_factory=list[Node])
    """The last rows between others that name those below them."""
    spans: list[tuple[int, Node]] = field(default_factory=list[tuple[int, Node]])
    """Rows with the number of rows that they still span."""
    has_body: bool = False
    is_below_group: bool = False

    def is_layout(self, row: Row) -> bool:
        """Return whether a row only places its single cell."""
        return row.cells == 1 and not row.is_title and not self.spans

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
    """Return the row that starts at a tag; None if it has blocks in it, or is not understood.

    Args:
        inner: the offset after the tag.
        longest: code points above which a row is text.
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
    for tag in _TAG.finditer(body):
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
