"""The client against local servers, and a caller's own model that raises or returns anything."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tersely import Compressor, InvalidInputError
from tersely_agents.agent import Agent
from tersely_agents.chat import ChatError, ChatModel, OpenAIChat, Reply, ToolCall, Usage
from tersely_agents.chat.protocol import acomplete_safely, complete_safely
from tersely_agents.experience import Attempt, ExperienceError, extract
from tersely_agents.memory import AgentMemory
from tersely_agents.summaries import Summarizer
from tests.loopback import Serve
from tests.sdk.fakes import FakeScorer
from tests.sdk.http_clients import ASK, completion


def test_a_reply_has_text_and_usage(serve: Serve) -> None:
    server = serve(lambda _: (200, completion()))
    model = OpenAIChat("small", base_url=server.url + "/v1", api_key="key")
    assert isinstance(model, ChatModel)
    reply = model.complete(ASK, max_tokens=5, temperature=0.0, stop=["\n"])
    assert reply == Reply("Thursday.", (), "stop", Usage(12, 3, 8))
    body, key = server.requests[0]
    assert body == {"model": "small", "messages": ASK, "max_tokens": 5, "temperature": 0.0, "stop": ["\n"]}
    assert key == "Bearer key"


def test_without_a_key_no_key_is_sent(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    server = serve(lambda _: (200, completion()))
    OpenAIChat("small", base_url=server.url).complete(ASK)
    assert server.requests[0][1] is None


def test_a_call_can_override_the_options_of_the_model(serve: Serve) -> None:
    server = serve(lambda _: (200, completion()))
    url = server.url + "/v1"
    model = OpenAIChat("small", base_url=url, temperature=0.0, max_tokens=64, stop=["\n\n"])
    model.complete(ASK, max_tokens=5, stop=None, tool_choice="auto")
    model.complete(ASK)
    common = {"model": "small", "messages": ASK, "temperature": 0.0, "stop": ["\n\n"]}
    assert [body for body, _ in server.requests] == [
        {**common, "max_tokens": 5},
        {**common, "max_tokens": 64},
    ]


def test_without_a_name_the_first_model_of_the_server_is_used(serve: Serve) -> None:
    server = serve(lambda _: (200, completion()))
    assert OpenAIChat(base_url=server.url + "/v1").name == "small"
    for malformed in ({"object": "list", "data": []}, {"data": [{"object": "model"}]}, "<html>", ["small"]):
        server.listed = malformed
        with pytest.raises(ChatError, match="lists no model"):
            OpenAIChat(base_url=server.url + "/v1")
    with pytest.raises(ChatError, match="cannot be reached"):
        OpenAIChat(base_url="http://127.0.0.1:9/v1", retries=0)


def test_tool_calls_keep_the_json_of_the_model(serve: Serve) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{ "query":"é" }'}}
    server = serve(lambda _: (200, completion(None, tool_calls=[call])))
    tools = [{"type": "function", "function": {"name": "search", "parameters": {"type": "object"}}}]
    reply = OpenAIChat("small", base_url=server.url).complete(ASK, tools=tools, tool_choice="required")
    assert reply.text == ""
    assert reply.tool_calls == (ToolCall("c1", "search", '{ "query":"é" }'),)
    assert reply.finish == "tool_calls"
    assert server.requests[0][0]["tool_choice"] == "required"


def test_async_and_blocking_calls_give_the_same_reply(serve: Serve) -> None:
    model = OpenAIChat("small", base_url=serve(lambda _: (200, completion())).url)

    async def complete_five_times() -> list[Reply]:
        return await asyncio.gather(*(model.acomplete(ASK) for _ in range(5)))

    expected = model.complete(ASK)
    assert [asyncio.run(complete_five_times()) for _ in range(2)] == [[expected] * 5] * 2
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(model.complete, [ASK] * 8)) == [expected] * 8


MALFORMED = [
    {},
    {"choices": []},
    {"object": "list"},
    [],
    b'{"choi',
    {"choices": {"a": 1}},
    {"choices": [{"message": "hi"}]},
    {"choices": [{"message": {"tool_calls": 5}}]},
    {"choices": [{"message": {"content": [5]}}]},
    {"choices": [{"message": {"tool_calls": [{"id": {"a": 1}, "function": {"name": "f"}}]}}]},
]


@pytest.mark.parametrize("body", MALFORMED, ids=str)
def test_a_malformed_reply_is_an_error(serve: Serve, body: Any) -> None:
    model = OpenAIChat("small", base_url=serve(lambda _: (200, body)).url)
    with pytest.raises(ChatError, match="not a chat completion"):
        model.complete(ASK)


def test_lists_of_parts_and_objects_become_text(serve: Serve) -> None:
    parts = [
        {"type": "text", "text": "Thurs"},
        {"type": "text", "text": None},
        {"type": "text", "text": "day."},
    ]
    call = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": {"query": "x"}}}
    server = serve(lambda _: (200, completion(parts, tool_calls=[call])))
    reply = OpenAIChat("small", base_url=server.url).complete(ASK)
    assert (reply.text, reply.tool_calls[0].arguments) == ("Thursday.", '{"query": "x"}')


def test_unusable_addresses_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInputError, match="Pass an address"):
        OpenAIChat("small", base_url="127.0.0.1:8000")
    with pytest.raises(InvalidInputError, match="base_url is empty"):
        OpenAIChat("small", base_url="")
    monkeypatch.setenv("OPENAI_BASE_URL", "")
    with pytest.raises(InvalidInputError, match="OPENAI_BASE_URL is empty"):
        OpenAIChat("small")


def test_a_request_that_is_not_json_is_an_error(serve: Serve) -> None:
    model = OpenAIChat("small", base_url=serve(lambda _: (200, completion())).url)
    request = [{"role": "user", "content": object()}]
    for call in (model.complete, lambda messages: asyncio.run(model.acomplete(messages))):
        with pytest.raises(ChatError, match="cannot be sent"):
            call(request)


def test_senseless_counts_of_tokens_are_zero(serve: Serve) -> None:
    usage = {"prompt_tokens": 10**30, "completion_tokens": "many", "prompt_tokens_details": [1]}
    server = serve(lambda _: (200, {**completion(), "usage": usage}))
    assert OpenAIChat("small", base_url=server.url).complete(ASK).usage == Usage(0, 0, 0)


def test_lone_surrogates_are_replaced(serve: Serve) -> None:
    server = serve(lambda _: (200, completion("a\ud800b")))
    assert OpenAIChat("small", base_url=server.url).complete(ASK).text == "a�b"


def test_openai_gets_the_new_name_of_max_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    model = OpenAIChat("gpt")
    assert model._build_request(ASK, {"max_tokens": 5})["max_completion_tokens"] == 5


COMPRESSOR = Compressor(FakeScorer())
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
