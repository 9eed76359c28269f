"""Settings: TOML, INI and their relatives, opened into sections with their keys.

Statements are headers and keys. A key comes with its whole value, the comments above it and its section. INI
is read as configparser does: a line that is indented more than its key continues the value. A mark is a
comment line between two statements, or between two elements of an array of TOML.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tersely.split.lines import Format, Lines, line_start, mask
from tersely.split.nodes import Node, Sizes
from tersely.split.prose import is_prose
from tersely.units import Series

_START = re.compile(
    r"(?:\[{1,2}[^\[\]\n]+\]{1,2}[^\S\n]*(?:[#;][^\n]*)?$|[#;]|[\w-]+\ =\ [\"'\[{\dtf])", re.MULTILINE
)
_WHOLE = re.compile(r"\s*(?:[#;!][^\n]*\s+)*+(?:\[|(?:export )?[\w.\"'$@%*/\\-]+[^\S\n]*[=:])")
"""The start of a text that may be settings as a whole."""

_PART = r"""(?:"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+'|[\w-]++)"""
_TOML_KEY = re.compile(rf"[ \t]*{_PART}(?:[ \t]*\.[ \t]*{_PART})*+[ \t]*=")
_TOML_HEADER = re.compile(
    rf"[ \t]*(?P<open>\[\[?)[ \t]*(?P<name>{_PART}(?:[ \t]*\.[ \t]*{_PART})*+)[ \t]*\]\]?[ \t]*(?:#.*)?$"
)
_NAME = re.compile(_PART)
_TOKEN = re.compile(
    r'''"""(?:[^\\]|\\.)*?"{3,5}|\'{3}.*?\'{3,5}|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+'|\#[^\n]*|[\[\]{},\n]''',
    re.DOTALL,
)

_INI_HEADER = re.compile(r"\s*\[(?P<name>[^\]\n]+)\]\s*(?:[#;].*)?$")
_INI_KEY = re.compile(r"(?P<name>[^\s=:\[][^=:]{0,160}?)\s*(?P<sign>[=:])")
_PLAIN_KEY = re.compile(r"(?:export )?[^\s=]+")
_BARE = re.compile(r"[^\s\[\](){}<>;]+$")
"""A key without a value."""
_CODE = re.compile(r"(?:[;{(]|\w\(.*\))\s*$")
_MOST_WORDS = 4
_FEWEST = 3
"""Keys of settings without a section."""

_IDENTITY = re.compile(r"\s*[\"']?(?:name|id|title|key|path|url|host)[\"']?\s*=", re.IGNORECASE)
_LONGEST_IDENTITY = 200


@dataclass(slots=True)
class _Statement:
    """A header or a key with its value, in the lines first..end-1."""

    first: int
    end: int
    name: tuple[str, ...]
    is_header: bool = False
    is_array: bool = False
    """Whether it begins an element of an array of tables."""
    is_plain: bool = True
    """Whether it could be a key without a section."""
    is_code: bool = False
    """Whether it looks like a statement of a program."""


class _Found(NamedTuple):
    """Statements, and the index after them."""

    statements: Sequence[_Statement]
    end: int
    reached: int
    """Index of the line before which there are no other settings."""
    is_toml: bool


class _Table(NamedTuple):
    """A section that is being read."""

    name: tuple[str, ...]
    node: Node
    is_array: bool


def _read_toml(lines: Lines, index: int) -> Iterator[_Statement]:
    """Yield the statements from a line on, up to a line that is not TOML."""
    while (index := _skip(lines, index, "#")) < len(lines):
        line = lines.texts[index]
        if header := _TOML_HEADER.match(line):
            names = tuple(part[0].strip("\"'") for part in _NAME.finditer(header["name"]))
            yield _Statement(index, index + 1, names, True, header["open"] == "[[")
            index += 1
        elif key := _TOML_KEY.match(line):
            end = _find_value_end(lines, index, lines.starts[index] + key.end())
            if end is None:
                return
            yield _Statement(index, end, (key[0].rstrip("= \t").lstrip(),))
            index = end
        else:
            return


def _find_value_end(lines: Lines, index: int, start: int) -> int | None:
    """Return the index after the last line of a value of TOML; None if a bracket is open at the end."""
    depth = 0
    for token in _TOKEN.finditer(lines.text, start):
        if token[0] in "[{":
            depth += 1
        elif token[0] in "]}":
            depth -= 1
        elif token[0] == "\n" and depth <= 0:
            return index + lines.text.count("\n", start, token.end())
    if depth > 0:
        lines.json_budget -= len(lines.text) - start
        return None
    return len(lines)


def _read_ini(lines: Lines, index: int) -> Iterator[_Statement]:
    """Yield the statements from a line on, up to a line that looks like prose."""
    above: _Statement | None = None
    indent = 0
    while (index := _skip(lines, index, "#;!")) < len(lines):
        line = lines.texts[index]
        own = len(line) - len(line.lstrip())
        goes_on = own > indent or line.strip() == "}" or lines.texts[index - 1].rstrip().endswith("\\")
        if above and goes_on:
            above.end = index = index + 1
            continue
        if above:
            yield above
        indent, above = own, None
        key = _INI_KEY.match(line, own)
        if header := _INI_HEADER.match(line):
            yield _Statement(index, index + 1, (header["name"],), True)
        elif key and len(key["name"].split()) <= _MOST_WORDS and not (key["sign"] == ":" and is_prose(line)):
            is_plain = key["sign"] == "=" and _PLAIN_KEY.fullmatch(key["name"]) is not None
            above = _Statement(
                index, index + 1, (key["name"],), False, False, is_plain, bool(_CODE.search(line))
            )
        elif _BARE.match(line, own):
            above = _Statement(index, index + 1, (line.strip(),), is_plain=False)
        else:
            return
        index += 1
    if above:
        yield above


def _skip(lines: Lines, index: int, signs: str) -> int:
    """Return the index of the first line from `index` on that is neither blank nor a comment."""
    while index < len(lines) and ((body := lines.texts[index].lstrip()) == "" or body[0] in signs):
        index += 1
    return index


def _is_toml(text: str) -> bool:
    try:
        return bool(tomllib.loads(text))
    except (ValueError, RecursionError):
        return False


def _are_settings(lines: Lines, statements: Sequence[_Statement]) -> bool:
    """Whether statements are those of settings, and not lines that happen to have a sign in them."""
    keys = [statement for statement in statements if not statement.is_header]
    if sum(key.is_code for key in keys) * 2 > len(keys):
        return False
    near = [
        line
        for key in statements
        for line in (*lines.texts[key.first - 1 : key.first], *lines.texts[key.end : key.end + 1])
    ]
    has_comment = any(line.lstrip()[:1] in "#;!" for line in near if line)
    if not any(statement.is_header for statement in statements):
        names = {key.name for key in keys}
        fewest = 1 if has_comment else _FEWEST
        return len(keys) >= fewest and len(names) * 10 >= len(keys) * 9 and all(key.is_plain for key in keys)
    return sum(key.is_plain for key in keys) * 2 >= len(keys) + (not has_comment)


def _read(lines: Lines, index: int) -> _Found:
    """Return the settings from a line on."""
    ini = list(_read_ini(lines, index))
    toml = list(_read_toml(lines, index))
    ends = [found[-1].end if found else index for found in (ini, toml)]
    if not _are_settings(lines, ini):
        ini = []
    if toml and (not ini or ends[1] >= ends[0]):
        text = lines.text[lines.starts[index] : lines.end_of(ends[1] - 1)]
        if _is_toml(text):
            return _Found(toml, ends[1], max(ends), True)
    return _Found(ini, ends[0], max(ends), False)


def is_settings(text: str) -> bool:
    """Whether a whole text consists of settings."""
    if not _WHOLE.match(text):
        return False
    lines = Lines(mask(text))
    found = _read(lines, 0)
    return bool(found.statements) and _skip(lines, found.end, "#" if found.is_toml else "#;!") == len(lines)


def _find_settings_end(lines: Lines, index: int) -> int | None:
    """Return the index after the sections that start at a line; None if there are none."""
    if index < lines.no_settings_before or lines.json_budget <= 0:
        return None
    first = reached = lines.skip_comments(index, "#;")
    if first < len(lines) and not lines.is_blank(first):
        statements, end, reached, is_toml = _read(lines, first)
        is_known = bool(statements) and (statements[0].is_header or (is_toml and len(statements) >= _FEWEST))
        if is_known and len(statements) >= 2:
            return lines.skip_comments(end, "#" if is_toml else "#;")
    lines.no_settings_before = max(reached, index + 1)
    return None


SETTINGS = Format("settings", _START, _find_settings_end, only_starts_paragraphs=True)


def open_settings(text: str, start: int, end: int, sizes: Sizes) -> Node:
    """Return the tree of settings: their sections with keys. Small sections are not opened."""
    first = line_start(text, start)
    lines = Lines(mask(text[first:end]))
    found = _read(lines, 0)
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

    def add(self, statement: _Statement) -> None:
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

    def _make_key(self, statement: _Statement) -> Node:
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

    def _open_array(self, node: Node, statement: _Statement) -> None:
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
        for token in _TOKEN.finditer(self.lines.text, start, end):
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
        """Return the offset of the end of the last line above `index` that is not blank."""
        while index and self.lines.is_blank(index - 1):
            index -= 1
        return self.offset + (self.lines.end_of(index - 1) if index else 0)
