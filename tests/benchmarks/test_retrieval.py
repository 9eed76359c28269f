"""Sentence embeddings: ranks and thresholds by hand, and a run over the fixture."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from benchmarks.retrieval import __main__ as command
from benchmarks.retrieval import bank
from benchmarks.retrieval.merging import choose_threshold, compare
from benchmarks.shared import minilm
from benchmarks.table import Record


def test_a_gold_document_of_equal_score_counts_as_the_last() -> None:
    scores = np.array([[0.2, 0.9, 0.4], [0.5, 0.5, 0.1]])
    # The first question's is third. The second question's shares the first place, so it counts as second.
    cells = command.measure_ranks(scores, [{0}, {1}])
    assert cells == {"MRR": (round(1 / 3, 4), 0.5), "first": (0.0, 0.0), "in ten": (1.0, 1.0)}


@pytest.mark.slow
@pytest.mark.skipif(find_spec(minilm.PACKAGE) is None, reason=minilm.INSTALL)
def test_embeddings_rank_better_than_chance(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "TASKS", {"hotpotqa": "HotpotQA dev"})
    monkeypatch.setattr(bank, "ENTRIES", 300)
    monkeypatch.setattr(bank, "CALLS", 4)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    out = tmp_path / "retrieval.json"
    assert command.main(["--data", str(data), "--out", str(out)]) == 0
    record = Record.read(out)
    rows = {row["system"]: row["MRR"] for row in record.find("Ranks").rows}
    assert np.mean(rows["tersely"]) > np.mean(rows["random"])
    bank_rows = record.find("A full experience bank").rows
    assert [row["index"] for row in bank_rows] == ["exact"]
    assert bank_rows[0]["recall, p50"] > 0


def test_the_chosen_threshold_merges_no_other_lesson() -> None:
    forbidden = np.array([0.2, 0.711, 0.5], np.float32)
    chosen = choose_threshold(forbidden)
    assert chosen == 0.72
    assert not (forbidden > chosen).any()
    assert (forbidden > chosen - 0.01).any()


def test_a_lesson_counts_by_the_nearer_wording() -> None:
    places = {"a": (1.0, 0.0), "b": (0.6, 0.8), "c": (0.0, 1.0)}

    def embed(texts: Sequence[str]) -> np.ndarray:
        return np.array([places[text] for text in texts], np.float32)

    same, other = compare(embed, ["abc"])
    assert np.allclose(same, [0.6])
    assert np.allclose(other, [0.8]), "of b, as a has nothing of c"
