"""Python: modules, also inside of other texts."""

from __future__ import annotations

import ast
import io
import re
import sys
import textwrap
import tokenize
import warnings
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple, cast

from tersely.runtime.locks import ProcessLock
from tersely.split.lines import Format, Likeness, Lines, find_indent, list_whole_lines

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

_MOST_CHUNKS = 8
"""Largest number of places in an excerpt at which parsing begins."""
_CUT = re.compile(
    r"never closed|unterminated triple|expected an indented block|expected 'except'|unexpected EOF"
)
"""A part of the parser's message about a text that ends too early."""
_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_QUOTES = re.compile(r"[a-zA-Z]{0,2}(\"{3}|'{3})")
_TRY = re.compile(r"^(?P<indent>[ \t]*)try:[ \t]*$", re.MULTILINE)
MOST_TRIES = 2
"""Largest number of blocks of `try` that a cut text is taken to be in."""
_STATEMENT = re.compile(r"[ \t]*(?:(?:async )?def |class |@\w|import |from )")

_parsing = ProcessLock()


def is_python(text: str) -> bool:
    """Return whether a whole text is a Python module."""
    module = parse(text) if PYTHON.search(text) else None
    return module is not None and (_PYTHON.search(text) is not None or _has_constants(module))


class Chunk(NamedTuple):
    """Lines of an excerpt that parse."""

    start: int
    """Offset of its first line in the text."""
    end: int
    module: ast.Module


def is_excerpt(text: str) -> bool:
    """Return whether most lines of a text are Python, and no line outside of Python is prose at the margin.

    Such a text is an excerpt of a module. It may begin and end inside of a statement. It has at most _WINDOW
    code points, because a text may be parsed many times.
    """
    if len(text) > _WINDOW or not _PYTHON.search(text):
        return False
    chunks = find_chunks(text)
    if not any(_is_module(chunk.module) for chunk in chunks):
        return False
    lines = Lines(text)
    inside = outside = at = 0
    for index, line in enumerate(lines.texts):
        while at < len(chunks) and chunks[at].end <= lines.starts[index]:
            at += 1
        if at < len(chunks) and chunks[at].start <= lines.starts[index]:
            inside += not lines.is_blank(index)
        elif line == "--" or (line[:1].strip() and lines.likeness(index) is Likeness.PROSE):
            return False  # grep prints `--` between parts of a file
        else:
            outside += not lines.is_blank(index)
    return inside >= outside


@lru_cache(maxsize=1)
def find_chunks(text: str) -> Sequence[Chunk]:
    """Return the chunks of an excerpt, in order.

    A chunk begins at the first line, below a line with an error, or at a definition, a decorator or an
    import. It ends at the first error, or above a line that is indented less than its first one.
    """
    spans = list_whole_lines(text, 0, len(text))
    indents = [find_indent(text, span) if text[slice(*span)].strip() else sys.maxsize for span in spans]
    chunks: list[Chunk] = []
    at = attempts = below_error = 0
    while at < len(spans) and attempts < _MOST_CHUNKS:
        if indents[at] == sys.maxsize or (at != below_error and not _STATEMENT.match(text, spans[at][0])):
            at += 1
            continue
        stop = next((i for i in range(at, len(spans)) if indents[i] < indents[at]), len(spans))
        body = textwrap.dedent(text[spans[at][0] : spans[stop - 1][1]])
        module, end = _parse_cut(body) if stop == len(spans) else None, len(body)
        if module is None:
            module, end = _parse_start(body)
        attempts += 1
        if module is None or not module.body:
            at += 1
            continue
        last = at + body.count("\n", 0, end) + (end == len(body) and not body.endswith("\n"))
        chunks.append(Chunk(spans[at][0], spans[last - 1][1], module))
        at, below_error = last, last + 1
    return chunks


def _parse_cut(body: str) -> ast.Module | None:
    """Return the module of a text that may end inside of a statement; None if it is no Python.

    The missing end is made up: quotes, brackets, an empty block, and a `finally` for each `try` around it.
    """
    try:
        return _compile(body)
    except SyntaxError as error:
        if not _CUT.search(error.msg):
            return None
    except _FAILURES:
        return None
    body = body.rstrip()
    quotes, brackets, last = "", list[str](), ""
    try:
        for token in tokenize.generate_tokens(io.StringIO(body).readline):
            if token.type == tokenize.OP and token.string in _BRACKETS:
                brackets.append(_BRACKETS[token.string])
            elif brackets and token.string == brackets[-1]:
                brackets.pop()
            if token.type in (tokenize.OP, tokenize.NAME):
                last = token.string
    except tokenize.TokenError as error:
        message, (line, column) = cast(tuple[str, tuple[int, int]], error.args)
        if "string" in message:
            opened = _QUOTES.match(body.split("\n")[line - 1], column)
            quotes = opened[1] if opened else ""
    except SyntaxError:
        return None
    end = quotes + "".join(reversed(brackets))
    blocks = [" pass"] if last == ":" and not end else ["", ": pass"]
    tries = [found["indent"] for found in _TRY.finditer(body)][::-1]
    for block in blocks:
        for count in range(min(len(tries), MOST_TRIES) + 1):
            finals = "".join(f"\n{indent}finally: pass" for indent in tries[:count])
            if (module := parse(f"{body}{end}{block}{finals}")) is not None:
                return module
    return None


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


def is_text(statement: ast.stmt) -> bool:
    """Return whether a statement is a text, such as a docstring."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)
