"""Code: whole functions and classes, with the lines that contain them and the imports that they use.

Python is parsed. Other languages are read by their indentation: a block is a line with the deeper lines below
it and the closing line behind those. A function that is too large by itself is cut between statements.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from tersely.split.pages import parse_python
from tersely.split.parts import DEEPEST, Node
from tersely.units import Series

_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)?")
"""A line as Python counts it: a lone carriage return ends one too."""
_CLOSING = re.compile(r"\s*(?:[)}\]]|end\b|else\b|elif\b|except\b|finally\b|catch\b)")
_SLASHES = re.compile(r"[{;][ \t\r]*$|^[ \t]*//", re.MULTILINE)
_LONGEST_IMPORT = 160
_MOST_IMPORTS = 4

Lines = list[tuple[int, int]]
"""(start, end) of each line in the text, with its line break."""


def open_code(text: str, start: int, end: int, whole: int) -> Node | None:
    """The tree of the code in `text[start:end]`. Functions of at most `whole` code points are not opened."""
    body = text[start:end]
    lines: Lines = [(start + m.start(), start + m.end()) for m in _LINE.finditer(body) if m[0]]
    module = parse_python(body)
    if module is not None and len(module.body) > 1:
        return _Python(lines, whole).read(module, start, end)
    comment = "// " if len(_SLASHES.findall(body)) * 4 > len(lines) else "# "
    return _open_by_indent(text, lines, whole, Series(comment))


class _Python:
    """Builds nodes from a syntax tree. A node has whole lines."""

    def __init__(self, lines: Lines, whole: int) -> None:
        self._lines = lines
        self._whole = whole

    def read(self, module: ast.Module, start: int, end: int) -> Node:
        nodes, statements = self._make_nodes(module.body, 0, 1)
        imports: dict[str, Node] = {}
        for node, statement in zip(nodes, statements, strict=True):
            if (
                isinstance(statement, ast.Import | ast.ImportFrom)
                and node.end - node.start <= _LONGEST_IMPORT
            ):
                for alias in statement.names:
                    imports[(alias.asname or alias.name).split(".")[0]] = node
        for node, statement in zip(nodes, statements, strict=True):
            if not isinstance(statement, ast.Import | ast.ImportFrom):
                used = {
                    imports[name].start: imports[name] for name in _find_names(statement) if name in imports
                }
                node.wants = list(used.values())[:_MOST_IMPORTS]
        nodes[0].start = start
        nodes[-1].end = end
        return Node(start, end, nodes, Series("# "))

    def _make_nodes(
        self, body: Sequence[ast.stmt], above: int, depth: int
    ) -> tuple[list[Node], list[ast.stmt]]:
        """A node for each statement, with what is above it. `above`: number of the last line before them."""
        nodes: list[Node] = []
        statements: list[ast.stmt] = []
        for statement in body:
            first, last = _first_line(statement), statement.end_lineno or statement.lineno
            if first > above:
                nodes.append(self._make_node(statement, above + 1, last, depth))
                statements.append(statement)
            elif nodes:  # on the line of the one before
                nodes[-1].end = max(nodes[-1].end, self._lines[last - 1][1])
                nodes[-1].children = []
            above = max(above, last)
        return nodes, statements

    def _make_node(self, statement: ast.stmt, first: int, last: int, depth: int) -> Node:
        node = Node(self._lines[first - 1][0], self._lines[last - 1][1])
        if node.end - node.start <= self._whole or depth >= DEEPEST:
            return node
        body = _find_body(statement)
        if len(body) > 1 and _first_line(body[0]) > statement.lineno:
            head = body[0].end_lineno if _is_docstring(body[0]) else _first_line(body[0]) - 1
            rest = body[1:] if _is_docstring(body[0]) else body
            children, _ = self._make_nodes(rest, head or 0, depth + 1)
            if len(children) > 1:
                node.children, node.series = children, Series("# ")
        return node


def _first_line(statement: ast.stmt) -> int:
    """Of the statement with its decorators."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def _find_body(statement: ast.stmt) -> list[ast.stmt]:
    """The statements inside one that has a single block of them."""
    if isinstance(
        statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.With | ast.AsyncWith
    ):
        return statement.body
    if isinstance(statement, ast.If | ast.For | ast.AsyncFor | ast.While) and not statement.orelse:
        return statement.body
    return []


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _find_names(statement: ast.stmt) -> Iterator[str]:
    return (node.id for node in ast.walk(statement) if isinstance(node, ast.Name))


def _open_by_indent(text: str, lines: Lines, whole: int, series: Series) -> Node | None:
    """The tree of code by its indentation; None if it has only one block."""
    blocks = _split_blocks(text, lines)
    if len(blocks) < 2:
        return _open_block(text, blocks[0], whole, series, 1) if blocks else None
    children = [_open_block(text, block, whole, series, 1) for block in blocks]
    return Node(lines[0][0], lines[-1][1], children, series)


def _open_block(text: str, lines: Lines, whole: int, series: Series, depth: int) -> Node:
    """The node of a block: a leaf if it is small or has nothing inside."""
    node = Node(lines[0][0], lines[-1][1])
    if node.end - node.start <= whole or depth >= DEEPEST or len(lines) < 4:
        return node
    base = _indent(text, lines[0])
    stop = len(lines) - 1 if _indent(text, lines[-1]) <= base else len(lines)
    inner = [n for n in range(1, stop) if text[slice(*lines[n])].strip()]
    if not inner or any(_indent(text, lines[n]) <= base for n in inner):
        return node
    children = _split_blocks(text, lines[1:stop])
    if len(children) > 1:
        inside = Series(series.before)
        node.children = [_open_block(text, child, whole, series, depth + 1) for child in children]
        node.series = inside
    return node


def _split_blocks(text: str, lines: Lines) -> list[Lines]:
    """Runs of lines that begin at the lowest indent, each with the deeper and closing lines below it."""
    filled = [line for line in lines if text[slice(*line)].strip()]
    if not filled:
        return []
    base = min(_indent(text, line) for line in filled)
    blocks: list[Lines] = []
    is_comment = False
    for line in lines:
        body = text[slice(*line)]
        starts = body.strip() and _indent(text, line) <= base and not _CLOSING.match(body)
        if not blocks or (starts and not is_comment):
            blocks.append([])
        blocks[-1].append(line)
        if body.strip():
            is_comment = bool(starts) and body.lstrip().startswith(("#", "//", "/*", "*", "@"))
    return blocks


def _indent(text: str, line: tuple[int, int]) -> int:
    body = text[slice(*line)].rstrip("\r\n")
    return len(body) - len(body.lstrip())
