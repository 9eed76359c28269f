"""Documents become units that know their parent and their cost. Every step gives a new frozen value."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any

import pytest
from tersely.split.splitting import SplitDocuments, cut_to_levels, cut_to_limit, split_documents
from tests.sdk.packing_cases import make_level

from tersely import Document
from tersely.options import CompressionOptions
from tersely.split.cutting import SMALLEST_PIECE
from tests.sdk.counters import count_words

ROWS = "".join(f"line {n} of the code\n" for n in range(20))
CODE = f"```\n{ROWS}```"
DOCS = [
    Document("One is short. Two is a little longer.", title="First title"),
    Document(""),
    Document(f"Three comes before code.\n\n{CODE}\n\nFour comes after it."),
]


def split_docs(**options: Any) -> SplitDocuments:
    return split_documents(DOCS, CompressionOptions(**options), count_words)


def texts_of(split: SplitDocuments) -> list[list[str]]:
    return [
        [document.text[unit.start : unit.end] for unit in own]
        for document, own in zip(split.documents, split.units, strict=True)
    ]


def test_every_document_is_split_into_units() -> None:
    split = split_docs()
    assert texts_of(split) == [
        ["One is short.", "Two is a little longer."],
        [],
        ["Three comes before code.", CODE, "Four comes after it."],
    ]
    assert [[unit.parent for unit in own] for own in split.units] == [[0, 1], [], [0, 1, 2]]
    assert not any(unit.is_piece for own in split.units for unit in own)
    assert split.all_units == [[0, 1], [], [0, 1, 2]]
    assert split.documents_with_text == 2


def test_splitting_counts_the_whole_text_once_and_units_in_code_points() -> None:
    split = split_docs()
    assert split.tokens_before == 2 + 3 + 5 + 4 + 2 + 20 * 5 + 4
    assert split.limit == split.tokens_before
    assert not split.costs_in_tokens
    assert [unit.cost for unit in split.units[0]] == [len("One is short."), len("Two is a little longer.")]
    assert split.title_costs == (len("First title\n"), 0, 0)


def test_splitting_works_out_the_limit() -> None:
    assert split_docs(budget=50).limit == 50
    assert split_docs(rate=0.25).limit == 30
    assert split_docs(budget=5000).limit == 120


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
    assert split_docs(**options).fits(CompressionOptions(**options)) is fits


def test_a_unit_above_the_limit_becomes_pieces_that_keep_its_parent() -> None:
    split = cut_to_limit(split_docs(budget=30), count_words)
    units = split.units[2]
    pieces = units[1:-1]
    assert len(pieces) > 1
    assert [unit.parent for unit in units] == [0, *[1] * len(pieces), 2]
    assert [unit.is_piece for unit in units] == [False, *[True] * len(pieces), False]
    assert all(unit.cost <= 30 for unit in pieces)
    assert " ".join(texts_of(split)[2][1:-1]).split() == CODE.split()


def test_cut_to_limit_counts_tokens() -> None:
    split = cut_to_limit(split_docs(budget=30), count_words)
    assert split.costs_in_tokens
    assert [unit.cost for unit in split.units[0]] == [3, 5]
    assert split.title_costs == (2, 0, 0)


def test_a_unit_that_fits_into_the_limit_stays_whole() -> None:
    split = cut_to_limit(split_docs(budget=102), count_words)
    assert texts_of(split) == texts_of(split_docs())
    assert not any(unit.is_piece for own in split.units for unit in own)


def test_the_title_takes_its_share_of_the_limit() -> None:
    titled = [Document(CODE, title="A title of five words")]
    options = CompressionOptions(budget=103)
    assert len(cut_to_limit(split_documents(titled, options, count_words), count_words).units[0]) > 1
    untitled = [Document(CODE)]
    assert len(cut_to_limit(split_documents(untitled, options, count_words), count_words).units[0]) == 1


def test_a_sentence_and_a_unit_without_room_stay_whole() -> None:
    budget = SMALLEST_PIECE - 4
    split = cut_to_limit(split_docs(budget=budget), count_words)
    assert texts_of(split) == texts_of(split_docs())
    assert split.units[0][1].cost > budget


def test_a_unit_above_its_level_becomes_pieces_that_keep_its_parent() -> None:
    levels = [make_level(0, 1000), make_level(0, 1000), make_level(0, 100)]
    split = cut_to_levels(split_docs(), levels)
    units = split.units[2]
    pieces = units[1:-1]
    assert len(pieces) > 1
    assert [unit.parent for unit in units] == [0, *[1] * len(pieces), 2]
    assert all(unit.is_piece and unit.cost == unit.end - unit.start <= 100 for unit in pieces)
    assert not split.costs_in_tokens
    assert split.units[0] == split_docs().units[0]


def test_documents_within_their_levels_come_back_as_they_are() -> None:
    split = split_docs()
    assert cut_to_levels(split, [make_level(0, 1000)] * 3) is split


def test_a_piece_that_is_cut_again_keeps_its_first_parent() -> None:
    coarse = cut_to_levels(split_docs(budget=15), [make_level(0, 300)] * 3)
    fine = cut_to_limit(coarse, count_words)
    assert len(fine.units[2]) > len(coarse.units[2])
    assert {unit.parent for unit in fine.units[2]} == {0, 1, 2}
    assert all(unit.is_piece for unit in fine.units[2] if unit.parent == 1)


@pytest.mark.parametrize(
    "step",
    [
        lambda split: cut_to_limit(split, count_words),
        lambda split: cut_to_levels(split, [make_level(0, 100)] * 3),
    ],
    ids=["cut_to_limit", "cut_to_levels"],
)
def test_a_cut_leaves_its_input_unchanged(step: Callable[[SplitDocuments], SplitDocuments]) -> None:
    split = split_docs(budget=30)
    before = copy.deepcopy(split)
    source_units = split.source_units
    after = step(split)
    assert split == before
    assert split.source_units is source_units
    assert after != before
    assert after.source_units != source_units


@pytest.mark.parametrize("name", ["units", "limit", "costs_in_tokens"])
def test_split_documents_are_frozen(name: str) -> None:
    split = split_docs()
    with pytest.raises(FrozenInstanceError):
        setattr(split, name, None)
    with pytest.raises(FrozenInstanceError):
        split.units[0][0].cost = 1  # type: ignore[misc]
