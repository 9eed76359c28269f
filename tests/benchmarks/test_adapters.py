"""The adapters' benchmark, in two rounds."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.adapters.__main__ import main
from benchmarks.adapters.report import AdaptersRun
from benchmarks.records import read_record


def test_every_adapter_is_compared_with_the_bare_call(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "adapters.json"
    assert main(["--rounds", "2", "--out", str(out)]) == 0
    run = read_record(out, AdaptersRun)
    assert run.bare > 0
    assert len(run.adapters) == 5
    printed = capsys.readouterr().out
    for row in run.adapters:
        assert row.low <= row.added <= row.high
        assert f"| {row.name} |" in printed
