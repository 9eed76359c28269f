"""The strategies "transcript" and "reset": conversations with tool calls."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tersely.messages import measure_tokens
from tersely_agents.agent import Agent, FolderIndex, Tool, search_tools
from tersely_agents.chat import Reply, ScriptedChat
from tersely_agents.memory import AgentMemory
from tests.sdk.agents import (
    COMPRESSOR,
    QUESTION,
    make_agent,
    requests_of,
    take_turn,
    tool_calls,
)


def test_calls_of_one_reply_are_one_turn(folder: Path) -> None:
    five = [("search", {"query": word}) for word in ("spare", "key", "lighthouse", "Ada", "lock")]
    agent = make_agent(
        folder,
        tool_calls(*five),
        tool_calls(("finish", {"answer": "Ada"})),
        strategy="transcript",
        max_turns=2,
    )
    state = agent.run(QUESTION)
    assert (state.outcome, state.turns) == ("answered", 2)
    assert [t.turn for t in state.trace] == [1] * 5 + [2]


def test_a_step_whose_tool_was_stopped_can_be_repeated(folder: Path) -> None:
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
def test_transcripts_use_tool_calls(folder: Path, strategy: Any) -> None:
    agent = make_agent(
        folder,
        tool_calls(
            ("search", {"query": "spare key"}), ("open_page", {"docid": "garden.txt"}), text="Let me see."
        ),
        tool_calls(("finish", {"answer": "Ada", "confidence": 90})),
        strategy=strategy,
    )
    state = agent.run(QUESTION)
    assert (state.outcome, state.answer, state.confidence) == ("answered", "Ada", "90")
    assert [t.tool for t in state.trace] == ["search", "open_page", "finish"]
    assert sum(t.tokens_in for t in state.trace) == 200, "a turn with two calls is paid once"
    request, options = requests_of(agent)[1]
    assert [m["role"] for m in request] == ["system", "user", "assistant", "tool", "tool"]
    assert {t["function"]["name"] for t in options["tools"]} == {
        "search",
        "open_page",
        "open_original",
        "finish",
    }
    assert state.transcript.ending == "finished"
    (part,) = state.transcript.trajectory()
    assert sum(part.mask) == 2


def test_text_without_a_call_is_the_answer(folder: Path) -> None:
    state = make_agent(folder, Reply("Ada holds it."), strategy="transcript").run(QUESTION)
    assert (state.outcome, state.answer) == ("answered", "Ada holds it.")


@pytest.mark.parametrize("strategy", ["reset", "transcript"])
def test_a_model_that_says_nothing_is_reminded_once(folder: Path, strategy: Any) -> None:
    state = make_agent(folder, "<think>Hm.</think>", "Ada has it.", strategy=strategy).run(QUESTION)
    assert (state.outcome, state.answer) == ("answered", "Ada has it.")
    agent = make_agent(folder, "", Reply("", finish="length"), strategy=strategy)
    state = agent.run(QUESTION)
    assert (state.outcome, state.answer) == ("malformed", "")
    assert state.reason == "scripted twice said nothing"
    paid = sum(measure_tokens(messages, COMPRESSOR.count_tokens) for messages, _ in requests_of(agent))
    assert state.trace[0].tokens_in == paid, "both calls are paid"
    assert state.transcript.messages[-1]["content"] == QUESTION, "the reminder is not kept"


def test_resets_carry_a_long_task(folder: Path) -> None:
    (folder / "long.md").write_text(" ".join(f"Key number {i} is of brass." for i in range(300)))
    page = tool_calls(("open_page", {"docid": "long.md"}))
    script: list[Any] = []
    for _ in range(30):
        script.append(page)

    def speak(messages: Any) -> Any:
        if "Write the notes only" in messages[-1]["content"]:
            return "Looked at keys; none is the spare one."
        return script.pop() if len(script) > 5 else tool_calls(("finish", {"answer": "Ada"}))

    def memory(first: list[Any]) -> AgentMemory:
        return AgentMemory(first, limit=1000, compressor=COMPRESSOR)

    agent = Agent(
        ScriptedChat(speak),
        search_tools(FolderIndex(folder)),
        strategy="reset",
        memory=memory,
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


def test_an_overlong_transcript_ends_the_episode(folder: Path) -> None:
    def memory(first: list[Any]) -> AgentMemory:
        return AgentMemory(first, limit=600, max_summaries=1, compressor=COMPRESSOR)

    (folder / "long.md").write_text(" ".join(f"Key number {i} is of brass." for i in range(300)))
    script = [tool_calls(("open_page", {"docid": "long.md"})), "Notes."] * 9
    state = make_agent(folder, *script, strategy="reset", memory=memory).run(QUESTION)
    assert state.outcome == "overlong"
