"""A caller's own chat model may raise anything and return anything; the documented fallback follows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tersely import Compressor
from tersely_agents.agent import Agent
from tersely_agents.chat import ChatError, Reply, ToolCall
from tersely_agents.chat.protocol import acomplete_safely, complete_safely
from tersely_agents.experience import Attempt, ExperienceError, extract
from tersely_agents.memory import AgentMemory
from tersely_agents.summaries import Summarizer
from tests.sdk.fakes import FakeScorer

COMPRESSOR = Compressor(FakeScorer())
ASK = [{"role": "user", "content": "Which day?"}]
TEXT = "The ferry leaves Port Maren at seven. Gulls circle above it. "


def fail_with(error: Exception) -> Callable[[], Any]:
    def fail() -> Any:
        raise error

    return fail


def recurse() -> Any:
    return recurse()


class CallersModel:
    """A model that does what `act` does."""

    name = "own"

    def __init__(self, act: Callable[[], Any]) -> None:
        self._act = act

    def complete(self, messages: Sequence[Any], **options: Any) -> Any:
        return self._act()

    async def acomplete(self, messages: Sequence[Any], **options: Any) -> Any:
        return self._act()


FAILURES: dict[str, Callable[[], Any]] = {
    "KeyError": fail_with(KeyError("choices")),
    "RecursionError": recurse,
    "MemoryError": fail_with(MemoryError()),
    "OSError": fail_with(ConnectionResetError()),
    "TimeoutError": fail_with(TimeoutError()),
    "StopIteration": fail_with(StopIteration()),
    "None": lambda: None,
    "a text": lambda: "Thursday.",
    "a reply without text": lambda: Reply(None),
    "a tool call that is a mapping": lambda: Reply("", ({"name": "f"},)),
    "a tool call without text": lambda: Reply("", (ToolCall("1", "f", None),)),
    "tool calls that are a number": lambda: Reply("", 5),
    "a usage that is a mapping": lambda: Reply("a", usage={"input_tokens": 1}),
}
FAILING = CallersModel(FAILURES["KeyError"])
"""A failing model for the callers of `complete_safely`, which handle all failures in the same way."""


@pytest.mark.parametrize("act", FAILURES.values(), ids=FAILURES.keys())
def test_every_failure_is_a_chat_error(act: Callable[[], Any]) -> None:
    with pytest.raises(ChatError, match="own gave no reply"):
        complete_safely(CallersModel(act), ASK)
    with pytest.raises(ChatError, match="own gave no reply"):
        asyncio.run(acomplete_safely(CallersModel(act), ASK))


def test_a_memory_writes_its_notes_from_the_transcript() -> None:
    def make_memory() -> AgentMemory:
        memory = AgentMemory(ASK, limit=900, compressor=COMPRESSOR)
        for number in range(7):
            call = {"id": f"c{number}", "type": "function", "function": {"name": "f", "arguments": "{}"}}
            memory.append({"role": "assistant", "content": None, "tool_calls": [call]})
            memory.append({"role": "tool", "tool_call_id": f"c{number}", "content": f"{number} {TEXT * 8}"})
        return memory

    memory, other = make_memory(), make_memory()
    assert memory.prepare(FAILING) == make_memory().prepare(None)
    assert asyncio.run(other.aprepare(FAILING)) == make_memory().prepare(None)


def test_a_summary_quotes_the_documents() -> None:
    summary = Summarizer(FAILING, compressor=COMPRESSOR).summarize("When does it leave?", [TEXT])
    assert summary.backend == "extractive"
    assert "own gave no reply" in (summary.reason or "")


def test_extraction_raises_a_chat_error() -> None:
    with pytest.raises(ChatError, match="own gave no reply"):
        extract(FAILING, "Which day?", [Attempt(ASK, 1.0)])


def test_extraction_of_deep_json_is_an_experience_error() -> None:
    model = CallersModel(lambda: Reply('{"plan":' + "[" * 100_000 + "}"))
    with pytest.raises(ExperienceError, match="too deep"):
        extract(model, "Which day?", [Attempt(ASK, 1.0)])


def test_an_agent_ends_with_the_failure() -> None:
    state = Agent(FAILING, [], compressor=COMPRESSOR).run("Which day?")
    assert state.outcome is not None
    assert "own gave no reply" in (state.reason or "")


def test_an_agent_survives_deep_arguments() -> None:
    call = ToolCall("1", "finish", "[" * 100_000)
    state = Agent(CallersModel(lambda: Reply("", (call,))), [], compressor=COMPRESSOR, max_turns=2).run(
        "Which day?"
    )
    assert state.outcome is not None
