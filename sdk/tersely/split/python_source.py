"""Python: modules, found also inside of other texts, and opened into functions, classes and constants.

Whatever is kept of a module still parses. Its marks are comments.
"""

from __future__ import annotations

import ast
import io
import re
import textwrap
import tokenize
import warnings
from collections.abc import Sequence
from itertools import islice

from tersely.runtime.locks import ProcessLock
from tersely.split.lines import Format, Lines
from tersely.split.nodes import DEEPEST, Node, Sizes, join_lines
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
_MOST_ATTEMPTS = 4

LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)?")
"""A line as Python counts it: a lone carriage return ends one too."""
_IMPORT = ast.Import | ast.ImportFrom
_FAILURES = (ValueError, RecursionError, MemoryError, SystemError)
"""Errors of the parser, beside SyntaxError. SystemError: another thread of the program parsed too."""
_LONGEST_IMPORT = 160
_MOST_IMPORTS = 4
_SHORT = 60
"""Code points up to which neighbouring elements of a constant share a part."""
_SIMPLE = ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Return | ast.Expr
_NEUTRAL = (tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT)

Ranges = list[tuple[int, int]]
"""(start, end) of each line in the text, with its line break."""

_parsing = ProcessLock()


def is_python(text: str) -> bool:
    """Whether a whole text is a Python module."""
    if _PYTHON.search(text):
        return _parse(text) is not None
    return (
        _CONSTANT.search(text) is not None and (module := _parse(text)) is not None and _has_constants(module)
    )


def _has_constants(module: ast.Module) -> bool:
    """Whether a module has constants over several lines or a text beside them, unlike settings."""
    texts = [s for s in module.body if isinstance(s, ast.Expr)]
    if not all(isinstance(s.value, ast.Constant) and isinstance(s.value.value, str) for s in texts):
        return False
    others = [s for s in module.body if not isinstance(s, ast.Expr)]
    is_assigned = any(isinstance(s, ast.Assign) for s in others)
    is_assigned = is_assigned and not any(isinstance(s, ast.AnnAssign) for s in others)
    return is_assigned and (bool(texts) or any((s.end_lineno or 0) > s.lineno for s in others))


def _parse(text: str) -> ast.Module | None:
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
    """Return the index after the Python statements from a line on; None if there are only a few."""
    if lines.code_budget <= 0 or index < lines.none_before["code"]:
        return None
    start = _skip_comments(lines, index)
    if start == len(lines) or not _STARTS_MODULE.match(lines.texts[start]):
        lines.none_before["code"] = start
        return None
    for window in (_WINDOW, len(lines.text)):
        begin = lines.starts[index]
        body = lines.text[begin : begin + window]
        end = _measure_module(body)
        if end < len(body) * 0.9 or len(body) < window:
            break
    else:
        return None
    module = _parse(body[:end])
    last = index + body.count("\n", 0, end)
    if module is None or not (_is_module(module) or _has_constants(module)) or last <= start:
        lines.code_budget -= end + 1000
        lines.none_before["code"] = start
        return None
    while lines.is_blank(last - 1):
        last -= 1
    return last


def _skip_comments(lines: Lines, index: int) -> int:
    """Return the index of the first line from `index` on that is neither blank nor a comment."""
    while index < len(lines) and lines.texts[index][:1] in ("#", ""):
        index += 1
    return index


def _measure_module(body: str) -> int:
    """Return the code points of Python at the start of a text, in whole lines."""
    end = len(body)
    for _ in range(_MOST_ATTEMPTS):
        try:
            _compile(body[:end])
        except SyntaxError as error:
            starts = islice(re.finditer("^", body, re.MULTILINE), (error.lineno or 1) - 1, None)
            end = min(end - 1, next((line.start() for line in starts), end - 1))
            if end <= 0:
                return 0
        except _FAILURES:
            return 0
        else:
            break
    return end


def _is_module(module: ast.Module) -> bool:
    """Whether statements are Python, and not words that may be read as such."""
    has_blocks = any(
        isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) for s in module.body
    )
    return has_blocks or (len(module.body) > 1 and any(isinstance(s, _IMPORT) for s in module.body))


MODULE = Format("code", _MODULE, _find_module_end)


def open_python(text: str, start: int, end: int, sizes: Sizes) -> Node | None:
    """Return the tree of the module in `text[start:end]`; None if it does not parse."""
    body = text[start:end]
    module = _parse(textwrap.dedent(body))
    if module is None or not module.body:
        return None
    lines = [(start + m.start(), start + m.end()) for m in LINE.finditer(body) if m[0]]
    return _Python(text, lines, sizes.whole).read(module, start, end)


class _Python:
    """Builds nodes from a syntax tree. A node has whole lines."""

    def __init__(self, text: str, lines: Ranges, whole: int) -> None:
        self._text = text
        self._lines = lines
        self._whole = whole

    def read(self, module: ast.Module, start: int, end: int) -> Node:
        pairs = self._make_nodes(module.body, 0, 1)
        imports: dict[str, Node] = {}
        for node, statement in pairs:
            if isinstance(statement, _IMPORT) and node.end - node.start <= _LONGEST_IMPORT:
                for alias in statement.names:
                    imports[(alias.asname or alias.name).split(".")[0]] = node
        for node, statement in pairs:
            if not isinstance(statement, _IMPORT):
                names = (part.id for part in ast.walk(statement) if isinstance(part, ast.Name))
                used = {imports[name].start: imports[name] for name in names if name in imports}
                node.wants = list(used.values())[:_MOST_IMPORTS]
        nodes = [node for node, _ in pairs]
        nodes[0].start, nodes[-1].end = start, end
        return Node(start, end, nodes, Series("# "))

    def _make_nodes(self, body: Sequence[ast.stmt], above: int, depth: int) -> list[tuple[Node, ast.stmt]]:
        """Return a node for each statement, from the line after the one before it.

        `above`: number of the last line above the statements.
        """
        pairs: list[tuple[Node, ast.stmt]] = []
        for statement in body:
            first, last = _first_line(statement), statement.end_lineno or statement.lineno
            if first > above:
                pairs.append((self._make_node(statement, above + 1, last, depth), statement))
            elif pairs:  # on the line of the one before
                node, _ = pairs[-1]
                node.end = max(node.end, self._lines[last - 1][1])
                node.children = []
            above = max(above, last)
        return pairs

    def _make_node(self, statement: ast.stmt, first: int, last: int, depth: int) -> Node:
        node = Node(self._lines[first - 1][0], self._lines[last - 1][1])
        if node.end - node.start <= self._whole or depth >= DEEPEST:
            return node
        if isinstance(statement, _SIMPLE):
            self._open_brackets(node, statement)
            return node
        body = _find_body(statement)
        if len(body) > 1 and _first_line(body[0]) > statement.lineno:
            above = _first_line(body[0]) - 1
            if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):  # a docstring
                above, body = body[0].end_lineno or 0, body[1:]
            children = self._make_nodes(body, above, depth + 1)
            if len(children) > 1:
                node.children, node.series = [child for child, _ in children], Series("# ")
        return node

    def _open_brackets(self, node: Node, statement: ast.stmt) -> None:
        """Open the brackets of a statement into their elements, if each has whole lines."""
        first, last = statement.lineno, statement.end_lineno or statement.lineno
        source = self._text[self._lines[first - 1][0] : self._lines[last - 1][1]]
        spans = [
            (self._lines[first + begin - 1][0], self._lines[first + stop - 1][1])
            for begin, stop in find_elements(source)
        ]
        if len(spans) > 1:
            node.children, node.series = join_lines(spans, _SHORT), Series("# ")


def find_elements(source: str) -> list[tuple[int, int]]:
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
    """Whether a text may be left out of brackets."""
    return _parse(f"_(\n{text}\n)") is not None or _parse(f"{{\n{text}\n}}") is not None


def _first_line(statement: ast.stmt) -> int:
    """Return the number of the first line of a statement, or of its decorators."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def _find_body(statement: ast.stmt) -> list[ast.stmt]:
    """Return the statements inside one that has a single block of them."""
    if isinstance(
        statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.With | ast.AsyncWith
    ):
        return statement.body
    if isinstance(statement, ast.If | ast.For | ast.AsyncFor | ast.While) and not statement.orelse:
        return statement.body
    return []
