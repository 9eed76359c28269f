"""Peers: the search for a budget by hand, one real peer in a real process, the tables and the plots."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest

from benchmarks.peers import __main__ as command
from benchmarks.peers import process, worker
from benchmarks.peers.catalogue import BY_NAME, PEERS
from benchmarks.peers.plots import draw
from benchmarks.peers.process import Output, PeerProcess, search_budget
from benchmarks.peers.report import render
from benchmarks.peers.rows import PeersRun
from benchmarks.peers.systems import compress_or_keep_all
from benchmarks.records import read_record
from benchmarks.shared.tasks.example import Example, SourceDocument
from tersely.errors import MissingDependencyError, TerselyError

TEXT = "x" * 1000
DOCUMENTS = [
    ("Orvelle", "Orvelle is a harbour town. It was founded by Ada Penrose. Its harbour exports salt."),
    (None, "Visitors praise the quiet market. The lighthouse is white. It rains in May and June."),
]


class HalfHeartedPeer:
    """Keeps twice the share that it gets, and never less than a tenth."""

    def __init__(self) -> None:
        self.shares: list[float] = []

    def __call__(self, share: float) -> Output:
        self.shares.append(share)
        return Output(TEXT[: round(1000 * max(0.1, min(1.0, 2 * share)))], 0.0)


def test_the_search_lowers_the_share_until_the_output_fits() -> None:
    peer = HalfHeartedPeer()
    assert len(search_budget(400, 1000, peer, len, 5).text) == 400
    assert peer.shares == [0.4, 0.2]


def test_if_no_output_fits_the_smallest_is_taken() -> None:
    assert len(search_budget(50, 1000, HalfHeartedPeer(), len, 5).text) == 100
    assert len(search_budget(50, 1000, HalfHeartedPeer(), len, 1).text) == 100


def test_a_peer_that_keeps_too_little_at_full_share_gets_no_second_try() -> None:
    shares: list[float] = []

    def keep_one_letter(share: float) -> Output:
        shares.append(share)
        return Output("x", 0.0)

    assert search_budget(900, 800, keep_one_letter, len, 5).text == "x"
    assert shares == [1.0]


def test_the_worker_can_load_every_peer_of_the_catalogue() -> None:
    assert set(worker.LOADERS) == {peer.name for peer in PEERS}
    assert len(BY_NAME) == len(PEERS)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """This environment stands in for that of the peers: it has LLMSlim, and none of the others."""
    monkeypatch.setattr(process, "find_python", lambda: Path(sys.executable))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.mark.usefixtures("installed")
def test_a_real_peer_compresses_in_its_own_process() -> None:
    with PeerProcess("llmslim") as peer:
        assert peer.facts.version == version("llmslim")
        assert peer.facts.installed_bytes > 1_000_000
        first = peer.compress("Who founded Orvelle?", DOCUMENTS, 0.4)
        assert 0 < len(first.text) < sum(len(text) for _, text in DOCUMENTS)
        assert first.seconds > 0
        assert peer.compress("Who founded Orvelle?", DOCUMENTS, 0.4) == first  # from the cache
        assert peer.measure_peak("Who?", DOCUMENTS) > 10_000_000


@pytest.mark.usefixtures("installed")
def test_a_peer_that_cannot_be_loaded_is_named() -> None:
    with pytest.raises(TerselyError, match="headroom ended with code"), PeerProcess("headroom"):
        pass


def test_a_call_that_fails_counts_as_all_documents() -> None:
    class FailingPeer:
        def compress(self, question: str, documents: object, share: float) -> Output:
            if share < 0.5:
                raise TerselyError("out of words")
            return Output("A.", 1.0)

    peer: process.PeerProcess = FailingPeer()  # type: ignore[assignment]
    document = SourceDocument("Title", "A. B.", True)
    example = Example("1", "Who?", ("A",), (document,), None, None, True)
    failures: list[str] = []
    assert compress_or_keep_all(peer, example, 0.1, failures).text == "Title\nA. B."
    assert compress_or_keep_all(peer, example, 0.5, failures) == Output("A.", 1.0)
    assert failures == ["out of words"]


def test_without_the_environment_the_command_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(process, "find_python", lambda: tmp_path / "absent")
    with pytest.raises(MissingDependencyError, match=r"benchmarks\.peers\.install"):
        PeerProcess("llmslim")


@pytest.mark.usefixtures("installed")
def test_a_run_measures_renders_and_draws(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "NAMES", ("hotpotqa",))  # the only one that needs no MiniLM for negatives
    out = tmp_path / "peers.json"
    arguments = ["--data", str(data), "--limit", "3", "--no-minilm", "--no-install", "--out", str(out)]
    assert command.main([*arguments, "--peers", "llmslim", "headroom"]) == 0
    printed = capsys.readouterr().out
    assert "| **tersely** | 3 | 0.1 |" in printed
    assert "| all documents | 3 | 1.0 |" in printed
    assert "- headroom: headroom ended with code" in printed
    run = read_record(out, PeersRun)
    for rate in (0.1, 0.25, 0.5):
        cell = run.find_cell("tersely", "hotpotqa", rate)
        assert cell is not None
        assert all(achieved <= rate for achieved in cell.rate)
        assert len(cell.kept) == len(cell.seconds) == 3
    of_peer = run.find_cell("llmslim", "hotpotqa", 0.5)
    assert of_peer is not None
    assert of_peer.tersely_kept is not None
    assert len(of_peer.tersely_kept) == 3
    assert sum(of_peer.tersely_kept) >= 1
    assert render(run) in printed
    draw(run, tmp_path)
    assert (tmp_path / "peers_rate.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "peers_latency.png").stat().st_size > 5000

    untrained = "llmlingua2-shape"
    systems = [replace(row, name=untrained) for row in run.systems if row.name == "llmslim"]
    cells = [replace(cell, system=untrained) for cell in run.list_cells("llmslim")]
    text = render(replace(run, systems=(*run.systems, *systems), cells=(*run.cells, *cells)))
    assert f"| {untrained} |" not in text  # random weights have no quality
    assert f"| {untrained}, random weights |" in text
