"""The proxy's ledger, in front of a stand-in for the providers, through their own clients."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("prometheus_client")
pytest.importorskip("openai")
pytest.importorskip("anthropic")
import anthropic
import httpx2
import openai

from tersely import Compressor
from tersely.adapters import ToolLimits
from tersely_ledger import Entry, Ledger, LedgerSettings, Usage
from tersely_ledger.store import HELD_OUT, SHADOW, SHORTENED
from tersely_proxy import ProxySettings, build_app
from tests.integrations.providers import Provider
from tests.integrations.providers import provider as provider
from tests.integrations.samples import (
    KEY_ANSWER,
    KEY_QUESTION,
    make_chat,
    make_items,
    make_messages,
    make_page,
)
from tests.sdk.fakes import FakeScorer
from tests.servers import serve_app

PAGE = make_page("room", KEY_ANSWER)
CHAT = "/v1/chat/completions"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "new" / "ledger.db"


def make_proxy(provider: Provider, file: Path, **settings: Any) -> Any:
    ledger = LedgerSettings(path=file, **{"holdout": 0, **settings})
    limits = ToolLimits(80)
    return build_app(
        Compressor(FakeScorer()), ProxySettings(upstream=provider.url, limits=limits, ledger=ledger)
    )


def read(file: Path) -> list[Entry]:
    ledger = Ledger(file)
    try:
        return ledger.read()
    finally:
        ledger.close()


def call_chat(url: str, stream: bool) -> None:
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        options = {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
        answer = client.chat.completions.create(model="m", messages=make_chat(PAGE), **options)
        seen = "".join(c.choices[0].delta.content for c in answer if c.choices) if stream else "Ada."
        assert seen.endswith("Ada.")


def call_responses(url: str, stream: bool) -> None:
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        answer = client.responses.create(model="m", input=make_items(PAGE), stream=stream)
        if stream:
            assert [event.type for event in answer][-1] == "response.completed"
        else:
            assert answer.output_text == "Ada."


def call_messages(url: str, stream: bool) -> None:
    with anthropic.Anthropic(base_url=url, api_key="none", max_retries=0) as client:
        answer = client.messages.create(model="m", max_tokens=9, messages=make_messages(PAGE), stream=stream)
        if stream:
            assert [event.type for event in answer][-1] == "message_stop"
        else:
            assert answer.usage.output_tokens == 20


OPENAI, ANTHROPIC = Usage(900, 100, 0, 20), Usage(450, 100, 450, 20)


@pytest.mark.parametrize("zips", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    ("call", "usage", "model"),
    [
        (call_chat, OPENAI, "gpt-stand-in"),
        (call_responses, OPENAI, "gpt-stand-in"),
        (call_messages, ANTHROPIC, "claude-stand-in"),
    ],
    ids=["chat", "responses", "messages"],
)
def test_usage_is_recorded_with_what_was_delivered(
    provider: Provider,
    file: Path,
    call: Callable[..., None],
    usage: Usage,
    model: str,
    stream: bool,
    zips: bool,
) -> None:
    provider.zips = zips
    with serve_app(make_proxy(provider, file)) as proxy:
        call(proxy, stream)
    (entry,) = read(file)
    assert (entry.usage, entry.model, entry.code) == (usage, model, 200)
    assert (entry.arm, entry.status, entry.source) == (SHORTENED, "compressed", "proxy")
    (tool,) = entry.tools
    count, before, after = entry.tools[tool]
    assert (tool, count) == ("search", 1)
    assert after <= 80 < before
    assert "[shortened from" in json.dumps(provider.bodies)


def test_a_stream_without_usage_and_an_error_are_recorded(provider: Provider, file: Path) -> None:
    body = {"model": "m", "messages": make_chat(PAGE), "stream": True}
    with serve_app(make_proxy(provider, file)) as proxy:
        httpx2.post(f"{proxy}{CHAT}", json=body)
        provider.status = 429
        assert httpx2.post(f"{proxy}{CHAT}", json=body).status_code == 429
    assert [(entry.code, entry.usage) for entry in read(file)] == [(200, None), (429, None)]


def test_the_file_has_no_text_of_a_request(provider: Provider, file: Path) -> None:
    with serve_app(make_proxy(provider, file)) as proxy:
        call_chat(proxy, stream=False)
    content = b"".join(path.read_bytes() for path in file.parent.iterdir())
    assert b"search" in content
    for text in (KEY_QUESTION, KEY_ANSWER, "lamp", "shortened from", "Ada"):
        assert text.encode() not in content
    assert file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(("settings", "arm"), [({"shadow": True}, SHADOW), ({"holdout": 1.0}, HELD_OUT)])
def test_the_original_is_delivered_and_the_rest_recorded(
    provider: Provider, file: Path, settings: dict[str, Any], arm: str
) -> None:
    body = json.dumps({"model": "m", "messages": make_chat(PAGE)}, indent=1).encode()
    with serve_app(make_proxy(provider, file, **settings)) as proxy:
        reply = httpx2.post(f"{proxy}{CHAT}", content=body)
        receipt = httpx2.get(f"{proxy}/tersely/receipts/{reply.headers['x-tersely-receipt']}").json()
    assert reply.headers["x-tersely-status"] == arm
    assert provider.bodies == [json.loads(body)]
    (entry,) = read(file)
    assert (entry.arm, entry.status, entry.usage) == (arm, "compressed", OPENAI)
    assert entry.tokens_after == int(reply.headers["x-tersely-tokens-after"]) < entry.tokens_before
    assert receipt["changes"][0]["text"].startswith("[shortened from ")


def test_a_conversation_stays_in_its_arm(provider: Provider, file: Path) -> None:
    def ask(proxy: str, number: int, turns: int, **marks: Any) -> str:
        first = {"role": "user", "content": [{"type": "text", "text": f"{KEY_QUESTION} {number}", **marks}]}
        messages = [first, *make_chat(PAGE)[1:] * turns]
        reply = httpx2.post(f"{proxy}{CHAT}", json={"messages": messages, "tools": [turns]})
        return reply.headers["x-tersely-status"]

    arms: list[list[str]] = []
    for _ in range(2):  # the second time after a restart
        with serve_app(make_proxy(provider, file, holdout=0.5)) as proxy:
            arms.append([ask(proxy, number, 1, cache_control={"type": "ephemeral"}) for number in range(20)])
            arms.append([ask(proxy, number, 2) for number in range(20)])
    assert arms == [arms[0]] * 4
    assert 0 < arms[0].count(HELD_OUT) < 20
    entries = read(file)
    assert len({entry.conversation for entry in entries}) == 20
    assert {entry.share for entry in entries} == {0.5}


def test_a_conversation_that_is_not_known_is_not_held_out(provider: Provider, file: Path) -> None:
    output = {"type": "function_call_output", "call_id": "c1", "output": PAGE}
    body = {"model": "m", "input": [output], "previous_response_id": "resp_1"}
    with serve_app(make_proxy(provider, file, holdout=1.0)) as proxy:
        reply = httpx2.post(f"{proxy}/v1/responses", json=body)
    assert reply.headers["x-tersely-status"] == "compressed"
    assert [entry.conversation for entry in read(file)] == [None]


def test_counting_follows_the_arm_and_is_not_recorded(provider: Provider, file: Path) -> None:
    result = {"type": "tool_result", "tool_use_id": "t1", "content": PAGE}
    messages = [{"role": "user", "content": KEY_QUESTION}, {"role": "user", "content": [result]}]
    with serve_app(make_proxy(provider, file, holdout=1.0)) as proxy, pytest.raises(httpx2.HTTPError):
        # The stand-in cannot count, so it breaks off.
        httpx2.post(f"{proxy}/v1/messages/count_tokens", json={"messages": messages}).raise_for_status()
    assert provider.bodies == [{"messages": messages}]
    assert read(file) == []


def test_a_ledger_that_fails_stops_no_request(provider: Provider, file: Path) -> None:
    with serve_app(make_proxy(provider, file)) as proxy:
        with sqlite3.connect(file) as connection:
            connection.execute("DROP TABLE requests")
        call_chat(proxy, stream=True)
    assert len(provider.bodies) == 1
