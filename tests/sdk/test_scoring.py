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
from tersely.score.scoring import score
from tersely.split.splitting import Scored, SplitDocuments, split_documents
from tersely_agents.levels import LEVELS
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


class ConstantScorer(RecordingScorer):
    """Gives every unit of a document the same score, one for each document."""

    def __init__(self, *scores: float) -> None:
        super().__init__()
        self.scores = scores

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        super().score(query, documents)
        pairs = zip(self.scores, documents, strict=True)
        return [DocumentScores(score, [score] * len(document.units)) for score, document in pairs]


class FixedReranker:
    """Gives documents the scores that it was made with, one each."""

    def __init__(self, *scores: float) -> None:
        self.scores = scores

    def rank(self, query: str, documents: Sequence[Document]) -> Sequence[float]:
        return self.scores


def score_docs(scorer: Any, reranker: Any = None, docs: Sequence[Document] = DOCS, **options: Any) -> Scored:
    checked = CompressionOptions(**options)
    return score(scorer, reranker, QUERY, split_documents(docs, checked, count_words), checked, count_words)


def piece_count(split: SplitDocuments) -> int:
    return sum(unit.is_piece for own in split.units for unit in own)


TABLE = "| light | year |\n|---|---|\n" + "".join(f"| lamp {n} | {1800 + n} |\n" for n in range(100))


def test_every_unit_gets_complete_scores_from_one_call() -> None:
    scorer = RecordingScorer()
    scored = score_docs(scorer)
    assert scorer.calls == [UNIT_COUNTS]
    assert [len(own.scores) for own in scored.scores] == UNIT_COUNTS
    assert all(own.packing_scores == own.scores for own in scored.scores)
    assert all(own.read == [True] * len(own.scores) for own in scored.scores)
    assert scored.levels is None


def test_pieces_are_scored_one_by_one() -> None:
    scorer = RecordingScorer()
    scored = score_docs(scorer, docs=[Document(TABLE)], budget=60)
    pieces = piece_count(scored.split)
    assert pieces > 1
    assert scorer.calls == [[pieces]]


def test_without_a_limit_nothing_is_cut() -> None:
    assert piece_count(score_docs(FakeScorer(), docs=[Document(TABLE)]).split) == 0


def test_a_fixed_level_cuts_before_the_only_call() -> None:
    scorer = RecordingScorer()
    scored = score_docs(scorer, docs=[Document(TABLE)], level=1)
    assert scored.levels == [LEVELS[0]]
    assert scorer.calls == [[piece_count(scored.split)]]


def test_the_auto_level_follows_from_the_first_scores_and_what_it_cuts_is_scored_again() -> None:
    scorer = ConstantScorer(0.5, 0.1)
    scored = score_docs(scorer, docs=[Document("Bread. " * 3), Document(TABLE)], level="auto")
    assert scored.levels == [LEVELS[2], LEVELS[0]]
    assert scorer.calls == [[3, 1], [3, piece_count(scored.split)]]


def test_the_auto_level_that_cuts_nothing_needs_one_call() -> None:
    scorer = RecordingScorer()
    score_docs(scorer, level="auto")
    assert scorer.calls == [UNIT_COUNTS]


def test_a_reranker_is_used_only_where_documents_are_selected_or_sorted() -> None:
    reranker = FixedReranker(0.1, 0.2, 0.3)
    own = [scores.relevance for scores in score_docs(FakeScorer(), reranker).scores]
    assert own != [0.1, 0.2, 0.3]
    for options in ({"order": "rerank"}, {"max_docs": 3}):
        scored = score_docs(FakeScorer(), reranker, **options)
        assert [scores.relevance for scores in scored.scores] == [0.1, 0.2, 0.3]


def test_only_the_documents_that_the_reranker_prefers_are_read() -> None:
    scorer = RecordingScorer()
    scored = score_docs(scorer, FixedReranker(0.3, 0.1, 0.2), max_docs=2)
    assert scorer.calls == [[UNIT_COUNTS[0], UNIT_COUNTS[2]]]
    assert scored.scores[1].read == [False] * UNIT_COUNTS[1]


def test_a_reranker_ranks_no_document_without_text() -> None:
    docs = [Document("A light."), Document(" "), Document("A lamp.")]
    scored = score_docs(FakeScorer(), FixedReranker(0.4, 0.6), docs, order="rerank")
    assert [scores.relevance for scores in scored.scores] == [0.4, 0.0, 0.6]


@pytest.mark.parametrize("scores", [(), (0.5, 0.5), (0.5, math.nan, 0.5)])
def test_a_reranker_without_one_number_per_document_is_replaced_by_the_models_relevance(
    scores: tuple[float, ...],
) -> None:
    scored = score_docs(FakeScorer(), FixedReranker(*scores), order="rerank")
    own = score_docs(FakeScorer(), None, order="rerank")
    assert scored.scores == own.scores
    assert [warning for warning in scored.warnings if "reranker failed" in warning]
    assert own.warnings == ()


def test_scoring_leaves_the_split_documents_unchanged() -> None:
    options = CompressionOptions(budget=20)
    source = split_documents(DOCS, options, count_words)
    score(FakeScorer(), None, QUERY, source, options, count_words)
    assert source == split_documents(DOCS, options, count_words)


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
