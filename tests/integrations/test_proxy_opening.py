"""The model opens what was shortened, with a tool that the proxy answers. The clients are the real ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("prometheus_client")
pytest.importorskip("anthropic", reason="the group `servers` has it")
pytest.importorskip("openai", reason="the group `servers` has it")

import anthropic
import httpx2
import openai

from tersely_ledger import Ledger, LedgerSettings
from tersely_proxy.interfaces import INTERFACES, TOOL, UNKNOWN
from tests.integrations.opening_model import HIDDEN, MAKERS, PAGE, SEARCH, SEEN, Model, make_chat
from tests.integrations.samples import make_chat as make_question
from tests.integrations.samples import make_items, make_messages
from tests.integrations.test_proxy import make_proxy
from tests.servers import serve_app

Json = dict[str, Any]


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[Model, str]]:
    model = Model()
    with (
        serve_app(model) as model.url,
        serve_app(make_proxy(model.url, open_originals=True)) as proxy,
    ):
        yield model, proxy


@pytest.fixture
def model(servers: tuple[Model, str]) -> Model:
    servers[0].reset()
    return servers[0]


@pytest.fixture
def proxy(servers: tuple[Model, str]) -> str:
    return servers[1]


def ask_chat(url: str, stream: bool) -> Json:
    """Return text, names of calls, reason, tokens of prompt and answer."""
    tools = [{"type": "function", "function": {"name": "search", "parameters": SEARCH}}]
    given: Json = {"model": "m", "messages": make_question(PAGE), "tools": tools}
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        if stream:
            with client.chat.completions.stream(**given, stream_options={"include_usage": True}) as chunks:
                answer = chunks.get_final_completion()
        else:
            answer = client.chat.completions.create(**given)
    (choice,) = answer.choices
    return {
        "text": choice.message.content,
        "calls": [call.function.name for call in choice.message.tool_calls or []],
        "reason": choice.finish_reason,
        "tokens": (answer.usage.prompt_tokens, answer.usage.completion_tokens),
    }


def ask_messages(url: str, stream: bool) -> Json:
    tools = [{"name": "search", "input_schema": SEARCH}]
    given: Json = {"model": "m", "max_tokens": 99, "messages": make_messages(PAGE), "tools": tools}
    with anthropic.Anthropic(base_url=url, api_key="none", max_retries=0) as client:
        if stream:
            with client.messages.stream(**given) as events:
                answer = events.get_final_message()
        else:
            answer = client.messages.create(**given)
    kinds = [block.type for block in answer.content]
    assert kinds[0] == "thinking", "an answer with thoughts begins with them"
    assert kinds.count("thinking") == 1
    assert answer.content[0].signature == "signature 1"
    return {
        "text": "\n\n".join(block.text for block in answer.content if block.type == "text"),
        "calls": [block.name for block in answer.content if block.type == "tool_use"],
        "reason": {"end_turn": "stop", "tool_use": "tool_calls"}[answer.stop_reason],
        "tokens": (answer.usage.input_tokens, answer.usage.output_tokens),
    }


def ask_responses(url: str, stream: bool) -> Json:
    tools = [{"type": "function", "name": "search", "parameters": SEARCH, "strict": False}]
    given: Json = {"model": "m", "input": make_items(PAGE), "tools": tools}
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        if stream:
            events = list(client.responses.create(**given, stream=True))
            assert [one.sequence_number for one in events] == list(range(len(events)))
            answer = events[-1].response
            done = [one.item.id for one in events if one.type == "response.output_item.done"]
            assert done == [item.id for item in answer.output]
        else:
            answer = client.responses.create(**given)
    kinds = [item.type for item in answer.output]
    assert kinds[-1:] != ["reasoning"], "the API refuses a thought without what it belongs to"
    calls = [item.name for item in answer.output if item.type == "function_call"]
    texts = [p.text for item in answer.output if item.type == "message" for p in item.content]
    return {
        "text": "\n\n".join(texts),
        "calls": calls,
        "reason": "tool_calls" if calls else "stop",
        "tokens": (answer.usage.input_tokens, answer.usage.output_tokens),
    }


ASKS = pytest.mark.parametrize("ask", [ask_chat, ask_messages, ask_responses])
STREAMS = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


@ASKS
@STREAMS
def test_the_model_reads_the_original(model: Model, proxy: str, ask: Any, stream: bool) -> None:
    answer = ask(proxy, stream)
    first, second = model.bodies
    assert HIDDEN not in json.dumps(first)
    assert HIDDEN in json.dumps(second)
    key = "input" if "input" in first else "messages"
    assert second[key][: len(first[key])] == first[key], "the cache of the prompt still fits"
    assert second["tools"] == first["tools"]
    assert answer["text"].removeprefix("Let me look.").strip() == SEEN
    assert (answer["calls"], answer["reason"], answer["tokens"]) == ([], "stop", (20, 3))


@ASKS
@STREAMS
@pytest.mark.parametrize("when", ["also", "after"])
def test_calls_of_other_tools_reach_the_client(
    model: Model, proxy: str, ask: Any, stream: bool, when: str
) -> None:
    """Calls in the same turn are left out: the model makes them again, once it has read the original."""
    model.reset(**{when: True})
    answer = ask(proxy, stream)
    assert len(model.bodies) == 2
    expected = ["search"] if when == "after" else []
    assert answer["calls"] == expected
    assert answer["reason"] == ("tool_calls" if expected else "stop")
    assert '"search"' not in json.dumps(
        model.bodies[1]["messages" if "messages" in model.bodies[1] else "input"][3:]
    )


@ASKS
@STREAMS
def test_without_an_end_the_calls_are_left_out(model: Model, proxy: str, ask: Any, stream: bool) -> None:
    model.reset(rounds=99)
    answer = ask(proxy, stream)
    assert len(model.bodies) == 9
    assert (answer["calls"], answer["reason"]) == ([], "stop")


@ASKS
@STREAMS
def test_a_refused_request_ends_the_answer(model: Model, proxy: str, ask: Any, stream: bool) -> None:
    model.reset(also=True, fails=True)
    answer = ask(proxy, stream)
    assert (answer["text"], answer["calls"], answer["reason"]) == ("Let me look.", ["search"], "tool_calls")


@ASKS
@STREAMS
def test_the_ledger_has_the_tokens_of_all_requests(
    model: Model, tmp_path: Path, ask: Any, stream: bool
) -> None:
    ledger = LedgerSettings(path=tmp_path / "ledger.db", holdout=0.0)
    with serve_app(make_proxy(model.url, open_originals=True, ledger=ledger)) as proxy:
        ask(proxy, stream)
    (entry,) = Ledger(ledger.path).read()
    assert len(model.bodies) == 2
    assert entry.usage is not None
    cached = entry.usage.cache_read if ask is ask_messages else 0
    assert (entry.usage.prompt - cached, entry.usage.output) == (20, 3)


def test_an_original_of_another_conversation_is_not_opened(model: Model, proxy: str) -> None:
    ask_chat(proxy, stream=False)
    key = json.loads(model.bodies[1]["messages"][-2]["tool_calls"][0]["function"]["arguments"])["id"]
    model.reset()
    body = {"messages": [{"role": "user", "content": f"[shortened; id of the original: {key}]"}]}
    httpx2.post(f"{proxy}/v1/chat/completions", json=body)
    assert model.bodies[1]["messages"][-1]["content"] == UNKNOWN


@pytest.mark.parametrize(
    ("path", "body", "header"),
    [
        ("/v1/chat/completions", {"messages": []}, "offered"),
        ("/v1/chat/completions", {"messages": [], "n": 2}, "not offered"),
        ("/v1/responses", {"input": "Hello", "conversation": "conv_1"}, "not offered"),
        ("/v1/responses", {"input": "Hello", "background": True}, "not offered"),
        ("/v1/messages", {"messages": [], "tools": [{"name": TOOL}]}, "not offered"),
        ("/v1/messages/count_tokens", {"messages": []}, "offered"),
        ("/v1/messages/batches", {"requests": []}, "not offered"),
        ("/v1/chat/completions", [], "not offered"),
    ],
)
def test_a_header_says_whether_the_tool_is_offered(proxy: str, path: str, body: Any, header: str) -> None:
    MAKERS.setdefault("/count_tokens", make_chat)
    MAKERS.setdefault("/batches", make_chat)
    reply = httpx2.post(f"{proxy}{path}", json=body)
    assert reply.headers["x-tersely-tool"] == header


@pytest.mark.parametrize("tools", [None, [], [{"name": "a"}]])
def test_the_rest_of_the_request_keeps_its_bytes(tools: Any) -> None:
    text = (
        '{ "x": 1e2,"messages" :[ ]' + (f', "tools": {json.dumps(tools)} ' if tools is not None else "") + "}"
    )
    offered = INTERFACES["/messages"].offer(text, json.loads(text))
    assert offered is not None
    names = [tool["name"] for tool in json.loads(offered)["tools"]]
    assert names == [*(tool["name"] for tool in tools or []), TOOL]
    assert '"x": 1e2,"messages" :[ ]' in offered


@pytest.mark.parametrize(
    ("path", "fields", "is_named"),
    [
        ("/v1/chat/completions", {}, True),
        ("/v1/chat/completions", {"n": 2}, False),
        ("/api/chat", {}, False),
    ],
)
def test_where_the_tool_is_not_offered_no_id_is_named(
    model: Model, proxy: str, path: str, fields: Any, is_named: bool
) -> None:
    MAKERS.setdefault("/chat", make_chat)
    httpx2.post(f"{proxy}{path}", json={"model": "m", "messages": make_question(PAGE), **fields})
    text = model.bodies[0]["messages"][2]["content"]
    assert text.startswith("[shortened from ")
    assert ("id of the original" in text.partition("\n")[0]) is is_named


def test_without_the_tool_no_id_is_named(model: Model) -> None:
    with serve_app(make_proxy(model.url)) as proxy:
        assert "x-tersely-tool" not in httpx2.post(f"{proxy}/v1/messages", json={"messages": []}).headers
        ask_chat(proxy, stream=False)
    (body,) = model.bodies[1:]
    assert TOOL not in json.dumps(body)
    text = body["messages"][2]["content"]
    assert text.startswith("[shortened from ")
    assert "id of the original" not in text
