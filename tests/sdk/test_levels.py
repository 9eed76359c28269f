"""Levels of detail: the bounds, and compressions at each level."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tersely import Compressor, Document, InvalidInputError
from tersely.score import DocumentScores, ScoredInput
from tersely.score.calibration import Calibration
from tersely_agents.levels import LEVELS, Level, choose_level
from tests.sdk import checks
from tests.sdk.fakes import FakeScorer


@pytest.mark.parametrize(
    ("relevance", "number"),
    [
        (0, 1),
        (0.19, 1),
        (0.2, 2),
        (0.39, 2),
        (0.4, 3),
        (0.5, 3),
        (0.6, 4),
        (0.8, 4),
        (0.81, 5),
        (1, 5),
    ],
)
def test_a_bound_belongs_to_the_higher_level_except_the_last_one(relevance: float, number: int) -> None:
    assert choose_level(relevance).number == number


@given(st.floats(0, 1), st.floats(0, 1))
def test_detail_rises_with_relevance(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert choose_level(low).characters[1] <= choose_level(high).characters[1]


@pytest.mark.parametrize("relevance", [-0.01, 1.01, float("nan")])
def test_a_relevance_outside_0_to_1_is_refused(relevance: float) -> None:
    with pytest.raises(ValueError, match="Pass a number from 0 to 1"):
        choose_level(relevance)


def test_levels_leave_no_gap() -> None:
    assert [level.number for level in LEVELS] == [1, 2, 3, 4, 5]
    for below, above in pairwise(LEVELS):
        assert below.characters[1] == above.characters[0]
        assert below.relevance < above.relevance
        assert below.sentences < above.sentences


def test_words_follow_from_characters() -> None:
    for level in LEVELS:
        low, high = level.characters
        assert level.words == (max(20, low // 7), high // 5)
        assert level.sentences == high // 60


def make_text(words: str, sentences: int) -> str:
    return " ".join(f"Number {i} of {words} stood here." for i in range(sentences))


FAR, NEAR = make_text("all tides", 200), make_text("the red light", 200)
QUERY = "red light"


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
def test_every_document_keeps_what_the_level_allows(level: Level) -> None:
    result = Compressor(FakeScorer()).compress(QUERY, [FAR, NEAR], level=level.number)
    low, high = level.characters
    assert [d.source for d in result.documents] == [0, 1]
    for document in result.documents:
        assert low <= len(document.text) <= high
    far, near = (len(document.text) for document in result.documents)
    assert far < low + 50, "sentences below the threshold fill only the lower bound"
    assert near > high - 50, "sentences above the threshold fill the upper bound"
    checks.check_all(result, [Document(FAR), Document(NEAR)], Compressor(FakeScorer()).token_counter.count)


def test_a_short_document_is_kept_whole() -> None:
    result = Compressor(FakeScorer()).compress(QUERY, ["The light is red. The sea is calm."], level=5)
    assert (result.text, result.status) == ("The light is red. The sea is calm.", "unchanged")


def test_dropped_spans_have_their_reason() -> None:
    result = Compressor(FakeScorer()).compress(QUERY, [FAR, NEAR], level=1)
    assert {s.reason for s in result.dropped if s.doc == 0} == {"threshold"}
    assert {s.reason for s in result.dropped if s.doc == 1} >= {"level"}


def test_length_counts_equally_with_and_without_a_limit() -> None:
    """Without a limit, lengths are characters instead of tokens. A long sentence must not gain by that."""

    class PricedScorer(FakeScorer):
        length_price = 0.5

        def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
            own = [[0.98 if len(unit) > 200 else 0.8 for unit in unit_texts(d)] for d in documents]
            return [DocumentScores(0.9, np.array(scores)) for scores in own]

    long = f"The committee {'of the harbour and the lighthouse ' * 12}met."
    text = " ".join([long, *(f"Short sentence number {i} stands here for itself." for i in range(12))])
    compressor = Compressor(PricedScorer())
    free = compressor.compress("?", [text], level=1)
    limited = compressor.compress("?", [text], level=1, budget=10**6)
    assert free.text == limited.text
    assert long not in free.text


def unit_texts(document: ScoredInput) -> list[str]:
    return [document.text[u.start : u.end] for u in document.units]


def test_a_limit_holds_in_addition_to_the_level() -> None:
    compressor = Compressor(FakeScorer())
    result = compressor.compress(QUERY, [FAR, NEAR], level=2, budget=60)
    assert result.tokens_after <= 60
    generous = compressor.compress(QUERY, [FAR, NEAR], level=2, budget=100_000)
    assert [900 < len(d.text) <= 1000 for d in generous.documents] == [True, True]


def test_a_table_longer_than_its_level_is_cut_at_its_rows() -> None:
    rows = "\n".join(f"| {i} | {'light' if i == 150 else 'mast'} {i} |" for i in range(300))
    table = f"| no | what |\n|---|---|\n{rows}"
    result = Compressor(FakeScorer()).compress("light 150", [table], level=1)
    assert 0 < len(result.text) <= 6000
    assert len(result.text) < len(table)
    assert "light 150" in result.text
    assert {s.reason for s in result.kept} == {"truncated"}
    checks.check_all(result, [Document(table)], Compressor(FakeScorer()).token_counter.count)


def test_recall_is_not_met_if_the_level_drops_what_it_needs() -> None:
    scorer = FakeScorer()
    scorer.calibration = Calibration(tuple(i / 100 for i in range(100)))
    compressor = Compressor(scorer)
    assert compressor.compress(QUERY, [NEAR], recall=0.9, level=1).recall_met is False
    assert compressor.compress(QUERY, [NEAR], recall=0.9).recall_met is True


@pytest.mark.parametrize("level", [0, 6, True, 2.0, "3", "auto"])
def test_other_levels_are_refused(level: Any) -> None:
    with pytest.raises(InvalidInputError, match="Pass a level of detail from 1 to 5"):
        Compressor(FakeScorer()).compress(QUERY, [FAR], level=level)
