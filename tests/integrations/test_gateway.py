"""The contract that LiteLLM has with a compressor, and the proxy as Portkey's custom host."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("fastapi")
import httpx2

import tersely_http.recent as recent
from tersely import Compressor
from tersely_http.recent import MAX_AGE_S
from tersely_proxy import ProxySettings
from tersely_proxy import build_app as build_proxy
from tersely_server import build_app
from tersely_server.gateway import Originals
from tests.docs.pages import blocks
from tests.integrations.providers import Provider
from tests.integrations.samples import KEY_ANSWER, KEY_QUESTION, make_failing_compressor, make_page
from tests.sdk.fakes import FakeScorer
from tests.servers import serve_app

PAGE = " ".join(make_page(f"room {n}", "") for n in range(3)) + f" {KEY_ANSWER}"
HASH = re.compile(r"hash=([a-f0-9]{24})")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serve_app(build_app(Compressor(FakeScorer()))) as address:
        yield address


def make_call(number: int, tool: str = "search") -> dict[str, Any]:
    function = {"name": tool, "arguments": '{"place": "tower"}'}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}],
    }


def make_result(number: int, content: Any = PAGE, **fields: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": f"c{number}", "content": content, **fields}


CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": KEY_QUESTION},
    make_call(1),
    make_result(1),
]


def compress(url: str, messages: Any, **fields: Any) -> dict[str, Any]:
    body = {"messages": messages, "model": "gpt-5", **fields}
    # With escapes, because a lone surrogate is not UTF-8.
    headers = {"content-type": "application/json"}
    reply = httpx2.post(f"{url}/v1/compress", content=json.dumps(body), headers=headers, timeout=60)
    assert reply.status_code == 200, reply.text
    return reply.json()


def test_a_gateway_gets_shorter_results_and_their_originals(url: str) -> None:
    reply = compress(url, CHAT, config={"mode": "ccr"})
    shown = reply["messages"][3]["content"]
    assert KEY_ANSWER in shown
    assert reply["messages"][:3] == CHAT[:3]
    assert reply["tokens_after"] < reply["tokens_before"]
    assert reply["tokens_saved"] == reply["tokens_before"] - reply["tokens_after"]
    assert reply["compression_ratio"] == reply["tokens_after"] / reply["tokens_before"]
    assert reply["ccr_hashes"] == HASH.findall(shown)
    (key,) = reply["ccr_hashes"]
    assert httpx2.get(f"{url}/v1/retrieve/{key}").json() == {"hash": key, "original_content": PAGE}
    assert httpx2.get(f"{url}/v1/retrieve/{'0' * 24}").status_code == 404


def test_the_same_result_becomes_the_same_text_in_later_turns(url: str) -> None:
    later = [*CHAT, make_call(2), make_result(2, "Nothing."), {"role": "user", "content": "And the lamp?"}]
    assert compress(url, later)["messages"][:4] == compress(url, CHAT)["messages"]


@pytest.mark.parametrize(
    "row",
    [
        make_result(1, cache_control={"type": "ephemeral"}),
        make_result(1, [{"type": "text", "text": PAGE, "cache_control": {"type": "ephemeral"}}]),
        {"role": "user", "content": PAGE},
        {"role": "system", "content": PAGE, "odd": [1.5, None, "\ud800é"]},
        {"role": "tool", "content": [{"type": "image_url", "image_url": {"url": "x"}}, 7, None]},
        make_result(1, None),
        {},
    ],
)
def test_rows_that_are_cached_or_no_results_stay(url: str, row: dict[str, Any]) -> None:
    reply = compress(url, [*CHAT[:3], row])
    assert json.dumps(reply["messages"]) == json.dumps([*CHAT[:3], row])
    assert (reply["ccr_hashes"], reply["compression_ratio"]) == ([], 1.0)


def test_frozen_messages_stay(url: str) -> None:
    messages = [*CHAT, make_call(2), make_result(2, f"{PAGE} Again.")]
    reply = compress(url, messages, config={"frozen_message_count": 4})
    assert json.dumps(reply["messages"][:5]) == json.dumps(messages[:5])
    assert HASH.search(reply["messages"][5]["content"])


def test_a_file_that_may_be_edited_stays(url: str) -> None:
    for tool in ("Read", "mcp__files__read_file", "developer__text_editor"):
        messages = [*CHAT[:2], make_call(1, tool), make_result(1)]
        assert compress(url, messages)["messages"] == messages


@pytest.mark.parametrize("odd", [["c1"], {"id": "c1"}, 1, None])
def test_a_result_whose_call_has_an_odd_id_is_shortened(url: str, odd: Any) -> None:
    reply = compress(url, [*CHAT[:3], {**make_result(1), "tool_call_id": odd}])
    assert HASH.search(reply["messages"][3]["content"])


def test_results_without_call_and_question_are_shortened(url: str) -> None:
    (row,) = compress(url, [make_result(1, [{"type": "text", "text": PAGE}])])["messages"]
    assert HASH.search(row["content"][0]["text"])


def test_a_failing_model_shortens_nothing() -> None:
    with serve_app(build_app(make_failing_compressor())) as url:
        assert compress(url, CHAT)["messages"] == CHAT


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"messages": "x"}, "messages: "),
        ({"messages": [7]}, "messages.0: "),
        ({"messages": [], "config": {"frozen_message_count": -1}}, "config.frozen_message_count: "),
        ({"documents": [7], "query": "q"}, "documents.0"),
        ([], "the body: "),
    ],
)
def test_bad_requests_name_the_place(url: str, body: Any, words: str) -> None:
    reply = httpx2.post(f"{url}/v1/compress", json=body)
    assert reply.status_code == 422
    assert reply.json()["error"]["message"].startswith(words)


@pytest.mark.parametrize("first", ["0", "\u0660", "\U0001d7ce"])  # one, two and four bytes a character
def test_originals_are_forgotten_by_size_and_by_age(first: str, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    one = recent.ENTRY_BYTES + sys.getsizeof(first * 1000)
    monkeypatch.setattr(recent, "MAX_BYTES", 3 * one)
    originals = Originals(lambda: now)
    keys = [originals.keep_text(chr(ord(first) + n) * 1000) for n in range(5)]
    assert [originals.get(key) is not None for key in keys] == [False, False, True, True, True]
    now = MAX_AGE_S - 1
    assert originals.get(keys[2])
    now = MAX_AGE_S + 1
    assert [originals.get(key) is not None for key in keys] == [False, False, True, False, False]
    assert originals.size == one


def test_portkey_sends_its_requests_to_the_proxy() -> None:
    (block,) = blocks("docs/server.md", "json5")
    config = json.loads(block)
    assert config["provider"] == "openai"
    address, end = config["custom_host"][:-3], config["custom_host"][-3:]
    assert (address, end) == ("http://127.0.0.1:8787", "/v1")  # the proxy's default
    provider = Provider()
    with serve_app(provider) as upstream:
        app = build_proxy(Compressor(FakeScorer()), ProxySettings(upstream=upstream))
        with serve_app(app) as proxy:
            # The gateway appends the path of the interface, and passes on the key and the body.
            reply = httpx2.post(
                f"{proxy}{end}/chat/completions",
                json={"model": "gpt-5", "messages": CHAT},
                headers={"authorization": f"Bearer {config['api_key']}"},
                timeout=60,
            )
    (sent,) = provider.bodies
    assert sent["messages"][:3] == CHAT[:3]
    shown = sent["messages"][3]["content"]
    assert KEY_ANSWER in shown
    assert len(shown) < len(PAGE)
    assert reply.json()["choices"][0]["message"] == {"role": "assistant", "content": "Ada."}
    assert reply.json()["object"] == "chat.completion"
