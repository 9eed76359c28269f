"""The middleware in real agents, with scripted chat models."""

from __future__ import annotations

import asyncio
import re
from itertools import pairwise
from typing import Any

import pytest

pytest.importorskip("langchain")
from langchain.agents import create_agent
from langchain.agents.middleware import ContextEditingMiddleware, SummarizationMiddleware
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from tersely import Compressor
from tersely_agents.memory.store import original_id
from tersely_agents.summaries import Summarizer
from tersely_langchain import TerselyContextEdit, TerselyMiddleware, TerselySummary, open_original
from tests.integrations.samples import KEY_ANSWER, KEY_QUESTION, make_page
from tests.integrations.scripted_langchain import Scripted, call_tools, recording, scripted

THREAD = {"configurable": {"thread_id": "t"}}
PAGES = {"tower": make_page("tower", KEY_ANSWER), "pier": make_page("pier", "The spare boat is Bertil's.")}


@tool
def tower() -> str:
    """Read the page of the tower."""
    return PAGES["tower"]


@tool
def pier() -> str:
    """Read the page of the pier."""
    return PAGES["pier"]


@tool
def fails() -> str:
    """Fail."""
    raise ValueError("no page " * 400)


def make_agent(model: Scripted, compressor: Compressor, **options: Any) -> Any:
    middleware = [TerselyMiddleware(over=60, compressor=compressor)]
    return create_agent(model, [tower, pier, fails], middleware=middleware, **options)


def read_results(state: dict[str, Any]) -> list[str]:
    return [m.content for m in state["messages"] if isinstance(m, ToolMessage)]


@pytest.mark.parametrize("mode", ["sync", "async", "stream"])
def test_parallel_results_enter_the_history_compressed(bundled: Compressor, mode: str) -> None:
    model = scripted(call_tools("tower", "pier"), AIMessage(content="Ada."))
    agent = make_agent(model, bundled, checkpointer=InMemorySaver())
    inputs = {"messages": [HumanMessage(KEY_QUESTION)]}
    if mode == "sync":
        state = agent.invoke(inputs, THREAD)
    elif mode == "async":
        state = asyncio.run(agent.ainvoke(inputs, THREAD))
    else:
        *_, state = agent.stream(inputs, THREAD, stream_mode="values")
    tower_page, pier_page = read_results(state)
    assert KEY_ANSWER in tower_page
    assert "Bertil" in pier_page
    assert bundled.count_tokens(tower_page) <= 60
    assert [m.tool_call_id for m in state["messages"] if isinstance(m, ToolMessage)] == ["tower0", "pier1"]
    assert set(agent.get_state(THREAD).values["tersely_originals"].values()) == set(PAGES.values())
    assert state["messages"][-1].content == "Ada."


def test_an_original_can_be_opened_after_a_restart(bundled: Compressor) -> None:
    saver = InMemorySaver()
    first = make_agent(scripted(call_tools("tower"), AIMessage(content="Hm.")), bundled, checkpointer=saver)
    state = first.invoke({"messages": [HumanMessage(KEY_QUESTION)]}, THREAD)
    key = re.search(r"id of the original: (\w+)", read_results(state)[0])[1]
    model = scripted(
        call_tools("open_original", id=key), call_tools("open_original", id="x"), AIMessage(content="Ada.")
    )
    restarted = make_agent(model, bundled, checkpointer=saver)
    state = restarted.invoke({"messages": [HumanMessage("Look again.")]}, THREAD)
    _, original, unknown = read_results(state)
    assert original == f"[part 1 of 1]\n{PAGES['tower']}"
    assert "there is no original" in unknown


def test_short_results_stay_unchanged(bundled: Compressor) -> None:
    agent = create_agent(
        scripted(call_tools("short"), AIMessage(content="Done.")),
        [tool("short", description="Says little.")(lambda: "Ada.")],
        middleware=[TerselyMiddleware(over=60, compressor=bundled)],
    )
    state = agent.invoke({"messages": [HumanMessage(KEY_QUESTION)]})
    assert read_results(state) == ["Ada."]
    assert not state.get("tersely_originals")


def test_errors_of_tools_pass_through(bundled: Compressor) -> None:
    agent = make_agent(scripted(call_tools("fails"), AIMessage(content="Done.")), bundled)
    with pytest.raises(ValueError, match="no page"):
        agent.invoke({"messages": [HumanMessage(KEY_QUESTION)]})


def test_each_prompt_begins_with_the_one_before(bundled: Compressor) -> None:
    model = recording(
        call_tools("tower"), call_tools("pier", number=1), call_tools("tower", number=2), AIMessage("Ada.")
    )
    make_agent(model, bundled).invoke({"messages": [HumanMessage(KEY_QUESTION)]})
    assert len(model.seen) == 4
    for before, after in pairwise(model.seen):
        assert after[: len(before)] == before


def test_older_results_are_compressed_only_for_the_model(bundled: Compressor) -> None:
    key = original_id(PAGES["tower"])
    edit = TerselyContextEdit(trigger=100, keep=1, over=60, compressor=bundled)
    model = recording(
        call_tools("tower"), call_tools("pier"), call_tools("open_original", id=key), AIMessage("Ada.")
    )
    tools = [tower, pier, open_original]
    agent = create_agent(model, tools, middleware=[ContextEditingMiddleware(edits=[edit])])
    state = agent.invoke({"messages": [HumanMessage(KEY_QUESTION)]})
    assert read_results(state) == [*PAGES.values(), f"[part 1 of 1]\n{PAGES['tower']}"]
    older, newest = (m.content for m in model.seen[2] if isinstance(m, ToolMessage))
    assert older.startswith("[shortened from ")
    assert key in older
    assert KEY_ANSWER in older
    assert bundled.count_tokens(older) <= 60
    assert newest == PAGES["pier"]


def test_a_summary_needs_no_model(bundled: Compressor) -> None:
    summary = TerselySummary(budget=60, summarizer=Summarizer(compressor=bundled))
    model = scripted(call_tools("tower"), call_tools("pier"), AIMessage(content="Ada."))
    middleware = SummarizationMiddleware(
        scripted(), trigger=("messages", 4), keep=("messages", 2), summarizer=summary
    )
    state = create_agent(model, [tower, pier], middleware=[middleware]).invoke(
        {"messages": [HumanMessage(KEY_QUESTION)]}
    )
    assert KEY_ANSWER in str(state["messages"][0].content)
    assert read_results(state) == [PAGES["pier"]]
    assert summary([AIMessage(content="")]) == ""
