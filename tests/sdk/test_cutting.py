from __future__ import annotations

from itertools import pairwise

import pytest

from tersely.packing.cutting import LONGEST_SENTENCE, SMALLEST_PIECE, can_cut, cut
from tersely.text.sentences import Unit, split_units

TABLE = "| year | place | note |\n|---|---|---|\n" + "".join(
    f"| {1900 + n} | town {n} | nothing of importance happened here |\n" for n in range(60)
)


def whole(text: str, kind: str = "table") -> Unit:
    return Unit(0, len(text.rstrip()), kind, True)


def test_rows_stay_whole_where_they_fit() -> None:
    unit = split_units(TABLE)[0]
    assert unit.atomic
    pieces = cut(TABLE, unit, cost=900, room=100)
    lines = set(TABLE.splitlines())
    assert len(pieces) > 5
    for piece in pieces:
        assert set(TABLE[piece.start : piece.end].splitlines()) <= lines


@pytest.mark.parametrize(
    "text", [TABLE, "x" * 5000, "word " * 2000, "{" + '"k": [1, 2, 3], ' * 300 + "}", "汉字" * 900]
)
@pytest.mark.parametrize("room", [1, 2, 10, 100])
def test_pieces_hold_every_visible_character_in_order(text: str, room: int) -> None:
    pieces = cut(text, whole(text), cost=len(text) // 4, room=room)
    assert "".join("".join(text[p.start : p.end].split()) for p in pieces) == "".join(text.split())
    assert all(a.end <= b.start for a, b in pairwise(pieces))
    assert all(len(text[p.start : p.end]) <= max(room * 4, 1) for p in pieces)


def test_only_structure_and_endless_sentences_may_be_cut() -> None:
    assert not can_cut(Unit(0, LONGEST_SENTENCE, "sentence", False), room=100)
    assert can_cut(Unit(0, LONGEST_SENTENCE + 1, "sentence", False), room=100)
    assert can_cut(Unit(0, 10, "code", True), room=100)


def test_no_unit_is_cut_to_shreds() -> None:
    assert can_cut(Unit(0, 1000, "code", True), room=SMALLEST_PIECE)
    assert not can_cut(Unit(0, 1000, "code", True), room=SMALLEST_PIECE - 1)
