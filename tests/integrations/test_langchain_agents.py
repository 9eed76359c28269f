"""The middleware in real agents, with a scripted chat model."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

pytest.importorskip("langchain")
from langchain.agents import create_agent
from langchain.agents.middleware import ContextEditingMiddleware, SummarizationMiddleware
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from tersely import Compressor, InvalidInputError
from tersely.summarize import Summarizer
from tersely_langchain import TerselyContextEdit, TerselyMiddleware, TerselySummary
from tests.integrations.langchain_models import Recording, Scripted, calls, scripted

QUESTION = "Who holds the spare key?"
PAGES = {
    name: " ".join(f"The {name} has a lamp of the kind number {i}." for i in range(60)) + f" {fact}"
    for name, fact in {"tower": "Ada holds the spare key.", "pier": "The spare boat is Bertil's."}.items()
}


@tool
def tower() -> str:
    """Reads the page of the tower."""
    return PAGES["tower"]


@tool
def pier() -> str:
    """Reads the page of the pier."""
    return PAGES["pier"]


@tool
def fails() -> str:
    """Fails."""
    raise ValueError("no page " * 400)


@pytest.fixture(scope="module")
def compressor() -> Compressor:
    return Compressor()


def agent(model: Scripted, compressor: Compressor, **options: Any) -> Any:
    middleware = [TerselyMiddleware(over=60, compressor=compressor)]
    return create_agent(model, [tower, pier, fails], middleware=middleware, **options)


def results(state: dict[str, Any]) -> list[str]:
    return [m.content for m in state["messages"] if isinstance(m, ToolMessage)]


@pytest.mark.parametrize("way", ["sync", "async", "stream"])
def test_parallel_results_are_compressed_at_birth(compressor: Compressor, way: str) -> None:
    able = agent(scripted(calls("tower", "pier"), AIMessage(content="Ada.")), compressor)
    asked = {"messages": [HumanMessage(QUESTION)]}
    if way == "sync":
        state = able.invoke(asked)
    elif way == "async":
        state = asyncio.run(able.ainvoke(asked))
    else:
        *_, state = able.stream(asked, stream_mode="values")
    tower_page, pier_page = results(state)
    assert "Ada holds the spare key." in tower_page
    assert "Bertil" in pier_page
    assert compressor.count_tokens(tower_page) <= 60
    assert [m.tool_call_id for m in state["messages"] if isinstance(m, ToolMessage)] == ["tower0", "pier1"]
    assert set(state["tersely_originals"].values()) == set(PAGES.values())
    assert state["messages"][-1].content == "Ada."


def test_an_original_can_be_opened_also_after_a_restart(compressor: Compressor) -> None:
    saver, thread = InMemorySaver(), {"configurable": {"thread_id": "t"}}
    first = agent(scripted(calls("tower"), AIMessage(content="Hm.")), compressor, checkpointer=saver)
    state = first.invoke({"messages": [HumanMessage(QUESTION)]}, thread)
    key = re.search(r"id of the original: (\w+)", results(state)[0])[1]
    opened = calls("open_original", id=key)
    again = agent(
        scripted(opened, calls("open_original", id="x"), AIMessage(content="Ada.")),
        compressor,
        checkpointer=saver,
    )
    state = again.invoke({"messages": [HumanMessage("Look again.")]}, thread)
    _, whole, unknown = results(state)
    assert whole == f"[part 1 of 1]\n{PAGES['tower']}"
    assert "there is no original" in unknown


def test_errors_and_short_results_stay_as_they_are(compressor: Compressor) -> None:
    able = create_agent(
        scripted(calls("short"), AIMessage(content="Done.")),
        [tool("short", description="Says little.")(lambda: "Ada.")],
        middleware=[TerselyMiddleware(over=60, compressor=compressor)],
    )
    state = able.invoke({"messages": [HumanMessage(QUESTION)]})
    assert results(state) == ["Ada."]
    assert not state.get("tersely_originals")
    able = agent(scripted(calls("fails"), AIMessage(content="Done.")), compressor)
    with pytest.raises(ValueError, match="no page"):
        able.invoke({"messages": [HumanMessage(QUESTION)]})


def test_older_results_are_shown_compressed(compressor: Compressor) -> None:
    edit = TerselyContextEdit(trigger=100, keep=1, over=40, compressor=compressor)
    model = Recording(messages=iter([calls("tower"), calls("pier"), AIMessage(content="Ada.")]))
    able = create_agent(model, [tower, pier], middleware=[ContextEditingMiddleware(edits=[edit])])
    state = able.invoke({"messages": [HumanMessage(QUESTION)]})
    assert results(state) == list(PAGES.values()), "the history stays whole"
    *_, last = model.seen
    older, newest = (m.content for m in last if isinstance(m, ToolMessage))
    assert "Ada holds the spare key." in older
    assert compressor.count_tokens(older) <= 40
    assert newest == PAGES["pier"]


def test_a_summary_needs_no_model(compressor: Compressor) -> None:
    summary = TerselySummary(budget=60, summarizer=Summarizer(compressor=compressor))
    model = scripted(calls("tower"), calls("pier"), AIMessage(content="Ada."))
    middleware = SummarizationMiddleware(
        scripted(), trigger=("messages", 4), keep=("messages", 2), summarizer=summary
    )
    state = create_agent(model, [tower, pier], middleware=[middleware]).invoke(
        {"messages": [HumanMessage(QUESTION)]}
    )
    told = str(state["messages"][0].content)
    assert "Ada holds the spare key." in told
    assert results(state) == [PAGES["pier"]]
    assert summary([AIMessage(content="")]) == ""


def test_bad_settings() -> None:
    with pytest.raises(InvalidInputError, match="1 or more"):
        TerselyMiddleware(over=0)
