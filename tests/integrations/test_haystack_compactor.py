"""The compactor in Haystack's agents: what the model is shown, and what it can open."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("haystack")
from haystack import Pipeline
from haystack.components.agents import Agent, State
from haystack.components.generators.chat import MockChatGenerator
from haystack.dataclasses import ChatMessage, ImageContent, TextContent, ToolCall
from haystack.hooks.compaction import CompactionHook
from haystack.token_counters import ApproximateTokenCounter
from haystack.tools import Tool

from tersely_agents.memory.shortening import Shortener
from tersely_agents.memory.store import original_id
from tersely_haystack import TerselyCompactor, open_original
from tests.integrations.samples import (
    KEY_ANSWER,
    KEY_QUESTION,
    has_whole_sentences,
    make_failing_compressor,
    make_page,
)

# Haystack calls its compaction experimental.
pytestmark = pytest.mark.filterwarnings("ignore::haystack.utils.experimental.ExperimentalWarning")

TOWER = make_page("tower", KEY_ANSWER)
PIER = make_page("pier", "The spare boat is Bertil's.")
REEF = make_page("reef", "It is deep.")
IMAGE = ImageContent(base64_image="aGk=", mime_type="image/png", validation=False)


def make_history(*contents: Any, error: bool = False) -> list[ChatMessage]:
    """Return a question and the results of calls of the tools "read0", "read1", ..."""
    messages = [ChatMessage.from_user(KEY_QUESTION)]
    for number, content in enumerate(contents):
        call = ToolCall(tool_name=f"read{number}", arguments={}, id=str(number))
        messages.append(ChatMessage.from_assistant(tool_calls=[call]))
        messages.append(ChatMessage.from_tool(content, origin=call, error=error))
    return messages


def compact(messages: list[ChatMessage], target: int = 400, **options: Any) -> list[ChatMessage] | None:
    return TerselyCompactor(**{"keep": 0, **options}).compact(messages, target, ApproximateTokenCounter())


def read_results(messages: list[ChatMessage] | None) -> list[Any]:
    return [m.tool_call_result.result for m in messages or () if m.tool_call_result]


def test_a_hook_shortens_older_results_until_they_fit() -> None:
    history = make_history(TOWER, PIER, REEF)
    hook = CompactionHook(TerselyCompactor(keep=1), context_window=2000, compact_at=0.5, compact_to=0.4)
    state = State(schema={}, data={"messages": list(history)})
    asyncio.run(hook.run_async(state))
    compacted = state.data["messages"]
    first, second, newest = read_results(compacted)
    assert KEY_ANSWER in first
    assert len(first) < 2000 < len(TOWER)
    assert len(second) < 2000
    assert newest == REEF
    assert [m.tool_call for m in compacted] == [m.tool_call for m in history]
    assert hook.token_counter.count(messages=compacted) <= 800
    assert history == make_history(TOWER, PIER, REEF), "the caller's list stays unchanged"


def test_nothing_to_shorten_gives_none() -> None:
    assert compact(make_history()) is None
    assert compact(make_history(TOWER, PIER), keep=9) is None
    assert compact(make_history(TOWER, error=True)) is None
    assert compact(make_history([IMAGE]), target=1) is None


def test_texts_of_content_parts_are_compressed_and_images_stay() -> None:
    content = [TextContent(PIER), IMAGE, TextContent(TOWER)]
    ((first, image, *rest),) = read_results(compact(make_history(content), target=1))
    shown = "".join(part.text for part in (first, image, *rest) if isinstance(part, TextContent))
    assert IMAGE in (first, image)
    assert shown.startswith("[shortened from ")
    assert KEY_ANSWER in shown
    assert len(shown) < 600


def test_shortened_result_is_reshortened_from_its_original() -> None:
    compacted = compact(make_history(TOWER))
    (shown,) = read_results(compacted)
    assert shown.startswith("[shortened from ")
    assert KEY_ANSWER in shown
    (again,) = read_results(compact(compacted or [], target=1))
    assert len(again) < len(shown)
    assert original_id(TOWER) in again


def test_each_tool_may_have_its_own_limit() -> None:
    history = make_history(TOWER, PIER)

    def are_whole(**options: Any) -> list[bool]:
        return [result in (TOWER, PIER) for result in read_results(compact(history, **options))]

    assert are_whole(tools={"read0": None}) == [True, False]
    assert are_whole(over=None, tools={"read0": 60}) == [False, True]
    assert are_whole(tools={"read1": 5000}) == [False, True]


def test_a_failing_model_cuts_no_sentence() -> None:
    compressor = make_failing_compressor()
    compactor = TerselyCompactor(keep=0)
    compactor._shortener = Shortener(compressor, compressor.count_tokens)
    (shown,) = read_results(compactor.compact(make_history(TOWER), 400, ApproximateTokenCounter()))
    assert "failed" in shown.splitlines()[0]
    assert has_whole_sentences(shown, TOWER)


def test_a_compactor_from_a_dictionary_is_the_same() -> None:
    compactor = TerselyCompactor(keep=0, over=400, tools={"search": 500, "read_file": None})
    assert TerselyCompactor.from_dict(compactor.to_dict()).to_dict() == compactor.to_dict()


def read_tower() -> str:
    return TOWER


def read_pier() -> str:
    return PIER


def make_agent() -> Agent:
    """Return an agent that reads two pages, and opens the first one when it has been shortened."""
    schema = {"type": "object", "properties": {}}
    tools = [Tool("tower", "Reads.", schema, read_tower), Tool("pier", "Reads.", schema, read_pier)]
    calls: list[tuple[str, dict[str, Any]]] = [("tower", {}), ("pier", {})]
    calls.append(("open_original", {"id": original_id(TOWER)}))
    replies = [
        ChatMessage.from_assistant(tool_calls=[ToolCall(name, arguments, id=str(number))])
        for number, (name, arguments) in enumerate(calls)
    ]
    hook = CompactionHook(TerselyCompactor(keep=1), context_window=900, compact_at=0.5, compact_to=0.4)
    return Agent(
        chat_generator=MockChatGenerator(responses=[*replies, ChatMessage.from_assistant("Ada.")]),
        tools=[*tools, open_original],
        hooks={"before_llm": [hook]},
    )


def test_an_agent_opens_an_original_also_after_yaml() -> None:
    pipeline = Pipeline()
    pipeline.add_component("agent", make_agent())
    written = pipeline.dumps()
    loaded = Pipeline.loads(written, allowed_modules=["tersely_haystack", "tests.integrations"])
    assert loaded.dumps() == written
    messages = loaded.run({"agent": {"messages": [ChatMessage.from_user(KEY_QUESTION)]}})["agent"]["messages"]
    first, _, opened = read_results(messages)
    assert first.startswith("[shortened from ")
    assert opened == f"[part 1 of 1]\n{TOWER}"
    assert "there is no original" in open_original.invoke(id="none", messages=messages)
