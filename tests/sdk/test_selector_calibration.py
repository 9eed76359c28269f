"""Calibrated recall: the threshold by hand, the promise by simulation, and the way through the compressor."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tersely import ArtifactError, Compressor, Document, InvalidInputError
from tersely.runtime.artifacts import Artifact, write_manifest
from tersely.score.calibration import (
    FILE,
    Calibration,
    read_calibration,
    write_calibration,
)
from tests.sdk.calibration_cases import DOCS, QUERY, CalibratedScorer
from tests.sdk.counters import count_words
from tests.sdk.fakes import FakeScorer

NINE_QUESTIONS = Calibration(tuple(i / 10 for i in range(9, 0, -1)))
"""Scores 0.1 to 0.9. (lost + 1) / 10 must be at most 1 - recall."""

CODE = Document("```\n" + "".join(f"row {n} of the table\n" for n in range(60)) + "```")


@pytest.fixture
def compressor() -> Compressor:
    return Compressor(CalibratedScorer(), token_counter=count_words)


@pytest.mark.parametrize(
    ("recall", "threshold", "lost"),
    [
        (0.9, 0.1, 0),  # (0 + 1) / 10 <= 0.1
        (0.85, 0.1, 0),  # (1 + 1) / 10 would be over 0.15
        (0.8, 0.2, 1),
        (0.5, 0.5, 4),
        (0.01, 0.9, 8),
    ],
)
def test_threshold_loses_as_many_questions_as_recall_allows(
    recall: float, threshold: float, lost: int
) -> None:
    assert NINE_QUESTIONS.threshold(recall) == threshold
    assert sum(score < threshold for score in NINE_QUESTIONS.scores) == lost


def test_few_questions_cannot_promise_a_high_recall() -> None:
    assert NINE_QUESTIONS.highest_recall == pytest.approx(0.9)
    with pytest.raises(ValueError, match=r"9 questions can promise 0\.9000"):
        NINE_QUESTIONS.threshold(0.91)


@given(st.integers(1, 2000))
def test_the_highest_recall_that_is_shown_can_be_promised(questions: int) -> None:
    calibration = Calibration((0.5,) * questions)
    assert calibration.threshold(calibration.highest_recall) == 0.5
    assert calibration.highest_recall == round(calibration.highest_recall, 4)


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=60),
    st.floats(0.01, 0.99),
    st.floats(0.01, 0.99),
)
def test_a_higher_recall_never_means_a_higher_threshold(scores: list[float], a: float, b: float) -> None:
    calibration = Calibration(tuple(scores))
    low, high = sorted((a, b))
    if high > calibration.highest_recall:
        return
    assert calibration.threshold(high) <= calibration.threshold(low)
    lost = sum(score < calibration.threshold(high) for score in scores)
    assert (lost + 1) / (len(scores) + 1) <= 1 - high + 1e-6


@pytest.mark.parametrize("recall", [0.8, 0.9, 0.95])
def test_the_promise_holds_for_questions_of_the_same_kind(recall: float) -> None:
    """Mean over 4,000 calibration sets of the true coverage: at least the promise, and not far above it."""
    generator = np.random.default_rng(7)
    sets = generator.beta(3, 1, size=(4000, 99))
    thresholds = np.array([Calibration(tuple(scores)).threshold(recall) for scores in sets])
    coverage = 1 - thresholds**3  # of a new question, whose score is beta(3, 1) too
    assert recall - 0.002 <= coverage.mean() <= recall + 0.012


def test_a_calibration_survives_its_file(tmp_path: Path) -> None:
    write_calibration(tmp_path, Calibration((0.25, 0.125), {"mine": 2}))
    assert read_calibration(Artifact(tmp_path, {}, {"files": {}})) is None
    calibration = read_calibration(Artifact(tmp_path, {}, {"files": {FILE: {}}}))
    assert calibration == Calibration((0.125, 0.25), {"mine": 2})
    assert calibration.scores == (0.125, 0.25)
    assert Calibration.from_dict(json.loads(json.dumps(calibration.to_dict()))) == calibration


@pytest.mark.parametrize("scores", [(), (0.5, 1.5), (float("nan"),)])
def test_scores_that_are_no_probabilities_are_refused(scores: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="scores in"):
        Calibration(scores)


def test_with_a_recall_everything_above_its_threshold_is_kept(compressor: Compressor) -> None:
    result = compressor.compress(QUERY, DOCS, recall=0.9)
    assert result.recall_met is True
    assert result.kept
    assert all(span.score >= 0.2 for span in result.kept)
    assert all(span.score < 0.2 for span in result.dropped)
    assert {span.reason for span in result.dropped} == {"threshold"}


def test_limit_that_drops_good_sentences_breaks_recall(compressor: Compressor) -> None:
    unlimited = compressor.compress(QUERY, DOCS, recall=0.9)
    tight = compressor.compress(QUERY, DOCS, recall=0.9, budget=12)
    assert tight.tokens_after <= 12 < unlimited.tokens_after
    assert tight.recall_met is False
    assert tight.to_dict()["recall_met"] is False
    assert compressor.compress(QUERY, DOCS, recall=0.9, max_docs=1).recall_met is False


def test_a_dropped_piece_that_scores_low_breaks_the_promise_too() -> None:
    """The whole unit was never scored, so nobody knows whether it is needed."""
    scorer = CalibratedScorer()
    scorer.calibration = Calibration((1.0,) * 30)
    compressor = Compressor(scorer, token_counter=count_words)
    assert compressor.compress(QUERY, DOCS, recall=0.9, budget=12).recall_met is True
    assert compressor.compress(QUERY, [CODE, *DOCS], recall=0.9, budget=40).recall_met is False


def test_a_recall_that_cannot_be_promised_is_refused(compressor: Compressor) -> None:
    with pytest.raises(InvalidInputError, match="30 questions can"):
        compressor.compress(QUERY, DOCS, recall=0.99)


def test_uncalibrated_model_is_refused_with_a_remedy() -> None:
    with pytest.raises(InvalidInputError, match="tersely calibrate"):
        Compressor(FakeScorer()).compress(QUERY, DOCS, recall=0.9)


def test_a_damaged_calibration_is_an_artifact_error(model: Path) -> None:
    (model / "calibration.json").write_text('{"scores": []}')
    write_manifest(model)
    with pytest.raises(ArtifactError, match="calibration"):
        Compressor(model)
