"""The programs that time: a short throughput run with its checks, and an unknown commit."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.latency import throughput
from benchmarks.latency.probes import EarlierVersion, time_imports
from benchmarks.latency.rows import ThroughputRun, Timing
from benchmarks.records import read_record
from tersely.errors import InvalidInputError


def test_an_unknown_commit_is_named() -> None:
    with pytest.raises(InvalidInputError, match="no commit 0000000000"):
        EarlierVersion("0000000000", 1)


def test_a_timing_has_the_quantiles_of_its_seconds() -> None:
    assert Timing.of([0.4, 0.1, 0.2, 0.3, 0.5]) == Timing(p50=0.3, p95=0.48, timings=5)


def test_throughput_compares_systems_with_equal_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(throughput, "REQUESTS", 3)
    out = tmp_path / "throughput.json"
    assert throughput.main(["--rounds", "1", "--calls", "60", "--out", str(out)]) == 0
    run = read_record(out, ThroughputRun)
    for size in (1, 10):
        rows = [row for row in run.systems if row.documents == size]
        systems = [row.system for row in rows]
        assert systems == ["encoder alone", "compress, one by one", "compress_batch", "16 threads"]
        assert all(row.tokens_per_second > 0 for row in rows)
    assert run.ram.most_bytes >= run.ram.settled_bytes > 0
    assert "| compress_batch |" in capsys.readouterr().out


def test_imports_are_timed_with_byte_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in an installation, whatever the environment of the benchmark forbids."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path))
    time_imports(1)
    assert any(tmp_path.rglob("compressor.*.pyc"))
