"""Code: runs of program text, and source files, opened into functions and classes.

A function comes whole, with the lines that contain it and the imports that it uses. Python is parsed. Other
languages are read by their indentation: a block is a line with the deeper lines below it and the closing line
after them. A function that is too large by itself is cut between statements.
"""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from collections.abc import Sequence
from itertools import islice

from tersely.split.fences import FENCE
from tersely.split.json_values import find_json_end
from tersely.split.lines import Format, Likeness, Lines, find_indent, line_start
from tersely.split.nodes import DEEPEST, Node, Sizes
from tersely.units import Series

LONGEST_RUN = 80
"""Lines after which an unfenced code block is cut, so that a source file is not one unit."""

_FRONT_MATTER = re.compile(r"\A---[^\S\n]*$", re.MULTILINE)
_PYTHON = re.compile(r"^[ \t]*(?:def|class|async def|import|from)\s+[\w.]", re.MULTILINE)
_STATEMENT = re.compile(r"[{};][ \t\r]*$|^[ \t]*(?:[})\]]|//|/\*|\*)", re.MULTILINE)
_DECLARATION = re.compile(
    r"^[ \t]*(?:export\s+|public\s+|private\s+|static\s+|async\s+|pub(?:\([a-z]+\))?\s+)*"
    r"(?:function|class|interface|fn|func|impl|struct|enum|trait|package|import|use|const|#include)\b",
    re.MULTILINE,
)
_CONSTANT = re.compile(r"^[A-Za-z_]\w*\s*=[^=]", re.MULTILINE)
SOURCE = re.compile(f"{_PYTHON.pattern}|{_DECLARATION.pattern}|{_CONSTANT.pattern}", re.MULTILINE)
"""Matches at least one line of every source file."""
_FEWEST_LINES = 5
_STARTS_MODULE = re.compile(r'(?:def|class|async def|import|from)\s+[\w.]|@\w|try:|\w+ = |[rR]?(?:"""|\'\'\')')
_MODULE = re.compile(rf"#[^\n]*\n(?:#|\n|{_STARTS_MODULE.pattern})|{_STARTS_MODULE.pattern}")
_WINDOW = 65_536
"""Code points that are first read as Python, so that short sources in long texts take little time."""
_MOST_ATTEMPTS = 4

_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)?")
"""A line as Python counts it: a lone carriage return ends one too."""
_CLOSING = re.compile(r"\s*(?:[)}\]]|end\b|else\b|elif\b|except\b|finally\b|catch\b)")
_SLASHES = re.compile(r"[{;][ \t\r]*$|^[ \t]*//", re.MULTILINE)
_IMPORT = ast.Import | ast.ImportFrom
_LONGEST_IMPORT = 160
_MOST_IMPORTS = 4

Ranges = list[tuple[int, int]]
"""(start, end) of each line in the text, with its line break."""


def is_source(text: str) -> bool:
    """Whether a whole text is code: a Python module, or mostly lines that end or begin like statements."""
    if _PYTHON.search(text):
        if _parse(text) is not None:
            return True
    elif _CONSTANT.search(text) and (module := _parse(text)) and _has_constants(module):
        return True
    if not _DECLARATION.search(text):
        return False
    lines = sum(1 for line in text.splitlines() if line.strip())
    return lines >= _FEWEST_LINES and len(_STATEMENT.findall(text)) * 2 >= lines


def _has_constants(module: ast.Module) -> bool:
    """Whether a module has constants over several lines or a text beside them, unlike settings."""
    texts = [s for s in module.body if isinstance(s, ast.Expr)]
    if not all(isinstance(s.value, ast.Constant) and isinstance(s.value.value, str) for s in texts):
        return False
    others = [s for s in module.body if not isinstance(s, ast.Expr)]
    is_assigned = bool(others) and all(isinstance(s, ast.Assign | ast.AugAssign) for s in others)
    return is_assigned and (bool(texts) or any((s.end_lineno or 0) > s.lineno for s in others))


def _parse(text: str) -> ast.Module | None:
    """Return the syntax tree of a Python module; None for anything else."""
    try:
        return _compile(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _compile(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about strings with invalid escapes
        return ast.parse(text)


def _find_module_end(lines: Lines, index: int) -> int | None:
    """Return the index after the Python statements from a line on; None if there are only a few."""
    start = _skip_comments(lines, index)
    if lines.code_budget <= 0 or start is None:
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
    if module is None or not _is_module(module) or last <= start:
        lines.code_budget -= end + 200
        return None
    while lines.is_blank(last - 1):
        last -= 1
    return last


def _skip_comments(lines: Lines, index: int) -> int | None:
    """Return the index of the first line from `index` on that is no comment; None if it is not Python."""
    start = index
    while start < min(len(lines), index + LONGEST_RUN) and lines.texts[start][:1] in ("#", ""):
        start += 1
    is_python = start < len(lines) and _STARTS_MODULE.match(lines.texts[start])
    return start if is_python else None


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
        except (ValueError, RecursionError, MemoryError):
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


def _find_front_matter_end(lines: Lines, index: int) -> int | None:
    """Return the index after the settings between two lines `---` with which a document starts."""
    for end in range(index + 1, min(len(lines), LONGEST_RUN)):
        if lines.texts[end].rstrip() == "---":
            return end + 1 if end > 1 else None
        if lines.likeness(end) is Likeness.PROSE:
            return None
    return None


FRONT_MATTER = Format("code", _FRONT_MATTER, _find_front_matter_end)


def find_code_end(lines: Lines, index: int) -> int | None:
    """Return the index after a run of unfenced code that starts at `index`, or None.

    After blank lines it continues as long as it is indented more deeply. It ends above a JSON value; one line
    above such a value is not code.
    """
    base = lines.indent(index)
    end = _find_run_end(lines, index, index, base)
    if not _is_code([lines.likeness(line) for line in range(index, end)], indented=base >= 4):
        return None
    while end - index < LONGEST_RUN:
        following = lines.skip_blank(end)
        if following == len(lines) or lines.indent(following) <= base:
            break
        longer = _find_run_end(lines, following, index, base + 1)
        kinds = [lines.likeness(line) for line in range(following, longer)]
        if kinds.count(Likeness.PROSE) * 2 > len(kinds) or max(kinds) < Likeness.MAYBE:
            break
        end = longer
    value = next((line for line in range(index + 1, end) if find_json_end(lines, line)), end)
    return value if value == end or value > index + 1 else None


def _find_run_end(lines: Lines, index: int, first: int, indent: int) -> int:
    """Return the index after the non-blank lines from `index` on that are indented by at least `indent`.

    The run ends at a fence and `LONGEST_RUN` lines after `first`. It has at least one line.
    """
    end = index
    while end < len(lines) and end - first < LONGEST_RUN and not lines.is_blank(end):
        if lines.indent(end) < indent or FENCE.start.match(lines.texts[end]):
            break
        end += 1
    return max(end, index + 1)


def _is_code(lines: Sequence[Likeness], *, indented: bool) -> bool:
    """Whether a run of lines is code. An indented run needs fewer lines of code: prose is rarely indented."""
    sure, maybe, prose = (lines.count(kind) for kind in (Likeness.CODE, Likeness.MAYBE, Likeness.PROSE))
    total = len(lines)
    if prose * 3 > total:
        return False
    return sure * (3 if indented else 2) >= total and (sure + maybe) * (2 if indented else 1.5) >= total


def open_code(text: str, start: int, end: int, sizes: Sizes) -> Node:
    """Return the tree of the code in `text[start:end]`. Small functions are not opened."""
    start = line_start(text, start)
    body = text[start:end]
    lines: Ranges = [(start + m.start(), start + m.end()) for m in _LINE.finditer(body) if m[0]]
    module = _parse(textwrap.dedent(body))
    if module is not None and len(module.body) > 1:
        return _Python(lines, sizes.whole).read(module, start, end)
    series = Series("// " if len(_SLASHES.findall(body)) * 4 > len(lines) else "# ")
    blocks = [_open_block(text, block, sizes.whole, series, 1) for block in _split_blocks(text, lines)]
    return blocks[0] if len(blocks) == 1 else Node(start, end, blocks, series)


class _Python:
    """Builds nodes from a syntax tree. A node has whole lines."""

    def __init__(self, lines: Ranges, whole: int) -> None:
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
        body = _find_body(statement)
        if len(body) > 1 and _first_line(body[0]) > statement.lineno:
            above = _first_line(body[0]) - 1
            if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):  # a docstring
                above, body = body[0].end_lineno or 0, body[1:]
            children = self._make_nodes(body, above, depth + 1)
            if len(children) > 1:
                node.children, node.series = [child for child, _ in children], Series("# ")
        return node


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


def _open_block(text: str, lines: Ranges, whole: int, series: Series, depth: int) -> Node:
    """Return the node of a block: a leaf if it is small or has nothing inside."""
    node = Node(lines[0][0], lines[-1][1])
    if node.end - node.start <= whole or depth >= DEEPEST or len(lines) < 4:
        return node
    base = find_indent(text, lines[0])
    stop = len(lines) - 1 if find_indent(text, lines[-1]) <= base else len(lines)
    inner = [line for line in lines[1:stop] if text[slice(*line)].strip()]
    if not inner or any(find_indent(text, line) <= base for line in inner):
        return node
    children = _split_blocks(text, lines[1:stop])
    if len(children) > 1:
        node.children = [_open_block(text, child, whole, series, depth + 1) for child in children]
        node.series = Series(series.before)
    return node


def _split_blocks(text: str, lines: Ranges) -> list[Ranges]:
    """Return runs of lines from the lowest indent, each with the deeper and closing lines below it."""
    base = min(find_indent(text, line) for line in lines if text[slice(*line)].strip())
    blocks: list[Ranges] = []
    is_comment = False
    for line in lines:
        body = text[slice(*line)]
        starts = body.strip() and find_indent(text, line) <= base and not _CLOSING.match(body)
        if not blocks or (starts and not is_comment):
            blocks.append([])
        blocks[-1].append(line)
        if body.strip():
            is_comment = bool(starts) and body.lstrip().startswith(("#", "//", "/*", "*", "@"))
    return blocks
