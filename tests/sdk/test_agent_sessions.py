"""Episodes whose memory is on disk: going on after a crash, and two that write to one session."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tersely_agents.agent import Agent, FolderIndex, Tool, search_tools
from tersely_agents.chat import Message, Reply, ScriptedChat
from tersely_agents.memory import AgentMemory, ConflictError, MemoryStore
from tests.sdk.agents import COMPRESSOR, QUESTION, requests_of, tool_calls
from tests.sdk.conversations import facts


def make_agent(store: MemoryStore, tools: list[Tool], *script: Any, **limits: Any) -> Agent:
    def open_memory(first: list[Message]) -> AgentMemory:
        settings = {"limit": 1000, **limits}
        return AgentMemory(first, store=store, session="key", compressor=COMPRESSOR, **settings)

    model = ScriptedChat(script)
    return Agent(model, tools, strategy="reset", memory=open_memory, compressor=COMPRESSOR)


def events(store: MemoryStore) -> list[str]:
    """Kinds of the events on disk; of messages, their roles."""
    rows = store.events("key")
    return [row["message"]["role"] if row["kind"] == "message" else row["kind"] for row in rows]


def test_every_message_of_an_episode_is_on_disk(folder: Path, tmp_path: Path) -> None:
    store = MemoryStore(tmp_path / "agent.db")
    script = [tool_calls(("search", {"query": "spare key"})), Reply("Ada")]
    state = make_agent(store, search_tools(FolderIndex(folder)), *script).run(QUESTION)
    assert state.answer == "Ada"
    assert events(store) == ["first", "assistant", "tool", "assistant", "outcome"]
    again = AgentMemory(limit=1000, store=store, session="key", compressor=COMPRESSOR)
    assert again.transcript == state.transcript


def test_a_call_is_on_disk_before_its_tool_runs_and_answered_after_a_crash(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path / "agent.db")

    def crash(_: Mapping[str, str]) -> str:
        assert events(store) == ["first", "assistant"]
        raise KeyboardInterrupt

    bell = Tool("bell", "rings the bell", {}, crash)
    with pytest.raises(KeyboardInterrupt):
        make_agent(store, [bell], tool_calls(("bell", {}))).run(QUESTION)
    agent = make_agent(store, [bell], Reply("Nobody came."))
    assert agent.run(QUESTION).answer == "Nobody came."
    request, _ = requests_of(agent)[0]
    assert [m["role"] for m in request] == ["system", "user", "assistant", "tool"]
    assert request[-1]["content"] == "[no result: the call was interrupted]"


def test_an_episode_goes_on_with_a_full_context(folder: Path, tmp_path: Path) -> None:
    store = MemoryStore(tmp_path / "agent.db")
    (folder / "long.md").write_text(facts(1, 60))
    tools = search_tools(FolderIndex(folder))
    page = tool_calls(("open_page", {"docid": "long.md"}))
    agent = make_agent(store, tools)
    full = agent.step(agent.start(QUESTION), page)
    assert full.transcript.is_full
    agent = make_agent(store, tools, "Looked at towers.", Reply("Ada"))
    state = agent.run(QUESTION)
    assert (state.answer, state.transcript.resets, state.transcript.notes) == ("Ada", 1, "Looked at towers.")
    key = str(state.transcript.messages).split("id of the original: ")[1][:12]
    assert "Lighthouse 1-59" in (state.strategy.original(state, key) or "")
    assert dict(state.transcript.originals) == {}, "the store has them"


def test_an_episode_that_may_not_be_reset_again_is_overlong_from_its_start(
    folder: Path, tmp_path: Path
) -> None:
    store = MemoryStore(tmp_path / "agent.db")
    (folder / "long.md").write_text(facts(1, 60))
    tools = search_tools(FolderIndex(folder))
    page = tool_calls(("open_page", {"docid": "long.md"}))
    state = make_agent(store, tools, *[page, "Notes."] * 4, max_summaries=1, limit=600).run(QUESTION)
    assert state.outcome == "overlong"
    again = make_agent(store, tools, max_summaries=1, limit=600).start(QUESTION)
    assert (again.outcome, again.reason) == ("overlong", state.reason)
    assert [turn.error for turn in again.trace] == [state.reason]
    assert events(store).count("outcome") == 1


def test_an_old_state_cannot_go_on_in_its_session(folder: Path, tmp_path: Path) -> None:
    store = MemoryStore(tmp_path / "agent.db")
    agent = make_agent(store, search_tools(FolderIndex(folder)))
    start = agent.start(QUESTION)
    agent.step(start, tool_calls(("search", {"query": "spare key"})))
    with pytest.raises(ConflictError, match="Open the memory again"):
        agent.step(start, tool_calls(("search", {"query": "boat house"})))
