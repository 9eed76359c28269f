"""Cut units that are too large for a limit into pieces, which are scored and chosen one by one.

A piece ends at a seam of the unit (a line, a row, an item; failing that a word, then any character) and is
about as long as a sentence, so that the selector can tell the rows that matter from the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tersely.split.lines import strip
from tersely.units import Unit

LONGEST_SENTENCE = 1000
"""Code points. A sentence is never cut. A longer "sentence" is text without punctuation, so it may be."""

SMALLEST_PIECE = 8
"""Tokens. With less room a unit is dropped, because shreds of it would mislead."""

PIECE = 240
"""Code points in a piece, if the seams allow it."""
_MARGIN = 0.8
"""Share of the room that a piece may fill by estimate. Tokens are not spread evenly over a unit."""

_LONG_LINE = 400
_LONG_WORD = 40
_WORD_PART = 16
_LINE = re.compile(r"[^\n\r]*+(?:\r\n|\n|\r)|[^\n\r]+$")
_WORD = re.compile(r"\S+\s*")
_JSON_PART = re.compile(r'(?:[^",]|"(?:[^"\\]|\\.)*+")*+(?:,\s*|$)', re.DOTALL)


def can_cut(unit: Unit, room: int) -> bool:
    """Whether pieces of `unit` of at most `room` tokens can mean anything."""
    return room >= SMALLEST_PIECE and (unit.atomic or unit.end - unit.start > LONGEST_SENTENCE)


def cut(text: str, unit: Unit, cost: int, room: int) -> list[tuple[int, int]]:
    """Return the pieces of a unit, in order; together they hold every code point of it that is not blank.

    Args:
        cost: tokens of the unit.
        room: tokens that a piece may have. A single code point may still exceed it.
    """
    size = unit.end - unit.start
    target = max(1, min(PIECE, int(size * room * _MARGIN / cost)))
    pieces: list[tuple[int, int]] = []
    start = end = -1
    for left, right in _atoms(text, unit, target):
        if start >= 0 and right - start > target:
            pieces.append((start, end))
            start = -1
        if start < 0:
            start = left
        end = right
    if start >= 0:
        pieces.append((start, end))
    return pieces


def _atoms(text: str, unit: Unit, target: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges between seams, stripped; those longer than `target` are cut again."""
    for start, end in find_seams(text, unit):
        span = strip(text, start, end)
        if span is None:
            continue
        left, right = span
        if right - left <= target:
            yield left, right
        elif right - left < unit.end - unit.start:
            yield from _atoms(text, Unit(left, right, unit.kind, unit.atomic), target)
        else:  # no seam left: fixed lengths
            yield from ((i, min(i + target, right)) for i in range(left, right, target))


def find_seams(text: str, unit: Unit) -> list[tuple[int, int]]:
    """Return the ranges of `text` into which a unit may be cut if it alone exceeds the limit.

    They cover the unit in order and without gaps; each includes the whitespace after it. Code, tables, logs
    and JSON over several lines are cut between lines, JSON in one line after commas. Anything else, also a
    line of more than 400 code points, is cut between words, and a long run without spaces into parts of 16
    code points. A range that is still too long can be cut again, down to single code points:
    `find_seams(text, Unit(start, end, unit.kind, unit.atomic))`.
    """
    if unit.kind in ("code", "table", "log", "json", "diff", "html", "record", "yaml"):
        for pattern in (_LINE, _JSON_PART) if unit.kind == "json" else (_LINE,):
            parts = list(_find_ranges(pattern, text, unit.start, unit.end))
            if len(parts) > 1 and parts[0][0] == unit.start and parts[-1][1] == unit.end:
                return [finer for part in parts for finer in _cut_long_line(text, *part)]
    return _cut_words(text, unit.start, unit.end)


def _cut_long_line(text: str, start: int, end: int) -> list[tuple[int, int]]:
    return [(start, end)] if end - start <= _LONG_LINE else _cut_words(text, start, end)


def _cut_words(text: str, start: int, end: int) -> list[tuple[int, int]]:
    words = list(_find_ranges(_WORD, text, start, end))
    if not words:
        return [(start, end)]
    words[0] = (start, words[0][1])  # the indent of a line belongs to its first word
    parts: list[tuple[int, int]] = []
    for left, right in words:
        length = right - left
        if length <= _LONG_WORD and len(words) > 1:
            parts.append((left, right))
            continue
        step = _WORD_PART if length > _WORD_PART else 1
        parts.extend((at, min(at + step, right)) for at in range(left, right, step))
    return parts


def _find_ranges(pattern: re.Pattern[str], text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of all matches that are not empty."""
    for match in pattern.finditer(text, start, end):
        if match.end() > match.start():
            yield match.span()
