"""The proxy in front of a server that records what it gets."""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("prometheus_client")
import httpx2
from starlette.types import Receive, Scope, Send

import tersely_http.recent as recent
from tersely import Compressor, OfflineError
from tersely.adapters import ToolLimits
from tersely_proxy import ProxySettings, build_app
from tersely_proxy.formats import read_chat
from tersely_proxy.rewriting import Receipts, Rewriter
from tests.integrations.samples import KEY_ANSWER, make_failing_compressor
from tests.integrations.test_proxy_formats import agent_turn
from tests.sdk.fakes import FakeScorer, HeldScorer
from tests.servers import read_body, serve_app, serve_command, start_and_stop

CHAT = "/v1/chat/completions"
SECRET = "sk-5f2c9d-secret"
GZIPPED = gzip.compress(b'{"choices": []}')


class Upstream:
    """A server that records requests. Its answers have two parts. The second waits until it may come."""

    def __init__(self) -> None:
        self.url = ""
        self.reset()

    def reset(self) -> None:
        self.requests: list[tuple[str, bytes, dict[str, str], bytes]] = []
        """Method, target, headers and body."""
        self.go_on, self.left = threading.Event(), threading.Event()
        self.go_on.set()
        self.breaks_off = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await start_and_stop(receive, send)
        body = await read_body(receive)
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


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[Upstream, str]]:
    """Run an upstream server and a proxy in front of it, whose URL comes second."""
    server = Upstream()
    with serve_app(server) as server.url, serve_app(make_proxy(server.url)) as proxy:
        yield server, proxy


@pytest.fixture
def upstream(servers: tuple[Upstream, str]) -> Upstream:
    servers[0].reset()
    return servers[0]


def make_proxy(url: str, compressor: Compressor | None = None, **settings: Any) -> Any:
    limits = {"limits": ToolLimits(80), **settings}
    return build_app(compressor or Compressor(FakeScorer()), ProxySettings(upstream=url, **limits))


@pytest.fixture
def proxy(servers: tuple[Upstream, str]) -> str:
    return servers[1]


def post(proxy: str, body: bytes = b"{}", target: str = CHAT, **headers: str) -> httpx2.Response:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    given["content-type"] = "application/json"
    return httpx2.post(f"{proxy}{target}", content=body, headers=given, timeout=60)


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
    upstream: Upstream, proxy: str, method: str, target: str, body: bytes
) -> None:
    headers = {"authorization": f"Bearer {SECRET}", "x-odd": "a, b", "accept-encoding": "br;q=0.1"}
    request = httpx2.Request(method, f"{proxy}{target}", headers=headers, content=body)
    with httpx2.Client() as client:
        reply = client.send(request, stream=True)
        received = b"".join(reply.iter_raw())
    ((got_method, got_target, got, got_body),) = upstream.requests
    assert (got_method, got_target, got_body) == (method, request.url.raw_path, body)
    assert {name: got[name] for name in headers} == headers
    assert "user-agent" not in got, "nothing is added"
    assert got["host"] == upstream.url.removeprefix("http://")
    assert (reply.status_code, received) == (203, GZIPPED)
    assert reply.headers.get_list("set-cookie") == ["a=1", "b=2"]
    assert reply.headers["x-request-id"] == "upstream-1"


def test_a_long_result_is_shortened_and_leaves_a_receipt(upstream: Upstream, proxy: str) -> None:
    body = agent_turn(2)
    reply = post(proxy, body)
    receipt = httpx2.get(f"{proxy}/tersely/receipts/{reply.headers['x-tersely-receipt']}").json()
    assert httpx2.get(f"{proxy}/tersely/receipts/0000").status_code == 404
    assert httpx2.get(f"{proxy}/tersely/health").json()["status"] == "ok"
    sent, original = json.loads(upstream.requests[0][3]), json.loads(body)
    assert reply.headers["x-tersely-status"] == "compressed"
    before, after = (int(reply.headers[f"x-tersely-tokens-{when}"]) for when in ("before", "after"))
    assert after <= 160 < before
    changes = receipt["changes"]
    assert [change["place"] for change in changes] == ["messages.2.content", "messages.4.content"]
    assert [change["tool"] for change in changes] == ["search", "search"]
    for change, position in zip(changes, (2, 4), strict=True):
        assert change["original"] == original["messages"][position].pop("content")
        assert change["text"] == sent["messages"][position].pop("content")
        assert change["text"].startswith("[shortened from ")
        assert KEY_ANSWER in change["text"]
    assert sent == original, "nothing else has changed"


def test_a_client_may_opt_out(upstream: Upstream, proxy: str) -> None:
    reply = post(proxy, agent_turn(1), x_tersely_bypass="true")
    assert reply.headers["x-tersely-status"] == "bypassed"
    assert upstream.requests[0][3] == agent_turn(1)
    assert "x-tersely-bypass" not in upstream.requests[0][2]


def test_streams_are_relayed_as_they_come(upstream: Upstream, proxy: str) -> None:
    upstream.go_on.clear()
    with httpx2.stream("POST", f"{proxy}{CHAT}", content=b"{}", timeout=20) as reply:
        parts = reply.iter_raw()
        assert next(parts) == GZIPPED[:9]
        upstream.go_on.set()
        assert b"".join(parts) == GZIPPED[9:]


def test_a_client_that_goes_away_ends_the_upstream_request(upstream: Upstream, proxy: str) -> None:
    upstream.go_on.clear()
    with httpx2.stream("POST", f"{proxy}{CHAT}", content=b"{}") as reply:
        next(reply.iter_raw())
    assert upstream.left.wait(20)


def test_an_answer_that_breaks_off_is_not_ended(upstream: Upstream, proxy: str) -> None:
    upstream.breaks_off = True
    with pytest.raises(httpx2.TransportError):
        post(proxy)


def test_an_upstream_that_cannot_be_reached_is_named() -> None:
    with serve_app(make_proxy("http://127.0.0.1:9")) as proxy:
        reply = post(proxy)
    assert reply.status_code == 502
    assert "http://127.0.0.1:9" in reply.json()["error"]["message"]


def test_a_failing_model_leaves_the_request_unchanged(upstream: Upstream) -> None:
    with serve_app(make_proxy(upstream.url, make_failing_compressor())) as proxy:
        reply = post(proxy, agent_turn(1))
    assert reply.headers["x-tersely-status"] == "failed"
    assert upstream.requests[0][3] == agent_turn(1)


def test_a_text_that_was_sent_whole_stays_whole(upstream: Upstream) -> None:
    scorer = HeldScorer()
    with serve_app(make_proxy(upstream.url, Compressor(scorer), timeout_s=1.0)) as proxy:
        first = post(proxy, agent_turn(1))
        scorer.go_on.set()
        second = post(proxy, agent_turn(1))
    assert [reply.headers["x-tersely-status"] for reply in (first, second)] == ["failed", "unchanged"]
    assert [request[3] for request in upstream.requests] == [agent_turn(1)] * 2


def test_credentials_are_forwarded_and_never_logged(upstream: Upstream) -> None:
    headers = {"authorization": f"Bearer {SECRET}", "x-api-key": SECRET}
    with serve_command(
        "proxy", "--upstream", upstream.url, "--over", "keep", "--tool", "search=80"
    ) as command:
        reply = post(command.url, agent_turn(1), f"{CHAT}?key={SECRET}", **headers)
        httpx2.get(f"{command.url}/v1/files/{SECRET}", headers=headers)
        command.stop()
    assert reply.headers["x-tersely-status"] == "compressed"
    assert {name: upstream.requests[0][2][name] for name in headers} == headers
    log = "".join(command.log)
    assert [json.loads(line)["path"] for line in command.log] == ["/chat/completions", "forwarded"]
    assert not any(word in log for word in (SECRET, "lamp", "Ada"))


def test_a_key_of_the_proxy_is_asked_for_and_not_passed_on(upstream: Upstream) -> None:
    with serve_app(make_proxy(upstream.url, key="k-1", local_only=False)) as proxy:
        assert post(proxy, authorization="Bearer k-1").status_code == 401
        assert upstream.requests == []
        assert post(proxy, x_tersely_key="k-1").status_code == 203
    assert "x-tersely-key" not in upstream.requests[0][2]


def test_metrics_count_compressions_and_remembered_texts(upstream: Upstream) -> None:
    with serve_app(make_proxy(upstream.url)) as proxy:
        statuses = [post(proxy, agent_turn(turns)).headers["x-tersely-status"] for turns in (1, 2)]
        lines = httpx2.get(f"{proxy}/tersely/metrics").text.splitlines()
    numbers = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    assert statuses == ["compressed", "compressed"]
    assert float(numbers['tersely_compressions_total{status="compressed"}']) == 2, "a page per turn"
    assert float(numbers['tersely_cache_lookups_total{hit="true"}']) == 1, "that of the first turn again"
    assert float(numbers['tersely_cache_lookups_total{hit="false"}']) == 2
    assert float(numbers["tersely_tokens_in_total"]) > float(numbers["tersely_tokens_out_total"]) > 0
    assert float(numbers['tersely_http_requests_total{code="203",path="/chat/completions"}']) == 2


def test_offline_only_servers_on_this_machine_are_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERSELY_OFFLINE", "1")
    make_proxy("http://127.0.0.1:9")
    with pytest.raises(OfflineError, match="TERSELY_OFFLINE"):
        make_proxy("https://api.example.org")


async def redirect(scope: Scope, receive: Receive, send: Send) -> None:
    """Send everybody elsewhere."""
    if scope["type"] == "lifespan":
        return await start_and_stop(receive, send)
    headers = [(b"location", b"https://elsewhere.example/v1"), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 307, "headers": headers})
    return await send({"type": "http.response.body", "body": b""})


def test_the_proxy_follows_no_redirect() -> None:
    with serve_app(redirect) as url, serve_app(make_proxy(url)) as proxy:
        reply = post(proxy, agent_turn(1))
    assert (reply.status_code, reply.headers["location"]) == (307, "https://elsewhere.example/v1")


@pytest.mark.parametrize("most", [10, 6000])
def test_the_proxy_remembers_a_limited_number_of_texts(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent, "MAX_BYTES", most)
    rewriter = Rewriter(Compressor(FakeScorer()), ToolLimits(80))
    receipts = Receipts(rewriter)
    ids: list[str] = []
    for turns in range(1, 6):
        ids.append(receipts.keep(rewriter.rewrite(agent_turn(turns), read_chat)))
        kept = [one for _, one in rewriter._decisions._kept.values()]
        assert sum(sys.getsizeof(text) for one in kept for text in one.texts) <= most
    assert len(set(ids)) == len(ids)
    assert all(len(bytes.fromhex(key)) == 16 for key in ids)
