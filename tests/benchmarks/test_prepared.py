"""The benchmark of prepared documents, over the fixture."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.latency.prepared import __main__ as prepared
from benchmarks.latency.prepared.__main__ import PREPARED, UNPREPARED
from benchmarks.latency.prepared.rows import PreparedRun
from benchmarks.records import read_record


def test_a_run_times_each_request_in_every_way_and_compares_what_is_kept(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(prepared, "NAMES", ("hotpotqa",))
    monkeypatch.setattr(prepared, "COUNTS", (8,))
    out = tmp_path / "prepared.json"
    assert prepared.main(["--data", str(data), "--rounds", "1", "--out", str(out)]) == 0
    run = read_record(out, PreparedRun)
    assert {row.system for row in run.timings} > {UNPREPARED, PREPARED}
    assert all(row.ratio == 1 for row in run.timings if row.system == UNPREPARED)
    assert run.stored.vectors < run.stored.all
    assert all(row.read == 1 for row in run.timings if row.system == UNPREPARED)
    assert any(row.read < 1 for row in run.timings if row.system == PREPARED)
    assert "hotpotqa" in {row.request for row in run.timings}
    assert {(row.rate, row.metric) for row in run.quality} >= {(0.1, "answers"), (0.25, "support")}
    assert "HotpotQA" in capsys.readouterr().out
