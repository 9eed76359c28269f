"""What the pages of the server and the proxy promise about texts that clients send."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("fastapi")
import httpx2
from starlette.types import Receive, Scope, Send

import tersely_proxy.rewriting as rewriting
from tersely import Compressor
from tersely.adapters import ToolLimits
from tersely_proxy import ProxySettings
from tersely_proxy import build_app as build_proxy
from tersely_proxy.formats import read_chat
from tersely_proxy.rewriting import Receipts, Rewriter
from tersely_server import build_app
from tests.integrations.test_proxy_formats import agent_turn
from tests.sdk.fakes import FakeScorer
from tests.servers import serve_app

WORD = "Thursdays"
TEXT = f"Entry is free on {WORD}. " * 40
CALL = {"id": TEXT, "type": "function", "function": {"name": "read", "arguments": 5}}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serve_app(build_app(Compressor(FakeScorer()))) as url:
        yield url


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("compress", TEXT),
        ("compress", {"query": [TEXT], "documents": [TEXT]}),
        ("compress", {"query": TEXT, "documents": TEXT}),
        ("compress", {"query": TEXT, "documents": [TEXT, 5]}),
        ("compress", {"query": TEXT, "documents": [{"text": 5, "title": TEXT}]}),
        ("compress", {"query": TEXT, "documents": [TEXT], "budget": 0}),
        ("compress/batch", {"requests": [{"query": TEXT, "documents": TEXT}]}),
        ("messages/compress", {"messages": [{"role": "x", "content": TEXT}], "budget": 5}),
        ("messages/compress", {"messages": [{"role": "user", "content": 5, "name": TEXT}], "budget": 5}),
        ("summarize", {"query": TEXT, "documents": [TEXT], "aspect": "x"}),
    ],
)
def test_an_error_of_the_server_repeats_no_query_and_no_document(url: str, path: str, body: Any) -> None:
    reply = httpx2.post(f"{url}/v1/{path}", json=body, timeout=60)
    assert reply.status_code == 422, reply.text
    assert WORD not in reply.text
    assert set(reply.json()) == {"error"}
    assert set(reply.json()["error"]) == {"type", "message"}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        *(
            ("compress", {"query": "q", "documents": ["x"], name: TEXT})
            for name in ("budget", "level", "mark")
        ),
        ("compress", {"query": "q", "documents": ["x"], TEXT: 5}),
        ("messages/compress", {"messages": [{"role": TEXT, "content": "x"}]}),
        ("messages/compress", {"messages": [{"role": "tool", "tool_call_id": TEXT, "content": "x"}]}),
        ("messages/compress", {"messages": [{"role": "assistant", "tool_calls": [CALL]}]}),
        ("messages/compress", {"messages": [{"role": "assistant", "tool_calls": [CALL, CALL]}]}),
        ("summarize", {"query": "q", "documents": ["x"], "aspect": TEXT}),
    ],
)
def test_an_error_of_the_server_repeats_little_of_another_value(url: str, path: str, body: Any) -> None:
    reply = httpx2.post(f"{url}/v1/{path}", json={"budget": 50, **body}, timeout=60)
    assert reply.status_code == 422, reply.text
    assert reply.text.count(WORD) <= 80 // len(WORD)
    assert len(reply.text) < 500


def test_no_other_web_page_can_read_an_answer(url: str) -> None:
    headers = {"Origin": "https://elsewhere.example", "Access-Control-Request-Method": "POST"}
    body = {"query": "When is entry free?", "documents": [TEXT], "budget": 20}
    answers = [
        httpx2.post(f"{url}/v1/compress", json=body, headers=headers, timeout=60),
        httpx2.get(f"{url}/health", headers=headers),
        httpx2.request("OPTIONS", f"{url}/v1/compress", headers=headers),
    ]
    assert answers[0].status_code == 200
    assert not any(name.startswith("access-control") for answer in answers for name in answer.headers)


async def redirect(scope: Scope, receive: Receive, send: Send) -> None:
    """Sends everybody elsewhere."""
    if scope["type"] == "lifespan":
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
        return
    headers = [(b"location", b"https://elsewhere.example/v1"), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 307, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


def test_the_proxy_follows_no_redirect() -> None:
    with serve_app(redirect) as upstream:
        settings = ProxySettings(upstream=upstream)
        with serve_app(build_proxy(Compressor(FakeScorer()), settings)) as proxy:
            answer = httpx2.post(f"{proxy}/v1/chat/completions", content=agent_turn(1), timeout=60)
    assert (answer.status_code, answer.headers["location"]) == (307, "https://elsewhere.example/v1")


@pytest.mark.parametrize("most", [10, 4000])
def test_the_proxy_remembers_a_limited_number_of_characters(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rewriting, "MAX_CHARACTERS", most)
    rewriter = Rewriter(Compressor(FakeScorer()), ToolLimits(80))
    receipts = Receipts(rewriter)
    ids: list[str] = []
    for turns in range(1, 6):
        rewritten = rewriter.rewrite(agent_turn(turns), read_chat)
        assert rewritten.changes
        ids.append(receipts.keep(rewritten))
        kept = rewriter._decisions.values()
        assert sum(len(one.original) + len(one.text) for one in kept) <= most
    assert len(set(ids)) == len(ids)
    assert all(len(bytes.fromhex(key)) == 16 for key in ids)
