"""Sources of languages without a parser here, recognised by their shape: scripts, SQL and blocks in braces.

Also the depths of directives of C, of control lines of templates, and of the lines between them. They may be
at the margin, whatever the indent of the lines around them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from tersely.split.markdown import find_closing

_INTERPRETER = re.compile(r"#! ?/\S")
_COMMENT = re.compile(r"\s*(?:#|//|--|/\*|\*)")
_STATEMENT = re.compile(
    r"^[ \t]*(?:create|alter|drop|insert into|update|delete from|select|with|merge into|grant|revoke|begin"
    r"|commit|set|comment on|truncate|do|call|start transaction|rollback|lock|unlock|use|analyze)\b",
    re.IGNORECASE | re.MULTILINE,
)
"""The start of a statement in SQL."""
_TEMPLATE = re.compile(r"\{[{%]")
"""The start of an expression or a control line in a template of Go or Jinja."""
_FIELD = re.compile(r"\s*(?:- |[\w./\"'-]+:(?:\s|$)|#|\{[{%]|[-}]-\}\})")
SCRIPT = re.compile(
    rf"\A{_INTERPRETER.pattern}|(?i:{_STATEMENT.pattern})|\{{[ \t\r]*$|{_TEMPLATE.pattern}"
    r"|^[ \t]*end[ \t\r]*$",
    re.MULTILINE,
)
"""Matches in every script."""
_WORD_OPENS = re.compile(
    r"(?!.*\bdo: )\s*(?:(?:private|public|protected|local|async)\s+)*"
    r"(?:def(?:p|module|macro|impl|protocol)?|class|module|function|if|unless|case|while|until|for|begin)\b"
    r"|.*\bdo(?:\s*\|[^|]*\|)?\s*$|.*=\s*(?:case|if|unless|begin|function)\b"
)
_WORD_ENDS = re.compile(r"\s*end\b(?!\s*[=:(])")
"""The first and the last line of a block between words, as in Ruby, Elixir and Lua."""
_WORD_END = re.compile(r"\s*end(?:[.,)\]].*)?\s*(?:(?:#|--).*)?")
_DOLLARS = re.compile(r"\$\w*\$")
"""A quotation mark of PostgreSQL, around the body of a function."""
_ENDED = re.compile(r";\s*(?:--.*)?$")
_OUTER = re.compile(
    r"(?!.*:\s*[{\[(]$)(?:(?:[\w.\"-]+ )*[\w.\"-]+(?:\[[^\]]*\])? ?[+?:]?=\s*\S|.*[;{}()\[\]]$|[@#]\w)"
)
"""A line outside all braces: a value with its name, a statement with its end, or an annotation."""
_NOTE = re.compile(r"(?<=\S)\s+(?://|#).*$")
_OPENERS, _CLOSERS = "{[(", "}])"
_FEWEST_LINES, _FEWEST_BLOCKS = 5, 2
_CONDITION = re.compile(r"\s*#\s*(?:(?P<begin>if(?:n?def)?\b)|(?P<end>endif\b)|el(?:se|if))")
_CONTROL = re.compile(
    r"\s*\{[{%][-~]?\s*(?:(?P<begin>(?:if|range|with|define|block|for|macro|unless)\b(?!.*\{[{%][-~]?\s*end))"
    r"|(?P<end>end\w*\b)|el(?:se|if))"
)
"""The same in a template of Go or Jinja."""
_PLAIN = re.compile(r"\s*#\s*(?:define|undef|include|error|warning|pragma|line)\b")
_QUOTED_PART = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|//.*|/\*.*?(?:\*/|$)")


def is_script(text: str) -> bool:
    """Return whether a text names its interpreter, or is SQL, or is divided into blocks by braces or by
    `end`, or is a template of YAML."""
    rows = text.splitlines()
    if _INTERPRETER.match(text) or is_sql(text, rows) or _is_braced(rows) or _has_ends(rows):
        return True
    if len(_TEMPLATE.findall(text)) < 2:
        return False
    lines = [row for row in rows if row.strip()]
    return sum(_FIELD.match(row) is not None for row in lines) * 4 >= len(lines) * 3


def is_sql(text: str, rows: Sequence[str]) -> bool:
    """Return whether the lines of a text are statements in SQL, each with a semicolon at its end."""
    if not _STATEMENT.search(text):
        return False
    at = 0
    is_inside_comment = False
    while at < len(rows):
        row = rows[at].strip()
        if not row or is_inside_comment or _COMMENT.match(row):
            is_inside_comment = (is_inside_comment or row.startswith("/*")) and "*/" not in row
            at += 1
            continue
        end = find_statement_end(rows, at)
        if end is None:
            return False
        at = end
    return not is_inside_comment


def starts_statement(row: str) -> bool:
    """Return whether a line begins a statement in SQL."""
    return _STATEMENT.match(row) is not None


def find_statement_end(rows: Sequence[str], at: int) -> int | None:
    """Return the index after the statement in SQL that starts at a line; None if none starts or ends."""
    if not starts_statement(rows[at]):
        return None
    is_quoted = False
    for end in range(at, len(rows)):
        is_quoted ^= len(_DOLLARS.findall(rows[end])) % 2 == 1
        if not is_quoted and _ENDED.search(rows[end]):
            return end + 1
    return None


def _list_code(rows: Sequence[str]) -> Iterator[str]:
    """Yield the lines that are not blank, without those of comments and here documents."""
    closing: str | None = None  # the line that ends the comment or the document around a line
    for row in rows:
        body = row.strip()
        if closing:
            closing = None if body.lower() == closing or (closing == "*/" and "*/" in body) else closing
        elif not body or _COMMENT.match(body):
            closing = "*/" if body.startswith("/*") and "*/" not in body else None
        else:
            yield row
            closing = find_closing(row)


def _is_braced(rows: Sequence[str]) -> bool:
    """Return whether lines are blocks in braces, and statements between them.

    Each line that ends with a bracket is closed by a line with the same indent.
    """
    indents: list[int] = []
    blocks = count = 0
    for count, row in enumerate(_list_code(rows), 1):
        body, indent = _NOTE.sub("", row.strip()), len(row) - len(row.lstrip())
        if body[0] in _CLOSERS:
            if not indents or indents.pop() != indent:
                return False
        elif not indents and (not _OUTER.match(body) or (count == 1 and body[0] in _OPENERS)):
            return False
        if body[-1] in _OPENERS:
            indents.append(indent)
            blocks += 1
    return not indents and blocks >= _FEWEST_BLOCKS and count >= _FEWEST_LINES


def _has_ends(rows: Sequence[str]) -> bool:
    """Return whether every `end` closes a block that begins with the same indent, and none stays open."""
    indents: list[int] = []
    blocks = 0
    for row in _list_code(rows):
        indent = len(row) - len(row.lstrip())
        if _WORD_ENDS.match(row):
            if not _WORD_END.fullmatch(row) or not indents or indents.pop() != indent:
                return False
            blocks += 1
        elif _WORD_OPENS.match(row) and not re.search(r"\bend\b", row):
            indents.append(indent)
    return not indents and blocks >= _FEWEST_BLOCKS


@dataclass(slots=True)
class _Conditional:
    """The lines from an `#if` to its `#endif`."""

    places: list[int] = field(default_factory=list[int])
    """Numbers of the lines that are its directives."""
    least: float = math.inf
    """The least depth of the other lines."""


def find_directive_depths(
    rows: Sequence[str], indents: Sequence[float], *, are_comments: bool
) -> tuple[list[float], list[list[int]]]:
    """Return the depth of each line, and the numbers of the lines with the directives of each `#if`.

    Lines between `#if` and `#endif` are deeper than these. `#define` and its like are as deep as the lines
    around them, if these are inside braces. `are_comments`: whether lines with `#` are comments.
    """
    depths, pattern = indents, _CONTROL
    if not any(map(_CONTROL.match, rows)):
        if are_comments:
            return list(indents), []
        depths, pattern = _move_plain(rows, indents), _CONDITION
    blocks = _find_conditions(rows, depths, pattern)
    changes = [0] * (len(rows) + 1)
    for block in blocks:
        changes[block.places[0]] += 1
        changes[block.places[-1] + 1] -= 1
    levels = list(accumulate(changes))
    moved = [depth + level / 2 for depth, level in zip(depths, levels, strict=False)]
    for block in blocks:
        for at in block.places:
            moved[at] = (block.least if block.least < math.inf else 0) + (levels[at] - 1) / 2
    return moved, [block.places for block in blocks]


def _move_plain(rows: Sequence[str], indents: Sequence[float]) -> list[float]:
    """Return the indents, with those of plain directives and of comments in braces replaced by those of the
    lines around them."""
    depths = list(indents)
    comments = _find_comments(rows)
    code = [at for at, row in enumerate(rows) if row.lstrip()[:1] not in ("", "#") and at not in comments]
    nesting = number = 0
    for at, row in enumerate(rows):
        while number < len(code) and code[number] < at:
            line = _QUOTED_PART.sub("", rows[code[number]])
            nesting = max(0, nesting + line.count("{") - line.count("}"))
            number += 1
        if nesting and (at in comments or _PLAIN.match(row)):
            near = code[max(0, number - 1) : number + 1]
            depths[at] = max(indents[at], *(indents[other] for other in near))
    return depths


def _find_comments(rows: Sequence[str]) -> set[int]:
    """Return the numbers of the lines that hold only a comment."""
    found: set[int] = set()
    is_inside = False
    for at, row in enumerate(rows):
        body = row.strip()
        if is_inside or body.startswith(("/*", "//")):
            is_inside = (is_inside or body.startswith("/*")) and "*/" not in body
            found.add(at)
    return found


def _find_conditions(
    rows: Sequence[str], depths: Sequence[float], pattern: re.Pattern[str]
) -> list[_Conditional]:
    """Return the blocks from each `#if` to its `#endif`; none unless every `#if` has an `#endif`."""
    around: list[_Conditional] = []
    ended: list[_Conditional] = []
    for at, (row, depth) in enumerate(zip(rows, depths, strict=True)):
        condition = pattern.match(row)
        if condition and condition["begin"]:
            around.append(_Conditional())
        if not around:
            if condition:
                return []
            continue
        block = around[-1]
        if condition:
            block.places.append(at)
        elif row.strip():
            block.least = min(block.least, depth)
        if condition and condition["end"]:
            ended.append(around.pop())
            if around:
                around[-1].least = min(around[-1].least, block.least)
    return [] if around else ended
