"""The agent, its command and the summarizer with a real, small model on a server.

The model is too small to follow the format. The tests check that an episode ends all the same, and says how.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tersely import Compressor, Document, cli
from tersely_agents.agent import Agent, FolderIndex, search_tools
from tersely_agents.chat import OpenAIChat
from tersely_agents.experience import Attempt, ExperienceError, extract
from tersely_agents.memory import AgentMemory
from tersely_agents.summaries import Summarizer

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "keys.md").write_text("# Keys\n\nAda holds the spare key. The boat has no lock.")
    (tmp_path / "garden.md").write_text("# Garden\n\nThe pears are ripe in September.")
    return tmp_path


@pytest.mark.parametrize("strategy", ["reset", "transcript"])
def test_a_real_server_takes_transcripts_with_tools(
    strategy: Any, small_model: OpenAIChat, folder: Path
) -> None:
    agent = Agent(small_model, search_tools(FolderIndex(folder)), strategy=strategy, max_turns=2)
    state = agent.run("Who holds the spare key?")
    assert state.outcome in ("answered", "turns")
    assert state.transcript.steps == state.turns > 0
    assert state.trace[0].tokens_in > 20


def test_acomplete_gives_what_complete_gives(small_model: OpenAIChat) -> None:
    messages = [{"role": "user", "content": "Name the capital of France."}]

    async def ask() -> str:
        try:
            return (await small_model.acomplete(messages)).text
        finally:
            await small_model.aclose()

    assert asyncio.run(ask()) == small_model.complete(messages).text


def test_lessons_that_cannot_be_read_are_an_error(small_model: OpenAIChat) -> None:
    """The model is too small for the form; it is asked twice."""
    log = [{"role": "user", "content": "Who holds the key?"}, {"role": "assistant", "content": "Ada."}]
    with pytest.raises(ExperienceError, match="gave no answer that can be read"):
        extract(small_model, "Who holds the key?", [Attempt(log, 1.0)])


def test_the_command_prints_what_the_agent_did(
    llama_server: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tersely_agents.cli.REPLY_TOKENS", 64)  # the small model would go on for a minute
    url, trace = llama_server, str(tmp_path / "trace.jsonl")
    command = ["agent", "--docs", str(folder), "-q", "Who holds the spare key?", "--base-url", url]
    bank = tmp_path / "lessons.db"
    command += ["--chat-model", "smollm2", "--max-turns", "2", "--experience", str(bank)]
    code = cli.main([*command, "--trace", trace, "--json"])
    assert bank.exists()
    printed = json.loads(capsys.readouterr().out)
    assert printed["outcome"] in ("answered", "turns")
    assert code == (0 if printed["outcome"] == "answered" else 5)
    assert printed["turns"][0]["tokens_in"] > 200
    assert printed["turns"][0]["level"] in (1, 2, 3, 4, 5)
    if printed["outcome"] == "answered" and printed["reason"]:
        assert "Ada" in printed["answer"]
    assert cli.main(["trace", trace]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == len(printed["turns"]) + 2
    assert shown[1].split()[0] == "1"


def test_a_memory_stays_below_its_limit_with_a_real_model(small_model: OpenAIChat) -> None:
    memory = AgentMemory([{"role": "user", "content": "Remember which towers are of granite."}], limit=512)
    number = 0
    while not memory.transcript.resets:
        memory.append(
            {
                "role": "user",
                "content": f"Tower {number} is of granite and was built in {1800 + number}. " * 4,
            }
        )
        messages = memory.prepare(small_model)
        assert memory.transcript.tokens < 512
        number += 1
    assert messages[0]["content"].startswith("Remember which towers are of granite.")
    assert "<notes>" in str(messages)


def test_a_real_summary_is_checked_and_in_the_budget(small_model: OpenAIChat) -> None:
    ferry = "The ferry leaves Port Maren at seven. It carries forty cars. Bicycles travel free of charge."
    museum = "The museum opened in 1904. Its garden has a pond with three old carps."
    documents, compressor = [Document(ferry, "Ferry"), Document(museum, "Museum")], Compressor()
    summarizer = Summarizer(small_model, compressor=compressor, preselect=40, unsupported="drop")
    summary = summarizer.summarize("When does the ferry leave Port Maren?", documents, budget=40)
    assert 0 < summary.tokens_after <= 40
    assert summary.tokens_after == compressor.count_tokens(summary.text)
    assert (summary.backend == "extractive") == bool(summary.reason)
    for sentence in summary.sentences:
        assert sentence.supported
        for support in sentence.support:
            assert documents[support.doc].text[support.start : support.end].strip()
