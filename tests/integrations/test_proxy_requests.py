"""The proxy shortens some requests, and passes on or refuses the others."""

from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("prometheus_client")

from tersely import Compressor
from tersely.adapters import ToolLimits
from tersely_proxy import ProxySettings, build_app
from tests.integrations.samples import KEY_ANSWER, KEY_QUESTION, make_page
from tests.integrations.test_proxy import Upstream, make_proxy, post
from tests.integrations.test_proxy_formats import agent_turn
from tests.sdk.fakes import FakeScorer, HeldScorer
from tests.servers import serve_app, wait_until_admitted


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    server = Upstream()
    with serve_app(server) as server.url:
        yield server


@pytest.fixture
def proxy(upstream: Upstream) -> Iterator[str]:
    with serve_app(make_proxy(upstream.url)) as url:
        yield url


@pytest.mark.parametrize("target", ["/v1/messages", "/v1/messages/count_tokens?beta=true"])
def test_tokens_are_counted_of_what_would_be_sent(upstream: Upstream, proxy: str, target: str) -> None:
    page = make_page("room", KEY_ANSWER)
    result = {"type": "tool_result", "tool_use_id": "c1", "content": page}
    messages = [{"role": "user", "content": KEY_QUESTION}, {"role": "user", "content": [result]}]
    body = json.dumps({"messages": messages}).encode()
    assert post(proxy, body, target).headers["x-tersely-status"] == "compressed"
    assert len(upstream.requests[0][3]) < len(body)


def test_a_zipped_body_is_shortened_and_sent_unzipped(upstream: Upstream, proxy: str) -> None:
    zipped = gzip.compress(agent_turn(1))
    reply = post(proxy, zipped, content_encoding="gzip")
    plain = post(proxy, agent_turn(1))
    assert [one.headers["x-tersely-status"] for one in (reply, plain)] == ["compressed"] * 2
    (_, _, headers, sent), (_, _, _, expected) = upstream.requests
    assert sent == expected
    assert "content-encoding" not in headers
    assert int(headers["content-length"]) == len(sent)


@pytest.mark.parametrize(
    ("encoding", "body", "status"),
    [
        ("gzip", gzip.compress(b'{"messages": []}'), "unchanged"),
        ("gzip", b"no gzip", "forwarded"),
        ("gzip", gzip.compress(b" " * (64 * 2**20 + 1)), "forwarded"),
        ("zstd", b"any bytes", "forwarded"),
    ],
    ids=["nothing to shorten", "damaged", "too large", "another encoding"],
)
def test_other_zipped_bodies_are_passed_on(
    upstream: Upstream, proxy: str, encoding: str, body: bytes, status: str
) -> None:
    assert post(proxy, body, content_encoding=encoding).headers["x-tersely-status"] == status
    assert upstream.requests[0][2]["content-encoding"] == encoding
    assert upstream.requests[0][3] == body


def test_a_header_says_that_a_request_is_passed_on(proxy: str) -> None:
    for target in ("/v1/files", "/v1/batches", "/v1beta/models/m:batchGenerateContent", "/api/generate"):
        assert post(proxy, b"{}", target).headers["x-tersely-status"] == "forwarded"
    signed = post(proxy, b"{}", "/model/x/converse", authorization="AWS4-HMAC-SHA256 Credential=x")
    assert signed.headers["x-tersely-status"] == "forwarded"


@pytest.mark.parametrize(
    "target",
    [
        "/v1beta/models/gemini-3:streamGenerateContent?alt=sse",
        "/api/chat",
        "/model/a%3A0/converse",
        "/model/a/invoke",
    ],
)
def test_requests_of_other_interfaces_are_read(proxy: str, target: str) -> None:
    assert post(proxy, b"{}", target).headers["x-tersely-status"] == "unchanged"


def test_a_file_to_be_edited_stays_unless_its_tool_has_a_limit(upstream: Upstream) -> None:
    body = agent_turn(1).replace(b'"search"', b'"Read"')
    for limits, status in (({}, "unchanged"), ({"limits": ToolLimits(80, {"Read": 80})}, "compressed")):
        settings = ProxySettings(upstream=upstream.url, **limits)
        with serve_app(build_app(Compressor(FakeScorer()), settings)) as proxy:
            long = body.replace(b"The room", b"The room, " + b"and the tower, " * 10)
            assert post(proxy, long).headers["x-tersely-status"] == status


@pytest.mark.parametrize("target", ["/a#b", "/../../x", "/v1/%2e%2E/x"])
def test_a_path_cannot_leave_the_base_path(upstream: Upstream, proxy: str, target: str) -> None:
    host, _, port = proxy.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        request = f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        connection.sendall(request.encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 400")
    assert upstream.requests == []


def test_a_websocket_is_refused_at_once(upstream: Upstream, proxy: str) -> None:
    host, _, port = proxy.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13"
        connection.sendall(f"GET /v1/responses HTTP/1.1\r\nHost: {host}\r\n{upgrade}\r\n\r\n".encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 426")
    assert upstream.requests == []


def test_forty_requests_at_once_wait_for_their_turn(upstream: Upstream) -> None:
    scorer = HeldScorer()
    with serve_app(make_proxy(upstream.url, Compressor(scorer), slots=1, timeout_s=60.0)) as proxy:
        with ThreadPoolExecutor(40) as pool:
            replies = [pool.submit(post, proxy, agent_turn(1)) for _ in range(40)]
            wait_until_admitted(f"{proxy}/tersely", 40)
            scorer.go_on.set()
        statuses = {reply.result().headers["x-tersely-status"] for reply in replies}
    assert statuses == {"compressed"}
