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
from tersely.score.loading import Thresholds
from tersely.score.protocol import Scored
from tersely.score.scoring import score
from tersely.split.documents import Split, split
from tests.sdk.checks import check_all
from tests.sdk.compressor_cases import DOCS, QUERY, UNIT_COUNTS
from tests.sdk.counters import count_each_word, count_words
from tests.sdk.fakes import BrokenScorer, FakeScorer


class RecordingScorer(FakeScorer):
    """A scorer that scores like the fake one, and records how many units each document had."""

    def __init__(self) -> None:
        self.calls: list[list[int]] = []

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        self.calls.append([len(document.units) for document in documents])
        return super().score(query, documents)


def score_docs(scorer: Any, docs: Sequence[Document] = DOCS, **options: Any) -> tuple[Split, Scored]:
    checked = CompressionOptions(**options)
    units = split(docs, checked, count_each_word)
    scored = score(QUERY, units, checked, scorer, None, Thresholds())
    assert isinstance(scored, Scored)
    return units, scored


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
    assert all(unit.is_part for unit in units.units)
    assert scorer.calls == [[len(units.units)]]


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
def test_failing_model_without_a_limit_returns_documents(
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


def test_failing_model_with_a_limit_keeps_exact_matches(
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


def test_a_caller_that_stops_the_call_is_not_a_failure() -> None:
    with pytest.raises(KeyboardInterrupt):
        Compressor(BrokenScorer(KeyboardInterrupt())).compress(QUERY, DOCS, budget=5)


def test_a_unit_gains_from_its_best_head() -> None:
    text = "# Harbour\n\n- Form 7 goes to the desk.\n- Form 8 is red.\n\nFood is sold on board."
    units, scored = score_docs(FakeScorer(), docs=[Document(text)], budget=9)
    scores, packing = scored.scores.scores, scored.scores.packing
    assert [(unit.kind, unit.link.needs) for unit in units.units] == [
        ("heading", (1,)),
        ("list_item", (0,)),
        ("list_item", (0,)),
        ("sentence", (0,)),
    ]
    assert packing[1] == pytest.approx(scores[1] + 0.3 * scores[0] * (1 - scores[1]))
    assert packing[3] == scores[3]
