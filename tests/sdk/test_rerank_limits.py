"""What a hostile server, a proxy or the environment can make the HTTP reranker do."""

from __future__ import annotations

import itertools
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from tersely import Document, InvalidInputError, OfflineError, TerselyError
from tersely.rerank import RerankEndpoint
from tests.loopback import RawServer, Serve, serving

DOCS = [Document("Thursday."), Document("Friday.")]
SCORES = {"results": [{"index": 0, "score": 0.5}, {"index": 1, "score": 0.1}]}


@pytest.fixture
def serve() -> Iterator[Serve]:
    with serving() as start:
        yield start


def test_a_proxy_of_the_environment_is_not_used_for_this_machine(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy, server = serve(lambda _: (500, {})), serve(lambda _: (200, SCORES))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, proxy.url)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert RerankEndpoint(server.url).rank("q", DOCS) == [0.5, 0.1]
    assert not proxy.requests


@pytest.mark.parametrize(
    "start", [b"HTTP/1.1 200 OK\r\nA: ", b"HTTP/1.1 200 OK\r\n\r\n"], ids=["head", "body"]
)
def test_a_slow_trickle_ends_with_the_time_limit(start: bytes) -> None:
    server = RawServer(lambda c: (c.sendall(start), server.send_slowly(c, itertools.repeat(b" "), 0.05))[1])
    began = time.monotonic()
    with pytest.raises(TerselyError, match=r"timed out after 0\.5 s"):
        RerankEndpoint(server.url, timeout_s=0.5, retries=5).rank("q", DOCS)
    assert time.monotonic() - began < 4.0
    server.stop()
    assert server.requests == 1


def test_a_slow_tls_handshake_ends_with_the_time_limit() -> None:
    handshake = b"\x16\x03\x03\x40\x00\x02"  # the start of a record of 16,384 bytes
    with socket.create_server(("127.0.0.1", 0)) as listener:
        endpoint = RerankEndpoint(f"https://127.0.0.1:{listener.getsockname()[1]}", timeout_s=0.5, retries=0)
        began = time.monotonic()

        def trickle() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(handshake)
                while not stopped.wait(0.05):
                    try:
                        connection.sendall(b"\0")
                    except OSError:
                        return

        stopped = threading.Event()
        thread = threading.Thread(target=trickle, daemon=True)
        thread.start()
        with pytest.raises(TerselyError, match="timed out"):
            endpoint.rank("q", DOCS)
        assert time.monotonic() - began < 4.0
        stopped.set()
        thread.join(5.0)


def test_an_endless_answer_ends_with_the_size_limit() -> None:
    def send(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1500000000\r\n\r\n")
        while not server.stopped.is_set():
            connection.sendall(bytes(65536))

    server = RawServer(send)
    with pytest.raises(TerselyError, match="more than 8388608 bytes"):
        RerankEndpoint(server.url).rank("q", DOCS)
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
def test_json_that_cannot_be_used_is_an_error(serve: Serve, body: bytes) -> None:
    with pytest.raises(TerselyError, match="reranker at"):
        RerankEndpoint(serve(lambda _: (200, body)).url, retries=0).rank("q", DOCS)


def test_passwords_are_never_printed_but_sent(serve: Serve) -> None:
    server = serve(lambda _: (400, {}))
    with pytest.raises(TerselyError, match="HTTP 400") as failure:
        RerankEndpoint(server.url.replace("http://", "http://user:hunter2@")).rank("q", DOCS)
    assert "hunter2" not in str(failure.value)
    assert server.requests[0][1] == "Basic dXNlcjpodW50ZXIy"
    with pytest.raises(InvalidInputError) as refusal:
        RerankEndpoint("http://127.0.0.1:9", api_key="secret\nX: y")
    assert "secret" not in str(refusal.value)


def test_an_endpoint_from_before_offline_mode_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = RerankEndpoint("http://192.0.2.1/rerank", timeout_s=1.0)
    monkeypatch.setenv("TERSELY_OFFLINE", "1")
    with pytest.raises(OfflineError, match="TERSELY_OFFLINE"):
        endpoint.rank("q", DOCS)
