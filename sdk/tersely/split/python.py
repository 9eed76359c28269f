"""Python: modules, also inside of other texts, opened into functions, classes, branches and constants.

What is kept still parses.
"""

from __future__ import annotations

import ast
import io
import re
import textwrap
import tokenize
import warnings
from collections.abc import Sequence
from itertools import islice, pairwise

from tersely.runtime.locks import ProcessLock
from tersely.split.indented import open_comment, open_text
from tersely.split.lines import Format, Lines, Range, find_indent, list_whole_lines
from tersely.split.nodes import DEEPEST, Node, Sizes, join_lines, mark_name
from tersely.units import Series

_PYTHON = re.compile(r"^[ \t]*(?:(?:def|class|async def|import|from)\s+[\w.]|__\w+__ *=)", re.MULTILINE)
_CONSTANT = re.compile(r"^[A-Za-z_]\w*\s*=[^=]", re.MULTILINE)
PYTHON = re.compile(f"{_PYTHON.pattern}|{_CONSTANT.pattern}", re.MULTILINE)
"""Matches at least one line of every module."""
_STARTS_MODULE = re.compile(
    r'(?:def|class|async def|import|from)\s+[\w.]|@\w|try:|\w+ = |[rR]?(?:"""|\'\'\')'
)
_MODULE = re.compile(rf"#[^\n]*\n#|{_STARTS_MODULE.pattern}")
_WINDOW = 65_536
"""Code points that are first read as Python, so that short sources in long texts take little time."""
_MOST_ATTEMPTS = 5

_IMPORT = ast.Import | ast.ImportFrom
_BLOCK = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_FAILURES = (ValueError, RecursionError, MemoryError, SystemError)
"""Errors of the parser besides SyntaxError. SystemError comes if another thread parses at the same time."""
_SHORT = 60
"""Code points up to which neighbouring elements of a constant share a part, or a docstring joins its head."""
_SIMPLE = ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Return | ast.Expr
_NEUTRAL = (tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT)

_parsing = ProcessLock()


def is_python(text: str) -> bool:
    """Return whether a whole text is a Python module."""
    module = parse(text) if PYTHON.search(text) else None
    return module is not None and (_PYTHON.search(text) is not None or _has_constants(module))


def _has_constants(module: ast.Module) -> bool:
    """Return whether a module has constants, and, unlike settings, one of several lines or a docstring."""
    texts = [s for s in module.body if isinstance(s, ast.Expr)]
    others = [s for s in module.body if not isinstance(s, ast.Expr)]
    has_annotations = any(isinstance(s, ast.AnnAssign) for s in others)
    if has_annotations or not all(map(_is_text, texts)) or not any(isinstance(s, ast.Assign) for s in others):
        return False
    return bool(texts) or any((s.end_lineno or 0) > s.lineno for s in others)


def parse(text: str) -> ast.Module | None:
    """Return the syntax tree of a Python module; None for anything else."""
    try:
        return _compile(text)
    except (SyntaxError, *_FAILURES):
        return None


def _compile(text: str) -> ast.Module:
    # Two threads must not do this at once: each changes the filters, and the depth that Python 3.11 counts.
    with _parsing.hold(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about strings with invalid escapes
        return ast.parse(text)


def _find_module_end(lines: Lines, index: int) -> int | None:
    """Return the index after the Python statements from a line on; None if they do not look like a module."""
    if lines.code_budget <= 0 or index < lines.none_before["code"]:
        return None
    start = index
    while start < len(lines) and lines.texts[start][:1] in ("#", ""):
        start += 1
    if start == len(lines) or not _STARTS_MODULE.match(lines.texts[start]):
        lines.none_before["code"] = start
        return None
    for window in (_WINDOW, len(lines.text)):
        body = lines.text[lines.starts[index] : lines.starts[index] + window]
        module, end = _parse_start(body)
        if end < len(body) * 0.9 or len(body) < window:
            break
    else:
        return None
    last = lines.find(lines.starts[index] + end)
    if module is None or not _is_module(module) or last <= start:
        lines.code_budget -= end + 1000
        lines.none_before["code"] = start
        return None
    while lines.is_blank(last - 1):
        last -= 1
    return last


def _parse_start(body: str) -> tuple[ast.Module | None, int]:
    """Return the module in the first lines of a text, and its number of code points."""
    end = len(body)
    for _ in range(_MOST_ATTEMPTS):
        try:
            return _compile(body[:end]), end
        except SyntaxError as error:
            starts = islice(re.finditer("^", body, re.MULTILINE), (error.lineno or 1) - 1, None)
            end = min(end - 1, next((line.start() for line in starts), end - 1))
            if end <= 0:
                break
        except _FAILURES:
            return None, 0
    return None, max(end, 0)


def _is_module(module: ast.Module) -> bool:
    """Return whether statements are Python, and not words that may be read as such."""
    if any(isinstance(s, _BLOCK) for s in module.body) or _has_constants(module):
        return True
    return len(module.body) > 1 and any(isinstance(s, _IMPORT) for s in module.body)


MODULE = Format("code", _MODULE, _find_module_end)


def open_python(text: str, start: int, end: int, sizes: Sizes) -> Node | None:
    """Return the tree of the module in `text[start:end]`; None if it does not parse."""
    module = parse(textwrap.dedent(text[start:end]))
    if module is None or not module.body:
        return None
    return _Python(text, list_whole_lines(text, start, end), sizes).read(module, start, end)


class _Python:
    """Builds nodes from a syntax tree. A node has whole lines."""

    def __init__(self, text: str, lines: Sequence[Range], sizes: Sizes) -> None:
        self._text = text
        self._lines = lines
        self._sizes = sizes
        self._margin = 0
        self._required: dict[int, list[Node]] = {}
        """Children without which no other child parses, by the id of their container."""

    def read(self, module: ast.Module, start: int, end: int) -> Node:
        self._margin = find_indent(self._text, self._lines[_first_line(module.body[0]) - 1])
        nodes = self._make_nodes(module.body, 0, 1)
        nodes[0].start, nodes[-1].end = start, end
        return Node(start, end, nodes, Series("# "))

    def _make_nodes(self, body: Sequence[ast.stmt], above: int, depth: int) -> list[Node]:
        """Return a node for each statement below the line `above`. Each begins below the statement before it.

        A long comment above a statement has nodes of its own, which need the statement.
        """
        nodes: list[Node] = []
        for statement in body:
            first, last = _first_line(statement), statement.end_lineno or statement.lineno
            if first > above:
                comment = self._open_comment(above, first)
                node = self._make_node(statement, first if comment else above + 1, last, depth)
                for part in comment:
                    part.wants = self._find_first(node)
                nodes += [*comment, node]
            elif nodes:  # on the line of the one before
                node = nodes[-1]
                node.end = max(node.end, self._lines[last - 1][1])
                node.children = []
                self._required.pop(id(node), None)
            above = max(above, last)
        return nodes

    def _open_comment(self, above: int, first: int) -> list[Node]:
        """Return the long comment between two lines; empty if it is short."""
        lines = self._lines[above : first - 1]
        is_long = lines and lines[-1][1] - lines[0][0] > self._sizes.part
        return open_comment(self._text, lines, self._sizes.part) if is_long else []

    def _find_first(self, node: Node) -> list[Node]:
        """Return a node, and the parts of it without which it does not parse."""
        required = self._required.get(id(node), [])
        return [node, *(part for child in required for part in self._find_first(child))]

    def _make_node(self, statement: ast.stmt, first: int, last: int, depth: int) -> Node:
        """Return the node of a statement in the lines `first` to `last`."""
        node = Node(self._lines[first - 1][0], self._lines[last - 1][1])
        if node.end - node.start <= self._sizes.whole or depth >= DEEPEST:
            return node
        if _is_text(statement):
            self._open_text(node, statement.lineno, last, depth)
        elif isinstance(statement, _SIMPLE):
            self._open_brackets(node, statement)
        elif isinstance(statement, ast.Match):
            self._open_cases(node, statement, depth)
        elif bodies := _find_bodies(statement):
            self._open_branches(node, statement, bodies, depth)
        return node

    def _open_body(self, node: Node, body: Sequence[ast.stmt], depth: int) -> None:
        """Open the statements below a head, if they do not begin on its last line."""
        if len(body) > 1 and _is_text(body[0]) and len(self._source(body[0])) <= _SHORT:
            body = body[1:]  # a short docstring belongs to the head
        first = _first_line(body[0])
        if find_indent(self._text, self._lines[first - 1]) - self._margin != body[0].col_offset:
            return
        children = self._make_nodes(body, first - 1, depth + 1)
        if children[-1].end - children[0].start > self._sizes.part // 2:
            node.children, node.series = children, Series("# ")
            statement = (children[0].wants or children)[0]  # a comment needs the statement below it
            self._required[id(node)] = [statement]

    def _source(self, statement: ast.stmt) -> str:
        """Return the lines of a statement."""
        last = statement.end_lineno or statement.lineno
        return self._text[self._lines[statement.lineno - 1][0] : self._lines[last - 1][1]]

    def _make_branch(self, above: int, body: Sequence[ast.stmt], depth: int) -> Node:
        """Return the node of a branch, which begins below the line `above` and ends with `body`."""
        last = body[-1].end_lineno or body[-1].lineno
        branch = Node(self._lines[above][0], self._lines[last - 1][1])
        if branch.end - branch.start > self._sizes.whole:
            self._open_body(branch, body, depth)
        return branch

    def _open_branches(
        self, node: Node, statement: ast.stmt, bodies: Sequence[Sequence[ast.stmt]], depth: int
    ) -> None:
        """Open a statement with several bodies: the first into statements, the others into branches."""
        self._open_body(node, bodies[0], depth)
        if not node.children:
            return
        branches = [
            self._make_branch(above[-1].end_lineno or 0, body, depth + 1) for above, body in pairwise(bodies)
        ]
        if isinstance(statement, ast.Try | ast.TryStar):
            self._required[id(node)].append(branches[0])
        needed = self._find_first(node)[1:]
        for child in branches if len(self._required[id(node)]) == 1 else [*node.children, *branches]:
            child.wants += needed
        node.children += branches

    def _open_cases(self, node: Node, statement: ast.Match, depth: int) -> None:
        """Open a `match` into its cases."""
        above = statement.cases[0].pattern.lineno - 1
        for case in statement.cases:
            node.children.append(self._make_branch(above, case.body, depth + 1))
            above = case.body[-1].end_lineno or 0
        node.series, self._required[id(node)] = Series("# "), node.children[:1]

    def _open_text(self, node: Node, first: int, last: int, depth: int) -> None:
        """Open a docstring into its paragraphs. The lines with its quotes are their head and their tail."""
        lines = self._lines[first : last - 1]
        if lines and not self._text[slice(*self._lines[last - 1])].strip("\"'\r\n\t "):
            node.open(open_text(self._text, lines, self._sizes.part, depth + 1), Series())

    def _open_brackets(self, node: Node, statement: ast.stmt) -> None:
        """Open the brackets of a statement into their elements, if each has whole lines."""
        first = statement.lineno - 1
        spans = [
            (self._lines[first + begin][0], self._lines[first + stop][1])
            for begin, stop in _find_elements(self._source(statement))
        ]
        if len(spans) > 1:
            node.children, node.series = join_lines(spans, _SHORT), Series("# ")
            mark_name(self._text, node.children)


def _find_elements(source: str) -> list[tuple[int, int]]:
    """Return the first and last line of each element in the brackets of a statement, counted from 0.

    Elements on the line of a bracket are left out. Empty unless the statement has one pair of brackets with
    several lines, and every element may be left out.
    """
    found: list[tuple[int, int]] = []
    depth = opened = first = comma = 0
    is_first = False
    last = 0  # the line on which the last token ended
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type in _NEUTRAL:
                continue
            if depth == 1 and comma and token.start[0] > comma:
                if not is_first:
                    found.append((first - 1, comma - 1))
                first, is_first = comma + 1, False
            elif depth == 1 and last == opened == token.start[0]:
                is_first = True  # it begins on the line of the bracket
            comma = 0
            if token.string in ("(", "[", "{") and token.type == tokenize.OP:
                depth += 1
                if depth == 1:
                    if found:
                        return []
                    opened, first, is_first = token.start[0], token.start[0] + 1, False
            elif token.string in (")", "]", "}") and token.type == tokenize.OP:
                depth -= 1
                if depth == 0 and found and last < token.start[0] and first < token.start[0]:
                    found.append((first - 1, token.start[0] - 2))
            elif token.string == "," and depth == 1:
                comma = token.start[0]
            last = token.end[0]
    except (tokenize.TokenError, SyntaxError):
        return []
    rows = source.splitlines(keepends=True)
    texts = ["".join(rows[begin : stop + 1]) for begin, stop in found]
    return found if all(map(_is_element, texts)) else []


def _is_element(text: str) -> bool:
    """Return whether a text may be left out of brackets."""
    return parse(f"_(\n{text}\n)") is not None or parse(f"{{\n{text}\n}}") is not None


def _first_line(statement: ast.stmt) -> int:
    """Return the number of the first line of a statement, or of its decorators."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def _is_text(statement: ast.stmt) -> bool:
    """Return whether a statement is a text, such as a docstring."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _find_bodies(statement: ast.stmt) -> list[list[ast.stmt]]:
    """Return the bodies of a statement, in the order of the source."""
    if isinstance(statement, ast.If):
        bodies = [statement.body]
        while (
            len(statement.orelse) == 1
            and isinstance(other := statement.orelse[0], ast.If)
            and other.col_offset == statement.col_offset  # `elif`
        ):
            statement = other
            bodies.append(statement.body)
        return [*bodies, statement.orelse] if statement.orelse else bodies
    bodies = [
        getattr(statement, "body", []),
        *(handler.body for handler in getattr(statement, "handlers", [])),
        getattr(statement, "orelse", []),
        getattr(statement, "finalbody", []),
    ]
    return [body for body in bodies if body]
