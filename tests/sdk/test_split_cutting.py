"""Cutting a unit that is too large: where it is cut, what may be cut, and that nothing is lost."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tersely import Compressor, Document
from tersely.options import CompressionOptions
from tersely.split.cutting import LONGEST_SENTENCE, SMALLEST_PIECE, cut
from tersely.split.documents import split
from tersely.split.sentences import split_units
from tersely.units import Kind, Unit
from tests.sdk.counters import count_each_word

TABLE = "| year | place | note |\n|---|---|---|\n" + "".join(
    f"| {1900 + n} | town {n} | nothing of importance happened here |\n" for n in range(60)
)


def test_rows_stay_whole_where_they_fit() -> None:
    unit = split_units(TABLE)[0]
    assert unit.divisible
    pieces = cut(TABLE, unit, cost=900, room=100)
    rows = set(TABLE.splitlines())
    assert len(pieces) > 5
    for piece in pieces:
        assert set(TABLE[slice(*piece)].splitlines()) <= rows


@pytest.mark.parametrize(
    ("text", "kind", "is_alone"),
    [
        (TABLE, "table", False),
        ("x" * 5000, "line", True),
        ("word " * 2000, "sentence", False),
        ("汉字" * 900, "line", True),
    ],
    ids=["table", "one word", "words", "unspaced"],
)
@pytest.mark.parametrize("room", [8, 10, 100])
def test_pieces_hold_every_visible_character_in_order(
    text: str, kind: Kind, is_alone: bool, room: int
) -> None:
    unit = Unit(0, len(text.rstrip()), kind, kind != "sentence")
    pieces = cut(text, unit, cost=len(text) // 4, room=room, is_alone=is_alone)
    assert len(pieces) > 5
    assert "".join("".join(text[slice(*p)].split()) for p in pieces) == "".join(text.split())
    assert all(left[1] <= right[0] for left, right in pairwise(pieces))


@pytest.mark.parametrize(
    ("kind", "length"), [("sentence", LONGEST_SENTENCE), ("line", 5000), ("code", 5000), ("list_item", 5000)]
)
def test_no_sentence_and_no_line_is_cut_inside(kind: Kind, length: int) -> None:
    text = ("word " * 1000)[:length].strip()
    unit = Unit(0, len(text), kind, kind != "sentence")
    assert cut(text, unit, cost=len(text) // 4, room=20) == [(0, len(text))]


def test_nothing_is_cut_into_shreds() -> None:
    unit = split_units(TABLE)[0]
    assert cut(TABLE, unit, cost=900, room=SMALLEST_PIECE - 1) == [(unit.start, unit.end)]


def test_a_list_item_of_running_text_is_cut_between_sentences() -> None:
    sentences = [f"The lamp of pier {number} burns at night and nobody\n  knows why." for number in range(9)]
    text = f"- {' '.join(sentences)}"
    (unit,) = split_units(text)
    assert unit.kind == "list_item"
    pieces = [text[slice(*piece)] for piece in cut(text, unit, cost=len(text) // 4, room=40)]
    assert len(pieces) > 3
    assert all(piece.endswith("knows why.") for piece in pieces)


def test_no_line_of_a_quotation_is_the_head_of_the_others() -> None:
    text = (
        "> Entry is free on Thursdays for everybody who lives here, and on Sundays.\n"
        "> The shop sells cards.\n\nThe harbour is old. It is red. It was dug in 1871. Its crane still works."
    )
    own = split([Document(text)], CompressionOptions(budget=14), count_each_word)
    assert [unit.link.role for unit in own.units] == ["content"] * 6
    result = Compressor().compress("On which day is entry free?", [text], budget=24)
    assert result.text.startswith(
        "> Entry is free on Thursdays for everybody who lives here, and on Sundays."
    )
