"""The scores of a request: which units and documents are scored, and what a failing model leads to."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tersely import Compressor, Document
from tersely.options import CompressionOptions
from tersely.score import DocumentScores, ScoredInput
from tersely.score.calibration import Calibration
from tersely.score.protocol import Scored
from tersely.score.scoring import score
from tersely.split.documents import Split, split
from tests.sdk.checks import check_all
from tests.sdk.compressor_cases import DOCS, QUERY, UNIT_COUNTS
from tests.sdk.counters import count_words
from tests.sdk.fakes import BrokenScorer, FakeScorer


class RecordingScorer(FakeScorer):
    """Scores like the fake one and records how many units each document had."""

    def __init__(self) -> None:
        self.calls: list[list[int]] = []

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        self.calls.append([len(document.units) for document in documents])
        return super().score(query, documents)


class FixedReranker:
    """Gives documents the scores that it was made with, one each."""

    def __init__(self, *scores: float) -> None:
        self.scores = scores

    def rank(self, query: str, documents: Sequence[Document]) -> Sequence[float]:
        return self.scores


def score_docs(
    scorer: Any, reranker: Any = None, docs: Sequence[Document] = DOCS, **options: Any
) -> tuple[Split, Scored]:
    checked = CompressionOptions(**options)
    units = split(docs, checked, count_words)
    return units, score(QUERY, units, checked, scorer, reranker, None)


def relevance_of(scored: Scored) -> list[float]:
    return scored.scores.relevance.tolist()


TABLE = "| light | year |\n|---|---|\n" + "".join(f"| lamp {n} | {1800 + n} |\n" for n in range(100))


def test_every_unit_is_scored_in_one_call() -> None:
    scorer = RecordingScorer()
    units, scored = score_docs(scorer)
    assert scorer.calls == [UNIT_COUNTS]
    assert len(scored.scores.scores) == len(units.units) == sum(UNIT_COUNTS)
    assert scored.scores.packing.tolist() == scored.scores.scores.tolist()
    assert scored.scores.read.all()


@pytest.mark.parametrize("options", [{"budget": 60}, {"level": 1}])
def test_pieces_are_scored_one_by_one(options: dict[str, Any]) -> None:
    scorer = RecordingScorer()
    units, _ = score_docs(scorer, docs=[Document(TABLE)], **options)
    assert len(units.units) > 1
    assert all(unit.is_piece for unit in units.units)
    assert scorer.calls == [[sum(unit.is_content for unit in units.units)]]


def test_a_reranker_runs_only_if_documents_are_selected_or_sorted() -> None:
    reranker = FixedReranker(0.1, 0.2, 0.3)
    assert relevance_of(score_docs(FakeScorer(), reranker)[1]) != [0.1, 0.2, 0.3]
    for options in ({"order": "rerank"}, {"max_docs": 3}):
        assert relevance_of(score_docs(FakeScorer(), reranker, **options)[1]) == [0.1, 0.2, 0.3]


def test_only_documents_that_the_reranker_prefers_are_read() -> None:
    scorer = RecordingScorer()
    units, scored = score_docs(scorer, FixedReranker(0.3, 0.1, 0.2), max_docs=2)
    assert scorer.calls == [[UNIT_COUNTS[0], UNIT_COUNTS[2]]]
    assert not scored.scores.read[list(units.positions(1))].any()


def test_a_reranker_ranks_no_document_without_text() -> None:
    docs = [Document("A light."), Document(" "), Document("A lamp.")]
    assert relevance_of(score_docs(FakeScorer(), FixedReranker(0.4, 0.6), docs, order="rerank")[1]) == [
        0.4,
        0.0,
        0.6,
    ]


@pytest.mark.parametrize("scores", [(), (0.5, 0.5), (0.5, math.nan, 0.5)])
def test_a_broken_reranker_is_replaced_by_the_models_relevance(scores: tuple[float, ...]) -> None:
    _, scored = score_docs(FakeScorer(), FixedReranker(*scores), order="rerank")
    _, own = score_docs(FakeScorer(), None, order="rerank")
    assert relevance_of(scored) == relevance_of(own)
    assert [warning for warning in scored.warnings if "reranker failed" in warning]
    assert own.warnings == ()


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (RuntimeError("out of luck"), "RuntimeError: out of luck"),
        (MemoryError(), "MemoryError: "),
        (type("PanicException", (BaseException,), {})("rust"), "PanicException: rust"),
        ([], "one score per unit"),
        ([DocumentScores(0.5, np.array([0.1] * 9)) for _ in range(3)], "one score per unit"),
        ([DocumentScores(0.5, np.full(n, 0.5), np.array([0.1])) for n in UNIT_COUNTS], "one score per unit"),
        ([DocumentScores(0.5, np.full(n, math.nan)) for n in UNIT_COUNTS], "not numbers"),
        ([DocumentScores(0.5, np.full(n, 0.5), np.full(n, math.nan)) for n in UNIT_COUNTS], "not numbers"),
        ([DocumentScores(math.inf, np.full(n, 0.5)) for n in UNIT_COUNTS], "not numbers"),
    ],
)
def test_without_a_limit_a_failing_model_gives_the_documents_back(
    failure: Any, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    compressor = Compressor(BrokenScorer(failure), token_counter=count_words)
    with caplog.at_level(logging.WARNING, logger="tersely"):
        result = compressor.compress(QUERY, DOCS, max_docs=1)
    assert result.status == "failed_open"
    assert reason in (result.reason or "")
    assert reason in caplog.text
    assert result.text == compressor.compress(QUERY, DOCS, rate=1.0).text
    check_all(result, DOCS, count_words)


def test_within_a_limit_a_failing_model_leaves_the_best_exact_matches(
    caplog: pytest.LogCaptureFixture,
) -> None:
    docs = ["A crane stood here. Nobody came.", "The red light burned in 1871. It was far away. Who knows?"]
    compressor = Compressor(BrokenScorer(RuntimeError("out of luck")), token_counter=count_words)
    with caplog.at_level(logging.WARNING, logger="tersely"):
        result = compressor.compress("When did the red light burn?", docs, budget=6)
    assert result.status == "degraded"
    assert result.reason == "the model failed: RuntimeError: out of luck"
    assert "out of luck" in caplog.text
    assert result.text == "The red light burned in 1871."
    assert {span.reason for span in result.dropped} == {"budget"}
    check_all(result, [Document(text) for text in docs], count_words, budget=6)


def test_within_a_limit_a_failing_model_breaks_the_promise_of_a_recall() -> None:
    scorer = BrokenScorer(RuntimeError("out of luck"))
    scorer.calibration = Calibration((0.1,) * 20)  # type: ignore[attr-defined]
    result = Compressor(scorer, token_counter=count_words).compress(QUERY, DOCS, budget=12, recall=0.8)
    assert result.status == "degraded"
    assert result.recall_met is False


def test_a_caller_that_stops_the_call_is_not_a_failure() -> None:
    with pytest.raises(KeyboardInterrupt):
        Compressor(BrokenScorer(KeyboardInterrupt())).compress(QUERY, DOCS, budget=5)
