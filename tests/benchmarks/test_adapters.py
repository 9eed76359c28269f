"""The adapters' benchmark, in one round."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.adapters.__main__ import main


def test_every_adapter_is_compared_with_the_bare_call(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "adapters.json"
    assert main(["--rounds", "2", "--out", str(out)]) == 0
    result = json.loads(out.read_text(encoding="utf-8"))
    assert result["bare"] > 0
    assert len(result["adapters"]) == 5
    printed = capsys.readouterr().out
    for name, found in result["adapters"].items():
        assert found["low"] <= found["added"] <= found["high"]
        assert f"| {name} |" in printed
