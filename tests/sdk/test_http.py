"""A client is safe from hostile servers, proxies and environments, and keeps off the network if told so."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import logging
import pickle
import socket
import sys
import threading
import traceback
from collections.abc import Callable

import pytest

from tersely import Document, InvalidInputError, MissingDependencyError, OfflineError, TerselyError
from tersely.rerank import RerankEndpoint
from tersely.runtime import http
from tersely.runtime.offline import check_address, client_settings, hide_credentials
from tests.loopback import RawServer, Serve
from tests.sdk.http_clients import Open, completion, open_async_chat, open_chat, open_reranker

ANSWER = {**completion(), "results": [{"index": 0, "score": 0.5}, {"index": 1, "score": 0.1}]}
"""An answer that the chat client reads as a reply, and the reranker as scores."""
PASSWORD = "hunter2"
READ = ("Thursday.", [0.5, 0.1])


@pytest.fixture(params=[open_chat, open_async_chat, open_reranker], ids=["complete", "acomplete", "rank"])
def client(request: pytest.FixtureRequest) -> Open:
    return request.param


@pytest.fixture(autouse=True)
def shorten_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "_PAUSE_S", 0.02)


@pytest.fixture
def proxy_url(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    def set_proxy(url: str) -> None:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HTTPS_PROXY"):
            monkeypatch.setenv(name, url)
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)

    return set_proxy


def test_calls_to_a_busy_server_are_repeated(serve: Serve, client: Open) -> None:
    answers = iter([(503, {"error": "busy"}), (429, {}), (200, ANSWER)])
    server = serve(lambda _: next(answers))
    assert client(server.url, retries=2)() in READ
    assert len(server.requests) == 3


def test_refused_calls_are_not_repeated(serve: Serve) -> None:
    server = serve(lambda _: (400, {"error": {"message": "context length exceeded"}}))
    with pytest.raises(TerselyError, match=r"refused the request: HTTP 400 context length exceeded"):
        open_chat(server.url)()
    assert len(server.requests) == 1


def test_incomplete_answers_are_repeated(serve: Serve) -> None:
    server = serve(lambda _: (200, ANSWER))
    server.withheld = 7
    with pytest.raises(TerselyError, match="cannot be reached"):
        open_chat(server.url, retries=1)()
    assert len(server.requests) == 2


def test_unreachable_servers_are_an_error() -> None:
    with pytest.raises(
        TerselyError, match=r"http://127.0.0.1:9/v1 cannot be reached \(ConnectError: .*Check"
    ):
        open_chat("http://127.0.0.1:9/v1", retries=0)()


def test_silent_servers_are_an_error() -> None:
    server = RawServer(lambda _: server.stopped.wait() and None)
    with pytest.raises(TerselyError, match=r"did not answer within 0\.2 s. Raise timeout_s, or "):
        open_chat(server.url, timeout_s=0.2)()
    server.stop()


def test_redirects_carry_no_prompt_and_no_key_elsewhere(serve: Serve, client: Open) -> None:
    target = serve(lambda _: (200, ANSWER))
    for code in (301, 302, 307, 308):
        server = serve(lambda _, code=code: (code, {}))
        server.location = target.url
        with pytest.raises(TerselyError, match=f"HTTP {code} it redirects, which is not followed"):
            client(server.url, api_key="secret-key")()
    assert not target.requests


def test_proxies_are_not_used_for_this_machine(serve: Serve, proxy_url: Callable[[str], None]) -> None:
    proxy, server = serve(lambda _: (500, {})), serve(lambda _: (200, ANSWER))
    proxy_url(proxy.url)
    assert open_chat(server.url)() in READ
    assert not proxy.requests


def test_proxies_are_used_for_other_machines(
    serve: Serve, proxy_url: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = serve(lambda _: (200, ANSWER))
    proxy_url(proxy.url)
    call = open_chat("http://tersely.invalid/v1")
    assert call() in READ
    monkeypatch.setenv("TERSELY_OFFLINE", "1")
    with pytest.raises(OfflineError, match=r"tersely\.invalid is not this machine"):
        call()
    assert len(proxy.requests) == 1


def test_offline_mode_allows_only_this_machine(
    serve: Serve, client: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier = client("http://192.0.2.1/v1", timeout_s=1.0)
    monkeypatch.setenv("TERSELY_OFFLINE", "1")
    assert client(serve(lambda _: (200, ANSWER)).url)() in READ
    for act in (earlier, lambda: client("https://example.org/v1")):
        with pytest.raises(OfflineError, match=r"TERSELY_OFFLINE is set, and .* is not this machine"):
            act()


@pytest.mark.parametrize(
    "start", [b"HTTP/1.1 200 OK\r\nA: ", b"HTTP/1.1 200 OK\r\n\r\n"], ids=["head", "body"]
)
def test_a_slow_trickle_ends_with_the_time_limit(start: bytes) -> None:
    server = RawServer(lambda c: (c.sendall(start), server.send_slowly(c, itertools.repeat(b" "), 0.05))[1])
    with pytest.raises(TerselyError, match=r"did not answer within 0\.5 s"):
        open_chat(server.url, timeout_s=0.5, retries=5)()
    server.stop()
    assert server.requests == 1


def test_a_slow_tls_handshake_ends_with_the_time_limit() -> None:
    handshake = b"\x16\x03\x03\x40\x00\x02"  # the start of a record of 16,384 bytes
    stopped = threading.Event()

    def trickle() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(handshake)
            while not stopped.wait(0.05):
                try:
                    connection.sendall(b"\0")
                except OSError:
                    return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=trickle, daemon=True)
        thread.start()
        with pytest.raises(TerselyError, match="ConnectTimeout"):
            open_chat(f"https://127.0.0.1:{listener.getsockname()[1]}", timeout_s=0.5, retries=0)()
        stopped.set()
        thread.join(5.0)


def test_an_endless_answer_ends_with_the_size_limit() -> None:
    def send(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1500000000\r\n\r\n")
        while not server.stopped.is_set():
            connection.sendall(bytes(65536))

    server = RawServer(send)
    with pytest.raises(TerselyError, match="more than 8388608 bytes"):
        open_chat(server.url)()
    server.stop()
    assert server.requests == 1


OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
BOMB = gzip.compress(bytes(40 * 2**20))


@pytest.mark.parametrize(
    "answer",
    [
        OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(BOMB) + BOMB,
        OK + b"Transfer-Encoding: chunked\r\n\r\nff\r\nhalf a chunk",
        OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
        OK + b"Content-Length: -1\r\n\r\n[]",
        OK + b"Content-Encoding: br\r\nContent-Length: 2\r\n\r\n[]",
        OK + b"A: b\r\n" * 10_000 + b"\r\n[]",
        OK[:30],
        b"",
        b"<html>hello</html>",
        b"HTTP/1.1 42 OK\r\n\r\n{}",
        b"HTTP/1.1 400 \x1b[31mred\r\nContent-Length: 0\r\n\r\n",
    ],
    ids=range(11),
)
def test_a_broken_answer_is_one_error_that_can_be_shown(answer: bytes, client: Open) -> None:
    server = RawServer(lambda connection: connection.sendall(answer))
    with pytest.raises(TerselyError) as failure:
        client(server.url, api_key="secret-key", timeout_s=5.0, retries=0)()
    server.stop()
    assert str(failure.value).isprintable()
    assert len(str(failure.value)) < 1000
    assert "secret-key" not in str(failure.value)


def test_a_server_cannot_ask_for_a_long_pause() -> None:
    busy = b"HTTP/1.1 503 Busy\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n"
    server = RawServer(lambda connection: connection.sendall(busy))
    with pytest.raises(TerselyError, match="HTTP 503 Busy"):
        open_chat(server.url, timeout_s=5.0)()
    server.stop()
    assert server.requests == 1


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'[{"index": Infinity, "score": 1}]',
        b'[{"index": 0, "score": NaN}, {"index": 1, "score": 1}]',
    ],
    ids=["deep", "infinite index", "no number"],
)
def test_json_that_cannot_be_used_is_an_error(serve: Serve, client: Open, body: bytes) -> None:
    with pytest.raises(TerselyError, match=r"did not score each of 2|not a chat completion"):
        client(serve(lambda _: (200, body)).url)()


def test_passwords_and_keys_are_sent_and_never_shown(
    serve: Serve, client: Open, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server = serve(lambda _: (400, {"error": {"message": "the key secret-key is wrong"}}))
    url = server.url.replace("http://", f"http://user:{PASSWORD}@") + f"/v1?key={PASSWORD}"
    with pytest.raises(TerselyError, match=r"the key \[key\] is wrong") as failure:
        client(url, api_key="secret-key")()
    with pytest.raises(TerselyError, match="cannot be reached") as no_answer:
        client(f"http://user:{PASSWORD}@127.0.0.1:9/v1", api_key="secret-key", retries=0)()
    shown = "".join(
        [*traceback.format_exception(failure.value), *traceback.format_exception(no_answer.value)]
    )
    assert PASSWORD not in (shown + caplog.text)
    assert "the key secret-key" not in (shown + caplog.text)
    assert server.requests[0][1] == "Basic dXNlcjpodW50ZXIy"
    assert server.paths[0].endswith(f"?key={PASSWORD}")
    with pytest.raises(InvalidInputError, match="line break") as refusal:
        client(server.url, api_key="secret\nX: y")
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize("options", [{"timeout_s": 0}, {"timeout_s": float("nan")}, {"retries": -1}], ids=str)
def test_unusable_limits_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(options))):
        open_chat("http://127.0.0.1:9", **options)


def test_the_error_without_httpx2_says_what_to_install(client: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx2", None)
    with pytest.raises(MissingDependencyError, match="pip install httpx2"):
        client("http://127.0.0.1:9")


def test_blocking_calls_work_inside_an_event_loop(serve: Serve) -> None:
    server = serve(lambda _: (200, ANSWER))

    async def call(client: Open) -> object:
        return client(server.url)()

    assert [asyncio.run(call(client)) for client in (open_chat, open_reranker)] == [*READ]


def test_a_reranker_can_be_sent_to_another_process(serve: Serve) -> None:
    endpoint = RerankEndpoint(serve(lambda _: (200, ANSWER)).url)
    assert pickle.loads(pickle.dumps(endpoint)).rank("q", [Document("a"), Document("b")]) == READ[1]


LOCAL = [
    "http://localhost",
    "http://LOCALHOST:8000/v1",
    "http://127.0.0.1:8000/v1",
    "https://127.8.9.10/",
    "http://[::1]:8000/v1",
    "http://user:secret@127.0.0.1/v1",
]
ELSEWHERE = [
    "http://localhost.evil.example/", "http://127.0.0.1.evil.example/", "http://localhost./",
    "http://127.0.0.1./", "http://127.0.0.1@evil.example/", "http://127.0.0.1:80@evil.example/",
    "http://localhost%2eevil.example@evil.example/", "http://2130706433/", "http://0x7f000001/",
    "http://0177.0.0.1/", "http://127.1/", "http://0.0.0.0/", "http://0/", "http://[::]/",
    "http://[::ffff:10.0.0.1]/", "http://10.0.0.1/", "http://169.254.169.254/", "http://１２７.0.0.1/",
    "http://127。0。0。1/", "http://ⓛocalhost/",
]  # fmt: skip
MALFORMED = [
    "", " ", "127.0.0.1:8000", "ftp://127.0.0.1/", "file:///etc/passwd", "http://", "http:///x",
    "http://127.0.0.1\\@evil.example/", "http://evil.example\\@127.0.0.1/",
    "http://a@127.0.0.1@evil.example/", "http://127.0.0.1\t.evil.example/",
    "http://127.0.0.1\r\nHost: evil.example/", " http://127.0.0.1/", "http://127.0.0.1:port/",
    "http://127.0.0.1:99999/", "http://[::1/", "http://::1/", "http://[::1]evil.example/",
    "http://127.0.0.1%00.evil.example/",
]  # fmt: skip


@pytest.mark.parametrize("url", LOCAL)
def test_this_machine_is_reached_offline_and_without_proxies(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not client_settings(check_address(url))["trust_env"]
    monkeypatch.setenv("TERSELY_OFFLINE", "1")
    assert check_address(url).is_local


@pytest.mark.parametrize("url", ELSEWHERE)
def test_addresses_elsewhere_are_refused_offline(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERSELY_OFFLINE", "1")
    with pytest.raises((OfflineError, InvalidInputError)):
        check_address(url)


@pytest.mark.parametrize("url", MALFORMED, ids=repr)
def test_ambiguous_addresses_are_refused(url: str) -> None:
    with pytest.raises(InvalidInputError, match="not an HTTP address"):
        check_address(url)


def test_user_password_and_query_are_not_shown() -> None:
    address = check_address("http://user:p%40ss@127.0.0.1:8000/v1?key=abc#x")
    assert (address.url, address.public_url) == (
        "http://127.0.0.1:8000/v1?key=abc",
        "http://127.0.0.1:8000/v1",
    )
    assert address.authorization == "Basic dXNlcjpwQHNz"
    for url in (
        "user:secret@host",
        "http:/user:secret@host",
        "http://a:secret@b:x/?k=secret",
        "x\n:secret@h",
    ):
        assert "secret" not in str(hide_credentials(url))
        with pytest.raises(InvalidInputError) as refusal:
            check_address(url)
        assert "secret" not in str(refusal.value)
