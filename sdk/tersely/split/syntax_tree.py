"""Sources of languages with a grammar of tree-sitter, if the extra `code` is installed.

They are opened by their syntax tree: lists of declarations, statements, cases and values lose members.
The kept parts still parse, because only members of such lists are left out, and only those on separate lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from importlib import import_module
from itertools import count, pairwise, takewhile
from typing import TYPE_CHECKING, NamedTuple

from tersely.split.indented import open_comment
from tersely.split.lines import find_lines
from tersely.split.nodes import DEEPEST, Node, Sizes
from tersely.units import Series

if TYPE_CHECKING:
    from tree_sitter import Language
    from tree_sitter import Node as SyntaxNode

_LONGEST = 1_000_000
"""Largest number of code points of a source that is parsed."""
_CHUNK = 65_536
_READINGS = 16
"""Number of times that the parser may read a text. It reads to the end for each unclosed comment."""
_STEPS, _BYTES_A_STEP = 100, 32
"""The parser may call back 100 times, and once more for every 32 bytes. A real source needs at most one call
for 80 bytes."""
_LINE = re.compile(
    r"^[ \t]*(?:import|export|const|let|var|function|class|interface|type|use|fn|pub|package|using|//|/?\*"
    r"|#|@)|[{}(),;:>][ \t\r]*$"
)
"""A line that may be code."""
_LISTS = frozenset(
    {
        "accessor_list", "annotation_type_body", "array", "array_creation_expression",
        "array_expression", "array_initializer", "block", "class_body", "compound_statement",
        "constructor_body", "declaration_list", "enum_body", "enum_declaration_list",
        "enum_member_declaration_list", "enum_variant_list", "enumerator_list", "export_clause",
        "field_declaration_list", "field_initializer_list", "import_spec_list",
        "initializer_expression", "initializer_list", "interface_body", "literal_value",
        "match_block", "module_body", "named_imports", "object", "object_type",
        "ordered_field_declaration_list", "preproc_elif", "preproc_else", "preproc_if",
        "preproc_ifdef", "statement_block", "statement_list", "switch_block", "switch_body",
        "use_list", "var_spec_list"
    }
)  # fmt: skip
"""Types of nodes with members that may be left out one by one."""
_COMMENTS = frozenset({"comment", "line_comment", "block_comment"})
_PREFIXES = frozenset({"decorator", "attribute_item", "attribute_list"})
"""Nodes above a declaration that say nothing without it."""
_ELSE = re.compile(r"\s*\}?\s*else")
_BRANCH = re.compile(r"[ \t]*#[ \t]*el")
_IF = re.compile(r"^[ \t]*#[ \t]*if", re.MULTILINE)
_ENDIF = re.compile(r"^[ \t]*#[ \t]*endif", re.MULTILINE)
_OPENINGS = frozenset({"php_tag", "hash_bang_line"})
"""The first line of a file, which is always kept."""


class Grammar(NamedTuple):
    """A grammar, and a pattern that a source must match before the grammar is tried."""

    module: str
    function: str
    sign: re.Pattern[str]


def _grammar(module: str, sign: str, function: str = "language") -> Grammar:
    return Grammar(f"tree_sitter_{module}", function, re.compile(sign, re.MULTILINE))


_SCRIPT = (
    r"^[ \t]*(?:import|export|const|let|var|async|function|class|interface|type|declare|enum"
    r"|module\.exports)\b"
)
GRAMMARS = (
    _grammar("go", r"^package \w+[ \t\r]*$"),
    _grammar("php", r"\A\s*<\?php", "language_php"),
    _grammar("c_sharp", r"^[ \t]*(?:using [\w.]+;|namespace )"),
    _grammar("java", r"^[ \t]*(?:package|import) (?:static )?[\w.*]+;|^[ \t]*(?:public|private|protected) "),
    _grammar("rust", r"^[ \t]*(?:pub|fn|impl|use|mod|struct|enum|trait)\b"),
    _grammar("c", r"^[ \t]*#[ \t]*(?:include|define|if|pragma)|^(?:typedef|struct|enum|static|extern)\b"),
    _grammar("cpp", r"\b(?:namespace|template|class)\b|::"),
    _grammar("typescript", _SCRIPT, "language_typescript"),
    _grammar("typescript", _SCRIPT, "language_tsx"),
    _grammar("javascript", _SCRIPT),
)
"""In the order in which they are tried."""


@lru_cache(maxsize=1)
def parse(text: str) -> SyntaxNode | None:
    """Return the root of the syntax tree of a source; None if no grammar reads it without an error."""
    if len(text) > _LONGEST:
        return None
    grammars = [grammar for grammar in GRAMMARS if grammar.sign.search(text)]
    if not grammars:
        return None
    lines = [line for line in remove_comments(text).splitlines() if line.strip()]
    if sum(_LINE.search(line) is not None for line in lines) * 2 < len(lines):
        return None
    data = text.encode("utf-8", "surrogatepass")
    return next((root for grammar in grammars if (root := _parse_as(grammar, data))), None)


def _parse_as(grammar: Grammar, data: bytes) -> SyntaxNode | None:
    """Return the root of a source in one language; None at the first error, or if it takes too long."""
    language = _load(grammar)
    if language is None:
        return None
    from tree_sitter import Parser  # it is there if the language is

    parser = Parser(language)  # a new one, because a stopped parser would continue with its last text
    steps = count(1)
    most = _STEPS + len(data) // _BYTES_A_STEP

    def stops(_: int, has_error: bool) -> bool:
        return has_error or next(steps) > most  # an ambiguous text of another language may never end

    unread = _READINGS * len(data) + _CHUNK

    def read(at: int, _: object) -> bytes:
        nonlocal unread
        chunk = data[at : at + _CHUNK] if unread > 0 else b""
        unread -= len(chunk)
        return chunk

    try:
        root = parser.parse(read, progress_callback=stops).root_node
    except ValueError:  # stopped
        return None
    return root if root.named_children and not root.has_error else None


def remove_comments(text: str) -> str:
    """Return the text without block comments."""
    parts: list[str] = []
    start = 0
    while (opening := text.find("/*", start)) >= 0 and (end := text.find("*/", opening + 2)) >= 0:
        parts.append(text[start:opening])
        start = end + 2
    return "".join([*parts, text[start:]])


@cache
def _load(grammar: Grammar) -> Language | None:
    """Return a language; None if its package is not installed."""
    try:
        from tree_sitter import Language

        pointer: object = getattr(import_module(grammar.module), grammar.function)()
        return Language(pointer)
    except ImportError:
        return None


def open_source(text: str, start: int, end: int, sizes: Sizes) -> Node | None:
    """Return the tree of the source in `text[start:end]`; None if no grammar reads it without an error."""
    body = text[start:end]
    root = parse(body)
    if root is None:
        return None
    node = _Source(text, start, body, sizes).read(root, end)
    return None if _is_misread(text, node) else node


def _is_misread(text: str, node: Node) -> bool:
    """Return whether a part has an `#if` without its `#endif` or the reverse, or a head has several.

    Macros that look like calls mislead the grammar of C.
    """
    if not node.children:
        return len(_IF.findall(text, node.start, node.end)) != len(_ENDIF.findall(text, node.start, node.end))
    head = _IF.findall(text, node.start, node.children[0].start)
    return len(head) > 1 or any(_is_misread(text, child) for child in node.children)


class _Group(NamedTuple):
    """Syntax nodes that share lines: text[start:end]."""

    start: int
    end: int
    nodes: Sequence[SyntaxNode]

    def has_only(self, types: frozenset[str]) -> bool:
        return all(node.type in types for node in self.nodes)


class _Source:
    """A builder of nodes from a syntax tree."""

    def __init__(self, text: str, start: int, body: str, sizes: Sizes) -> None:
        self._text, self._start, self._sizes = text, start, sizes
        self._offsets: Sequence[int] | None = None
        """Index of the code point that each byte is part of; None if all characters have one byte."""
        if not body.isascii():
            widths = [len(character.encode("utf-8", "surrogatepass")) for character in body]
            self._offsets = [at for at, width in enumerate(widths) for _ in range(width)] + [len(body)]

    def read(self, root: SyntaxNode, end: int) -> Node:
        groups = self._group(root)
        if groups and groups[0].has_only(_OPENINGS):
            groups = groups[1:]
        children = self._make_members(groups, 1)
        node = Node(self._start, end)
        node.open(children, Series("// "))
        return node

    def _place(self, byte: int) -> int:
        return self._start + (byte if self._offsets is None else self._offsets[byte])

    def _group(self, node: SyntaxNode) -> list[_Group]:
        """Return the children of a syntax node. Those that share a line form one group."""
        groups: list[_Group] = []
        for child in node.children:
            start = self._place(child.start_byte)
            end = start + len(self._text[start : self._place(child.end_byte)].rstrip())
            if groups and "\n" not in self._text[groups[-1].end : start]:
                above = groups.pop()
                groups.append(_Group(above.start, max(above.end, end), (*above.nodes, child)))
            elif end > start:
                groups.append(_Group(start, end, (child,)))
        return groups

    def _find_members(self, node: SyntaxNode) -> list[_Group]:
        """Return the members of a list that are on separate lines; nothing if they cannot be told apart."""
        if node.type not in _LISTS:
            return []
        groups = self._group(node)
        while groups and not (groups[0].nodes[0].is_named and self._starts_line(groups[0].start)):
            groups.pop(0)
        while groups and not (groups[-1].nodes[0].is_named and self._ends_line(groups[-1].end)):
            groups.pop()
        separators = {child.type for child in node.children if not child.is_named} & {",", ";"}
        are_apart = len(separators) < 2 and all(group.nodes[0].is_named for group in groups)
        return groups if are_apart else []

    def _starts_line(self, place: int) -> bool:
        return not self._text[self._text.rfind("\n", 0, place) + 1 : place].strip()

    def _ends_line(self, place: int) -> bool:
        end = self._text.find("\n", place)
        return not self._text[place : end if end >= 0 else None].strip()

    def _make_members(self, groups: Sequence[_Group], depth: int) -> list[Node]:
        """Return a node for each group. Leaves are extended to the next node.

        A long comment above a group gets nodes that need the group's.
        """
        nodes: list[Node] = []
        comments: list[_Group] = []
        for group in groups:
            if group.has_only(_COMMENTS | _PREFIXES):
                comments.append(group)
                continue
            first = comments[0].start if comments else group.start
            leading = [*takewhile(lambda own: own.has_only(_COMMENTS), comments)]
            begin = comments[len(leading)].start if len(leading) < len(comments) else group.start
            if leading and begin - first > self._sizes.part:
                node = self._make_node(group, begin, depth)
                parts = self._open_comments(first, leading[-1].end)
                for part in parts:
                    part.wants = [node]
                nodes += [*parts, node]
            else:
                nodes += self._part_branches(self._make_node(group, first, depth))
            comments = []
        if comments:
            nodes += self._open_comments(comments[0].start, comments[-1].end)
        for node, below in pairwise(nodes):
            if not node.children:
                node.end = below.start
        return nodes

    def _part_branches(self, node: Node) -> list[Node]:
        """Return a node, and the `#elif` and `#else` at the end of an `#elif`, which grammars put into it."""
        branches: list[Node] = []
        if _BRANCH.match(self._text, node.start):
            while node.children and _BRANCH.match(self._text, node.children[-1].start):
                branches.append(node.children.pop())
                node.end = branches[-1].start
        return [node, *reversed(branches)]

    def _open_comments(self, start: int, end: int) -> list[Node]:
        return open_comment(self._text, list(find_lines(self._text, start, end)), self._sizes.part)

    def _make_node(self, group: _Group, start: int, depth: int) -> Node:
        node = Node(start, group.end)
        if group.end - group.start <= self._sizes.whole or depth >= DEEPEST:
            return node
        children: list[Node] = []
        for syntax in group.nodes:
            for members in self._find_lists(syntax):
                added = self._make_members(members, depth + 1)
                if children:  # such as `) {`
                    between = Node(children[-1].end, members[0].start, is_anchor=True, role="frame")
                    if _ELSE.match(self._text, between.start, between.end):  # other branches do not need it
                        between.is_anchor = False
                        for member in added:
                            member.wants.append(between)
                    children.append(between)
                children += added
        node.open(children, Series("// "))
        return node

    def _find_lists(self, node: SyntaxNode) -> Iterator[list[_Group]]:
        """Yield the members of each outermost list in a syntax node."""
        nodes = [node]
        while nodes:
            inner = nodes.pop()
            if inner.start_point.row == inner.end_point.row:
                continue
            if members := self._find_members(inner):
                yield members
            else:
                nodes.extend(reversed(inner.children))
