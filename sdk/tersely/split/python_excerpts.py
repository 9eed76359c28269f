"""Excerpts of Python modules, as printed by tools that read a part of a file.

An excerpt may begin and end inside a statement. It is read as chunks that parse. The missing start of the
first statement and the missing end of the last one are made up for the parser.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import textwrap
import tokenize
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple, cast

from tersely.split import python
from tersely.split.likeness import Likeness
from tersely.split.lines import Lines, Range, find_indent, list_whole_lines

_BLANK = sys.maxsize
"""The indentation given to blank lines."""
_MOST_READ = 8 * python.WINDOW
"""Largest number of code points to parse for the chunks of an excerpt. Code parsed twice counts twice."""
_CUT = re.compile(
    r"never closed|unterminated triple|expected an indented block|expected 'except'|unexpected EOF"
)
"""A part of the parser's message about code that ends too early."""
_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_OPENERS = {")": "_(", "]": "[", "}": "{"}
_MOST_OPENED = 3
"""Largest number of open brackets that an excerpt is assumed to begin inside."""
_QUOTES = re.compile(r"[a-zA-Z]{0,2}(\"{3}|'{3})")
_SIGN = re.compile(
    r"""\#[^\n]* | (?P<quotes>\"{3}|'{3}).*?(?:(?P=quotes)|\Z)
    | \"(?:\\.|[^\"\\\n])*\" | '(?:\\.|[^'\\\n])*' | [()\[\]{}]""",
    re.VERBOSE | re.DOTALL,
)
"""A bracket; or a comment or a string, because these may contain brackets."""
_TRY = re.compile(r"^(?P<indent>[ \t]*)try:[ \t]*$", re.MULTILINE)
_DECORATOR = re.compile(r"^(?P<indent>[ \t]*)@\w", re.MULTILINE)
_MOST_TRIES = 2
"""Largest number of `try` blocks that a cut text is assumed to end inside."""
MOST_ADDED = _MOST_TRIES + 1
"""Largest number of lines that are made up at the end of a cut text."""
_STATEMENT = re.compile(r"[ \t]*(?:(?:async )?def |class |@\w|import |from )")
_DECORATED = re.compile(r"\s*(?:@|(?:async )?def |class )")
EXCERPT = re.compile(
    rf"{python.DECLARATION.pattern}|^[ \t]*(?:if|elif|for|while|with|try|except|else)\b[^\n]*:[ \t]*$",
    re.MULTILINE,
)
"""Matches at least one line of every excerpt."""
_Compound = ast.If | ast.For | ast.While | ast.With | ast.Try
_Block = _Compound | python.Declaration
_BRANCH = re.compile(r"elif\b|(?:else|finally):|(?:except|case)\b[^\n]*:[ \t]*$", re.MULTILINE)
"""The start of a branch. If the code above it is missing, `if` replaces it for the parser."""
_OPERATOR = re.compile(r"[ \t]*(?:(?:and|or|in|is|if|for)\b|[-+*/|&%=<>.,:])")
"""The start of a line that continues an expression above it."""
_CLOSER = re.compile(r"[ \t]*[)\]}]")


_MOST_PROSE = 2
"""Largest number of lines of prose, other than docstrings, in the blocks with an error."""


class Chunk(NamedTuple):
    """Lines of an excerpt that parse, or a block with an error."""

    start: int
    """Offset of its first line in the text."""
    end: int
    margin: int
    """Indentation of its statements."""
    module: ast.Module | None
    """None for a block with an error."""


def is_excerpt(text: str) -> bool:
    """Return whether most lines of a text are Python, and no line outside of Python is prose at the margin.

    The blocks with an error may have only a few lines of prose that are not in a docstring. The text may have
    at most `python.WINDOW` code points, because it may be parsed many times.
    """
    if len(text) > python.WINDOW or not EXCERPT.search(text):
        return False
    chunks = find_chunks(text)
    if not any(chunk.module is None or _is_code(chunk.module) for chunk in chunks):
        return False
    lines = Lines(text)
    inside = outside = prose = at = 0
    for index, line in enumerate(lines.texts):
        while at < len(chunks) and chunks[at].end <= lines.starts[index]:
            at += 1
        if at < len(chunks) and chunks[at].start <= lines.starts[index]:
            inside += not lines.is_blank(index)
            has_error = chunks[at].module is None and not _QUOTES.search(text, *chunks[at][:2])
            prose += has_error and lines.likeness(index) is Likeness.PROSE
        elif line == "--" or (
            line[:1] not in ("", " ", "\t", "#") and lines.likeness(index) is Likeness.PROSE
        ):
            return False  # grep prints `--` between parts of a file
        else:
            outside += not lines.is_blank(index)
    return inside >= outside and prose <= _MOST_PROSE


@lru_cache(maxsize=1)
def find_chunks(text: str) -> Sequence[Chunk]:
    """Return the chunks of an excerpt, in order.

    A chunk begins at the first line, below another chunk or a closing bracket, or at a definition, a
    decorator or an import. It ends at the first error, or above a line that is indented less.
    """
    spans = list_whole_lines(text, 0, len(text))
    indents = [find_indent(text, span) if text[slice(*span)].strip() else _BLANK for span in spans]
    chunks: list[Chunk] = []
    first = at = next((i for i, indent in enumerate(indents) if indent < _BLANK), len(spans))
    read, may_begin = 0, True
    while at < len(spans) and read < _MOST_READ:
        if indents[at] == _BLANK or not (may_begin or _STATEMENT.match(text, spans[at][0])):
            at += 1
            continue
        openers = [("", indents[at])]
        if at == first:
            openers += _list_openers(text, spans, indents, first)
        found: list[_Reading] = []
        for opener, margin in openers:
            stop = next((i for i in range(at, len(spans)) if indents[i] < margin), len(spans))
            body = _open_body(text[spans[at][0] : spans[stop - 1][1]], opener, margin) if stop > at else ""
            read += len(body)
            if reading := _read(body, indents[at:stop], margin, is_cut=stop == len(spans)):
                found.append(reading)
        if found:
            module, margin, end, below = max(found, key=lambda reading: reading.end)
            if end:
                chunks.append(Chunk(spans[at][0], spans[at + end - 1][1], margin, module))
            if below > end:
                chunks.append(Chunk(spans[at + end][0], spans[at + below - 1][1], margin, None))
            at, may_begin = at + below, True
        else:
            may_begin = _CLOSER.match(text, spans[at][0]) is not None
            above = indents[at]
            at = next((i for i in range(at + 1, len(spans)) if indents[i] <= above), len(spans))
    return chunks


class _Reading(NamedTuple):
    """The module that was parsed from the first lines of a text."""

    module: ast.Module
    margin: int
    end: int
    """Number of lines of the module."""
    below: int
    """The same, including a block with an error below the module."""


def _read(body: str, indents: Sequence[int], margin: int, *, is_cut: bool) -> _Reading | None:
    """Parse the lines of a text above the first block with an error; None if there is no statement."""
    module, end = _parse_cut(body) if is_cut else None, len(body)
    if module is None:
        module, end = python.parse_start(body)
    if module is None or not module.body:
        return None
    last = min(body.count("\n", 0, end) + (end == len(body) and not body.endswith("\n")), len(indents))
    error = next((i for i in range(last, len(indents)) if indents[i] < _BLANK), len(indents))
    is_inside = error < len(indents) and indents[error] > margin
    if not (is_inside and isinstance(module.body[-1], _Block)):
        return _Reading(module, margin, last, last)
    module.body.pop()
    end = (module.body[-1].end_lineno or 0) if module.body else 0
    below = next((i for i in range(error, len(indents)) if indents[i] <= margin), len(indents))
    return _Reading(module, margin, end, below)


def _is_code(module: ast.Module) -> bool:
    """Return whether statements are really Python, not words or settings that happen to parse."""
    return python.is_module(module) or any(isinstance(statement, _Compound) for statement in module.body)


def _open_body(lines: str, opener: str, margin: int) -> str:
    """Return lines without their margin, with `opener` in front of their first statement."""
    body = lines.lstrip(" \t")
    if not opener and (branch := _BRANCH.match(body)):
        opener, body = "if" if branch[0] == "elif" else "if _:", body[branch.end() :]
    return textwrap.dedent(" " * margin + opener + body)


def _list_openers(
    text: str, spans: Sequence[Range], indents: Sequence[int], first: int
) -> list[tuple[str, int]]:
    """Return the texts that may open the first statement of an excerpt, each with its indentation."""
    closers = list(_find_closers(text))
    found: list[tuple[str, int]] = []
    for quotes in ('"""', "'''"):
        if (at := text.find(quotes)) >= 0:
            line, margin, rest = _read_closing_line(text, spans, indents, at)
            if rest == quotes and _ends_text(text, spans, indents, line):
                found.append((quotes, margin))
    if not closers:
        return found
    line, margin, rest = _read_closing_line(text, spans, indents, closers[-1])
    inner = "".join(_OPENERS[text[at]] for at in closers[-2::-1])
    if _OPERATOR.match(text, spans[first][0]):
        inner += "_ "
    below = text[spans[line + 1][0] : spans[line + 1][1]] if line + 1 < len(spans) else ""
    if text[closers[-1]] != ")":
        outer = [_OPENERS[text[closers[-1]]]]
    elif rest.endswith(":"):
        outer = ["def _(", "if _("]
    else:
        outer = ["@_(", "_("] if _DECORATED.match(below) else ["_("]
    return [*found, *((opener + inner, margin) for opener in outer)]


def _ends_text(text: str, spans: Sequence[Range], indents: Sequence[int], line: int) -> bool:
    """Return whether quotes close a docstring: the code below them is indented less, or parses."""
    below = next((i for i in range(line + 1, len(spans)) if indents[i] < _BLANK), None)
    if below is None or indents[below] < indents[line]:
        return True
    stop = next((i for i in range(below, len(spans)) if indents[i] < indents[below]), len(spans))
    module, _ = python.parse_start(textwrap.dedent(text[spans[below][0] : spans[stop - 1][1]]))
    return module is not None and bool(module.body)


def _find_closers(text: str) -> Iterator[int]:
    """Yield the offsets of the first brackets that close brackets opened above the text."""
    depth = count = 0
    for sign in _SIGN.finditer(text):
        if sign[0] in _BRACKETS:
            depth += 1
        elif sign[0] in _OPENERS:
            depth -= 1
            if depth < 0:
                depth, count = 0, count + 1
                yield sign.start()
            if count == _MOST_OPENED:
                return


def _read_closing_line(
    text: str, spans: Sequence[Range], indents: Sequence[int], at: int
) -> tuple[int, int, str]:
    """Return the line with the bracket or the quotes that close a statement, the statement's indentation,
    and the rest of that line."""
    line = text.count("\n", 0, at)
    start, end = spans[line]
    rest = text[at:end].split("#")[0].rstrip()
    if not text[start:at].strip():
        return line, indents[line], rest
    below = next((indent for indent in indents[line + 1 :] if indent < _BLANK), 0)
    return line, max(min(below, *indents[: line + 1]) - 4 * rest.endswith(":"), 0), rest


def _parse_cut(body: str) -> ast.Module | None:
    """Return the module of a text that may end inside a statement; None if it is not Python.

    The missing end is made up: quotes, brackets, an empty block, a function below a decorator, and a
    `finally` for each `try` around it.
    """
    try:
        return python.compile_module(body)
    except SyntaxError as error:
        if not _CUT.search(error.msg):
            return None
    except python.FAILURES:
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
    blocks += [f"\n{found['indent']}def _(): pass" for found in list(_DECORATOR.finditer(body))[-1:]]
    tries = [found["indent"] for found in _TRY.finditer(body)][::-1]
    for block in blocks:
        for count in range(min(len(tries), _MOST_TRIES) + 1):
            finals = "".join(f"\n{indent}finally: pass" for indent in tries[:count])
            if (module := python.parse(f"{body}{end}{block}{finals}")) is not None:
                return module
    return None
