"""Documents become units that know their parent and their cost. Every step gives a new frozen value."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from tersely import Document
from tersely.options import CompressionOptions
from tersely.packing.cutting import SMALLEST_PIECE
from tersely.packing.prepare import Prepared, cut_to_levels, cut_to_limit, prepare
from tests.sdk.counters import count_words
from tests.sdk.packing_cases import make_level

ROWS = "".join(f"line {n} of the code\n" for n in range(20))
CODE = f"```\n{ROWS}```"
DOCS = [
    Document("One is short. Two is a little longer.", title="First title"),
    Document(""),
    Document(f"Three comes before code.\n\n{CODE}\n\nFour comes after it."),
]


def prepare_docs(**options: Any) -> Prepared:
    return prepare(DOCS, CompressionOptions(**options), count_words)


def texts_of(prepared: Prepared) -> list[list[str]]:
    return [
        [document.text[unit.start : unit.end] for unit in own]
        for document, own in zip(prepared.documents, prepared.units, strict=True)
    ]


def test_prepare_splits_every_document_into_units() -> None:
    prepared = prepare_docs()
    assert texts_of(prepared) == [
        ["One is short.", "Two is a little longer."],
        [],
        ["Three comes before code.", CODE, "Four comes after it."],
    ]
    assert [[unit.parent for unit in own] for own in prepared.units] == [[0, 1], [], [0, 1, 2]]
    assert not any(unit.is_piece for own in prepared.units for unit in own)
    assert prepared.all_units == [[0, 1], [], [0, 1, 2]]
    assert prepared.documents_with_text == 2


def test_prepare_counts_the_whole_text_once_and_units_in_code_points() -> None:
    prepared = prepare_docs()
    assert prepared.tokens_before == 2 + 3 + 5 + 4 + 2 + 20 * 5 + 4
    assert prepared.limit == prepared.tokens_before
    assert not prepared.costs_in_tokens
    assert [unit.cost for unit in prepared.units[0]] == [len("One is short."), len("Two is a little longer.")]
    assert prepared.title_costs == (len("First title\n"), 0, 0)


def test_prepare_works_out_the_limit() -> None:
    assert prepare_docs(budget=50).limit == 50
    assert prepare_docs(rate=0.25).limit == 30
    assert prepare_docs(budget=5000).limit == 120


@pytest.mark.parametrize(
    ("options", "fits"),
    [
        ({}, False),  # without a limit the threshold decides
        ({"budget": 120}, True),
        ({"budget": 119}, False),
        ({"rate": 1.0}, True),
        ({"rate": 1.0, "order": "rerank"}, False),
        ({"rate": 1.0, "level": 5}, False),
        ({"rate": 1.0, "max_docs": 2}, True),  # the third document is empty
        ({"rate": 1.0, "max_docs": 1}, False),
    ],
)
def test_documents_fit_where_the_options_leave_all_of_them_as_they_are(
    options: dict[str, Any], fits: bool
) -> None:
    assert prepare_docs(**options).fits(CompressionOptions(**options)) is fits


def test_a_unit_above_the_limit_becomes_pieces_that_keep_its_parent() -> None:
    prepared = cut_to_limit(prepare_docs(budget=30), count_words)
    units = prepared.units[2]
    pieces = units[1:-1]
    assert len(pieces) > 1
    assert [unit.parent for unit in units] == [0, *[1] * len(pieces), 2]
    assert [unit.is_piece for unit in units] == [False, *[True] * len(pieces), False]
    assert all(unit.cost <= 30 for unit in pieces)
    assert " ".join(texts_of(prepared)[2][1:-1]).split() == CODE.split()


def test_cut_to_limit_counts_tokens() -> None:
    prepared = cut_to_limit(prepare_docs(budget=30), count_words)
    assert prepared.costs_in_tokens
    assert [unit.cost for unit in prepared.units[0]] == [3, 5]
    assert prepared.title_costs == (2, 0, 0)


def test_a_unit_that_fits_into_the_limit_stays_whole() -> None:
    prepared = cut_to_limit(prepare_docs(budget=102), count_words)
    assert texts_of(prepared) == texts_of(prepare_docs())
    assert not any(unit.is_piece for own in prepared.units for unit in own)


def test_the_title_takes_its_share_of_the_limit() -> None:
    titled = [Document(CODE, title="A title of five words")]
    options = CompressionOptions(budget=103)
    assert len(cut_to_limit(prepare(titled, options, count_words), count_words).units[0]) > 1
    untitled = [Document(CODE)]
    assert len(cut_to_limit(prepare(untitled, options, count_words), count_words).units[0]) == 1


def test_a_sentence_and_a_unit_without_room_stay_whole() -> None:
    budget = SMALLEST_PIECE - 4
    prepared = cut_to_limit(prepare_docs(budget=budget), count_words)
    assert texts_of(prepared) == texts_of(prepare_docs())
    assert prepared.units[0][1].cost > budget


def test_a_unit_above_its_level_becomes_pieces_that_keep_its_parent() -> None:
    levels = [make_level(0, 1000), make_level(0, 1000), make_level(0, 100)]
    prepared = cut_to_levels(prepare_docs(), levels)
    units = prepared.units[2]
    pieces = units[1:-1]
    assert len(pieces) > 1
    assert [unit.parent for unit in units] == [0, *[1] * len(pieces), 2]
    assert all(unit.is_piece and unit.cost == unit.end - unit.start <= 100 for unit in pieces)
    assert not prepared.costs_in_tokens
    assert prepared.units[0] == prepare_docs().units[0]


def test_documents_within_their_levels_come_back_as_they_are() -> None:
    prepared = prepare_docs()
    assert cut_to_levels(prepared, [make_level(0, 1000)] * 3) is prepared


def test_a_piece_that_is_cut_again_keeps_its_first_parent() -> None:
    coarse = cut_to_levels(prepare_docs(budget=15), [make_level(0, 300)] * 3)
    fine = cut_to_limit(coarse, count_words)
    assert len(fine.units[2]) > len(coarse.units[2])
    assert {unit.parent for unit in fine.units[2]} == {0, 1, 2}
    assert all(unit.is_piece for unit in fine.units[2] if unit.parent == 1)


@pytest.mark.parametrize(
    "step",
    [
        lambda prepared: cut_to_limit(prepared, count_words),
        lambda prepared: cut_to_levels(prepared, [make_level(0, 100)] * 3),
    ],
    ids=["cut_to_limit", "cut_to_levels"],
)
def test_a_cut_leaves_its_input_unchanged(step: Callable[[Prepared], Prepared]) -> None:
    prepared = prepare_docs(budget=30)
    before = copy.deepcopy(prepared)
    source_units = prepared.source_units
    after = step(prepared)
    assert prepared == before
    assert prepared.source_units is source_units
    assert after != before
    assert after.source_units != source_units


@pytest.mark.parametrize("name", ["units", "limit", "costs_in_tokens"])
def test_prepared_documents_are_frozen(name: str) -> None:
    prepared = prepare_docs()
    with pytest.raises(FrozenInstanceError):
        setattr(prepared, name, None)
    with pytest.raises(FrozenInstanceError):
        prepared.units[0][0].cost = 1  # type: ignore[misc]
