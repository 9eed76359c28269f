"""Tests that tell if documents answer: the promise of `abstain`, its receipt, and the distance from the
calibration."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tersely import Compression, Compressor
from tersely.errors import ArtifactError, InvalidInputError
from tersely.runtime.artifacts import write_manifest
from tersely.score import DocumentScores, ScoredInput, answerable
from tersely.score.answerable import FILE, Answerability
from tersely.score.calibration import Calibration
from tersely.score.protocol import Judgement
from tersely.score.shift import SHIFT_FEATURES
from tests.sdk.calibration_cases import DOCS, LAYER, QUERY, REFERENCE, SIZE, make_answerability
from tests.sdk.fakes import FakeScorer

PARIS = ["Paris is the capital of France. It has two million inhabitants.", "Bread is baked at dawn."]


class JudgingScorer(FakeScorer):
    """A scorer that judges every request the same. It was calibrated on 40 questions with an answer and 40
    without."""

    answerability = make_answerability(np.linspace(0.4, 0.9, 40).tolist(), np.linspace(0.1, 0.6, 40).tolist())

    def __init__(self, answerable: float | None, distance: float | None = 0.5) -> None:
        self.judgement = Judgement(answerable, distance)

    def judge(
        self, query: str, documents: Sequence[ScoredInput]
    ) -> tuple[Sequence[DocumentScores], Judgement | None]:
        return self.score(query, documents), self.judgement


def compress(scorer: FakeScorer, **options: Any) -> Compression:
    return Compressor(scorer).compress(QUERY, DOCS, **options)


@pytest.mark.parametrize("share", [0.6, 0.9, 0.95])
def test_both_promises_hold_for_exchangeable_questions(share: float) -> None:
    draw = np.random.default_rng(5)
    passed: list[float] = []
    refused: list[float] = []
    promised: list[float] = []
    for _ in range(800):
        answered, unanswered = draw.beta(3, 2, 41), draw.beta(2, 3, 41)
        abstention = make_answerability(answered[1:].tolist(), unanswered[1:].tolist()).make_abstention(share)
        passed.append(answered[0] >= abstention.threshold)
        refused.append(unanswered[0] < abstention.threshold)
        promised.append(abstention.refused)
    error = 3 / np.sqrt(len(passed)) / 2
    assert np.mean(passed) >= share - error
    assert np.mean(refused) >= np.mean(promised) - error
    assert np.mean(passed) <= share + 1 / 41 + error  # not by letting everything through


def test_the_interval_of_what_is_refused_holds_the_true_share() -> None:
    draw = np.random.default_rng(6)
    held = []
    for _ in range(120):
        own = make_answerability(draw.uniform(0.5, 1, 40).tolist(), draw.uniform(0, 1, 40).tolist())
        low, high = own.refused_interval(0.9)
        held.append(low <= own.make_abstention(0.9).threshold <= high)  # as they are uniform from 0 to 1
    assert 0.9 <= np.mean(held) <= 0.99


def test_a_question_without_an_answer_is_refused() -> None:
    result = compress(JudgingScorer(0.2), abstain=0.9)
    assert (result.status, result.text, result.kept, result.tokens_after) == ("abstained", "", (), 0)
    assert result.reason is not None
    assert "0.200" in result.reason
    assert {span.reason for span in result.dropped} == {"abstained"}
    whole = compress(JudgingScorer(0.2))
    assert sorted(map(str, (s.start for s in result.dropped))) == sorted(
        map(str, (s.start for s in (*whole.kept, *whole.dropped)))
    )
    assert (result.answerable, result.distance, result.calibrated) == (0.2, 0.5, True)
    assert result.refused is not None
    assert 0 < result.refused < 0.9  # both cannot be had
    assert json.loads(json.dumps(result.to_dict()))["refused"] == result.refused


@pytest.mark.parametrize(
    "options", [{"budget": 10_000}, {"rate": 1.0}, {"budget": 10_000, "min_tokens": 5_000}]
)
def test_documents_that_fit_are_judged_too(options: dict[str, Any]) -> None:
    assert compress(JudgingScorer(0.2), abstain=0.9, **options).status == "abstained"
    assert compress(JudgingScorer(0.9), abstain=0.9, **options).status == "unchanged"


def test_a_question_with_an_answer_gets_through() -> None:
    result = compress(JudgingScorer(0.8), abstain=0.9)
    assert result.status == "compressed"
    assert result.text == compress(JudgingScorer(0.8)).text
    assert result.refused is not None
    assert compress(JudgingScorer(0.2)).refused is None


def test_an_abstention_keeps_no_recall() -> None:
    scorer = JudgingScorer(0.2)
    scorer.calibration = Calibration((0.2,) * 30)
    assert compress(scorer, abstain=0.9, recall=0.9).recall_met is False


def test_a_distant_request_says_that_nothing_is_promised() -> None:
    result = compress(JudgingScorer(0.2, distance=1.5), abstain=0.9)
    assert (result.status, result.calibrated) == ("abstained", False)
    assert result.reason is not None
    assert "nothing is promised" in result.reason


def test_sections_of_manuals_promise_a_recall_but_no_abstention() -> None:
    scorer = JudgingScorer(0.2)
    scorer.judgement = Judgement(0.2, 0.5, is_hard=True)
    result = compress(scorer, abstain=0.9)
    assert (result.status, result.distance, result.calibrated) == ("abstained", 0.5, False)
    assert result.reason is not None
    assert "documentation of software" in result.reason
    assert compress(scorer).calibrated


def test_requests_nearest_to_the_manuals_are_hard(monkeypatch: pytest.MonkeyPatch) -> None:
    sets = Calibration((0.5,) * 20, {"towns": 10, "package_questions": 10})
    centres = np.stack([np.zeros(len(SHIFT_FEATURES)), np.ones(len(SHIFT_FEATURES))])  # in alphabetical order
    known = Answerability(LAYER, sets, sets, replace(REFERENCE, centres=centres))

    def judge(answerability: Answerability, place: float) -> Judgement:
        monkeypatch.setattr(answerable, "answer_features", lambda *_: np.zeros(SIZE))
        monkeypatch.setattr(answerable, "shift_features", lambda *_: np.full(len(SHIFT_FEATURES), place))
        nothing: Any = None
        return answerability.judge(nothing, nothing, nothing, nothing)

    manual, town = judge(known, 0.1), judge(known, 0.9)
    assert (manual.is_calibrated, manual.can_abstain) == (True, False)
    assert (town.is_calibrated, town.can_abstain) == (True, True)
    own = known.calibrate([manual], [manual], {"own": 1})
    assert judge(own, 0.1).can_abstain


def test_without_a_judgement_everything_gets_through() -> None:
    result = compress(JudgingScorer(None, None), abstain=0.9)
    assert (result.status, result.answerable, result.calibrated) == ("compressed", None, False)


@pytest.mark.parametrize(
    ("scorer", "abstain", "message"),
    [
        (FakeScorer(), 0.9, "cannot tell whether"),
        (JudgingScorer(0.5), 0.99, "40 questions can promise"),
    ],
)
def test_a_promise_that_cannot_be_had_is_refused(scorer: FakeScorer, abstain: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        compress(scorer, abstain=abstain)


def test_abstaining_needs_a_query() -> None:
    with pytest.raises(InvalidInputError, match="abstain needs a query"):
        Compressor(JudgingScorer(0.5)).compress(None, DOCS, abstain=0.9, budget=10)


def test_own_questions_replace_the_promise_and_widen_the_bound() -> None:
    answered = [Judgement(p, 3.0) for p in np.linspace(0.7, 0.9, 30)]
    unanswered = [Judgement(p, 1.0) for p in np.linspace(0.1, 0.3, 30)]
    own = JudgingScorer.answerability.calibrate(answered, unanswered, {"own": 30})
    assert own.make_abstention(0.9).threshold >= 0.7
    assert own.make_abstention(0.9).refused > 0.95
    assert own.reference.bound == pytest.approx(6.0)
    without = own.calibrate(answered, [], {})
    assert without.make_abstention(0.9).refused == 0.0
    assert without.refused_interval(0.9) == (0.0, 0.0)


@pytest.fixture(scope="module")
def bundled() -> Compressor:
    return Compressor(threads=1)


def test_the_bundled_model_knows_what_is_answered(bundled: Compressor) -> None:
    yes = bundled.compress("What is the capital of France?", PARIS, abstain=0.9)
    no = bundled.compress("Who painted the ceiling of the chapel?", PARIS, abstain=0.9)
    assert (yes.status == "abstained", no.status) == (False, "abstained")
    assert yes.answerable is not None
    assert no.answerable is not None
    assert no.answerable < 0.2 < 0.8 < yes.answerable


def test_unlike_text_is_far_from_the_calibration(bundled: Compressor) -> None:
    code = [f"def f{i}(x, y):\n    return x[{i}] ** y + {{'a{i}': 0x{i:04x}}}['a{i}']\n" for i in range(8)]
    result = bundled.compress("Which hex value does f3 add?", code)
    assert result.calibrated is False
    foreign = bundled.compress("ปารีสอยู่ที่ไหน", ["ปารีสเป็นเมืองหลวงของฝรั่งเศส", "ขนมปัง"])
    assert (foreign.answerable, foreign.calibrated) == (None, False)


def test_without_a_query_nothing_is_judged(bundled: Compressor) -> None:
    result = bundled.compress(None, PARIS, budget=12)
    assert (result.answerable, result.distance, result.calibrated) == (None, None, None)


def test_a_model_without_the_file_does_not_judge(model: Path) -> None:
    (model / FILE).unlink()
    write_manifest(model)
    compressor = Compressor(model, threads=1)
    result = compressor.compress("What is the capital of France?", PARIS)
    assert (result.answerable, result.calibrated) == (None, None)
    with pytest.raises(InvalidInputError, match="cannot tell whether"):
        compressor.compress("What is the capital of France?", PARIS, abstain=0.9)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("features", {"answer": ["other"], "shift": list(SHIFT_FEATURES)}),
        ("layer", {"mean": [0], "deviation": [1], "weights": [0], "bias": 0}),
        ("answered", {"scores": [2.0], "questions": {}}),
        ("reference", {"centres": [], "whitening": [], "bound": 1}),
        ("unanswered", None),
    ],
)
def test_a_damaged_file_is_an_artifact_error(name: str, value: object, model: Path) -> None:
    values = json.loads((model / FILE).read_text(encoding="utf-8"))
    (model / FILE).write_text(json.dumps({**values, name: value}), encoding="utf-8")
    write_manifest(model)
    with pytest.raises(ArtifactError, match="cannot be used"):
        Compressor(model, threads=1)
