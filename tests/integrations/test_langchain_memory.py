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
from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware, PIIMiddleware
from langchain_core.messages import AIMessage, ChatMessage, HumanMessage, RemoveMessage, ToolMessage
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
    assert {messages[0].content for messages in model.seen} == {"Be brief."}
    contexts = shown(model)
    assert len(contexts) == 13
    assert any("Count stone towers only." in str(c) for c in contexts), "there was a reset"
    for context in contexts:
        assert size([mapping(m) for m in context], count) < LIMIT
        assert context[0].content == TASK
        answered = [m.tool_call_id for m in context if isinstance(m, ToolMessage)]
        assert answered == [c["id"] for m in context if isinstance(m, AIMessage) for c in m.tool_calls]
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
    assert all("id" in e for e in kept if e["kind"] == "message"), "messages are kept once, in the history"
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
    assert "edited" in caplog.text
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


def test_an_edited_message_is_shown_as_edited() -> None:
    saver = InMemorySaver()
    script = [*turns(9), AIMessage("Hm.")]
    state = agent(Recording(messages=iter(script)), saver).invoke(
        {"messages": [HumanMessage(f"{TASK} Mail ada@example.org.", id="task")]},
        {**THREAD, "recursion_limit": 99},
    )
    assert state["tersely_memory"]["events"][-1]["kind"] in ("message", "reset")
    again = Recording(messages=iter([AIMessage("Drawer 7.")]))
    edited = [HumanMessage(TASK, id="task"), HumanMessage("And now?")]
    agent(again, saver).invoke({"messages": edited}, THREAD)
    assert "ada@example.org" not in str(shown(again))


@pytest.mark.parametrize("first", [True, False])
def test_middleware_that_edits_messages_is_heeded(first: bool) -> None:
    model = Recording(messages=iter([*turns(3), AIMessage("Hm.")]))
    memory = TerselyMemory(limit=LIMIT, compressor=compressor())
    redaction = PIIMiddleware("email", strategy="redact")
    clearing = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=10, keep=0, placeholder="[gone]")])
    others = [redaction, clearing]
    able = create_agent(model, [look], middleware=[*others, memory] if first else [memory, *others])
    able.invoke({"messages": [HumanMessage(f"{TASK} Mail ada@example.org.")]})
    assert "ada@example.org" not in str(model.seen)
    assert "[gone]" in str(model.seen[-1])


def test_messages_that_openai_has_no_form_for_do_not_end_the_thread() -> None:
    odd = [
        HumanMessage(TASK),
        HumanMessage(
            [{"type": "text", "text": "See this."}, {"type": "video", "url": "https://example.org/a.mp4"}]
        ),
        ToolMessage("Found at last.", tool_call_id="gone"),
        calls("look", "look", page=1),
        ToolMessage("Page one.", tool_call_id="look0"),
        ToolMessage("Of another call.", tool_call_id="other"),
        ToolMessage("Too late.", tool_call_id="look1"),
        AIMessage("", invalid_tool_calls=[{"name": "look", "args": "{", "id": "bad", "error": "no JSON"}]),
        ToolMessage("Write JSON.", tool_call_id="bad"),
        AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": None, "type": "tool_call"}]),
        ChatMessage("Objection.", role="critic"),
    ]
    model = Recording(messages=iter([AIMessage("Ah."), AIMessage("Yes.")]))
    able = agent(model, InMemorySaver())
    able.invoke({"messages": odd}, THREAD)
    able.invoke({"messages": [HumanMessage("Go on.")]}, THREAD)
    told = str([m.content for m in shown(model)[-1]])
    for words in ("a.mp4", "Found at last", "Page one", "Of another", "Too late", "Write JSON", "Objection"):
        assert words in told


def test_a_lower_limit_makes_the_context_anew() -> None:
    saver = InMemorySaver()
    model = Recording(messages=iter([*turns(6), AIMessage("Hm.")]))
    high = TerselyMemory(limit=4000, compressor=compressor())
    able = create_agent(model, [look], middleware=[high], checkpointer=saver)
    able.invoke({"messages": [HumanMessage(TASK)]}, {**THREAD, "recursion_limit": 99})
    again = Recording(messages=iter([AIMessage("Drawer 7.")]))
    agent(again, saver).invoke({"messages": [HumanMessage("And now?")]}, THREAD)
    (context,) = shown(again)
    assert size([mapping(m) for m in context], compressor().count_tokens) < LIMIT


def test_equal_messages_keep_their_ids() -> None:
    asked = [
        HumanMessage(TASK),
        AIMessage("Ok.", id="a"),
        HumanMessage("More.", id="b"),
        AIMessage("Ok.", id="c"),
    ]
    model = Recording(messages=iter([AIMessage("Ah.")]))
    agent(model).invoke({"messages": [*asked, AIMessage("Ok.", id="c"), HumanMessage("More.", id="d")]})
    assert [m.id for m in shown(model)[0]][1:] == ["a", "b", "c", "d"]


def test_changed_pins_hold_from_the_next_reset_on() -> None:
    saver = InMemorySaver()
    first = Recording(messages=iter([AIMessage("Yes.")]))
    agent(first, saver, pins={"rule": "Stone only.", "old": "Forget me."}).invoke(
        {"messages": [HumanMessage(TASK)]}, THREAD
    )
    model = Recording(messages=iter([*turns(9), AIMessage("Hm.")]))
    agent(model, saver, pins={"rule": "Wood only."}).invoke(
        {"messages": [HumanMessage("Look.")]}, {**THREAD, "recursion_limit": 99}
    )
    told = str(shown(model)[-1])
    assert "Wood only." in told
    assert "Stone only." not in told
    assert "Forget me." not in told


def test_models_that_are_only_asynchronous_write_notes() -> None:
    class Async(Recording):
        def _generate(self, *args: Any, **options: Any) -> Any:
            raise NotImplementedError

        async def _agenerate(self, messages: Any, *args: Any, **options: Any) -> Any:
            return Recording._generate(self, messages)

    notes = Async(messages=iter([AIMessage(f"Drawers so far: {i}.") for i in range(9)]))
    model = Recording(messages=iter([*turns(8), AIMessage("Drawer 49.")]))
    asyncio.run(
        agent(model, model=notes).ainvoke({"messages": [HumanMessage(TASK)]}, {"recursion_limit": 99})
    )
    assert f"Drawers so far: {len(notes.seen) - 1}." in str(shown(model)[-1])
    assert all([m.type for m in asked] == ["human"] for asked in notes.seen), "as text, without calls"


def test_a_history_may_begin_with_a_greeting() -> None:
    model = Recording(messages=iter([AIMessage("Ah.")]))
    agent(model).invoke({"messages": [AIMessage("Hello."), HumanMessage(TASK)]})
    assert [m.content for m in shown(model)[0]][1:] == ["Hello.", TASK]


def test_bad_settings_and_histories() -> None:
    with pytest.raises(InvalidInputError, match="512"):
        TerselyMemory(limit=100, compressor=compressor())
    with pytest.raises(InvalidInputError, match="Raise the limit"):
        agent(scripted(AIMessage("x"))).invoke({"messages": [HumanMessage("word " * 900)]})
