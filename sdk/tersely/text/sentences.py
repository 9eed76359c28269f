"""Split a text into units with exact offsets."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tersely.text.prose import sentence_starts


@dataclass(frozen=True, slots=True)
class Unit:
    """`text[start:end]`, offsets in code points of the text as given."""

    start: int
    end: int
    kind: str
    atomic: bool


_UNSAFE = re.compile("[\x00\ud800-\udfff]")
_PARAGRAPH = re.compile(r"\n\s*\n")
_PIECE = re.compile(r"\S+\s*")


def _masked(text: str) -> str:
    """The same length, with one kind of line break and nothing sentencex cannot take."""
    return _UNSAFE.sub("\ufffd", text).replace("\r\n", " \n").replace("\r", "\n")


def split_units(text: str) -> list[Unit]:
    """Sorted, stripped, non-overlapping units that hold every non-whitespace code point of `text`."""
    masked = _masked(text)
    units: list[Unit] = []
    cuts = [0, *(match.end() for match in _PARAGRAPH.finditer(masked)), len(text)]
    for start, end in zip(cuts, cuts[1:], strict=False):
        prose = masked[start:end].replace("\n", " ")
        inner = [0, *sentence_starts(prose), len(prose)]
        for left, right in zip(inner, inner[1:], strict=False):
            piece = text[start + left : start + right]
            if piece and not piece.isspace():
                first = start + left + len(piece) - len(piece.lstrip())
                units.append(Unit(first, start + left + len(piece.rstrip()), "sentence", False))
    return units


def seams(text: str, unit: Unit) -> list[tuple[int, int]]:
    """Words of the unit."""
    return [(unit.start + m.start(), unit.start + m.end()) for m in _PIECE.finditer(text[unit.start : unit.end])]
