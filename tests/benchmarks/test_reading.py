"""The benchmark of readers: its differences by hand, and a run over the fixture with scripted readers."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.quality import reading
from benchmarks.quality.reading import ALL, FEW, ReadingRun, format_f1
from benchmarks.records import read_record
from tests.benchmarks.fakes import BeginningReader


def test_f1_is_shown_with_its_difference_and_without_failures() -> None:
    assert format_f1([0.5, 1.0, None], None, 1) == "75.0"
    assert format_f1([1.0, 1.0, None], [0.5, 0.5, 1.0], 1) == "100.0 [+50.0: +50.0, +50.0]"
    assert format_f1([1.0, 0.2], [None, 0.4], 1) == "20.0 [-20.0: -20.0, -20.0]"
    assert format_f1([None], [0.4], 1) == ""


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, BeginningReader]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made: dict[str, BeginningReader] = {}
    monkeypatch.setattr(reading, "open_reader", lambda spec: made.setdefault(spec, BeginningReader(spec)))
    monkeypatch.setattr(reading, "NAMES", ("hotpotqa",))  # the only one that needs no MiniLM for negatives
    return made


def test_quick_readers_read_everything_and_costly_readers_little(
    data: Path, tmp_path: Path, readers: dict[str, BeginningReader], capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "reading.json"
    arguments = ["--data", str(data), "--limit", "4", "--model-limit", "2", "--no-minilm", "--out", str(out)]
    assert reading.main([*arguments, "--reader", "quick", "--model-reader", "slow"]) == 0
    run = read_record(out, ReadingRun)
    systems = {
        reader: {row.system for row in run.answers if row.reader == reader} for reader in ("quick", "slow")
    }
    assert systems["slow"] == set(FEW) < systems["quick"]
    f1 = {(row.reader, row.system, row.setting): row.f1 for row in run.answers}
    assert len(f1["quick", "tersely", "0.1"]) == 4
    assert len(f1["slow", "tersely", "0.1"]) == 2
    assert len(f1["quick", "tersely", "own"]) == 4
    assert f1["quick", ALL, "1.0"][2] is None
    ours = {row.setting: row.rate for row in run.rates if row.system == "tersely"}
    assert all(ours[rate] <= float(rate) for rate in ("0.1", "0.25", "0.5"))
    lengths = [len(prompt.context) for prompt in readers["slow"].prompts]
    assert min(lengths) < max(lengths) / 2
    printed = capsys.readouterr().out
    assert "### quick" in printed
    assert "**tersely**, own threshold" in printed
    assert "| **tersely** | 0." in printed
