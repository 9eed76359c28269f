"""The benchmarks of the dial and of budget shares: their arithmetic by hand, and a run over the fixture."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.quality import allocation, dial
from benchmarks.quality.dial import Part, mixed
from tersely.cli import main as cli
from tersely.packing.fill import Candidate
from tersely.selector.calibration import Calibration


def test_mixture_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dial, "SAME", (Part("a", "A", ("x", "y")), Part("b", "B", ("z",))))
    monkeypatch.setattr(dial, "RECALLS", (0.9,))
    parts = {
        "a": {"kept": {"0.9": [1, 1, 0, 0]}, "rate": {"0.9": 0.4}},
        "b": {"kept": {"0.9": [1, 1]}, "rate": {"0.9": 0.2}},
    }
    found = mixed(parts, Calibration((0.5,), {"x": 10, "y": 5, "z": 5, "elsewhere": 80}))["0.9"]
    assert found["coverage"] == pytest.approx(0.75 * 0.5 + 0.25 * 1.0)
    assert found["rate"] == pytest.approx(0.75 * 0.4 + 0.25 * 0.2)
    assert found["half"] == pytest.approx(1.96 * (0.75**2 * 0.25 / 4) ** 0.5, abs=1e-4)


def test_dial_over_the_fixture(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(dial, "SAME", (Part("hotpotqa", "HotpotQA dev", ("mine",)),))
    monkeypatch.setattr(dial, "OTHER", (Part("hotpotqa", "again"),))
    monkeypatch.setattr(dial, "RECALLS", (0.5, 0.8))
    cases = tmp_path / "mine.jsonl"
    case = {"query": "Who founded it?", "documents": ["Ada Penrose founded it."], "answers": "Ada Penrose"}
    cases.write_text((json.dumps(case) + "\n") * 9)
    assert cli(["calibrate", "--data", str(cases), "--out", str(tmp_path / "model")]) == 0
    capsys.readouterr()
    out = tmp_path / "dial.json"
    arguments = ["--data", str(data), "--model", str(tmp_path / "model"), "--out", str(out)]
    assert dial.main(arguments) == 0
    result = json.loads(out.read_text())
    part = result["parts"]["hotpotqa"]
    assert part["questions"] == 5  # one of six is answered by yes
    assert len(part["kept"]["0.5"]) == 5
    assert sum(part["kept"]["0.8"]) >= sum(part["kept"]["0.5"])
    assert part["rate"]["0.8"] >= part["rate"]["0.5"]
    assert "calibrated on 9 held-out questions" in capsys.readouterr().out


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
        (20, [1, 1], {(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)}),  # what one cannot use goes to the other
    ],
)
def test_turns_by_hand(room: int, shares: list[float], kept: set[tuple[int, int]]) -> None:
    assert allocation.take_turns(ITEMS, [0, 0], room, shares) == kept


def test_a_title_is_paid_once() -> None:
    assert allocation.take_turns(ITEMS, [3, 3], 11, [1, 1]) == {(0, 0), (0, 1)}


def test_allocation_over_the_fixture(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(allocation, "NAMES", ("hotpotqa",))
    out = tmp_path / "allocation.json"
    assert allocation.main(["--data", str(data), "--out", str(out)]) == 0
    systems = json.loads(out.read_text())["tasks"]["hotpotqa"]
    assert systems["questions"] == 6
    assert systems["one pool"]["0.25"]["answers"] >= systems["uniform"]["0.25"]["answers"]
    assert "HotpotQA" in capsys.readouterr().out
