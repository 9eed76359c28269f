"""Python: modules, found also inside of other texts."""

from __future__ import annotations

import ast
import re
import warnings
from itertools import islice

from tersely.runtime.locks import ProcessLock
from tersely.split.lines import Format, Lines

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

_parsing = ProcessLock()


def is_python(text: str) -> bool:
    """Return whether a whole text is a Python module."""
    if _PYTHON.search(text):
        return parse(text) is not None
    return (
        _CONSTANT.search(text) is not None and (module := parse(text)) is not None and _has_constants(module)
    )


def _has_constants(module: ast.Module) -> bool:
    """Return whether a module has constants over several lines or a text beside them, unlike settings."""
    texts = [s for s in module.body if isinstance(s, ast.Expr)]
    if not all(isinstance(s.value, ast.Constant) and isinstance(s.value.value, str) for s in texts):
        return False
    others = [s for s in module.body if not isinstance(s, ast.Expr)]
    is_assigned = any(isinstance(s, ast.Assign) for s in others)
    is_assigned = is_assigned and not any(isinstance(s, ast.AnnAssign) for s in others)
    return is_assigned and (bool(texts) or any((s.end_lineno or 0) > s.lineno for s in others))


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
    module = parse(body[:end])
    last = index + body.count("\n", 0, end)
    if module is None or not (_is_module(module) or _has_constants(module)) or last <= start:
        lines.code_budget -= end + 1000
        lines.none_before["code"] = start
        return None
    while lines.is_blank(last - 1):
        last -= 1
    return last


def _skip_comments(lines: Lines, index: int) -> int:
    """Return the index of the first line from `index` on that is neither empty nor an outer comment."""
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
    """Return whether statements are Python, and not words that may be read as such."""
    has_blocks = any(
        isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) for s in module.body
    )
    return has_blocks or (len(module.body) > 1 and any(isinstance(s, _IMPORT) for s in module.body))


MODULE = Format("code", _MODULE, _find_module_end)
