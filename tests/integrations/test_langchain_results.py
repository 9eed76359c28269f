"""Tool results of every shape in LangChain's agents: what the model sees, and what it can open."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Annotated, Any

import pytest

pytest.importorskip("langchain")
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt.tool_node import msg_content_output
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from tersely import Compressor
from tersely_agents.memory.store import original_id
from tersely_langchain import TerselyContextEdit, TerselyMemory, TerselyMiddleware
from tersely_langchain.messages import read_texts
from tests.integrations.samples import (
    KEY_ANSWER,
    KEY_QUESTION,
    has_whole_sentences,
    make_failing_compressor,
    make_page,
)
from tests.integrations.scripted_langchain import Scripted, call_tools, scripted

THREAD: dict[str, Any] = {"configurable": {"thread_id": "ada@example.org"}}
TOWER = make_page("tower", KEY_ANSWER)
PIER = make_page("pier", "The spare boat is Bertil's.")
IMAGE = {"type": "image", "base64": "aGk=", "mime_type": "image/png"}
CONTENTS: dict[str, list[Any]] = {
    "text": [{"type": "text", "text": PIER}, IMAGE, {"type": "text", "text": TOWER, "id": "block"}],
    "plain text": [IMAGE, {"type": "text-plain", "text": TOWER, "mime_type": "text/plain"}],
    "strings": [PIER, TOWER],
    "parts of OpenAI": [{"type": "input_text", "text": TOWER}, {"type": "input_file", "file_id": "f"}],
    "output of a custom tool": [{"type": "custom_tool_call_output", "output": TOWER}],
    "search results": [
        {"type": "search_result", "source": s, "title": s, "content": [{"type": "text", "text": text}]}
        for s, text in (("pier", PIER), ("tower", TOWER))
    ],
    "documents": [
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": TOWER}},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "aGk="}},
        {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": PIER}]}},
    ],
    "resources": [{"type": "resource", "resource": {"uri": "file:///tower.md", "text": TOWER}}, IMAGE],
}
"""Contents of tool results by their kind. Each holds the answer."""


def make_tool(name: str, content: Any) -> StructuredTool:
    """Return a tool that gives a message with `content`; in a command if LangChain would write it as JSON."""

    def read(tool_call_id: Annotated[str, InjectedToolCallId]) -> ToolMessage | Command[Any]:
        message = ToolMessage(content, tool_call_id=tool_call_id)
        is_plain = isinstance(content, str) or msg_content_output(content) == content
        return message if is_plain else Command(update={"messages": [message]})

    return StructuredTool.from_function(read, name=name, description="Reads a page.")


def make_agent(model: Scripted, own_tools: list[Any], compressor: Compressor, **options: Any) -> Any:
    middleware = TerselyMiddleware(**{"over": 90, **options}, compressor=compressor)
    return create_agent(model, own_tools, middleware=[middleware])


def run_tool(content: Any, compressor: Compressor, **options: Any) -> ToolMessage:
    """Return the message that enters the history for a tool that returns `content`."""
    model = scripted(call_tools("page"), AIMessage("Ada."))
    agent = make_agent(model, [make_tool("page", content)], compressor, **options)
    return read_results(agent.invoke({"messages": [HumanMessage(KEY_QUESTION)]}))[0]


def read_results(state: dict[str, Any]) -> list[ToolMessage]:
    return [m for m in state["messages"] if isinstance(m, ToolMessage)]


@pytest.mark.parametrize("kind", CONTENTS)
def test_texts_of_blocks_are_compressed_and_others_stay(bundled: Compressor, kind: str) -> None:
    content = CONTENTS[kind]
    shown = str(run_tool(content, bundled).content)
    assert KEY_ANSWER in shown
    assert shown.count("[shortened from ") == 1
    assert len(shown) < len(str(content)) / 3
    for block in content:
        if not read_texts([block]):
            assert block in run_tool(content, bundled).content


def test_places_in_a_text_go_with_it(bundled: Compressor) -> None:
    block = {"type": "text", "text": TOWER, "annotations": [{"start_index": 900, "end_index": 910}]}
    (shown,) = run_tool([block], bundled).content
    assert "annotations" not in shown
    assert run_tool([IMAGE], bundled).content == [IMAGE]


def read_by_command(tool_call_id: str) -> Command[Any]:
    return Command(update={"messages": [ToolMessage(TOWER, tool_call_id=tool_call_id)]})


def test_results_in_commands_are_compressed(bundled: Compressor) -> None:
    middleware = TerselyMiddleware(over=90, compressor=bundled)

    @tool
    def page(tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Read a page."""
        return read_by_command(tool_call_id)

    model = scripted(
        call_tools("page"), call_tools("open_original", id=original_id(TOWER)), AIMessage("Ada.")
    )
    agent = create_agent(model, [page], middleware=[middleware], checkpointer=InMemorySaver())
    shown, opened = read_results(agent.invoke({"messages": [HumanMessage(KEY_QUESTION)]}, THREAD))
    assert KEY_ANSWER in shown.content
    assert len(shown.content) < 600
    assert opened.content == f"[part 1 of 1]\n{TOWER}"


REQUEST: Any = SimpleNamespace(
    tool_call={"name": "page", "args": {}, "id": "page0"},
    state={"messages": [HumanMessage(KEY_QUESTION)]},
    runtime=SimpleNamespace(store=None, config={}),
)
"""A call of a tool outside of a graph."""


def test_a_command_to_another_graph_stays_unchanged(bundled: Compressor) -> None:
    middleware = TerselyMiddleware(over=90, compressor=bundled)
    command = Command(graph=Command.PARENT, update={"messages": [ToolMessage(TOWER, tool_call_id="page0")]})
    assert middleware.wrap_tool_call(REQUEST, lambda _: command) is command


def test_every_message_and_command_of_a_list_is_compressed(bundled: Compressor) -> None:
    middleware = TerselyMiddleware(over=90, compressor=bundled)
    both: Any = [ToolMessage(PIER, tool_call_id="page0"), read_by_command("page0")]
    first, second = middleware.wrap_tool_call(REQUEST, lambda _: both)
    assert list(first.update["tersely_originals"].values()) == [PIER]
    assert list(second.update["tersely_originals"].values()) == [TOWER]


@pytest.mark.parametrize("content", [TOWER, [{"type": "text", "text": TOWER}]])
def test_errors_stay_whole(bundled: Compressor, content: Any) -> None:
    error = ToolMessage(content, tool_call_id="page0", status="error")
    assert TerselyMiddleware(over=90, compressor=bundled).wrap_tool_call(REQUEST, lambda _: error) is error
    messages: list[Any] = [HumanMessage(KEY_QUESTION), call_tools("page"), error]
    edit = TerselyContextEdit(trigger=1, keep=0, over=90, compressor=bundled)
    edit.apply(messages, count_tokens=lambda _: 1000)
    assert messages[-1] is error


def run_tools(compressor: Compressor, **options: Any) -> list[bool]:
    """Return whether the results of the tools "tower" and "pier" stay whole."""
    tools = [make_tool("tower", TOWER), make_tool("pier", PIER)]
    model = scripted(call_tools("tower", "pier"), AIMessage("Ada."))
    state = make_agent(model, tools, compressor, **options).invoke({"messages": [HumanMessage(KEY_QUESTION)]})
    return [m.content in (TOWER, PIER) for m in read_results(state)]


def test_each_tool_may_have_its_own_limit(bundled: Compressor) -> None:
    assert run_tools(bundled, tools={"tower": None}) == [True, False]
    assert run_tools(bundled, over=None, tools={"tower": 90}) == [False, True]
    assert run_tools(bundled, tools={"pier": 5000}) == [False, True]
    result = run_tool(TOWER, bundled, over=None, tools={"page": 60})
    assert bundled.count_tokens(str(result.content)) <= 60


def test_a_failing_model_cuts_no_sentence() -> None:
    compressor = make_failing_compressor()
    for content in (TOWER, [{"type": "text", "text": PIER}, {"type": "text", "text": TOWER}]):
        shown = run_tool(content, compressor).content
        texts = [shown] if isinstance(shown, str) else [block["text"] for block in shown]
        assert "failed" in texts[0].splitlines()[0]
        assert has_whole_sentences("\n".join(texts), TOWER, PIER)


@pytest.mark.parametrize("saver", [None, InMemorySaver()])
def test_the_caller_does_not_get_our_state(bundled: Compressor, saver: Any) -> None:
    model = scripted(call_tools("page"), AIMessage("Ada."))
    memory = TerselyMemory(limit=600, over=90, compressor=bundled)
    agent = create_agent(model, [make_tool("page", TOWER)], middleware=[memory], checkpointer=saver)
    state = agent.invoke({"messages": [HumanMessage(KEY_QUESTION)]}, THREAD)
    assert list(state) == ["messages"]


@pytest.mark.parametrize("memory", [False, True])
def test_a_store_holds_the_originals_of_a_thread(bundled: Compressor, memory: bool) -> None:
    store = InMemoryStore()
    model = scripted(
        call_tools("page"), call_tools("open_original", id=original_id(TOWER)), AIMessage("Ada.")
    )
    middleware: Any = (
        TerselyMemory(limit=3000, over=90, compressor=bundled)
        if memory
        else TerselyMiddleware(over=90, compressor=bundled)
    )
    agent = create_agent(
        model,
        [make_tool("page", TOWER)],
        middleware=[middleware],
        checkpointer=InMemorySaver(),
        store=store,
    )
    state = agent.invoke({"messages": [HumanMessage(KEY_QUESTION)]}, THREAD)
    assert read_results(state)[-1].content == f"[part 1 of 1]\n{TOWER}"
    assert not agent.get_state(THREAD).values.get("tersely_originals")
    assert [item.value["text"] for item in store.search(("tersely", "originals"))] == [TOWER]
    model.messages = iter([call_tools("open_original", id=original_id(TOWER)), AIMessage("Ada.")])
    other = agent.invoke({"messages": [HumanMessage("Hello.")]}, {"configurable": {"thread_id": "other"}})
    assert "there is no original" in str(read_results(other)[-1].content), "it belongs to its thread"
