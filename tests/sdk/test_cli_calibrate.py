"""`tersely calibrate`: a model whose recall holds for the caller's own questions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tersely import ArtifactError, Compressor, Document
from tersely.cli.calibrate import Case, Measured, measure
from tersely.runtime.artifacts import load_artifact
from tests.sdk.calibration_cases import DOCS, QUERY
from tests.sdk.cli_runner import run_tersely, write_json_lines
from tests.sdk.fakes import FakeScorer

CASE = {"query": QUERY, "documents": [{"text": d.text, "title": d.title} for d in DOCS], "answers": ["1861"]}


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    """Twelve questions with an answer sentence, and one without."""
    return write_json_lines(tmp_path / "mine.jsonl", [*[CASE] * 12, {**CASE, "answers": ["1999"]}])


def test_calibrate_makes_a_model_that_keeps_the_answer(cases: Path, tmp_path: Path) -> None:
    out = tmp_path / "model"
    result = run_tersely("calibrate", "--data", cases, "--out", out, "--json")
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert (report["questions"], report["without an answer sentence"]) == (12, 1)
    assert list(report["recall"]) == ["0.8", "0.9"]  # 12 questions promise no more than 12/13
    compressor = Compressor(out)
    assert compressor.model != Compressor().model
    assert "1861" in compressor.compress(QUERY, DOCS, recall=0.9).text
    assert load_artifact(out).manifest["base_model"] == load_artifact().manifest["base_model"]

    text = tmp_path / "doc.txt"
    text.write_text("\n\n".join(document.text for document in DOCS), encoding="utf-8")
    limited = run_tersely("compress", "-q", QUERY, text, "--model", out, "--recall", "0.9", "--budget", "2")
    assert limited.exit_code == 0
    assert "the limit leaves out" in limited.stderr


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ({"query": QUERY, "documents": ["a"]}, "line 1: 'answers' has to be"),
        ({"query": QUERY, "documents": ["a"], "answers": [1]}, "line 1: 'answers' has to be"),
        ({"query": QUERY, "documents": ["a"], "answers": ["b"]}, "no document sentence holds"),
    ],
)
def test_a_case_without_a_usable_answer_is_refused(
    case: dict[str, object], message: str, tmp_path: Path
) -> None:
    path = write_json_lines(tmp_path / "bad.jsonl", [case])
    result = run_tersely("calibrate", "--data", path, "--out", tmp_path / "model")
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (tmp_path / "model").exists()


def test_an_existing_folder_is_left_alone(cases: Path, tmp_path: Path) -> None:
    result = run_tersely("calibrate", "--data", cases, "--out", tmp_path)
    assert result.exit_code == 2
    assert "exists already" in result.stderr
    assert list(tmp_path.iterdir()) == [cases]


def test_a_case_is_measured_by_its_best_answer_sentence() -> None:
    compressor = Compressor(FakeScorer())
    both = measure(compressor, Case(QUERY, DOCS, ["1861", "white"]))
    only_white = measure(compressor, Case(QUERY, DOCS, ["white"]))
    assert both.answer is not None
    assert only_white.answer is not None
    assert both.answer > only_white.answer
    assert both.answer == max(both.scores)
    assert measure(compressor, Case(QUERY, DOCS, ["1999"])).answer is None
    assert both.rate(0.0) == 1.0
    assert both.rate(both.answer) == len("The lighthouse at Cape Ferro was built in 1861.") / sum(both.sizes)


def test_structure_is_measured_in_the_parts_that_a_compression_keeps() -> None:
    rows = [{"lighthouse": f"Cape {number}", "built": 1700 + number} for number in range(80)]
    document = Document(json.dumps(rows, indent=1))
    measured = measure(Compressor(), Case("When was Cape 61 built?", [document], ["1761"]))
    assert len(measured.scores) > 80
    assert measured.answer is not None
    assert measured.rate(measured.answer) < 0.1


def test_a_model_that_fails_is_not_calibrated(monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = FakeScorer()
    monkeypatch.setattr(scorer, "score", lambda query, documents: [])
    with pytest.raises(ArtifactError, match="FakeScorer cannot be calibrated: the model failed"):
        measure(Compressor(scorer), Case(QUERY, DOCS, ["1861"]))


def test_a_threshold_keeps_a_share_of_the_characters() -> None:
    measured = Measured(answer=0.5, scores=(0.9, 0.5, 0.1), sizes=(10, 20, 70))
    assert [measured.rate(threshold) for threshold in (0.0, 0.5, 0.6, 1.0)] == [1.0, 0.3, 0.1, 0.0]
