"""The programs that time: a short throughput run with its checks, and a commit that is not there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.latency import throughput
from benchmarks.latency.probes import EarlierVersion
from tersely.errors import InvalidInputError


def test_a_commit_that_is_not_here_is_named() -> None:
    with pytest.raises(InvalidInputError, match="no commit 0000000000"):
        EarlierVersion("0000000000", 1)


def test_throughput_compares_equal_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(throughput, "REQUESTS", 3)
    out = tmp_path / "throughput.json"
    assert throughput.main(["--rounds", "1", "--calls", "60", "--out", str(out)]) == 0
    result = json.loads(out.read_text())
    for found in result["requests"].values():
        assert list(found) == ["encoder alone", "compress, one by one", "compress_batch", "16 threads"]
        assert all(rate > 0 for rate in found.values())
    assert result["memory"]["most_bytes"] >= result["memory"]["settled_bytes"] > 0
    assert "| compress_batch |" in capsys.readouterr().out
