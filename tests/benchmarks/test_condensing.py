"""The benchmark of condensed search results, with scripted models."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.condensing import __main__ as program
from benchmarks.condensing.__main__ import PASSAGES, SELECTOR, SUMMARY, Answered, make_rows
from benchmarks.shared.statistics import Estimate
from benchmarks.table import Record
from tersely.runtime.artifacts import load_artifact
from tersely_agents.chat import ScriptedChat
from tersely_agents.chat.trained import TrainedModel


def test_savings_and_leads_by_hand() -> None:
    passages = [Answered(100, True, 1.0, 0.0, 4.0), Answered(300, False, 0.0, 0.0, 4.0)]
    summaries = [Answered(30, False, 0.5, 2.0, 1.0), Answered(70, False, 0.5, 4.0, 3.0)]
    answered = [{PASSAGES: p, SUMMARY: s} for p, s in zip(passages, summaries, strict=True)]
    plain, short = make_rows("Towns", answered, seed=1)
    assert (plain["tokens"], plain["shorter"], plain["longer"]) == (200, None, None)
    assert (short["tokens"], short["shorter"], short["longer"]) == (50, 0.75, 0.25)
    assert (plain["exact"], short["exact"]) == ((1.0, 0.0), (0.0, 0.0))
    lead = short["F1, lead over passages"]
    assert isinstance(lead, Estimate)
    assert (short["F1"], lead.value) == ((0.5, 0.5), 0.0)
    assert (short["seconds to condense"], short["seconds to answer"]) == (3, 2)


def test_a_run_has_a_row_for_each_system(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reply = "Ada Penrose founded Orvelle after the great flood."
    summarizer = TrainedModel(ScriptedChat([reply] * 4), input_tokens=60, max_tokens=40)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(program, "load_trained", lambda *_, **__: summarizer)
    monkeypatch.setattr(program, "load_artifact", lambda *_, **__: load_artifact(None))
    monkeypatch.setattr(program, "LocalChat", lambda *_, **__: ScriptedChat(["salt"] * 6))
    monkeypatch.setattr(program, "QUESTIONS", ("hotpotqa",))  # the only one that needs no MiniLM
    out = tmp_path / "condensing.json"
    arguments = ["--data", str(data), "--limit", "2", "--summarizer", "tersely-mini", "--out", str(out)]
    assert program.main(arguments) == 0
    rows = Record.read(out).find("Answers").rows
    assert [row["system"] for row in rows] == [PASSAGES, SELECTOR, SUMMARY]
    whole, selected, _ = (row["tokens"] for row in rows)
    assert isinstance(whole, float)
    assert isinstance(selected, float)
    assert whole > selected > 0
    assert all(row["questions"] == 2 for row in rows)
