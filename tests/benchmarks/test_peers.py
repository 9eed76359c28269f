"""Peers: the search for a budget by hand, one real peer in a real process, and a small run."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from benchmarks.peers import __main__ as command
from benchmarks.peers import process, published, worker
from benchmarks.peers.__main__ import compress_or_keep_all
from benchmarks.peers.catalogue import BY_NAME, PEERS
from benchmarks.peers.process import Output, PeerProcess, search_budget
from benchmarks.peers.tables import compare_answers
from benchmarks.quality.controls import BM25Scorer, RandomScorer
from benchmarks.shared.tasks.example import Example, SourceDocument
from benchmarks.table import Record
from tersely import Compressor
from tersely.errors import MissingDependencyError, TerselyError
from tests.benchmarks.fakes import BeginningReader

TEXT = "x" * 1000
DOCUMENTS = [
    ("Orvelle", "Orvelle is a harbour town. It was founded by Ada Penrose. Its harbour exports salt."),
    (None, "Visitors praise the quiet market. The lighthouse is white. It rains in May and June."),
]


class HalfHeartedPeer:
    """A peer that keeps twice the share that it gets, and never less than a tenth."""

    def __init__(self) -> None:
        self.shares: list[float] = []

    def __call__(self, share: float) -> Output:
        self.shares.append(share)
        return Output(TEXT[: round(1000 * max(0.1, min(1.0, 2 * share)))], 0.0)


def test_the_search_lowers_the_share_until_the_output_fits() -> None:
    peer = HalfHeartedPeer()
    assert len(search_budget(400, 1000, peer, len, 5).text) == 400
    assert peer.shares == [0.4, 0.2]
    assert len(search_budget(50, 1000, HalfHeartedPeer(), len, 5).text) == 100, "the smallest, if none fits"


def test_the_worker_can_load_every_peer_of_the_catalogue() -> None:
    assert set(worker.LOADERS) == {peer.name for peer in PEERS}
    assert len(BY_NAME) == len(PEERS)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Run the peers in this environment, which has LLMSlim and not the others."""
    pytest.importorskip("llmslim")
    monkeypatch.setattr(process, "find_python", lambda: Path(sys.executable))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.mark.usefixtures("installed")
def test_a_real_peer_compresses_in_its_own_process() -> None:
    with PeerProcess("llmslim") as peer:
        assert peer.loaded.version == version("llmslim")
        assert peer.loaded.installed_bytes > 1_000_000
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

    peer: process.PeerProcess = FailingPeer()
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


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch) -> dict[str, BeginningReader]:
    made: dict[str, BeginningReader] = {}
    monkeypatch.setattr(command, "open_reader", lambda spec: made.setdefault(spec, BeginningReader(spec)))
    return made


@pytest.mark.usefixtures("installed")
def test_a_run_measures_peers_and_readers(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, readers: dict[str, BeginningReader]
) -> None:
    monkeypatch.setattr(command, "NAMES", ("hotpotqa",))  # the only one that needs no MiniLM for negatives
    monkeypatch.setattr(command, "make_controls", lambda *_: {"random sentences": RandomScorer(13)})
    monkeypatch.setattr(command, "measure_needs", lambda _: {})
    out = tmp_path / "peers.json"
    arguments = ["--data", str(data), "--limit", "4", "--slow-limit", "2", "--out", str(out)]
    spoken = ["--reader", "extractive:quick", "--reader", "slow"]
    assert command.main([*arguments, *spoken, "--peers", "llmslim", "headroom"]) == 0
    record = Record.read(out)
    kept = record.find("Answers kept")
    for rate in (0.1, 0.25, 0.5):
        ours = kept.find(system="tersely", budget=rate)
        assert ours["rate achieved"] <= rate
        assert (len(ours["answers kept"]), ours["lead of tersely"]) == (4, None)
        for other in ("random sentences", "llmslim"):
            assert kept.find(system=other, budget=rate)["lead of tersely"] is not None
    assert kept.find(system="all documents")["budget"] == 1.0

    systems = record.find("Speed and size")
    assert systems.find(system="llmslim")["peak memory"] > 10
    assert "headroom ended with code" in systems.find(system="headroom")["failure"]

    read = record.find("Answers of a reader")
    f1 = read.find(reader="extractive:quick", system="tersely", budget=0.1)["F1"]
    assert len(f1) == 4
    assert f1[2] is None  # the reader fails on every third question
    assert len(read.find(reader="slow", system="tersely", budget=0.1)["F1"]) == 2
    assert read.find(reader="slow", system="all documents")["to all documents"] is None


def test_answers_are_compared_without_failures() -> None:
    assert compare_answers((1.0, 0.5, None), (0.5, 0.5, 1.0), 1).value == 0.25
    assert compare_answers((None,), (1.0,), 1) is None


TOWNS = [
    {
        "id": name,
        "question": f"When was {name} founded?",
        "answers": [year],
        "docs": [{"text": f"{name} lies on the coast. {name} was founded in {year}. It rains there."}],
    }
    for name, year in zip(
        ["Aldmoor", "Brennick", "Corvale", "Dunsford"], ("1204", "1377", "1502", "1650"), strict=True
    )
]


@pytest.mark.parametrize(
    ("make", "others"), [("make_retrieved", "RETRIEVED"), ("make_results", "DISTRACTORS")]
)
def test_a_published_setting_counts_answers(make: str, others: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published, others, 3)
    compressor = Compressor(BM25Scorer())
    cases = list(getattr(published, make)(TOWNS, 4))
    assert [case[:2] for case in cases] == [(row["id"], row["question"]) for row in TOWNS]
    for _, question, documents, score in cases:
        assert score(compressor.compress(question, documents)) == 1
        assert score(compressor.compress(question, documents, budget=1)) == 0
