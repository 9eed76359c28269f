"""The programs that measure time and RAM, on small inputs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.latency import prepared, structure
from benchmarks.latency.prepared import PREPARED, UNPREPARED
from benchmarks.latency.probes import time_imports
from benchmarks.surfaces.processes import start_process
from benchmarks.table import Record


def test_structured_text_is_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structure, "CASES", (("JSON", 3000, 0.3),))
    out = tmp_path / "structure.json"
    assert structure.main(["--rounds", "1", "--out", str(out)]) == 0
    (row,) = Record.read(out).find("Times").rows
    assert row["CPU of prose"] > 0


def test_imports_are_timed_with_byte_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path))
    time_imports(1)
    assert any(tmp_path.rglob("compressor.*.pyc"))


def test_requests_are_timed_and_compared_both_ways(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepared, "NAMES", ("hotpotqa",))
    monkeypatch.setattr(prepared, "COUNTS", (8,))
    out = tmp_path / "prepared.json"
    assert prepared.main(["--data", str(data), "--rounds", "1", "--out", str(out)]) == 0
    record = Record.read(out)
    unprepared = record.find("Times").select(documents=UNPREPARED)
    assert all((row["of unprepared"], row["read"]) == (1, 1) for row in unprepared)
    assert all(row["read"] > 0 for row in record.find("Times").select(documents=PREPARED))
    assert "HotpotQA, 10 paragraphs" in {row["request"] for row in unprepared}
    (stored,) = record.find("A stored document").rows
    assert stored["vectors"] < stored["prepared"]
    kept = {(row["rate"], row["kept"]) for row in record.find("Kept").rows}
    assert kept >= {(0.1, "answers"), (0.25, "support")}


def test_every_adapter_is_compared_with_the_bare_call(tmp_path: Path) -> None:
    for module in ("haystack", "langchain_core", "llama_index.core", "mcp"):
        pytest.importorskip(module)
    from benchmarks.adapters.__main__ import main

    out = tmp_path / "adapters.json"
    assert main(["--rounds", "2", "--out", str(out)]) == 0
    record = Record.read(out)
    assert float(record.settings["seconds of a bare call"]) > 0
    rows = record.find("Added time").rows
    assert len(rows) == 4
    assert all(row["added"].low <= row["added"].value <= row["added"].high for row in rows)


def test_a_server_that_does_not_start_says_why() -> None:
    command = [sys.executable, "-c", "import sys; sys.exit('the extra is missing')"]
    with pytest.raises(RuntimeError, match=r"did not start: the extra is missing"), start_process(command):
        pass


def test_the_proxy_is_timed_with_requests_that_it_shortens(tmp_path: Path) -> None:
    """The benchmark refuses a long request that the proxy leaves as it was."""
    pytest.importorskip("starlette")
    from benchmarks.surfaces import proxy

    out = tmp_path / "proxy.json"
    assert proxy.main(["--rounds", "2", "--out", str(out)]) == 0
    rows = Record.read(out).find("Requests").rows
    assert len(rows) == 4
    assert all(row["without the proxy, median"] > 0 for row in rows)
