"""The compactor on tool results of every shape: what the model is shown, and what can be opened."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

pytest.importorskip("haystack")
from haystack import Pipeline
from haystack.components.agents import Agent
from haystack.components.generators.chat import MockChatGenerator
from haystack.dataclasses import ChatMessage, ImageContent, TextContent, ToolCall
from haystack.hooks.compaction import CompactionHook
from haystack.token_counters import ApproximateTokenCounter
from haystack.tools import Tool

from tersely import InvalidInputError
from tersely_agents.memory.shortening import Shortener
from tersely_agents.memory.store import original_id
from tersely_haystack import TerselyCompactor, open_original
from tests.integrations.broken import make_failing_compressor, whole_sentences
from tests.integrations.coast import ANSWER, QUESTION, make_page

# Haystack calls its compaction experimental.
pytestmark = pytest.mark.filterwarnings("ignore::haystack.utils.experimental.ExperimentalWarning")

TOWER = make_page("tower", ANSWER)
PIER = make_page("pier", "The spare boat is Bertil's.")
PAGES = {"tower": TOWER, "pier": PIER}
IMAGE = ImageContent(base64_image="aGk=", mime_type="image/png", validation=False)


def make_history(*contents: Any, error: bool = False) -> list[ChatMessage]:
    """A question and the results of calls of the tools "read0", "read1", ..."""
    messages = [ChatMessage.from_user(QUESTION)]
    for number, content in enumerate(contents):
        call = ToolCall(tool_name=f"read{number}", arguments={}, id=str(number))
        messages.append(ChatMessage.from_assistant(tool_calls=[call]))
        messages.append(ChatMessage.from_tool(content, origin=call, error=error))
    return messages


def compact(messages: list[ChatMessage], target: int = 400, **options: Any) -> list[ChatMessage] | None:
    return TerselyCompactor(**{"keep": 0, **options}).compact(messages, target, ApproximateTokenCounter())


def read_results(messages: list[ChatMessage] | None) -> list[Any]:
    return [m.tool_call_result.result for m in messages or () if m.tool_call_result]


def test_texts_of_content_parts_are_compressed_and_images_stay() -> None:
    ((first, image, *rest),) = read_results(
        compact(make_history([TextContent(PIER), IMAGE, TextContent(TOWER)]), target=1)
    )
    shown = "".join(part.text for part in (first, image, *rest) if isinstance(part, TextContent))
    assert IMAGE in (first, image)
    assert shown.startswith("[shortened from ")
    assert ANSWER in shown
    assert len(shown) < 600


def test_a_shortened_result_says_so_and_is_made_anew_from_its_original() -> None:
    compacted = compact(make_history(TOWER))
    (shown,) = read_results(compacted)
    assert shown.startswith("[shortened from ")
    assert ANSWER in shown
    (again,) = read_results(compact(compacted or [], target=1))
    assert len(again) < len(shown)
    assert original_id(TOWER) in again


def test_errors_and_images_stay() -> None:
    assert compact(make_history(TOWER, error=True)) is None
    assert compact(make_history([IMAGE]), target=1) is None


def test_each_tool_may_have_its_own_limit() -> None:
    history = make_history(TOWER, PIER)

    def are_whole(**options: Any) -> list[bool]:
        return [result in (TOWER, PIER) for result in read_results(compact(history, **options))]

    assert are_whole(tools={"read0": None}) == [True, False]
    assert are_whole(over=None, tools={"read0": 60}) == [False, True]
    assert are_whole(tools={"read1": 5000}) == [False, True]


def test_bad_settings_are_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"tools\['search'\] is 0"):
        TerselyCompactor(tools={"search": 0})
    with pytest.raises(InvalidInputError, match="keep is -1"):
        TerselyCompactor(keep=-1)
    with pytest.raises(InvalidInputError, match="over is 0"):
        TerselyCompactor(over=0)


def test_a_compactor_can_be_written_down_and_pickled() -> None:
    compactor = TerselyCompactor(keep=0, over=400, tools={"search": 500, "read_file": None})
    for copy in (TerselyCompactor.from_dict(compactor.to_dict()), pickle.loads(pickle.dumps(compactor))):
        assert copy.to_dict() == compactor.to_dict()


def test_a_failing_model_cuts_no_sentence() -> None:
    compressor = make_failing_compressor()
    compactor = TerselyCompactor(keep=0)
    compactor._shortener = Shortener(compressor, compressor.count_tokens)
    (shown,) = read_results(compactor.compact(make_history(TOWER), 400, ApproximateTokenCounter()))
    assert "failed" in shown.splitlines()[0]
    assert whole_sentences(shown, TOWER)


def read_tower() -> str:
    return TOWER


def read_pier() -> str:
    return PIER


def make_agent() -> Agent:
    """Reads two pages, and opens the first one when it has been shortened."""
    schema = {"type": "object", "properties": {}}
    tools = [Tool("tower", "Reads.", schema, read_tower), Tool("pier", "Reads.", schema, read_pier)]
    calls: list[tuple[str, dict[str, Any]]] = [(name, {}) for name in PAGES]
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


def test_the_model_of_an_agent_opens_an_original() -> None:
    messages = make_agent().run(messages=[ChatMessage.from_user(QUESTION)])["messages"]
    first, _, opened = read_results(messages)
    assert first.startswith("[shortened from ")
    assert opened == f"[part 1 of 1]\n{TOWER}"
    assert "there is no original" in open_original.invoke(id="none", messages=messages)


def test_an_agent_with_compactor_and_tool_gives_the_same_after_it_was_written_to_yaml() -> None:
    pipeline = Pipeline()
    pipeline.add_component("agent", make_agent())
    written = pipeline.dumps()
    loaded = Pipeline.loads(written, allowed_modules=["tersely_haystack", "tests.integrations"])
    assert loaded.dumps() == written
    question = {"agent": {"messages": [ChatMessage.from_user(QUESTION)]}}
    first, _, opened = read_results(loaded.run(question)["agent"]["messages"])
    assert first.startswith("[shortened from ")
    assert opened == f"[part 1 of 1]\n{TOWER}"
