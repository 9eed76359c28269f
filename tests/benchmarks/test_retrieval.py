"""Sentence embeddings: ranks and thresholds by hand, and a run over the fixture."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from benchmarks.retrieval import __main__ as command
from benchmarks.retrieval import bank
from benchmarks.retrieval.merging import choose_threshold, compare, make_tables
from benchmarks.shared import minilm
from benchmarks.shared.passages import find_ranks
from benchmarks.table import Record


def test_a_gold_document_of_equal_score_counts_as_the_last() -> None:
    scores = np.array([[0.2, 0.9, 0.4], [0.5, 0.5, 0.1]])
    # The first question's is third. The second question's shares the first place, so it counts as second.
    assert find_ranks(scores, [{0}, {1}]) == [3, 2]


def test_the_table_counts_the_ranks_of_each_system() -> None:
    lines = [
        {"set": "towns", "id": "a", "ranks": {"tersely": 3, "random": 11}},
        {"set": "towns", "id": "b", "ranks": {"tersely": 1, "random": 2}},
        {"set": "towns", "id": "c", "ranks": {"tersely": 10, "random": 1}},
    ]
    (table,) = command.make_tables(lines)
    ours, chance = table.rows
    assert (ours["MRR"], ours["first"]) == ((0.3333, 1.0, 0.1), (0.0, 1.0, 0.0))
    assert (ours["in ten"], chance["in ten"]) == ((1.0, 1.0, 1.0), (0.0, 1.0, 1.0))


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
    assert [row["system"] for row in record.find("Time of a question").rows] == ["tersely", "MiniLM"]
    bank_rows = record.find("A full experience bank").rows
    assert [row["index"] for row in bank_rows] == ["exact"]
    assert bank_rows[0]["recall, p50"] > 0


def test_the_chosen_threshold_merges_no_other_lesson() -> None:
    assert choose_threshold([0.2, 0.711, 0.5]) == 0.72
    lines = [
        {"embeddings": "tersely", "chooses": chooses, "same": same, "other": other}
        for chooses, same, other in ((True, 0.9, 0.711), (False, 0.715, 0.705), (False, 0.95, 0.6))
    ]
    (table,) = make_tables(lines)
    chosen = table.find(chosen=True)
    assert chosen["threshold"] == 0.72
    assert (chosen["same lesson merged"], chosen["another lesson merged"]) == (0.5, 0)
    (looser,) = table.select(threshold=0.7)
    assert (looser["same lesson merged"], looser["another lesson merged"]) == (1, 0.5)


def test_a_lesson_counts_by_the_nearer_wording() -> None:
    places = {"a": (1.0, 0.0), "b": (0.6, 0.8), "c": (0.0, 1.0)}

    def embed(texts: Sequence[str]) -> np.ndarray:
        return np.array([places[text] for text in texts], np.float32)

    same, other = compare(embed, ["abc"])
    assert np.allclose(same, [0.6])
    assert np.allclose(other, [0.8]), "of b, as a has nothing of c"
