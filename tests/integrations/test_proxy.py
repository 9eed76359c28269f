"""The proxy in front of a server that records what it gets."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

pytest.importorskip("prometheus_client")
import httpx2
from starlette.types import Receive, Scope, Send

import tersely_proxy.rewriting as rewriting
from tersely import Compressor, OfflineError
from tersely.adapters import ToolLimits
from tersely.score import DocumentScores, ScoredInput
from tersely_proxy import ProxySettings, build_app
from tersely_proxy.formats import read_chat
from tersely_proxy.rewriting import Receipts, Rewriter
from tests.integrations.samples import KEY_ANSWER, KEY_QUESTION, make_failing_compressor, make_page
from tests.integrations.test_proxy_formats import agent_turn
from tests.sdk.fakes import FakeScorer
from tests.servers import serve_app, serve_command

CHAT = "/v1/chat/completions"
JSON = {"Content-Type": "application/json"}
SECRET = "sk-5f2c9d-secret"
GZIPPED = gzip.compress(b'{"choices": []}')


async def start_and_stop(receive: Receive, send: Send) -> None:
    """Answer the messages about the life of a server."""
    for event in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{event}.complete"})


class Upstream:
    """Records requests. Its answers have two parts; the second waits until it may come."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, bytes, dict[str, str], bytes]] = []
        self.go_on, self.left = threading.Event(), threading.Event()
        self.go_on.set()
        self.breaks_off = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await start_and_stop(receive, send)
        body = b""
        while (message := await receive())["type"] == "http.request":
            body += message["body"]
            if not message["more_body"]:
                break
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        target = scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")
        self.requests.append((scope["method"], target, headers, body))
        head = [(b"content-type", b"text/event-stream"), (b"x-request-id", b"upstream-1")]
        head += [(b"set-cookie", b"a=1"), (b"set-cookie", b"b=2"), (b"content-encoding", b"gzip")]
        await send({"type": "http.response.start", "status": 203, "headers": head})
        await send({"type": "http.response.body", "body": GZIPPED[:9], "more_body": True})
        while not self.go_on.is_set():
            try:
                async with asyncio.timeout(0.02):
                    if (await receive())["type"] == "http.disconnect":
                        return self.left.set()
            except TimeoutError:
                pass
        if not self.breaks_off:
            await send({"type": "http.response.body", "body": GZIPPED[9:]})
        return None


@pytest.fixture
def upstream() -> Iterator[tuple[Upstream, str]]:
    server = Upstream()
    with serve_app(server) as url:
        yield server, url


def make_proxy(url: str, compressor: Compressor | None = None, **settings: Any) -> Any:
    limits = {"limits": ToolLimits(80), **settings}
    return build_app(compressor or Compressor(FakeScorer()), ProxySettings(upstream=url, **limits))


ODD = (
    b'{ "messages" : [ {"role":"user","content":"\\u0041\\ud800 \xc3\xa9"} ] , "x": 1e2, "x": 1.0, "y": NaN }'
)


@pytest.mark.parametrize(
    ("method", "target", "body"),
    [
        ("POST", CHAT, b'{"messages": [{"role": "user", "content": "Hello"}],  "n": 1.0}'),
        ("POST", CHAT, ODD),
        ("POST", CHAT, b"no JSON \xff"),
        ("POST", f"{CHAT}?api-version=1%2F2&b", b"{}"),
        ("GET", "/v1/models/a%2Fb%20c?x=%41", b""),
        ("DELETE", "/v1/responses/resp_1", b""),
        ("PUT", "/anything//else/..%2f", b"\x00\x01" * 40_000),
    ],
)
def test_other_requests_are_forwarded_byte_for_byte(
    upstream: tuple[Upstream, str], method: str, target: str, body: bytes
) -> None:
    server, url = upstream
    headers = {**JSON, "Authorization": f"Bearer {SECRET}", "X-Odd": "a, b", "Accept-Encoding": "br;q=0.1"}
    with serve_app(make_proxy(url)) as proxy:
        request = httpx2.Request(method, f"{proxy}{target}", headers=headers, content=body)
        with httpx2.Client() as client:
            reply = client.send(request, stream=True)
            received = b"".join(reply.iter_raw())
    ((got_method, got_target, got, got_body),) = server.requests
    assert (got_method, got_target, got_body) == (method, request.url.raw_path, body)
    assert {name: got[name] for name in ("authorization", "x-odd", "accept-encoding", "content-type")} == {
        name.lower(): value for name, value in headers.items()
    }
    assert "user-agent" not in got, "nothing is added"
    assert got["host"] == url.removeprefix("http://")
    assert (reply.status_code, received) == (203, GZIPPED)
    assert reply.headers.get_list("set-cookie") == ["a=1", "b=2"]
    assert reply.headers["x-request-id"] == "upstream-1"


def test_a_long_result_is_shortened_and_leaves_a_receipt(upstream: tuple[Upstream, str]) -> None:
    server, url = upstream
    body = agent_turn(2)
    with serve_app(make_proxy(url)) as proxy:
        reply = httpx2.post(f"{proxy}{CHAT}", content=body, headers=JSON)
        receipt = httpx2.get(f"{proxy}/tersely/receipts/{reply.headers['x-tersely-receipt']}").json()
        assert httpx2.get(f"{proxy}/tersely/receipts/0000").status_code == 404
        assert httpx2.get(f"{proxy}/tersely/health").json()["status"] == "ok"
    sent, original = json.loads(server.requests[0][3]), json.loads(body)
    assert reply.headers["x-tersely-status"] == "compressed"
    before, after = (int(reply.headers[f"x-tersely-tokens-{when}"]) for when in ("before", "after"))
    assert after <= 160 < before
    changes = receipt["changes"]
    assert [change["place"] for change in changes] == ["messages.2.content", "messages.4.content"]
    assert [change["tool"] for change in changes] == ["read", "read"]
    for change, position in zip(changes, (2, 4), strict=True):
        assert change["original"] == original["messages"][position]["content"]
        assert change["text"] == sent["messages"][position].pop("content")
        assert change["text"].startswith("[shortened from ")
        assert KEY_ANSWER in change["text"]
        del original["messages"][position]["content"]
    assert sent == original, "nothing else has changed"


def test_a_client_may_opt_out(upstream: tuple[Upstream, str]) -> None:
    server, url = upstream
    with serve_app(make_proxy(url)) as proxy:
        headers = {**JSON, "x-tersely-bypass": "true"}
        reply = httpx2.post(f"{proxy}{CHAT}", content=agent_turn(1), headers=headers)
    assert reply.headers["x-tersely-status"] == "bypassed"
    assert server.requests[0][3] == agent_turn(1)
    assert "x-tersely-bypass" not in server.requests[0][2]


def test_streams_are_relayed_as_they_come(upstream: tuple[Upstream, str]) -> None:
    server, url = upstream
    server.go_on.clear()
    with serve_app(make_proxy(url)) as proxy, httpx2.Client(timeout=10) as client:
        request = client.build_request("POST", f"{proxy}{CHAT}", content=b"{}", headers=JSON)
        reply = client.send(request, stream=True)
        parts = reply.iter_raw()
        assert next(parts) == GZIPPED[:9]
        server.go_on.set()
        assert b"".join(parts) == GZIPPED[9:]


def test_a_client_that_goes_away_ends_the_upstream_request(upstream: tuple[Upstream, str]) -> None:
    server, url = upstream
    server.go_on.clear()
    with serve_app(make_proxy(url)) as proxy:
        with httpx2.stream("POST", f"{proxy}{CHAT}", content=b"{}", headers=JSON) as reply:
            next(reply.iter_raw())
        assert server.left.wait(20)


def test_an_answer_that_breaks_off_is_not_ended(upstream: tuple[Upstream, str]) -> None:
    server, url = upstream
    server.breaks_off = True
    with serve_app(make_proxy(url)) as proxy, pytest.raises(httpx2.TransportError):
        httpx2.post(f"{proxy}{CHAT}", content=b"{}", headers=JSON)


def test_an_upstream_that_cannot_be_reached_is_named() -> None:
    with serve_app(make_proxy("http://127.0.0.1:9")) as proxy:
        reply = httpx2.post(f"{proxy}{CHAT}", content=b"{}", headers=JSON)
    assert reply.status_code == 502
    assert "http://127.0.0.1:9" in reply.json()["error"]["message"]


def test_a_failing_model_leaves_the_request_unchanged(upstream: tuple[Upstream, str]) -> None:
    server, url = upstream
    with serve_app(make_proxy(url, make_failing_compressor())) as proxy:
        reply = httpx2.post(f"{proxy}{CHAT}", content=agent_turn(1), headers=JSON)
    assert reply.headers["x-tersely-status"] == "failed"
    assert server.requests[0][3] == agent_turn(1)


class HeldScorer(FakeScorer):
    """Waits until it may go on."""

    def __init__(self) -> None:
        self.go_on = threading.Event()

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        assert self.go_on.wait(20)
        return super().score(query, documents)


def test_a_text_that_was_sent_whole_stays_whole(upstream: tuple[Upstream, str]) -> None:
    server, url = upstream
    scorer = HeldScorer()
    with serve_app(make_proxy(url, Compressor(scorer), timeout_s=1.0)) as proxy:
        first = httpx2.post(f"{proxy}{CHAT}", content=agent_turn(1), headers=JSON)
        scorer.go_on.set()
        second = httpx2.post(f"{proxy}{CHAT}", content=agent_turn(1), headers=JSON)
    assert [reply.headers["x-tersely-status"] for reply in (first, second)] == ["failed", "unchanged"]
    assert [request[3] for request in server.requests] == [agent_turn(1)] * 2


def test_credentials_are_forwarded_and_never_logged(upstream: tuple[Upstream, str]) -> None:
    server, url = upstream
    headers = {**JSON, "Authorization": f"Bearer {SECRET}", "x-api-key": SECRET}
    with serve_command("proxy", "--upstream", url, "--over", "keep", "--tool", "read=80") as proxy:
        reply = httpx2.post(
            f"{proxy.url}{CHAT}?key={SECRET}", content=agent_turn(1), headers=headers, timeout=60
        )
        httpx2.get(f"{proxy.url}/v1/files/{SECRET}", headers=headers)
        proxy.stop()
    assert reply.headers["x-tersely-status"] == "compressed"
    assert server.requests[0][2]["authorization"] == f"Bearer {SECRET}"
    assert server.requests[0][2]["x-api-key"] == SECRET
    log = "".join(proxy.log)
    assert [json.loads(line)["path"] for line in proxy.log] == ["/chat/completions", "forwarded"]
    assert not any(word in log for word in (SECRET, "lamp", "Ada"))


def test_a_key_of_the_proxy_is_asked_for_and_not_passed_on(upstream: tuple[Upstream, str]) -> None:
    server, url = upstream
    with serve_app(make_proxy(url, key="k-1", local_only=False)) as proxy:
        refused = httpx2.post(
            f"{proxy}{CHAT}", content=b"{}", headers={**JSON, "Authorization": "Bearer k-1"}
        )
        assert (refused.status_code, server.requests) == (401, [])
        assert (
            httpx2.post(f"{proxy}{CHAT}", content=b"{}", headers={"x-tersely-key": "k-1"}).status_code == 203
        )
    assert "x-tersely-key" not in server.requests[0][2]


def test_metrics_count_compressions_and_remembered_texts(upstream: tuple[Upstream, str]) -> None:
    _, url = upstream
    with serve_app(make_proxy(url)) as proxy:
        headers = [httpx2.post(f"{proxy}{CHAT}", content=agent_turn(n), headers=JSON).headers for n in (1, 2)]
        lines = httpx2.get(f"{proxy}/tersely/metrics").text.splitlines()
    numbers = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    assert float(numbers['tersely_compressions_total{status="compressed"}']) == 2, "a page a turn"
    assert float(numbers['tersely_cache_lookups_total{hit="true"}']) == 1, "that of the first turn again"
    assert float(numbers['tersely_cache_lookups_total{hit="false"}']) == 2
    assert float(numbers["tersely_tokens_in_total"]) > float(numbers["tersely_tokens_out_total"]) > 0
    assert float(numbers['tersely_http_requests_total{code="203",path="/chat/completions"}']) == 2
    assert headers[1]["x-tersely-status"] == "compressed"


def test_offline_only_servers_on_this_machine_are_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERSELY_OFFLINE", "1")
    make_proxy("http://127.0.0.1:9")
    with pytest.raises(OfflineError, match="TERSELY_OFFLINE"):
        make_proxy("https://api.example.org")


def test_anthropic_results_are_shortened_too(upstream: tuple[Upstream, str]) -> None:
    server, url = upstream
    use = {"type": "tool_use", "id": "t1", "name": "read", "input": {"page": 1}}
    result = {"type": "tool_result", "tool_use_id": "t1", "cache_control": {"type": "ephemeral"}}
    result["content"] = [{"type": "text", "text": make_page("room", KEY_ANSWER)}]
    messages = [
        {"role": "user", "content": KEY_QUESTION},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result]},
    ]
    with serve_app(make_proxy(url)) as proxy:
        httpx2.post(f"{proxy}/v1/messages", json={"messages": messages})
    (sent,) = json.loads(server.requests[0][3])["messages"][2]["content"]
    (text,) = sent.pop("content")
    assert text["text"].startswith("[shortened from ")
    assert KEY_ANSWER in text["text"]
    assert sent == {key: value for key, value in result.items() if key != "content"}


async def redirect(scope: Scope, receive: Receive, send: Send) -> None:
    """Send everybody elsewhere."""
    if scope["type"] == "lifespan":
        return await start_and_stop(receive, send)
    headers = [(b"location", b"https://elsewhere.example/v1"), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 307, "headers": headers})
    return await send({"type": "http.response.body", "body": b""})


def test_the_proxy_follows_no_redirect() -> None:
    with serve_app(redirect) as url, serve_app(make_proxy(url)) as proxy:
        answer = httpx2.post(f"{proxy}{CHAT}", content=agent_turn(1), timeout=60)
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
