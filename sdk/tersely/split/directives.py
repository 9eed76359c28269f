"""Directives of C, and control lines of templates: how deep they and the lines between them are.

They may stand at the margin, however the lines around them are indented.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

_CONDITION = re.compile(r"\s*#\s*(?:(?P<begin>if(?:n?def)?\b)|(?P<end>endif\b)|el(?:se|if))")
_CONTROL = re.compile(
    r"\s*\{[{%][-~]?\s*(?:(?P<begin>(?:if|range|with|define|block|for|macro|unless)\b(?!.*\{[{%][-~]?\s*end))"
    r"|(?P<end>end\w*\b)|el(?:se|if))"
)
"""The same in a template of Go or Jinja."""
_PLAIN = re.compile(r"\s*#\s*(?:define|undef|include|error|warning|pragma|line)\b")
_QUOTED = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|//.*|/\*.*?(?:\*/|$)")


@dataclass(slots=True)
class _Block:
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
    code = [
        at
        for at, row in enumerate(rows)
        if row.strip() and at not in comments and not row.lstrip().startswith("#")
    ]
    nesting = number = 0
    for at, row in enumerate(rows):
        while number < len(code) and code[number] < at:
            line = _QUOTED.sub("", rows[code[number]])
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


def _find_conditions(rows: Sequence[str], depths: Sequence[float], pattern: re.Pattern[str]) -> list[_Block]:
    """Return the blocks from each `#if` to its `#endif`; none unless every `#if` has an `#endif`."""
    around: list[_Block] = []
    ended: list[_Block] = []
    for at, (row, depth) in enumerate(zip(rows, depths, strict=True)):
        condition = pattern.match(row)
        if condition and condition["begin"]:
            around.append(_Block())
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
