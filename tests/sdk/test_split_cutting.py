"""Cutting a unit that is too large: where it is cut, what may be cut, and that nothing is lost."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tersely.split.cutting import LONGEST_SENTENCE, SMALLEST_PIECE, can_cut, cut
from tersely.split.sentences import split_units
from tersely.units import Unit

TABLE = "| year | place | note |\n|---|---|---|\n" + "".join(
    f"| {1900 + n} | town {n} | nothing of importance happened here |\n" for n in range(60)
)


def test_rows_stay_whole_where_they_fit() -> None:
    unit = split_units(TABLE)[0]
    assert unit.atomic
    pieces = cut(TABLE, unit, cost=900, room=100)
    rows = set(TABLE.splitlines())
    assert len(pieces) > 5
    for piece in pieces:
        assert set(TABLE[slice(*piece)].splitlines()) <= rows


@pytest.mark.parametrize(
    "text",
    [TABLE, "x" * 5000, "word " * 2000, "{" + '"k": [1, 2, 3], ' * 300 + "}", "汉字" * 900],
    ids=["table", "one word", "words", "json", "unspaced"],
)
@pytest.mark.parametrize("room", [1, 2, 10, 100])
def test_pieces_hold_every_visible_character_in_order(text: str, room: int) -> None:
    unit = Unit(0, len(text.rstrip()), "table", True)
    pieces = cut(text, unit, cost=len(text) // 4, room=room)
    assert "".join("".join(text[slice(*p)].split()) for p in pieces) == "".join(text.split())
    assert all(left[1] <= right[0] for left, right in pairwise(pieces))
    assert all(len(text[slice(*p)]) <= max(room * 4, 1) for p in pieces)


@pytest.mark.parametrize(
    ("unit", "room", "may"),
    [
        (Unit(0, LONGEST_SENTENCE, "sentence", False), 100, False),
        (Unit(0, LONGEST_SENTENCE + 1, "sentence", False), 100, True),
        (Unit(0, 10, "code", True), 100, True),
        (Unit(0, 1000, "code", True), SMALLEST_PIECE, True),
        (Unit(0, 1000, "code", True), SMALLEST_PIECE - 1, False),  # pieces too small to mean anything
    ],
)
def test_only_structure_and_endless_sentences_are_cut(unit: Unit, room: int, may: bool) -> None:
    assert can_cut(unit, room) is may
