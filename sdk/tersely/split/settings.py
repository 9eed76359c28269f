"""Settings: TOML, INI and their relatives, opened into sections with their keys.

INI is read as configparser does: a line that is indented more than its key continues the value. A key comes
with its whole value, the comments above it and its section. An array of TOML is opened into elements. A mark
is a comment line between two statements, or between two elements.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tersely.split.lines import Format, Lines, WholeFormat, end_above, line_start, mask, skip_comments
from tersely.split.nodes import LONGEST_IDENTITY, Node, Sizes, is_identity, split_comments
from tersely.split.prose import is_prose
from tersely.units import Series

_START = re.compile(
    r"(?:\[{1,2}[^\[\]\n]+\]{1,2}[^\S\n]*(?:[#;][^\n]*)?$|(?!#\d+\s)[#;]|[\w-]+\ =\ [\"'\[{\dtf])",
    re.MULTILINE,
)
"""Does not match the number of a stack frame, such as `#3 `."""
_WHOLE = re.compile(r"\s*(?:[#;!][^\n]*\s+)*+(?:\[|(?:export )?[\w.\"'$@%*/\\-]+[^\S\n]*[=:])")
"""The start of a text that may be settings as a whole."""
_SEMICOLONS = re.compile(r"\s*;|Windows Registry")
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
_BARE = re.compile(r"[^\s\[\](){}<>;]+\s*$")
"""A key without a value."""
_CODE = re.compile(r"(?:[;{(]|\w\(.*\))\s*$")
_MOST_WORDS = 4
_FEWEST = 3
"""Smallest number of keys of settings without a section."""


@dataclass(slots=True)
class _Statement:
    """A header or a key with its value, in the lines first..end-1."""

    first: int
    end: int
    name: tuple[str, ...]
    is_header: bool = False
    is_array: bool = False
    """True if it begins an element of an array of tables."""
    is_plain: bool = True
    """True if it could be a key outside of any section."""
    is_code: bool = False
    """True if it looks like a statement of a program."""


class _Found(NamedTuple):
    """Statements, and the index after them."""

    statements: Sequence[_Statement]
    end: int
    reached: int
    """Index of the first line that may begin other settings."""
    is_toml: bool


def _read_toml(lines: Lines, index: int) -> Iterator[_Statement]:
    """Yield the statements from a line on, up to a line that is not TOML."""
    while (index := lines.skip_blank(index, "#")) < len(lines):
        line = lines.texts[index]
        if header := _TOML_HEADER.match(line):
            names = tuple(part[0].strip("\"'") for part in _NAME.finditer(header["name"]))
            yield _Statement(index, index + 1, names, True, header["open"] == "[[")
            index += 1
        elif key := _TOML_KEY.match(line):
            end = _find_value_end(lines, lines.starts[index] + key.end())
            if end is None:
                return
            yield _Statement(index, end, (key[0].rstrip("= \t").lstrip(),))
            index = end
        else:
            return


def _find_value_end(lines: Lines, start: int) -> int | None:
    """Return the index after the last line of a value of TOML; None if a bracket is open at the end."""
    depth = 0
    for token in _TOKEN.finditer(lines.text, start):
        if token[0] in "[{":
            depth += 1
        elif token[0] in "]}":
            depth -= 1
        elif token[0] == "\n" and depth <= 0:
            return lines.find(token.end())
    if depth > 0:
        lines.json_budget -= len(lines.text) - start
        return None
    return len(lines)


def _read_ini(lines: Lines, index: int) -> Iterator[_Statement]:
    """Yield the statements from a line on, up to a line that looks like prose.

    Above the first header, a line without `KEY =` ends them too, so that a log is not read as settings.
    """
    above: _Statement | None = None
    indent = 0
    has_header = False
    while (index := lines.skip_blank(index, "#;!")) < len(lines):
        line = lines.texts[index]
        own = len(line) - len(line.lstrip())
        goes_on = own > indent or line.strip() == "}" or lines.texts[index - 1].rstrip().endswith("\\")
        key = _INI_KEY.match(line, own)
        if above and goes_on:
            if own > indent and key and (key["name"],) == above.name:
                return  # a tree of nodes that begin alike
            index += 1
            # A comment that is indented like a continued value belongs to it, such as `# via` of pip-compile.
            while (
                index < len(lines) and lines.texts[index].lstrip()[:1] == "#" and lines.indent(index) == own
            ):
                index += 1
            above.end = index
            continue
        if above:
            yield above
        indent, above = own, None
        if header := _INI_HEADER.match(line):
            has_header = True
            yield _Statement(index, index + 1, (header["name"],), True)
        elif key and len(key["name"].split()) <= _MOST_WORDS and not (key["sign"] == ":" and is_prose(line)):
            is_plain = key["sign"] == "=" and _PLAIN_KEY.fullmatch(key["name"]) is not None
            if not (is_plain or has_header):
                return
            is_code = _CODE.search(line) is not None
            above = _Statement(index, index + 1, (key["name"],), is_plain=is_plain, is_code=is_code)
        elif has_header and _BARE.match(line, own):
            above = _Statement(index, index + 1, (line.strip(),), is_plain=False)
        else:
            return
        index += 1
    if above:
        yield above


def _is_toml(text: str) -> bool:
    try:
        return bool(tomllib.loads(text))
    except (ValueError, RecursionError):
        return False


def _are_settings(lines: Lines, statements: Sequence[_Statement]) -> bool:
    """Return whether statements are settings, not other lines that happen to have a sign such as `=`."""
    keys = [statement for statement in statements if not statement.is_header]
    headers = [statement.name for statement in statements if statement.is_header]
    # A header that recurs shows several files, each named by a line above its sections.
    if len({*headers}) < len(headers) or sum(key.is_code for key in keys) * 2 > len(keys):
        return False
    around = [at for key in statements for at in (key.first - 1, key.end) if 0 <= at < len(lines)]
    near = [lines.texts[at] for at in around]
    has_comment = any(line.lstrip()[:1] in "#;!" for line in near if line.strip())
    if not headers:
        names = {key.name for key in keys}
        fewest = 1 if has_comment else _FEWEST
        return len(keys) >= fewest and len(names) * 10 >= len(keys) * 9 and all(key.is_plain for key in keys)
    return sum(key.is_plain for key in keys) * 2 >= len(keys) + (not has_comment)


def _read_settings(lines: Lines, index: int) -> _Found:
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


def _is_settings(text: str) -> bool:
    """Return whether a whole text consists of settings."""
    lines = Lines(mask(text))
    found = _read_settings(lines, 0)
    end = lines.skip_blank(found.end, "#" if found.is_toml else "#;!")
    return bool(found.statements) and end == len(lines)


def _find_settings_end(lines: Lines, index: int) -> int | None:
    """Return the index after the sections that start at a line; None if no section starts there."""
    if lines.json_budget <= 0:
        return None
    first = reached = skip_comments(lines, index, "#;")
    below = lines.skip_blank(first)
    if first < below < len(lines) and lines.texts[below].startswith("["):  # comments about the whole text
        first = below
    if first < len(lines) and not lines.is_blank(first):
        statements, end, reached, is_toml = _read_settings(lines, first)
        is_known = bool(statements) and (statements[0].is_header or (is_toml and len(statements) >= _FEWEST))
        if is_known and len(statements) >= 2:
            return skip_comments(lines, end, "#" if is_toml else "#;")
    lines.none_before[_find_settings_end] = max(reached, index + 1)
    return None


WHOLE_SETTINGS = WholeFormat("settings", _WHOLE.match, _is_settings)
SETTINGS = Format("settings", _START, _find_settings_end, only_starts_paragraphs=True)


def open_settings(text: str, start: int, end: int, sizes: Sizes) -> Node:
    """Return the tree of settings: their sections with keys. Small sections are not opened."""
    first = line_start(text, start)
    lines = Lines(mask(text[first:end]))
    found = _read_settings(lines, 0)
    builder = _Builder(lines, first, sizes.part, found.is_toml)
    nodes = builder.build(found.statements)
    return Node(start, end, nodes or [Node(start, end)], Series(builder.sign))


class _Builder:
    """Builder of the tree of settings."""

    def __init__(self, lines: Lines, offset: int, part: int, is_toml: bool) -> None:
        self._lines, self._offset, self._part, self._is_toml = lines, offset, part, is_toml
        self.sign = "; " if not is_toml and any(map(_SEMICOLONS.match, lines.texts)) else "# "
        self._nodes: list[Node] = []
        self._tables: list[tuple[_Statement, Node]] = []
        """The headers and the nodes of the section being read and of the arrays of TOML around it."""
        self._arrays: set[tuple[str, ...]] = set()
        self._keys: dict[str, list[Node]] = {}
        """The last node with each key of the section."""
        self._above = 0
        """Index of the line after the last statement."""

    def build(self, statements: Sequence[_Statement]) -> list[Node]:
        """Return the nodes of the text; nothing if a section belongs to an array that is already closed."""
        for statement in statements:
            if not statement.is_header:
                self._siblings().append(self._make_key(statement))
            elif not self._add_section(statement):
                return []
            self._above = statement.end
        self._add_comments(len(self._lines), -1)
        self._close(())
        return self._nodes

    def _siblings(self) -> list[Node]:
        return self._tables[-1][1].children if self._tables else self._nodes

    def _add_section(self, header: _Statement) -> bool:
        """Add a section. Return whether all arrays that it is in are still open."""
        start = self._add_comments(header.first, 2 * self._part)
        self._close(header.name)
        node = Node(self._at(start), self._end(header.end))
        self._siblings().append(node)
        parents = {header.name[:length] for length in range(1, len(header.name))}
        is_inside = parents & self._arrays <= {table.name for table, _ in self._tables}
        if header.is_array:
            self._arrays.add(header.name)
        self._tables.append((header, node))
        return is_inside

    def _make_key(self, statement: _Statement) -> Node:
        if self._tables or self._nodes:
            start = self._lines.skip_blank(self._above)
        else:
            start = self._add_comments(statement.first, 2 * self._part)
        node = Node(self._at(start), self._end(statement.end))
        line = self._lines.texts[statement.first]
        in_array = bool(self._tables) and self._tables[-1][0].is_array
        if in_array and statement.end == statement.first + 1 and len(line) <= LONGEST_IDENTITY:
            node.is_anchor = not self._siblings() or is_identity(statement.name[-1])
        if self._is_toml and node.end - node.start > self._part:
            self._open_array(node, statement)
        elif not self._is_toml:
            # If a key recurs, its last value is the valid one.
            node.wants = self._keys.setdefault(statement.name[0].lower(), [])
            node.wants[:] = [node]
        return node

    def _close(self, name: tuple[str, ...]) -> None:
        """Close the sections that do not contain a section with this name."""
        self._keys = {}
        while self._tables:
            table, node = self._tables[-1]
            if table.is_array and len(name) > len(table.name) and name[: len(table.name)] == table.name:
                return
            self._tables.pop()
            if node.children:
                node.end = node.children[-1].end
                node.series = Series(self.sign)
            if node.end - node.start <= self._part:
                node.children = []

    def _add_comments(self, end: int, longest: int) -> int:
        """Add comments that do not belong to the statement below; return the first line of those that do."""
        siblings = self._siblings()
        comments, start = split_comments(self._lines, self._offset, self._above, end, longest)
        for comment in comments:
            if self._tables and siblings and not siblings[-1].children:
                siblings[-1].end = comment.end
            else:
                siblings.append(comment)
        return start

    def _open_array(self, node: Node, statement: _Statement) -> None:
        """Open an array if its brackets and elements are on separate lines."""
        texts = self._lines.texts
        first, last = texts[statement.first], texts[statement.end - 1]
        if not first.rstrip().endswith("[") or last.strip() != "]":
            return
        start, end = self._lines.starts[statement.first], self._lines.starts[statement.end - 1]
        children: list[Node] = []
        depth = 0
        begin = self._lines.starts[statement.first + 1]
        is_done = False
        for token in _TOKEN.finditer(self._lines.text, start, end):
            sign = token[0]
            if sign in "[{":
                depth += 1
            elif sign in "]}":
                depth -= 1
            elif sign == "," and depth == 1:
                is_done = True
            elif sign == "\n" and is_done and depth == 1:
                children.append(Node(self._offset + begin, self._offset + token.start()))
                begin, is_done = token.end(), False
            elif sign not in ",\n" and sign[0] != "#":
                is_done = False
        if begin < end and self._lines.text[begin:end].strip():
            children.append(Node(self._offset + begin, self._offset + end))
        node.open(children, Series(self.sign))

    def _at(self, index: int) -> int:
        return self._offset + self._lines.starts[index] if index < len(self._lines) else self._end(index)

    def _end(self, index: int) -> int:
        return self._offset + end_above(self._lines, index)
