"""The recall dial: the threshold by hand, the promise by simulation, the way through the compressor and the
command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tersely import ArtifactError, Compressor, Document, InvalidInputError
from tersely.cli import main
from tersely.runtime.artifacts import load_artifact, write_manifest
from tersely.selector.calibration import Calibration, Case, measure
from tests.sdk.fakes import FakeScorer

NINE = Calibration(tuple(i / 10 for i in range(9, 0, -1)))
"""0.1 to 0.9; (lost + 1) / 10 is to be at most 1 - recall."""

QUERY = "When was the lighthouse at Cape Ferro built?"
DOCS = [
    Document(
        "Cape Ferro lies on the coast. The lighthouse at Cape Ferro was built in 1861.", title="Cape Ferro"
    ),
    Document("Ferries leave at nine. Bread is baked daily. The lighthouse is painted white."),
]


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
def test_threshold_by_hand(recall: float, threshold: float, lost: int) -> None:
    assert NINE.threshold(recall) == threshold
    assert sum(score < threshold for score in NINE.scores) == lost


def test_a_small_set_cannot_promise_much() -> None:
    assert NINE.highest_recall == pytest.approx(0.9)
    with pytest.raises(ValueError, match=r"9 questions can promise 0\.9000"):
        NINE.threshold(0.91)


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=60),
    st.floats(0.01, 0.99),
    st.floats(0.01, 0.99),
)
def test_more_recall_never_means_a_higher_threshold(scores: list[float], a: float, b: float) -> None:
    calibration = Calibration(tuple(scores))
    low, high = sorted((a, b))
    if high > calibration.highest_recall:
        return
    assert calibration.threshold(high) <= calibration.threshold(low)
    lost = sum(s < calibration.threshold(high) for s in scores)
    assert (lost + 1) / (len(scores) + 1) <= 1 - high + 1e-6


@pytest.mark.parametrize("recall", [0.8, 0.9, 0.95])
def test_the_promise_holds_for_questions_of_the_same_kind(recall: float) -> None:
    """Mean over 4,000 calibration sets of the true coverage: at least the promise, and not far above it."""
    draw = np.random.default_rng(7)
    sets = draw.beta(3, 1, size=(4000, 99))
    thresholds = np.array([Calibration(tuple(row)).threshold(recall) for row in sets])
    coverage = 1 - thresholds**3  # of a new question, whose score is beta(3, 1) too
    assert recall - 0.002 <= coverage.mean() <= recall + 0.012


def test_survives_its_file() -> None:
    again = Calibration.from_dict(json.loads(json.dumps(Calibration((0.25, 0.125), {"mine": 2}).to_dict())))
    assert (again.scores, again.questions) == ((0.125, 0.25), {"mine": 2})


@pytest.mark.parametrize("scores", [(), (0.5, 1.5), (float("nan"),)])
def test_scores_that_are_none(scores: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="scores in"):
        Calibration(scores)


def test_measure_finds_the_best_sentence_with_the_answer() -> None:
    scorer = FakeScorer()
    both = measure(scorer, Case(QUERY, DOCS, ["1861", "white"]))
    one = measure(scorer, Case(QUERY, DOCS, ["white"]))
    assert both.answer is not None
    assert one.answer is not None
    assert both.answer > one.answer
    assert both.answer == max(both.scores)
    assert measure(scorer, Case(QUERY, DOCS, ["1999"])).answer is None
    assert both.rate(0.0) == 1.0
    assert both.rate(both.answer) == len("The lighthouse at Cape Ferro was built in 1861.") / sum(both.sizes)


class Calibrated(FakeScorer):
    calibration = Calibration((0.2,) * 30)


@pytest.fixture
def dialled() -> Compressor:
    return Compressor(Calibrated(), token_counter=lambda text: len(text.split()))


def test_everything_above_the_threshold_is_kept(dialled: Compressor) -> None:
    result = dialled.compress(QUERY, DOCS, recall=0.9)
    assert result.recall_met is True
    assert result.kept
    assert all(span.score >= 0.2 for span in result.kept)
    assert all(span.score < 0.2 for span in result.dropped)
    assert {span.reason for span in result.dropped} == {"threshold"}


def test_a_limit_in_the_way_is_said(dialled: Compressor) -> None:
    free = dialled.compress(QUERY, DOCS, recall=0.9)
    tight = dialled.compress(QUERY, DOCS, recall=0.9, budget=12)
    assert tight.tokens_after <= 12 < free.tokens_after
    assert tight.recall_met is False
    assert tight.to_dict()["recall_met"] is False
    assert dialled.compress(QUERY, DOCS, recall=0.9, budget=free.tokens_after).recall_met is True
    assert dialled.compress(QUERY, DOCS, recall=0.9, max_docs=1).recall_met is False
    assert dialled.compress(QUERY, DOCS, budget=12).recall_met is None


def test_a_dropped_piece_of_a_cut_unit_breaks_the_promise(dialled: Compressor) -> None:
    rows = "".join(f"row {n} of the table\n" for n in range(60))
    code = Document(f"```\n{rows}```")
    tight = dialled.compress(QUERY, [code, *DOCS], recall=0.9, budget=40)
    assert tight.recall_met is False


def test_pieces_that_score_low_break_it_too() -> None:
    """Their whole unit was never scored, so nobody knows whether it is needed."""
    scorer = Calibrated()
    scorer.calibration = Calibration((1.0,) * 30)
    compressor = Compressor(scorer, token_counter=lambda text: len(text.split()))
    code = Document("```\n" + "".join(f"row {n} of the table\n" for n in range(60)) + "```")
    assert compressor.compress(QUERY, DOCS, recall=0.9, budget=12).recall_met is True
    assert compressor.compress(QUERY, [code, *DOCS], recall=0.9, budget=40).recall_met is False


def test_what_is_passed_through_keeps_its_promise(dialled: Compressor) -> None:
    assert dialled.compress(QUERY, [], recall=0.9).recall_met is True
    assert dialled.compress(QUERY, DOCS, recall=0.9, rate=1.0).recall_met is True


@pytest.mark.parametrize(
    ("recall", "complaint"),
    [
        (1, "only the whole text"),
        (0, "above 0"),
        (True, "True"),
        ("0.9", "a str"),
        (0.99, "30 questions can"),
    ],
)
def test_recalls_that_cannot_be(dialled: Compressor, recall: object, complaint: str) -> None:
    with pytest.raises(InvalidInputError, match=complaint):
        dialled.compress(QUERY, DOCS, recall=recall)


def test_a_model_without_calibration_says_how_to_get_one() -> None:
    with pytest.raises(InvalidInputError, match="tersely calibrate"):
        Compressor(FakeScorer()).compress(QUERY, DOCS, recall=0.9)


CASE = {"query": QUERY, "documents": [{"text": d.text, "title": d.title} for d in DOCS], "answers": ["1861"]}


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    path = tmp_path / "mine.jsonl"
    other = {**CASE, "answers": ["1999"]}
    path.write_text("".join(json.dumps(c) + "\n" for c in [*[CASE] * 12, other]), encoding="utf-8")
    return path


def test_calibrate_makes_a_model_that_keeps_the_answer(
    cases: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "model"
    assert main(["calibrate", "--data", str(cases), "--out", str(out), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["questions"], report["without an answer sentence"]) == (12, 1)
    assert list(report["recall"]) == ["0.8", "0.9"]  # 12 questions promise no more than 12/13
    compressor = Compressor(out)
    assert compressor.model != Compressor().model
    assert "1861" in compressor.compress(QUERY, DOCS, recall=0.9).text
    assert load_artifact(out).manifest["base_model"] == load_artifact().manifest["base_model"]

    text = "\n\n".join(d.text for d in DOCS)
    (tmp_path / "doc.txt").write_text(text, encoding="utf-8")
    args = ["compress", "-q", QUERY, str(tmp_path / "doc.txt"), "--model", str(out), "--recall", "0.9"]
    assert main([*args, "--budget", "2"]) == 0
    assert "the limit leaves out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ({"query": QUERY, "documents": ["a"]}, "line 1: 'answers' has to be"),
        ({"query": QUERY, "documents": ["a"], "answers": [1]}, "line 1: 'answers' has to be"),
        ({"query": QUERY, "documents": ["a"], "answers": ["b"]}, "no document sentence holds"),
    ],
)
def test_bad_cases(
    line: dict[str, object], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(json.dumps(line) + "\n", encoding="utf-8")
    assert main(["calibrate", "--data", str(path), "--out", str(tmp_path / "model")]) == 2
    assert complaint in capsys.readouterr().err
    assert not (tmp_path / "model").exists()


def test_an_existing_folder_is_left_alone(
    cases: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["calibrate", "--data", str(cases), "--out", str(tmp_path)]) == 2
    assert "exists already" in capsys.readouterr().err


def test_a_damaged_calibration_is_an_artifact_error(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(load_artifact().path, folder)
    (folder / "calibration.json").write_text('{"scores": []}')
    write_manifest(folder)
    with pytest.raises(ArtifactError, match="calibration"):
        Compressor(folder)
