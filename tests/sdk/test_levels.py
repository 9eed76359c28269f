"""Compressions at each level of detail."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tersely import Compressor, Document
from tersely.score import DocumentScores, ScoredInput
from tersely.score.calibration import Calibration
from tersely_agents.levels import LEVELS, Level
from tests.sdk import checks
from tests.sdk.fakes import FakeScorer


def make_text(words: str, sentences: int) -> str:
    return " ".join(f"Number {i} of {words} stood here." for i in range(sentences))


FAR, NEAR = make_text("all tides", 200), make_text("the red light", 200)
QUERY = "red light"


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
def test_every_document_keeps_what_the_level_allows(level: Level) -> None:
    compressor = Compressor(FakeScorer())
    result = compressor.compress(QUERY, [FAR, NEAR], level=level.number)
    low, high = level.characters
    assert [d.source for d in result.documents] == [0, 1]
    for document in result.documents:
        assert low <= len(document.text) <= high
    far, near = (len(document.text) for document in result.documents)
    assert far < low + 50, "sentences below the threshold fill only the lower bound"
    assert near > high - 50, "sentences above the threshold fill the upper bound"
    checks.check_all(result, [Document(FAR), Document(NEAR)], compressor.count_tokens)


def test_a_short_document_is_kept_whole() -> None:
    result = Compressor(FakeScorer()).compress(QUERY, ["The light is red. The sea is calm."], level=5)
    assert (result.text, result.status) == ("The light is red. The sea is calm.", "unchanged")


def test_length_counts_equally_with_and_without_a_limit() -> None:
    """Without a limit, lengths are characters instead of tokens. A long sentence must not gain by that."""

    class PricedScorer(FakeScorer):
        length_price = 0.5

        def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
            scores = [[0.98 if unit.end - unit.start > 200 else 0.8 for unit in d.units] for d in documents]
            return [DocumentScores(0.9, np.array(own)) for own in scores]

    long = f"The committee {'of the harbour and the lighthouse ' * 12}met."
    text = " ".join([long, *(f"Short sentence number {i} stands here for itself." for i in range(12))])
    compressor = Compressor(PricedScorer())
    free = compressor.compress("?", [text], level=1)
    limited = compressor.compress("?", [text], level=1, budget=10**6)
    assert free.text == limited.text
    assert long not in free.text


def test_a_limit_holds_in_addition_to_the_level() -> None:
    compressor = Compressor(FakeScorer())
    assert compressor.compress(QUERY, [FAR, NEAR], level=2, budget=60).tokens_after <= 60
    generous = compressor.compress(QUERY, [FAR, NEAR], level=2, budget=100_000)
    assert [900 < len(d.text) <= 1000 for d in generous.documents] == [True, True]


def test_a_table_longer_than_its_level_is_cut_at_its_rows() -> None:
    rows = "\n".join(f"| {i} | {'light' if i == 150 else 'mast'} {i} |" for i in range(300))
    table = f"| no | what |\n|---|---|\n{rows}"
    compressor = Compressor(FakeScorer())
    result = compressor.compress("light 150", [table], level=1)
    assert 0 < len(result.text) <= 500
    assert "light 150" in result.text
    assert {s.reason for s in result.kept} == {"truncated"}
    checks.check_all(result, [Document(table)], compressor.count_tokens)


def test_recall_is_not_met_if_the_level_drops_what_it_needs() -> None:
    scorer = FakeScorer()
    scorer.calibration = Calibration(tuple(i / 100 for i in range(100)))
    compressor = Compressor(scorer)
    assert compressor.compress(QUERY, [NEAR], recall=0.9, level=1).recall_met is False
    assert compressor.compress(QUERY, [NEAR], recall=0.9).recall_met is True
