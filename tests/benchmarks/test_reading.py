"""The benchmark of readers: its differences by hand, and a run over the fixture with scripted readers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.quality import reading
from benchmarks.quality.reading import FEW, WHOLE, _cell
from benchmarks.shared.readers import Prompt


class LookUp:
    """Answers with the founder's name where the context holds it, and fails on every third prompt."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.read: list[Prompt] = []

    def answer(self, prompts: Sequence[Prompt]) -> list[str | None]:
        self.read += prompts
        return [None if i % 3 == 2 else p.context[:12] for i, p in enumerate(prompts)]


def test_a_cell_by_hand() -> None:
    assert _cell([0.5, 1.0, None], None, 1) == "75.0"
    assert _cell([1.0, 1.0, None], [0.5, 0.5, 1.0], 1) == "100.0 [+50.0: +50.0, +50.0]"
    assert _cell([1.0, 0.2], [None, 0.4], 1) == "20.0 [-20.0: -20.0, -20.0]"
    assert _cell([None], [0.4], 1) == ""


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, LookUp]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made: dict[str, LookUp] = {}
    monkeypatch.setattr(reading, "open_reader", lambda spec: made.setdefault(spec, LookUp(spec)))
    monkeypatch.setattr(reading, "NAMES", ("hotpotqa",))  # the only one that needs no MiniLM for negatives
    return made


def test_a_run_reads_everything_quickly_and_little_slowly(
    data: Path, tmp_path: Path, readers: dict[str, LookUp], capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "reading.json"
    arguments = ["--data", str(data), "--limit", "4", "--model-limit", "2", "--no-minilm", "--out", str(out)]
    assert reading.main([*arguments, "--reader", "quick", "--model-reader", "slow"]) == 0
    task = json.loads(out.read_text())["tasks"]["hotpotqa"]
    assert set(task["f1"]["slow"]) == set(FEW) < set(task["f1"]["quick"])
    assert len(task["f1"]["quick"]["tersely"]["0.1"]) == 4
    assert len(task["f1"]["slow"]["tersely"]["0.1"]) == 2
    assert len(task["f1"]["quick"]["tersely"]["own"]) == 4
    assert task["f1"]["quick"][WHOLE]["1.0"][2] is None
    assert all(task["rate"]["tersely"][rate] <= float(rate) for rate in ("0.1", "0.25", "0.5"))
    longest = max(readers["slow"].read, key=lambda p: len(p.context))
    shortest = min(readers["slow"].read, key=lambda p: len(p.context))
    assert len(shortest.context) < len(longest.context) / 2
    printed = capsys.readouterr().out
    assert "### quick" in printed
    assert "**tersely**, own threshold" in printed
    assert "| **tersely** | 0." in printed
