"""Python: modules, even inside other texts, and the elements in the brackets of a statement."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from itertools import islice

from tersely.runtime.locks import ProcessLock
from tersely.split.lines import Format, Lines, end_above

DECLARATION = re.compile(r"^[ \t]*(?:(?:def|class|async def|import|from)\s+[\w.]|__\w+__ *=)", re.MULTILINE)
_CONSTANT = re.compile(r"^[A-Za-z_]\w*\s*=[^=]", re.MULTILINE)
PYTHON = re.compile(f"{DECLARATION.pattern}|{_CONSTANT.pattern}", re.MULTILINE)
"""Matches at least one line of every module."""
_STARTS_MODULE = re.compile(
    r'(?:def|class|async def|import|from)\s+[\w.]|@\w|try:|\w+ = |[rR]?(?:"""|\'\'\')'
)
_MODULE = re.compile(rf"#[^\n]*\n#|{_STARTS_MODULE.pattern}")
WINDOW = 65_536
"""Number of code points to parse first, so that short modules in long texts take little time."""
_MOST_ATTEMPTS = 5

_IMPORT = ast.Import | ast.ImportFrom
Declaration = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
FAILURES = (ValueError, RecursionError, MemoryError, SystemError)
"""Errors of the parser besides SyntaxError. SystemError is raised if another thread parses at once."""

_parsing = ProcessLock()
_NEUTRAL = (tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT)


def is_python(text: str) -> bool:
    """Return whether a whole text is a Python module."""
    module = parse(text) if PYTHON.search(text) else None
    return module is not None and (DECLARATION.search(text) is not None or _has_constants(module))


def _has_constants(module: ast.Module) -> bool:
    """Return whether a module has constants, and, unlike settings, one of several lines or a docstring."""
    alone = [s for s in module.body if isinstance(s, ast.Expr)]
    others = [s for s in module.body if not isinstance(s, ast.Expr)]
    has_words = any(not is_text(s) and not isinstance(s.value, ast.Call) for s in alone)
    has_annotations = any(isinstance(s, ast.AnnAssign) for s in others)
    if has_annotations or has_words or not any(isinstance(s, ast.Assign) for s in others):
        return False
    return any(map(is_text, alone)) or any((s.end_lineno or 0) > s.lineno for s in others)


def parse(text: str) -> ast.Module | None:
    """Return the syntax tree of a Python module; None for anything else."""
    try:
        return compile_module(text)
    except (SyntaxError, *FAILURES):
        return None


def compile_module(text: str) -> ast.Module:
    # Two threads must not do this at once: each changes the filters, and the depth that Python 3.11 counts.
    with _parsing.hold(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about strings with invalid escapes
        return ast.parse(text)


def _find_module_end(lines: Lines, index: int) -> int | None:
    """Return the index after the Python statements from a line on; None if they do not look like a module."""
    if lines.code_budget <= 0:
        return None
    start = index
    while start < len(lines) and lines.texts[start][:1] in ("#", ""):
        start += 1
    if start == len(lines) or not _STARTS_MODULE.match(lines.texts[start]):
        lines.none_before[_find_module_end] = start
        return None
    for window in (WINDOW, len(lines.text)):
        body = lines.text[lines.starts[index] : lines.starts[index] + window]
        module, end = parse_start(body)
        if end < len(body) * 0.9 or len(body) < window:
            break
    else:
        return None
    last = lines.find(lines.starts[index] + end)
    if module is None or not is_module(module) or last <= start:
        lines.code_budget -= end + 1000
        lines.none_before[_find_module_end] = start
        return None
    return lines.find(end_above(lines, last)) + 1


def parse_start(body: str) -> tuple[ast.Module | None, int]:
    """Return the module in the first lines of a text, and its number of code points."""
    end = len(body)
    for _ in range(_MOST_ATTEMPTS):
        try:
            return compile_module(body[:end]), end
        except SyntaxError as error:
            starts = islice(re.finditer("^", body, re.MULTILINE), (error.lineno or 1) - 1, None)
            end = min(end - 1, next((line.start() for line in starts), end - 1))
            if end <= 0:
                break
        except FAILURES:
            return None, 0
    return None, max(end, 0)


def is_module(module: ast.Module) -> bool:
    """Return whether statements are really Python, not words that happen to parse."""
    if any(isinstance(s, Declaration) for s in module.body) or _has_constants(module):
        return True
    return len(module.body) > 1 and any(isinstance(s, _IMPORT) for s in module.body)


MODULE = Format("code", _MODULE, _find_module_end)


def is_text(statement: ast.stmt) -> bool:
    """Return whether a statement is a text, such as a docstring."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def find_elements(source: str, *, is_head: bool = False) -> list[tuple[int, int]]:
    """Return the first and last line of each element in the brackets of a statement, counted from 0.

    Elements on the line of a bracket are left out. Empty unless the statement has one pair of brackets with
    several lines, and every element may be left out. In the head of a function, the elements are the
    parameters, and other brackets may follow.
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
                if depth == 0 and is_head:
                    break
            elif token.string == "," and depth == 1:
                comma = token.start[0]
            last = token.end[0]
    except (tokenize.TokenError, SyntaxError):
        return []
    rows = source.splitlines(keepends=True)
    texts = ["".join(rows[begin : stop + 1]) for begin, stop in found]
    is_element = _is_parameter if is_head else _is_element
    return found if all(map(is_element, texts)) else []


def _is_parameter(text: str) -> bool:
    """Return whether a text is one or more parameters, or the `*` or `/` between them."""
    return text.strip().rstrip(",") in ("*", "/") or parse(f"def _(\n{text}\n): ...") is not None


def _is_element(text: str) -> bool:
    """Return whether a text may be left out of brackets."""
    return parse(f"_(\n{text}\n)") is not None or parse(f"{{\n{text}\n}}") is not None
