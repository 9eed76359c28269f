"""The benchmark of promised recall: its arithmetic by hand, and a run over the fixture."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.quality import calibration as benchmark
from benchmarks.quality.calibration import CalibrationRun, CoverageRow, Part, mix
from benchmarks.records import read_record
from tersely.cli import main as tersely
from tersely.score.calibration import Calibration


def test_parts_are_mixed_in_the_proportions_of_the_calibration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "PROMISED", (Part("a", "A", ("x", "y")), Part("b", "B", ("z",))))
    monkeypatch.setattr(benchmark, "RECALLS", (0.9,))
    rows = [
        CoverageRow("a", "A", 0.9, rate=0.4, kept=(1, 1, 0, 0)),
        CoverageRow("b", "B", 0.9, rate=0.2, kept=(1, 1)),
    ]
    (mixed,) = mix(rows, Calibration((0.5,), {"x": 10, "y": 5, "z": 5, "elsewhere": 80}))
    assert mixed.recall == 0.9
    assert mixed.coverage == pytest.approx(0.75 * 0.5 + 0.25 * 1.0)
    assert mixed.rate == pytest.approx(0.75 * 0.4 + 0.25 * 0.2)
    assert mixed.half == pytest.approx(1.96 * (0.75**2 * 0.25 / 4) ** 0.5, abs=1e-4)


def test_a_higher_promise_keeps_more_answers_and_more_tokens(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(benchmark, "PROMISED", (Part("hotpotqa", "HotpotQA dev", ("mine",)),))
    monkeypatch.setattr(benchmark, "OTHER", (Part("hotpotqa", "again"),))
    monkeypatch.setattr(benchmark, "RECALLS", (0.5, 0.8))
    cases = tmp_path / "mine.jsonl"
    case = {"query": "Who founded it?", "documents": ["Ada Penrose founded it."], "answers": "Ada Penrose"}
    cases.write_text((json.dumps(case) + "\n") * 9)
    assert tersely(["calibrate", "--data", str(cases), "--out", str(tmp_path / "model")]) == 0
    capsys.readouterr()
    out = tmp_path / "calibration.json"
    arguments = ["--data", str(data), "--model", str(tmp_path / "model"), "--out", str(out)]
    assert benchmark.main(arguments) == 0
    run = read_record(out, CalibrationRun)
    assert run.questions == {"hotpotqa": 5}  # one of six is answered by yes
    low, high, *_ = run.rows
    assert (low.recall, high.recall) == (0.5, 0.8)
    assert len(low.kept) == 5
    assert sum(high.kept) >= sum(low.kept)
    assert high.rate >= low.rate
    assert "calibrated on 9 held-out questions" in capsys.readouterr().out
