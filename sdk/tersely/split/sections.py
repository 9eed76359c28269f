"""Settings opened into sections with their keys, and arrays of TOML into elements."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from tersely.split.lines import Lines, line_start, mask
from tersely.split.nodes import Node, Sizes
from tersely.split.settings import TOKEN, Statement, read_settings
from tersely.units import Series

_IDENTITY = re.compile(r"\s*[\"']?(?:name|id|title|key|path|url|host)[\"']?\s*=", re.IGNORECASE)
_LONGEST_IDENTITY = 200


class _Table(NamedTuple):
    """A section that is being read."""

    name: tuple[str, ...]
    node: Node
    is_array: bool


def open_settings(text: str, start: int, end: int, sizes: Sizes) -> Node:
    """Return the tree of settings: their sections with keys. Small sections are not opened."""
    first = line_start(text, start)
    lines = Lines(mask(text[first:end]))
    found = read_settings(lines, 0)
    builder = _Builder(lines, first, sizes.part, found.is_toml)
    for statement in found.statements:
        builder.add(statement)
    nodes = builder.finish()
    if builder.is_scattered or not nodes:
        nodes = [Node(start, end)]
    return Node(start, end, nodes, Series("# "))


@dataclass(slots=True)
class _Builder:
    """Builder of the tree of settings."""

    lines: Lines
    offset: int
    part: int
    is_toml: bool
    nodes: list[Node] = field(default_factory=list[Node])
    tables: list[_Table] = field(default_factory=list[_Table])
    """The section that is read last, and in TOML the elements of arrays around it."""
    arrays: set[tuple[str, ...]] = field(default_factory=set[tuple[str, ...]])
    is_scattered: bool = False
    """Whether an element of an array goes on after another section."""
    keys: dict[str, list[Node]] = field(default_factory=dict[str, list[Node]])
    """The last node with each key of the section."""
    above: int = 0
    """Index of the line after the last statement."""

    def add(self, statement: Statement) -> None:
        """Add a statement with the comments above it."""
        if statement.is_header:
            start = self._add_comments(statement.first)
            self._close(statement.name)
            node = Node(self._at(start), self._end(statement.end))
            self._siblings().append(node)
            parents = {statement.name[:length] for length in range(1, len(statement.name))}
            self.is_scattered |= bool(parents & self.arrays - {table.name for table in self.tables})
            if statement.is_array:
                self.arrays.add(statement.name)
            self.tables.append(_Table(statement.name, node, statement.is_array))
        else:
            node = self._make_key(statement)
            self._siblings().append(node)
        self.above = statement.end

    def finish(self) -> list[Node]:
        """Return the nodes of the whole text."""
        self._add_comments(len(self.lines), is_last=True)
        self._close(())
        return self.nodes

    def _siblings(self) -> list[Node]:
        return self.tables[-1].node.children if self.tables else self.nodes

    def _make_key(self, statement: Statement) -> Node:
        if self.tables or self.nodes:
            start = self.lines.skip_blank(self.above)
        else:
            start = self._add_comments(statement.first)
        node = Node(self._at(start), self._end(statement.end))
        in_array = bool(self.tables) and self.tables[-1].is_array
        if in_array and statement.end == statement.first + 1:
            line = self.lines.texts[statement.first]
            is_first = not self.tables[-1].node.children
            node.is_anchor = (is_first or _IDENTITY.match(line) is not None) and len(
                line
            ) <= _LONGEST_IDENTITY
        if self.is_toml and node.end - node.start > self.part:
            self._open_array(node, statement)
        elif not self.is_toml:
            # The last one of equal keys counts.
            node.wants = self.keys.setdefault(statement.name[0].lower(), [])
            node.wants[:] = [node]
        return node

    def _close(self, name: tuple[str, ...]) -> None:
        """Close the sections that a section with this name is not a part of."""
        self.keys = {}
        while self.tables:
            table = self.tables[-1]
            if table.is_array and len(name) > len(table.name) and name[: len(table.name)] == table.name:
                return
            self.tables.pop()
            node = table.node
            if node.children:
                node.end = node.children[-1].end
                node.series = Series("# ")
            if node.end - node.start <= self.part:
                node.children = []

    def _add_comments(self, end: int, is_last: bool = False) -> int:
        """Add comments that do not belong to the statement below; return the first line of those that do."""
        siblings = self._siblings()
        index = self.above
        while (start := self.lines.skip_blank(index)) < end:
            index = start
            while index < end and not self.lines.is_blank(index):
                index += 1
            if index == end and not is_last and self._end(end) - self._at(start) <= 2 * self.part:
                return start
            if self.tables and siblings and not siblings[-1].children:
                siblings[-1].end = self._end(index)
            else:
                siblings.append(Node(self._at(start), self._end(index)))
        return end

    def _open_array(self, node: Node, statement: Statement) -> None:
        """Open an array with elements on lines of their own."""
        texts = self.lines.texts
        first, last = texts[statement.first], texts[statement.end - 1]
        if not first.rstrip().endswith("[") or last.strip() != "]":
            return
        start, end = self.lines.starts[statement.first], self.lines.starts[statement.end - 1]
        children: list[Node] = []
        depth = 0
        begin = self.lines.starts[statement.first + 1]
        is_done = False
        for token in TOKEN.finditer(self.lines.text, start, end):
            sign = token[0]
            if sign in "[{":
                depth += 1
            elif sign in "]}":
                depth -= 1
            elif sign == "," and depth == 1:
                is_done = True
            elif sign == "\n" and is_done and depth == 1:
                children.append(Node(self.offset + begin, self.offset + token.start()))
                begin, is_done = token.end(), False
            elif sign not in ",\n" and sign[0] != "#":
                is_done = False
        if begin < end and self.lines.text[begin:end].strip():
            children.append(Node(self.offset + begin, self.offset + end))
        if len(children) > 1:
            node.children, node.series = children, Series("# ")

    def _at(self, index: int) -> int:
        return self.offset + self.lines.starts[index] if index < len(self.lines) else self._end(index)

    def _end(self, index: int) -> int:
        return self.offset + self.lines.end_above(index)
