"""Requests that stop being HTTP in the middle."""

from __future__ import annotations

import logging
import socket
import time

import pytest

pytest.importorskip("fastapi")
import httpx2

from tersely import Compressor
from tersely_server import build_app
from tests.sdk.fakes import FakeScorer
from tests.servers import serve_app

HEAD = "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
MALFORMED = b"zz\r\n"


@pytest.mark.parametrize(
    ("path", "pause_s"),
    [("/v1/compress", 0.3), ("/v1/compress", 0.0), ("/nowhere", 0.0)],
    ids=["while the endpoint waits", "at once", "before the endpoint refuses it"],
)
def test_a_body_that_is_malformed_in_the_middle_gets_400_and_leaves_no_traceback(
    path: str, pause_s: float, caplog: pytest.LogCaptureFixture
) -> None:
    head = HEAD.format(path=path).encode()
    with caplog.at_level(logging.ERROR), serve_app(build_app(Compressor(FakeScorer()))) as url:
        with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), timeout=20) as connection:
            connection.sendall(head if pause_s else head + MALFORMED)
            if pause_s:
                time.sleep(pause_s)
                connection.sendall(MALFORMED)
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
        assert httpx2.get(f"{url}/health").status_code == 200
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1") == 1
    assert [record.getMessage() for record in caplog.records] == []
