"""The strategies "transcript" and "reset": conversations with tool calls, in memory and on disk."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tersely.messages import measure_tokens
from tersely_agents.agent import Agent, FolderIndex, Tool, search_tools
from tersely_agents.chat import Message, Reply, ScriptedChat
from tersely_agents.memory import AgentMemory, ConflictError, MemoryStore
from tests.sdk.agents import COMPRESSOR, QUESTION, make_agent, requests_of, take_turn, tool_calls
from tests.sdk.conversations import facts

PAGE = tool_calls(("open_page", {"docid": "long.md"}))


def test_calls_of_one_reply_are_one_turn(folder: Path) -> None:
    five = [("search", {"query": word}) for word in ("spare", "key", "lighthouse", "Ada", "lock")]
    script = [tool_calls(*five), tool_calls(("finish", {"answer": "Ada"}))]
    state = make_agent(folder, *script, strategy="transcript", max_turns=2).run(QUESTION)
    assert (state.outcome, state.turns) == ("answered", 2)
    assert [t.turn for t in state.trace] == [1] * 5 + [2]


def test_a_step_whose_tool_was_stopped_can_be_repeated() -> None:
    stops = [KeyboardInterrupt()]

    def read_clock(_: Mapping[str, str]) -> str:
        if stops:
            raise stops.pop()
        return "noon"

    clock = Tool("clock", "tells the time", {}, read_clock)
    model = ScriptedChat([tool_calls(("finish", {"answer": "Ada"}))])
    agent = Agent(model, [clock], strategy="transcript", compressor=COMPRESSOR)
    state = agent.start(QUESTION)
    with pytest.raises(KeyboardInterrupt):
        agent.step(state, tool_calls(("clock", {})))
    after = agent.step(state, tool_calls(("clock", {})))
    assert [m["role"] for m in after.transcript.messages[2:]] == ["assistant", "tool"]
    assert take_turn(agent, after).answer == "Ada"


@pytest.mark.parametrize("strategy", ["transcript", "reset"])
def test_a_conversation_uses_tool_calls(folder: Path, strategy: Any) -> None:
    both = [("search", {"query": "spare key"}), ("open_page", {"docid": "garden.txt"})]
    script = [
        tool_calls(*both, text="Let me see."),
        tool_calls(("finish", {"answer": "Ada", "confidence": 90})),
    ]
    agent = make_agent(folder, *script, strategy=strategy)
    state = agent.run(QUESTION)
    assert (state.outcome, state.answer, state.confidence) == ("answered", "Ada", "90")
    assert [t.tool for t in state.trace] == ["search", "open_page", "finish"]
    assert sum(t.tokens_in for t in state.trace) == 200, "a turn with two calls is paid once"
    request, options = requests_of(agent)[1]
    assert [m["role"] for m in request] == ["system", "user", "assistant", "tool", "tool"]
    offered = [t["function"]["name"] for t in options["tools"]]
    assert offered == ["search", "open_page", "open_original", "finish"]
    assert state.transcript.ending == "finished"
    (part,) = state.transcript.trajectory()
    assert sum(part.mask) == 2


@pytest.mark.parametrize("strategy", ["reset", "transcript"])
def test_a_model_that_says_nothing_is_reminded_once(folder: Path, strategy: Any) -> None:
    state = make_agent(folder, "<think>Hm.</think>", "Ada has it.", strategy=strategy).run(QUESTION)
    assert (state.outcome, state.answer) == ("answered", "Ada has it.")
    agent = make_agent(folder, "", Reply("", finish="length"), strategy=strategy)
    state = agent.run(QUESTION)
    assert (state.outcome, state.reason) == ("malformed", "scripted twice said nothing")
    paid = sum(measure_tokens(messages, COMPRESSOR.count_tokens) for messages, _ in requests_of(agent))
    assert state.trace[0].tokens_in == paid, "both calls are paid"
    assert state.transcript.messages[-1]["content"] == QUESTION, "the reminder is not kept"


def test_resets_carry_a_long_task(folder: Path) -> None:
    (folder / "long.md").write_text(" ".join(f"Key number {i} is of brass." for i in range(300)))
    pages = [PAGE] * 25

    def speak(messages: Any) -> Any:
        if "Write the notes only" in messages[-1]["content"]:
            return "Looked at keys; none is the spare one."
        return pages.pop() if pages else tool_calls(("finish", {"answer": "Ada"}))

    agent = Agent(
        ScriptedChat(speak),
        search_tools(FolderIndex(folder)),
        strategy="reset",
        memory=lambda first: AgentMemory(first, limit=1000, compressor=COMPRESSOR),
        max_turns=100,
        result_tokens=300,
        compressor=COMPRESSOR,
    )
    state = agent.run(QUESTION)
    assert (state.outcome, len(state.trace)) == ("answered", 26)
    assert state.transcript.resets > 5
    notes = [m for m, _ in requests_of(agent) if "Write the notes only" in m[-1]["content"]]
    paid = 26 * 100 + sum(measure_tokens(messages, COMPRESSOR.count_tokens) for messages in notes)
    assert sum(t.tokens_in for t in state.trace) == paid, "summaries are paid too"
    for messages, _ in requests_of(agent):
        assert QUESTION in messages[1]["content"]


def test_a_full_context_asks_for_notes(folder: Path) -> None:
    (folder / "long.md").write_text(facts(1, 60))
    agent = make_agent(
        folder,
        strategy="reset",
        memory=lambda first: AgentMemory(first, limit=600, compressor=COMPRESSOR),
    )
    full = agent.step(agent.start(QUESTION), PAGE)
    assert full.transcript.is_full
    request = agent.request(full)
    assert "Write the notes only" in request.messages[-1]["content"]
    assert request.options.get("tool_choice") == "none"
    after = agent.step(full, Reply("It is with Ada."))
    assert (full.transcript.is_full, after.transcript.is_full) == (True, False)
    assert after.transcript.notes == "It is with Ada."
    assert len(after.trace) == len(full.trace), "the turn goes on"
    assert after.tokens_in == measure_tokens(request.messages, COMPRESSOR.count_tokens)
    assert agent.request(after).messages == after.transcript.messages


def make_stored_agent(store: MemoryStore, tools: list[Tool], *script: Any, **limits: Any) -> Agent:
    def open_memory(first: list[Message]) -> AgentMemory:
        settings = {"limit": 1000, **limits}
        return AgentMemory(first, store=store, session="key", compressor=COMPRESSOR, **settings)

    model = ScriptedChat(script)
    return Agent(model, tools, strategy="reset", memory=open_memory, compressor=COMPRESSOR)


def list_events(store: MemoryStore) -> list[str]:
    """Return the kinds of the events on disk; of messages, their roles."""
    rows = store.events("key")
    return [row["message"]["role"] if row["kind"] == "message" else row["kind"] for row in rows]


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore(tmp_path / "agent.db")


@pytest.fixture
def tools(folder: Path) -> list[Tool]:
    (folder / "long.md").write_text(facts(1, 60))
    return search_tools(FolderIndex(folder))


def test_every_message_of_an_episode_is_on_disk(store: MemoryStore, tools: list[Tool]) -> None:
    script = [tool_calls(("search", {"query": "spare key"})), Reply("Ada")]
    state = make_stored_agent(store, tools, *script).run(QUESTION)
    assert state.answer == "Ada"
    assert list_events(store) == ["first", "assistant", "tool", "assistant", "outcome"]
    again = AgentMemory(limit=1000, store=store, session="key", compressor=COMPRESSOR)
    assert again.transcript == state.transcript


def test_a_call_is_on_disk_before_its_tool_runs(store: MemoryStore) -> None:
    def crash(_: Mapping[str, str]) -> str:
        assert list_events(store) == ["first", "assistant"]
        raise KeyboardInterrupt

    bell = Tool("bell", "rings the bell", {}, crash)
    with pytest.raises(KeyboardInterrupt):
        make_stored_agent(store, [bell], tool_calls(("bell", {}))).run(QUESTION)
    agent = make_stored_agent(store, [bell], Reply("Nobody came."))
    assert agent.run(QUESTION).answer == "Nobody came."
    request, _ = requests_of(agent)[0]
    assert [m["role"] for m in request] == ["system", "user", "assistant", "tool"]
    assert request[-1]["content"] == "[no result: the call was interrupted]"


def test_an_episode_goes_on_with_a_full_context(store: MemoryStore, tools: list[Tool]) -> None:
    agent = make_stored_agent(store, tools)
    assert agent.step(agent.start(QUESTION), PAGE).transcript.is_full
    agent = make_stored_agent(store, tools, "Looked at towers.", Reply("Ada"))
    state = agent.run(QUESTION)
    assert (state.answer, state.transcript.resets, state.transcript.notes) == ("Ada", 1, "Looked at towers.")
    key = str(state.transcript.messages).split("id of the original: ")[1][:12]
    assert "Lighthouse 1-59" in (state.strategy.original(state, key) or "")
    assert dict(state.transcript.originals) == {}, "the store has them"


def test_no_further_reset_means_overlong_from_the_start(store: MemoryStore, tools: list[Tool]) -> None:
    limits = {"max_summaries": 1, "limit": 600}
    state = make_stored_agent(store, tools, *[PAGE, "Notes."] * 4, **limits).run(QUESTION)
    assert state.outcome == "overlong"
    again = make_stored_agent(store, tools, **limits).start(QUESTION)
    assert (again.outcome, again.reason) == ("overlong", state.reason)
    assert [turn.error for turn in again.trace] == [state.reason]
    assert list_events(store).count("outcome") == 1


def test_an_old_state_cannot_go_on_in_its_session(store: MemoryStore, tools: list[Tool]) -> None:
    agent = make_stored_agent(store, tools)
    start = agent.start(QUESTION)
    agent.step(start, tool_calls(("search", {"query": "spare key"})))
    with pytest.raises(ConflictError, match="Open the memory again"):
        agent.step(start, tool_calls(("search", {"query": "boat house"})))
