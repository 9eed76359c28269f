"""The benchmark of sentence embeddings: its arithmetic by hand, and a run over the fixture."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from benchmarks.records import read_record
from benchmarks.retrieval import __main__ as command
from benchmarks.retrieval import bank
from benchmarks.retrieval.rows import RetrievalRow, RetrievalRun
from benchmarks.shared import minilm


def test_a_gold_document_of_equal_score_counts_as_the_last() -> None:
    scores = np.array([[0.2, 0.9, 0.4], [0.5, 0.5, 0.1]])
    # The first question's is third. The second question's shares the first place, so it counts as second.
    assert command.measure_ranks("x", scores, [{0}, {1}]) == RetrievalRow(
        "x", mrr=(round(1 / 3, 4), 0.5), first=(0.0, 0.0), ten=(1.0, 1.0)
    )


@pytest.mark.slow
@pytest.mark.skipif(find_spec(minilm.PACKAGE) is None, reason=minilm.INSTALL)
def test_embeddings_rank_better_than_chance(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "TASKS", {"hotpotqa": "HotpotQA dev"})
    monkeypatch.setattr(bank, "ENTRIES", 300)
    monkeypatch.setattr(bank, "CALLS", 4)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    out = tmp_path / "retrieval.json"
    assert command.main(["--data", str(data), "--out", str(out)]) == 0
    run = read_record(out, RetrievalRun)
    rows = {row.system: row for row in run.tasks[0].rows}
    assert np.mean(rows["tersely"].mrr) > np.mean(rows["random"].mrr)
    assert [row.index for row in run.bank.indices] == ["exact"]
    assert run.bank.indices[0].recall.p50 > 0
    printed = capsys.readouterr().out
    assert "| MiniLM |" in printed
    assert "| exact |" in printed
