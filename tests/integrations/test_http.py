"""The socket and the protocol that every server of tersely uses."""

from __future__ import annotations

import asyncio
import logging
import socket
import time

import pytest

pytest.importorskip("fastapi")
import httpx2
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tersely import Compressor, InvalidInputError
from tersely_http import check_exposed, listen, protocol
from tersely_server import build_app
from tests.sdk.fakes import FakeScorer
from tests.servers import HOST, serve_app

HEAD = b"POST /a HTTP/1.1\r\nHost: 127.0.0.1\r\n"
CHUNKED = "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
MALFORMED = b"zz\r\n"


def connect(url: str) -> socket.socket:
    return socket.create_connection((HOST, int(url.rpartition(":")[2])), timeout=20)


def test_small_parts_of_an_answer_are_sent_at_once() -> None:
    # Without TCP_NODELAY the second part waits for the acknowledgement of the first, about 40 ms.
    async def accept() -> int:
        accepted: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            opened: socket.socket = writer.get_extra_info("socket")
            accepted.set_result(opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        with listen(HOST, 0, "--port") as opened:
            async with await asyncio.start_server(greet, sock=opened):
                _, writer = await asyncio.open_connection(*opened.getsockname()[:2])
                nodelay = await accepted
                writer.close()
        return nodelay

    assert asyncio.run(accept())


def test_a_port_that_cannot_be_opened_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="Port 70000 cannot be opened"):
        listen(HOST, 70000, "--http")
    with listen(HOST, 0, "--port") as opened:
        port = opened.getsockname()[1]
        with pytest.raises(InvalidInputError, match=f"Port {port} is taken. Stop the program that has it"):
            listen(HOST, port, "--port")


def test_other_machines_need_a_key() -> None:
    check_exposed("127.0.0.1", None)
    check_exposed("::1", None)
    check_exposed("0.0.0.0", "k")
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.org"):
        with pytest.raises(InvalidInputError, match="clients must send a key"):
            check_exposed(host, None)


async def read_body(request: Request) -> Response:
    await request.body()
    return Response()


def is_closed(client: socket.socket, sent: bytes) -> bool:
    """Send bytes, and say whether the server has closed the connection."""
    try:
        client.sendall(sent)
        return not client.recv(1000)
    except TimeoutError:
        return False
    except ConnectionError:
        return True


@pytest.mark.parametrize("sent", [b"", HEAD, HEAD + b"Content-Length: 1000\r\n\r\n{"], ids=len)
@pytest.mark.parametrize("drips", [False, True])
def test_half_open_requests_end(monkeypatch: pytest.MonkeyPatch, sent: bytes, drips: bool) -> None:
    monkeypatch.setattr(protocol, "REQUEST_S", 0.5)
    app = Starlette(routes=[Route("/a", read_body, methods=["POST"])])
    with serve_app(app) as url, connect(url) as client:
        client.sendall(sent)
        client.settimeout(0.1)
        deadline = time.monotonic() + 20
        while not is_closed(client, b"a" if drips and sent else b""):
            assert time.monotonic() < deadline, "the server still waits for the request"


@pytest.mark.parametrize(
    ("path", "pause_s"),
    [("/v1/compress", 0.3), ("/v1/compress", 0.0), ("/nowhere", 0.0)],
    ids=["while the endpoint waits", "at once", "before the endpoint refuses it"],
)
def test_a_body_that_turns_malformed_gets_one_400(
    path: str, pause_s: float, caplog: pytest.LogCaptureFixture
) -> None:
    head = CHUNKED.format(path=path).encode()
    with caplog.at_level(logging.ERROR), serve_app(build_app(Compressor(FakeScorer()))) as url:
        with connect(url) as connection:
            connection.sendall(head if pause_s else head + MALFORMED)
            if pause_s:
                time.sleep(pause_s)
                connection.sendall(MALFORMED)
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
        assert httpx2.get(f"{url}/health").status_code == 200
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1") == 1
    assert [record.getMessage() for record in caplog.records] == [], "no traceback"
