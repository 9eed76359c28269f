"""The official clients, through the proxy, to a real server with a real model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

pytest.importorskip("prometheus_client")

from tersely import Compressor
from tersely.adapters import ToolLimits
from tersely_proxy import ProxySettings, build_app
from tests.integrations.samples import KEY_ANSWER, KEY_QUESTION, make_page
from tests.servers import serve_app

MODEL, REPLY_TOKENS = "smollm2", 4
PAGE = make_page("room", KEY_ANSWER)
PARAMETERS = {"type": "object", "properties": {"page": {"type": "integer"}}, "required": ["page"]}
TOOL: Any = {"type": "function", "function": {"name": "read", "parameters": PARAMETERS}}


@pytest.fixture(scope="module")
def proxy(llama_server: str) -> Iterator[str]:
    """Yield the URL of a proxy in front of the server."""
    settings = ProxySettings(upstream=llama_server.removesuffix("/v1"), limits=ToolLimits(60), timeout_s=60)
    with serve_app(build_app(Compressor(), settings)) as url:
        yield url


@pytest.fixture(scope="module")
def chat(proxy: str) -> Iterator[Any]:
    openai = pytest.importorskip("openai")
    with openai.OpenAI(base_url=f"{proxy}/v1", api_key="none", timeout=300, max_retries=0) as client:
        yield client


@pytest.fixture
def closing() -> Iterator[ExitStack]:
    """Yield a stack that closes everything that a test opens."""
    with ExitStack() as stack:
        yield stack


def turn(number: int) -> list[Any]:
    """Return a call of a tool, and its long result."""
    function = {"name": "read", "arguments": json.dumps({"page": number})}
    call = {"id": f"c{number}", "type": "function", "function": function}
    result = {"role": "tool", "tool_call_id": f"c{number}", "content": PAGE}
    return [{"role": "assistant", "content": "", "tool_calls": [call]}, result]


def test_openai_chat_keeps_the_prompt_cache_between_turns(chat: Any, llama_server: str) -> None:
    messages: list[Any] = [{"role": "user", "content": KEY_QUESTION}, *turn(1)]
    arguments: Any = {"model": MODEL, "max_tokens": REPLY_TOKENS, "temperature": 0, "tools": [TOOL]}
    first = chat.chat.completions.with_raw_response.create(messages=messages, **arguments)
    assert first.headers["x-tersely-status"] == "compressed"
    before, after = (int(first.headers[f"x-tersely-tokens-{when}"]) for when in ("before", "after"))
    assert after <= 60 < before
    second = chat.chat.completions.create(messages=[*messages, *turn(2)], **arguments)
    sent = first.parse().usage.prompt_tokens
    # The last few tokens ask for the reply; after them another turn goes on.
    assert second.usage.prompt_tokens_details.cached_tokens >= sent - 12
    assert second.usage.prompt_tokens < 2 * sent


def test_openai_chat_streams(chat: Any) -> None:
    messages: list[Any] = [{"role": "user", "content": KEY_QUESTION}, *turn(1)]
    stream = chat.chat.completions.create(
        model=MODEL, messages=messages, max_tokens=REPLY_TOKENS, temperature=0, stream=True
    )
    chunks = [chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices]
    assert len(chunks) > 1
    assert "".join(chunks).strip()


def test_openai_responses(chat: Any) -> None:
    items: list[Any] = [
        {"role": "user", "content": KEY_QUESTION},
        {"type": "function_call", "call_id": "c1", "name": "read", "arguments": '{"page": 1}'},
        {"type": "function_call_output", "call_id": "c1", "output": PAGE},
    ]
    reply = chat.responses.with_raw_response.create(
        model=MODEL, input=items, max_output_tokens=REPLY_TOKENS, temperature=0
    )
    assert reply.headers["x-tersely-status"] == "compressed"
    assert reply.parse().output_text.strip()


def test_anthropic_messages_stream(proxy: str, closing: ExitStack) -> None:
    anthropic = pytest.importorskip("anthropic")
    client = closing.enter_context(
        anthropic.Anthropic(base_url=proxy, api_key="none", timeout=300, max_retries=0)
    )
    use = {"type": "tool_use", "id": "t1", "name": "read", "input": {"page": 1}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": PAGE}
    messages: list[Any] = [
        {"role": "user", "content": KEY_QUESTION},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result]},
    ]
    tools: list[Any] = [{"name": "read", "input_schema": PARAMETERS}]
    with client.messages.stream(
        model=MODEL, messages=messages, tools=tools, max_tokens=REPLY_TOKENS
    ) as stream:
        assert stream.response.headers["x-tersely-status"] == "compressed"
        parts = list(stream.text_stream)
    assert "".join(parts).strip()
    assert stream.get_final_message().usage.input_tokens > 0
