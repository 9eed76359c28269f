"""Tests of the benchmarks that start servers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.records import read_record
from benchmarks.surfaces import proxy
from benchmarks.surfaces.processes import start_process


def test_a_server_that_does_not_start_says_why() -> None:
    """What it wrote in place of its URL is in the message."""
    command = [sys.executable, "-c", "import sys; sys.exit('the extra is missing')"]
    with pytest.raises(RuntimeError, match=r"did not start: the extra is missing"), start_process(command):
        pass


def test_the_proxy_is_timed_with_requests_that_it_shortens(tmp_path: Path) -> None:
    """Two rounds with a real proxy. The benchmark refuses a long request that stays as it was."""
    out = tmp_path / "proxy.json"
    assert proxy.main(["--rounds", "2", "--out", str(out)]) == 0
    rows = read_record(out, proxy.ProxyRun).rows
    assert len(rows) == 4
    assert all(row.direct > 0 for row in rows)
