"""Cut units that are too large for a limit into pieces, which are scored and chosen one by one.

A piece ends where the unit's structure has a seam (lines, rows, items; failing that words, then characters)
and is about as long as a sentence, so that the selector can tell the rows that matter from the others.
"""

from __future__ import annotations

from collections.abc import Iterator

from tersely.split.sentences import Unit, find_seams

LONGEST_SENTENCE = 1000
"""Code points. A sentence is never cut. A longer "sentence" is text without punctuation, so it may be."""

SMALLEST_PIECE = 8
"""Tokens. With less room a unit is dropped, because shreds of it would mislead."""

PIECE = 240
"""Code points in a piece, where the seams allow it."""
_MARGIN = 0.8
"""Share of the room that a piece may fill by estimate. Tokens are not spread evenly over a unit."""


def can_cut(unit: Unit, room: int) -> bool:
    """Whether pieces of `unit` of at most `room` tokens can mean anything."""
    return room >= SMALLEST_PIECE and (unit.atomic or unit.end - unit.start > LONGEST_SENTENCE)


def cut(text: str, unit: Unit, cost: int, room: int) -> list[Unit]:
    """Pieces of `unit`, in order, that together hold every non-whitespace code point of it.

    Args:
        cost: tokens of the unit.
        room: tokens that a piece may have. A single code point may still exceed it.
    """
    size = unit.end - unit.start
    target = max(1, min(PIECE, int(size * room * _MARGIN / cost)))
    pieces: list[Unit] = []
    start = end = -1
    for left, right in _atoms(text, unit, target):
        if start >= 0 and right - start > target:
            pieces.append(Unit(start, end, unit.kind, True))
            start = -1
        if start < 0:
            start = left
        end = right
    if start >= 0:
        pieces.append(Unit(start, end, unit.kind, True))
    return pieces


def _atoms(text: str, unit: Unit, target: int) -> Iterator[tuple[int, int]]:
    """Seam by seam, finer where a piece is longer than `target`; stripped, and without empty ones."""
    for start, end in find_seams(text, unit):
        piece = text[start:end]
        left = start + len(piece) - len(piece.lstrip())
        right = start + len(piece.rstrip())
        if left >= right:
            continue
        if right - left <= target:
            yield left, right
        elif right - left < unit.end - unit.start:
            yield from _atoms(text, Unit(left, right, unit.kind, unit.atomic), target)
        else:  # no seam left: fixed lengths
            yield from ((i, min(i + target, right)) for i in range(left, right, target))
