"""The memory in real agents: what the model sees, and what a checkpointer brings back."""

from __future__ import annotations

import asyncio
import logging
import random
from typing import Any

import pytest

pytest.importorskip("langchain")
from langchain.agents import create_agent
from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware, PIIMiddleware
from langchain_core.messages import AIMessage, ChatMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from tersely import Compressor
from tersely.messages import measure_tokens
from tersely_langchain import TerselyMemory
from tersely_langchain.messages import to_openai
from tests.integrations.scripted_langchain import Recording, Scripted, call_tools, recording, scripted
from tests.sdk.fakes import FakeScorer

LIMIT = 600
TASK = "Find out who holds the spare key of lighthouse LH-2231."
THREAD: dict[str, Any] = {"configurable": {"thread_id": "t"}}
MANY_TURNS: dict[str, Any] = {"recursion_limit": 100}


@tool
def look(page: int) -> str:
    """Read a page."""
    words = random.Random(page).choices(["lamp", "stair", "glass", "oil", "stone", "wind"], k=70)
    return f"Page {page}. {' '.join(words)}. The spare key of page {page} is in drawer {page * 7}."


def make_compressor() -> Compressor:
    return Compressor(FakeScorer())


def look_at_pages(count: int) -> list[AIMessage]:
    """Return messages of the model that look at pages 0, 1, ..., one at a time."""
    return [call_tools("look", number=page, page=page) for page in range(count)]


def make_agent(chat_model: Scripted, saver: Any = None, **options: Any) -> Any:
    memory = TerselyMemory(limit=LIMIT, compressor=make_compressor(), **options)
    return create_agent(
        chat_model, [look], middleware=[memory], checkpointer=saver, system_prompt="Be brief."
    )


def contexts_of(model: Recording) -> list[list[Any]]:
    """Return the messages that the model saw in each call, without the system prompt."""
    return [messages[1:] for messages in model.seen]


def read_contents(context: list[Any]) -> list[tuple[str, str]]:
    return [(message.type, message.text) for message in context]


@pytest.mark.parametrize("mode", ["sync", "async", "stream"])
def test_the_model_never_sees_more_than_the_limit(mode: str) -> None:
    model = recording(*look_at_pages(12), AIMessage("Drawer 77."))
    agent = make_agent(model, pins={"rule": "Count stone towers only."})
    inputs = {"messages": [HumanMessage(TASK)]}
    if mode == "sync":
        state = agent.invoke(inputs, MANY_TURNS)
    elif mode == "async":
        state = asyncio.run(agent.ainvoke(inputs, MANY_TURNS))
    else:
        *_, state = agent.stream(inputs, MANY_TURNS, stream_mode="values")
    assert state["messages"][-1].content == "Drawer 77."
    assert len(state["messages"]) == 1 + 2 * 12 + 1, "the history stays whole"
    count = make_compressor().count_tokens
    assert {messages[0].content for messages in model.seen} == {"Be brief."}
    contexts = contexts_of(model)
    assert len(contexts) == 13
    assert any("Count stone towers only." in str(c) for c in contexts), "there was a reset"
    for context in contexts:
        assert measure_tokens([to_openai(m) for m in context], count) < LIMIT
        assert context[0].text.startswith(TASK)
        results = [m.tool_call_id for m in context if isinstance(m, ToolMessage)]
        assert results == [c["id"] for m in context if isinstance(m, AIMessage) for c in m.tool_calls]
    history = {m.id: m for m in state["messages"]}
    unchanged = [m for m in contexts[-1] if m.id in history]
    assert unchanged
    assert all(m == history[m.id] for m in unchanged), "LangChain's own messages, with all that they hold"


def test_a_checkpoint_brings_the_context_back() -> None:
    saver = InMemorySaver()
    first = recording(*look_at_pages(8), AIMessage("Hm."))
    make_agent(first, saver).invoke({"messages": [HumanMessage(TASK, id="task")]}, {**THREAD, **MANY_TURNS})
    second = recording(AIMessage("Drawer 7."))
    agent = make_agent(second, saver)
    agent.invoke({"messages": [HumanMessage("Look again.", id="again")]}, THREAD)
    state = agent.get_state(THREAD).values
    (context,) = contexts_of(second)
    assert context[-1].content == "Look again."
    before = read_contents(contexts_of(first)[-1])
    assert read_contents(context)[: len(before)] == before
    assert state["tersely_memory"]["read"] == len(state["messages"]) - 1
    events = state["tersely_memory"]["events"]
    assert all("id" in e for e in events if e["kind"] == "message"), "messages are kept once, in the history"
    assert [e["kind"] for e in events].count("reset") <= 1


def test_an_earlier_checkpoint_brings_its_context_back() -> None:
    saver = InMemorySaver()
    model = recording(*look_at_pages(9), AIMessage("Hm."))
    agent = make_agent(model, saver)
    agent.invoke({"messages": [HumanMessage(TASK)]}, {**THREAD, **MANY_TURNS})
    early = [s for s in agent.get_state_history(THREAD) if s.next == ("model",)][-2]
    second = recording(AIMessage("Drawer 0."))
    make_agent(second, saver).invoke(None, early.config)
    assert read_contents(contexts_of(second)[0]) == read_contents(contexts_of(model)[1])


def test_an_edited_history_is_read_again(caplog: pytest.LogCaptureFixture) -> None:
    saver = InMemorySaver()
    agent = make_agent(recording(*look_at_pages(3), AIMessage("Hm.")), saver)
    state = agent.invoke({"messages": [HumanMessage(TASK)]}, THREAD)
    removals = [RemoveMessage(id=m.id) for m in state["messages"][1:5]]
    second = recording(AIMessage("Drawer 14."))
    with caplog.at_level(logging.INFO, "tersely"):
        make_agent(second, saver).invoke({"messages": [*removals, HumanMessage("And now?")]}, THREAD)
    assert "edited" in caplog.text
    (context,) = contexts_of(second)
    assert "Page 2" in str(context)
    assert "Page 0" not in str(context)


def test_a_model_that_writes_no_notes_is_replaced(caplog: pytest.LogCaptureFixture) -> None:
    model = recording(*look_at_pages(8), AIMessage("Drawer 49."))
    agent = make_agent(model, model=scripted())  # it has no reply, and raises
    state = asyncio.run(agent.ainvoke({"messages": [HumanMessage(TASK)]}, MANY_TURNS))
    assert state["messages"][-1].content == "Drawer 49."
    assert "sentences of the history take their place" in caplog.text


def test_asynchronous_models_write_notes() -> None:
    class AsyncOnly(Recording):
        def _generate(self, *args: Any, **options: Any) -> Any:
            raise NotImplementedError

        async def _agenerate(self, messages: Any, *args: Any, **options: Any) -> Any:
            return Recording._generate(self, messages)

    writer = AsyncOnly(messages=iter([AIMessage(f"Drawers so far: {i}.") for i in range(9)]))
    model = recording(*look_at_pages(8), AIMessage("Drawer 49."))
    asyncio.run(make_agent(model, model=writer).ainvoke({"messages": [HumanMessage(TASK)]}, MANY_TURNS))
    assert f"Drawers so far: {len(writer.seen) - 1}." in str(contexts_of(model)[-1])
    prompts = [[m.type for m in messages] for messages in writer.seen]
    assert all(types == ["human"] for types in prompts), "as text, without calls"


def test_calls_of_a_stopped_run_get_a_result() -> None:
    model = recording(AIMessage("Ah."))
    messages = [HumanMessage(TASK), call_tools("look", page=1), HumanMessage("Never mind.")]
    make_agent(model).invoke({"messages": messages})
    assert [m.type for m in contexts_of(model)[0]] == ["human", "ai", "tool", "human"]
    assert "interrupted" in contexts_of(model)[0][2].content


def test_an_edited_message_is_shown_as_edited() -> None:
    saver = InMemorySaver()
    first = recording(*look_at_pages(9), AIMessage("Hm."))
    agent = make_agent(first, saver)
    agent.invoke(
        {"messages": [HumanMessage(f"{TASK} Mail ada@example.org.", id="task")]}, {**THREAD, **MANY_TURNS}
    )
    assert agent.get_state(THREAD).values["tersely_memory"]["events"][-1]["kind"] in ("message", "reset")
    second = recording(AIMessage("Drawer 7."))
    edited = [HumanMessage(TASK, id="task"), HumanMessage("And now?")]
    make_agent(second, saver).invoke({"messages": edited}, THREAD)
    assert "ada@example.org" not in str(contexts_of(second))


@pytest.mark.parametrize("first", [True, False])
def test_edits_of_other_middleware_hold(first: bool) -> None:
    model = recording(*look_at_pages(3), AIMessage("Hm."))
    memory = TerselyMemory(limit=LIMIT, compressor=make_compressor())
    redaction = PIIMiddleware("email", strategy="redact")
    clearing = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=10, keep=0, placeholder="[gone]")])
    others = [redaction, clearing]
    agent = create_agent(model, [look], middleware=[*others, memory] if first else [memory, *others])
    agent.invoke({"messages": [HumanMessage(f"{TASK} Mail ada@example.org.")]})
    assert "ada@example.org" not in str(model.seen)
    assert "[gone]" in str(model.seen[-1])


def test_messages_without_an_openai_form_become_text() -> None:
    messages = [
        HumanMessage(TASK),
        HumanMessage(
            [{"type": "text", "text": "See this."}, {"type": "video", "url": "https://example.org/a.mp4"}]
        ),
        ToolMessage("Found at last.", tool_call_id="gone"),
        call_tools("look", "look", page=1),
        ToolMessage("Page one.", tool_call_id="look0"),
        ToolMessage("Of another call.", tool_call_id="other"),
        ToolMessage("Too late.", tool_call_id="look1"),
        AIMessage("", invalid_tool_calls=[{"name": "look", "args": "{", "id": "bad", "error": "no JSON"}]),
        ToolMessage("Write JSON.", tool_call_id="bad"),
        AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": None, "type": "tool_call"}]),
        ChatMessage("Objection.", role="critic"),
    ]
    model = recording(AIMessage("Ah."), AIMessage("Yes."))
    agent = make_agent(model, InMemorySaver())
    agent.invoke({"messages": messages}, THREAD)
    agent.invoke({"messages": [HumanMessage("Go on.")]}, THREAD)
    contents = str([m.content for m in contexts_of(model)[-1]])
    for words in ("a.mp4", "Found at last", "Page one", "Of another", "Too late", "Write JSON", "Objection"):
        assert words in contents


def test_a_lower_limit_makes_the_context_smaller() -> None:
    saver = InMemorySaver()
    model = recording(*look_at_pages(6), AIMessage("Hm."))
    memory = TerselyMemory(limit=4000, compressor=make_compressor())
    agent = create_agent(model, [look], middleware=[memory], checkpointer=saver)
    agent.invoke({"messages": [HumanMessage(TASK)]}, {**THREAD, **MANY_TURNS})
    second = recording(AIMessage("Drawer 7."))
    make_agent(second, saver).invoke({"messages": [HumanMessage("And now?")]}, THREAD)
    (context,) = contexts_of(second)
    assert measure_tokens([to_openai(m) for m in context], make_compressor().count_tokens) < LIMIT


def test_equal_messages_keep_their_ids() -> None:
    messages = [
        HumanMessage(TASK),
        AIMessage("Ok.", id="a"),
        HumanMessage("More.", id="b"),
        AIMessage("Ok.", id="c"),
        AIMessage("Ok.", id="c"),
        HumanMessage("More.", id="d"),
    ]
    model = recording(AIMessage("Ah."))
    make_agent(model).invoke({"messages": messages})
    assert [m.id for m in contexts_of(model)[0]][1:] == ["a", "b", "c", "d"]


def test_changed_pins_hold_after_the_next_reset() -> None:
    saver = InMemorySaver()
    first = recording(AIMessage("Yes."))
    make_agent(first, saver, pins={"rule": "Stone only.", "old": "Forget me."}).invoke(
        {"messages": [HumanMessage(TASK)]}, THREAD
    )
    second = recording(*look_at_pages(9), AIMessage("Hm."))
    make_agent(second, saver, pins={"rule": "Wood only."}).invoke(
        {"messages": [HumanMessage("Look.")]}, {**THREAD, **MANY_TURNS}
    )
    context = str(contexts_of(second)[-1])
    assert "Wood only." in context
    assert "Stone only." not in context
    assert "Forget me." not in context


def test_a_history_may_begin_with_the_assistant() -> None:
    model = recording(AIMessage("Ah."))
    make_agent(model).invoke({"messages": [AIMessage("Hello."), HumanMessage(TASK)]})
    assert [m.content for m in contexts_of(model)[0]][1:] == ["Hello.", TASK]
