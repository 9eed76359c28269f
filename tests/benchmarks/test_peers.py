"""Peers: the search for a budget by hand, one real peer in a real process, the tables and the plots."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks.peers import __main__ as command
from benchmarks.peers import process
from benchmarks.peers.plots import draw
from benchmarks.peers.process import Output, Peer, bring_to
from benchmarks.peers.report import markdown
from benchmarks.shared.tasks.example import Example, SourceDocument
from tersely.errors import MissingDependencyError, TerselyError

TEXT = "x" * 1000


class Lazy:
    """Keeps twice what it is asked for, and never less than a tenth."""

    def __init__(self) -> None:
        self.asked: list[float] = []

    def __call__(self, share: float) -> Output:
        self.asked.append(share)
        return Output(TEXT[: round(1000 * max(0.1, min(1.0, 2 * share)))], 0.0)


def test_a_budget_is_found_by_asking_for_less() -> None:
    lazy = Lazy()
    found = bring_to(400, 1000, lazy, len, 5)
    assert len(found.text) == 400
    assert lazy.asked == [0.4, 0.2]


def test_of_outputs_that_do_not_fit_the_smallest_is_taken() -> None:
    assert len(bring_to(50, 1000, Lazy(), len, 5).text) == 100
    assert len(bring_to(50, 1000, Lazy(), len, 1).text) == 100


def test_a_peer_that_keeps_too_little_at_full_share_is_not_asked_again() -> None:
    asked: list[float] = []

    def tiny(share: float) -> Output:
        asked.append(share)
        return Output("x", 0.0)

    assert bring_to(900, 800, tiny, len, 5).text == "x"
    assert asked == [1.0]


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """This environment stands in for the peers': it has LLMSlim, and none of the others."""
    monkeypatch.setattr(process, "python", lambda: Path(sys.executable))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


DOCUMENTS = [
    ("Orvelle", "Orvelle is a harbour town. It was founded by Ada Penrose. Its harbour exports salt."),
    (None, "Visitors praise the quiet market. The lighthouse is white. It rains in May and June."),
]


@pytest.mark.usefixtures("installed")
def test_a_real_peer_compresses_in_its_own_process() -> None:
    with Peer("llmslim") as peer:
        assert peer.facts["knob"] is True
        assert peer.facts["installed_bytes"] > 1_000_000
        first = peer.compress("Who founded Orvelle?", DOCUMENTS, 0.4)
        assert 0 < len(first.text) < sum(len(t) for _, t in DOCUMENTS)
        assert first.seconds > 0
        assert peer.compress("Who founded Orvelle?", DOCUMENTS, 0.4) == first  # from the cache
        assert peer.peak_bytes("Who?", DOCUMENTS) > 10_000_000


@pytest.mark.usefixtures("installed")
def test_a_peer_that_cannot_be_loaded_says_so() -> None:
    with pytest.raises(TerselyError, match="headroom ended with code"), Peer("headroom"):
        pass


def test_a_call_that_fails_counts_as_all_documents() -> None:
    document = SourceDocument("Title", "A. B.", True)
    example = Example("1", "Who?", ("A",), (document,), None, None, True)
    failures: list[str] = []

    def fail() -> Output:
        raise TerselyError("out of words")

    assert command._or_whole(fail, example, failures).text == "Title\nA. B."
    assert command._or_whole(lambda: Output("A.", 1.0), example, failures) == Output("A.", 1.0)
    assert failures == ["out of words"]


def test_without_the_environment_the_command_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(process, "python", lambda: tmp_path / "absent")
    with pytest.raises(MissingDependencyError, match=r"benchmarks\.peers\.install"):
        Peer("llmslim")


@pytest.mark.usefixtures("installed")
def test_a_run_from_questions_to_plots(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "NAMES", ("hotpotqa",))  # the only one that needs no MiniLM for negatives
    out = tmp_path / "peers.json"
    arguments = [
        "--data",
        str(data),
        "--limit",
        "3",
        "--no-minilm",
        "--no-install",
        "--peers",
        "llmslim",
        "headroom",
        "--out",
        str(out),
    ]
    assert command.main(arguments) == 0
    printed = capsys.readouterr().out
    assert "| **tersely** | 3 | 0.1 |" in printed
    assert "| all documents | 3 | 1.0 |" in printed
    assert "- headroom: headroom ended with code" in printed
    result = json.loads(out.read_text())
    for rate in ("0.1", "0.25", "0.5"):
        cell = result["systems"]["tersely"]["tasks"]["hotpotqa"][rate]
        assert all(achieved <= float(rate) for achieved in cell["rate"])
        assert len(cell["kept"]) == len(cell["seconds"]) == 3
    peer = result["systems"]["llmslim"]["tasks"]["hotpotqa"]["0.5"]
    assert len(peer["tersely_kept"]) == 3
    assert sum(peer["tersely_kept"]) >= 1
    assert markdown(result) in printed
    result["systems"]["shape"] = {**result["systems"]["llmslim"], "untrained": True}
    assert "| shape |" not in markdown(result)  # random weights have no quality
    assert "| shape, random weights |" in markdown(result)
    draw(result, tmp_path)
    assert (tmp_path / "peers_rate.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "peers_latency.png").stat().st_size > 5000
