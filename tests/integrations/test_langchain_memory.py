"""The memory in real agents: what the model is shown, and what a checkpointer brings back."""

from __future__ import annotations

import asyncio
import logging
import random
from itertools import pairwise
from typing import Any

import pytest

pytest.importorskip("langchain")
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from tersely import Compressor, InvalidInputError
from tersely.chat.transcript import size
from tersely_langchain import TerselyMemory
from tersely_langchain.bridge import mapping
from tests.integrations.langchain_models import Recording, Scripted, calls, scripted
from tests.sdk.fakes import FakeScorer

LIMIT = 600
TASK = "Find out who holds the spare key of lighthouse LH-2231."
THREAD: dict[str, Any] = {"configurable": {"thread_id": "t"}}


@tool
def look(page: int) -> str:
    """Reads a page."""
    words = random.Random(page).choices(["lamp", "stair", "glass", "oil", "stone", "wind"], k=70)
    return f"Page {page}. {' '.join(words)}. The spare key of page {page} is in drawer {page * 7}."


def compressor() -> Compressor:
    return Compressor(FakeScorer())


def turns(count: int, start: int = 0) -> list[AIMessage]:
    return [calls("look", number=i, page=i) for i in range(start, start + count)]


def agent(actor: Scripted, saver: Any = None, **options: Any) -> Any:
    memory = TerselyMemory(limit=LIMIT, compressor=compressor(), **options)
    return create_agent(actor, [look], middleware=[memory], checkpointer=saver, system_prompt="Be brief.")


def shown(model: Recording) -> list[list[Any]]:
    """What the model has been shown, the system prompt left out."""
    return [messages[1:] for messages in model.seen]


@pytest.mark.parametrize("way", ["sync", "async", "stream"])
def test_the_model_never_sees_more_than_the_limit(way: str) -> None:
    model = Recording(messages=iter([*turns(12), AIMessage("Drawer 77.")]))
    able = agent(model, pins={"rule": "Count stone towers only."})
    asked = {"messages": [HumanMessage(TASK)]}
    if way == "sync":
        state = able.invoke(asked, {"recursion_limit": 100})
    elif way == "async":
        state = asyncio.run(able.ainvoke(asked, {"recursion_limit": 100}))
    else:
        *_, state = able.stream(asked, {"recursion_limit": 100}, stream_mode="values")
    assert state["messages"][-1].content == "Drawer 77."
    assert len(state["messages"]) == 1 + 2 * 12 + 1, "the history stays whole"
    count = compressor().count_tokens
    contexts = shown(model)
    assert len(contexts) == 13
    assert any("Count stone towers only." in str(c) for c in contexts), "there was a reset"
    for context in contexts:
        assert size([mapping(m) for m in context], count) < LIMIT
        assert context[0].content == TASK
        answered = [m.tool_call_id for m in context if isinstance(m, ToolMessage)]
        assert answered == [c["id"] for m in context if isinstance(m, AIMessage) for c in m.tool_calls]
        assert model.seen[0][0].content == "Be brief."
    history = {m.id: m for m in state["messages"]}
    verbatim = [m for m in contexts[-1] if m.id in history]
    assert verbatim
    assert all(m == history[m.id] for m in verbatim), "what is as it was goes out as it was"


def test_the_prompt_grows_at_its_end_between_resets() -> None:
    model = Recording(messages=iter([*turns(12), AIMessage("Drawer 77.")]))
    agent(model).invoke({"messages": [HumanMessage(TASK)]}, {"recursion_limit": 100})
    contexts = [[(m.type, m.text, m.id) for m in c] for c in shown(model)]
    grown = [new[: len(old)] == old for old, new in pairwise(contexts)]
    resets = grown.count(False)
    assert 1 <= resets <= 6
    assert grown.count(True) >= 5


def test_a_checkpoint_brings_the_context_back() -> None:
    """The same turns in one process, and with a new agent for each, show the model the same."""
    script = [*turns(9), AIMessage("Hm.")]
    whole = Recording(messages=iter(script))
    saver = InMemorySaver()
    agent(whole, saver).invoke(
        {"messages": [HumanMessage(TASK, id="task")]}, {**THREAD, "recursion_limit": 99}
    )
    more = {"messages": [HumanMessage("Look again.", id="again")]}
    again = Recording(messages=iter([AIMessage("Drawer 7.")]))
    state = agent(again, saver).invoke(more, THREAD)
    (context,) = shown(again)
    assert context[-1].content == "Look again."
    before = [(m.type, m.text) for m in shown(whole)[-1]]
    assert [(m.type, m.text) for m in context][: len(before)] == before
    assert state["tersely_memory"]["read"] == len(state["messages"]) - 1
    kept = state["tersely_memory"]["events"]
    assert "stair" not in str([e for e in kept if "id" in e]), "messages are kept once, in the history"
    assert [e["kind"] for e in kept].count("reset") <= 1


def test_going_back_in_time_goes_back_in_memory() -> None:
    saver = InMemorySaver()
    model = Recording(messages=iter([*turns(9), AIMessage("Hm.")]))
    able = agent(model, saver)
    able.invoke({"messages": [HumanMessage(TASK)]}, {**THREAD, "recursion_limit": 99})
    early = [s for s in able.get_state_history(THREAD) if s.next == ("model",)][-2]
    other = Recording(messages=iter([AIMessage("Drawer 0.")]))
    agent(other, saver).invoke(None, early.config)
    assert [(m.type, m.text) for m in shown(other)[0]] == [(m.type, m.text) for m in shown(model)[1]]


def test_a_rewritten_history_is_read_anew(caplog: pytest.LogCaptureFixture) -> None:
    saver = InMemorySaver()
    able = agent(Recording(messages=iter([*turns(3), AIMessage("Hm.")])), saver)
    state = able.invoke({"messages": [HumanMessage(TASK)]}, THREAD)
    removed = [RemoveMessage(id=m.id) for m in state["messages"][1:5]]
    again = Recording(messages=iter([AIMessage("Drawer 14.")]))
    with caplog.at_level(logging.INFO, "tersely"):
        agent(again, saver).invoke({"messages": [*removed, HumanMessage("And now?")]}, THREAD)
    assert "rewritten" in caplog.text
    (context,) = shown(again)
    assert "Page 2" in str(context)
    assert "Page 0" not in str(context)


def test_a_model_may_write_the_notes() -> None:
    notes = Recording(messages=iter([AIMessage(f"Drawers so far: {i}.") for i in range(9)]))
    model = Recording(messages=iter([*turns(8), AIMessage("Drawer 49.")]))
    agent(model, model=notes).invoke({"messages": [HumanMessage(TASK)]}, {"recursion_limit": 99})
    assert notes.seen, "it was asked"
    assert f"Drawers so far: {len(notes.seen) - 1}." in str(shown(model)[-1])


def test_a_model_that_fails_is_replaced_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    model = Recording(messages=iter([*turns(8), AIMessage("Drawer 49.")]))
    able = agent(model, model=scripted())  # it has nothing to say, and raises
    state = asyncio.run(able.ainvoke({"messages": [HumanMessage(TASK)]}, {"recursion_limit": 99}))
    assert state["messages"][-1].content == "Drawer 49."
    assert "sentences of the history take their place" in caplog.text


def test_calls_of_a_run_that_was_stopped_are_answered() -> None:
    model = Recording(messages=iter([AIMessage("Ah.")]))
    asked = [HumanMessage(TASK), calls("look", page=1), HumanMessage("Never mind.")]
    agent(model).invoke({"messages": asked})
    assert [m.type for m in shown(model)[0]] == ["human", "ai", "tool", "human"]
    assert "interrupted" in shown(model)[0][2].content


def test_long_results_are_compressed_and_can_be_opened() -> None:
    model = Recording(messages=iter([*turns(2), AIMessage("Hm.")]))
    state = agent(model, over=40).invoke({"messages": [HumanMessage(TASK)]})
    assert look.invoke({"page": 1}) in state["tersely_originals"].values()


def test_bad_settings_and_histories() -> None:
    with pytest.raises(InvalidInputError, match="512"):
        TerselyMemory(limit=100, compressor=compressor())
    with pytest.raises(InvalidInputError, match="Start with the task"):
        agent(scripted(AIMessage("x"))).invoke({"messages": [AIMessage("Hello.")]})
    with pytest.raises(InvalidInputError, match="Raise the limit"):
        agent(scripted(AIMessage("x"))).invoke({"messages": [HumanMessage("word " * 900)]})
