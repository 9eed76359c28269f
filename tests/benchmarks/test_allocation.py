"""The benchmark of budget shares: turns by hand, and a run over the fixture."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.quality import allocation
from benchmarks.quality.allocation import AllocationRun, take_turns
from benchmarks.records import read_record
from tersely.pack.fill import Candidate

ITEMS = [
    Candidate(0, 0, 0.9, 4),
    Candidate(0, 1, 0.8, 4),
    Candidate(0, 2, 0.7, 4),
    Candidate(1, 0, 0.3, 4),
    Candidate(1, 1, 0.2, 4),
]


@pytest.mark.parametrize(
    ("room", "shares", "kept"),
    [
        (8, [1, 1], {(0, 0), (1, 0)}),
        (16, [1, 1], {(0, 0), (0, 1), (1, 0), (1, 1)}),
        (12, [2, 1], {(0, 0), (0, 1), (1, 0)}),
        (3, [1, 1], set()),
        (20, [1, 1], {(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)}),  # one gets what the other cannot use
    ],
)
def test_documents_take_turns_by_their_shares(
    room: int, shares: list[float], kept: set[tuple[int, int]]
) -> None:
    assert take_turns(ITEMS, [0, 0], room, shares) == kept


def test_a_title_is_paid_once() -> None:
    assert take_turns(ITEMS, [3, 3], 11, [1, 1]) == {(0, 0), (0, 1)}


def test_one_pool_keeps_at_least_as_many_answers_as_uniform_shares(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(allocation, "NAMES", ("hotpotqa",))
    out = tmp_path / "allocation.json"
    assert allocation.main(["--data", str(data), "--out", str(out)]) == 0
    (task,) = read_record(out, AllocationRun).tasks
    assert task.questions == 6
    assert task.find_row("one pool", 0.25).answers >= task.find_row("uniform", 0.25).answers
    assert "HotpotQA" in capsys.readouterr().out
