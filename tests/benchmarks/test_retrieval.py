"""The benchmark of sentence embeddings: its arithmetic by hand, and a run over the fixture."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from benchmarks.retrieval import __main__ as command
from benchmarks.retrieval import bank
from benchmarks.shared import minilm


def test_measures_by_hand() -> None:
    scores = np.array([[0.2, 0.9, 0.4], [0.5, 0.5, 0.1]])
    # Third; and first beside an equal one, which counts as second.
    assert command._measures(scores, [{0}, {1}]) == {
        "mrr": [round(1 / 3, 4), 0.5],
        "first": [0.0, 0.0],
        "ten": [1.0, 1.0],
    }


@pytest.mark.slow
@pytest.mark.skipif(find_spec(minilm.PACKAGE) is None, reason=minilm.INSTALL)
def test_a_run_over_the_fixture(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "TASKS", {"hotpotqa": "HotpotQA dev"})
    monkeypatch.setattr(bank, "ENTRIES", 300)
    monkeypatch.setattr(bank, "CALLS", 4)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    out = tmp_path / "retrieval.json"
    assert command.main(["--data", str(data), "--out", str(out)]) == 0
    result = json.loads(out.read_text())
    found = result["parts"]["hotpotqa"]["systems"]
    assert np.mean(found["tersely"]["mrr"]) > np.mean(found["random"]["mrr"])
    assert result["bank"]["exact"]["recall"]["p50"] > 0
    printed = capsys.readouterr().out
    assert "| MiniLM |" in printed
    assert "| exact |" in printed
