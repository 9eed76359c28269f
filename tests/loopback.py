"""Local HTTP servers with the answers of a test."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

Answer = Callable[[dict[str, Any]], tuple[int, Any]]
"""A function that makes a status code and a body from a request's JSON. Bytes are sent unchanged, other
values as JSON."""

Serve = Callable[[Answer], "Server"]


class Server:
    """A server that records the body and the Authorization header of every request."""

    def __init__(self, answer: Answer) -> None:
        self.requests: list[tuple[dict[str, Any], str | None]] = []
        self.listed: Any = {"object": "list", "data": [{"id": "small", "object": "model"}]}
        """Answer to GET requests: OpenAI's list of models."""
        self.paths: list[str] = []
        """Paths of all POST requests, with their queries."""
        self.location = ""
        """Address of a redirect; empty for none."""
        self.withheld = 0
        """Number of bytes that are announced and never sent."""
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.requests.append((body, self.headers.get("Authorization")))
                server.paths.append(self.path)
                code, value = answer(body)
                payload = value if isinstance(value, bytes) else json.dumps(value).encode()
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                if server.location:
                    self.send_header("Location", server.location)
                self.send_header("Content-Length", str(len(payload) + server.withheld))
                self.end_headers()
                with contextlib.suppress(ConnectionError):  # the client may have given up
                    self.wfile.write(payload)

            def do_GET(self) -> None:
                payload = json.dumps(server.listed).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            def log_message(self, *_: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"


@contextmanager
def serving() -> Iterator[Serve]:
    """Yield a function that starts servers; stop all of them at the end."""
    started: list[Server] = []

    def start(answer: Answer) -> Server:
        server = Server(answer)
        threading.Thread(target=server.http.serve_forever, args=(0.02,), daemon=True).start()
        started.append(server)
        return server

    try:
        yield start
    finally:
        for server in started:
            server.http.shutdown()
            server.http.server_close()


@pytest.fixture
def serve() -> Iterator[Serve]:
    with serving() as start:
        yield start


Behaviour = Callable[[socket.socket], None]
"""A function that handles a connection after the request was read."""


class RawServer:
    """A server that lets `behave` answer its connections, and counts the requests. `stopped` ends endless
    answers."""

    def __init__(self, behave: Behaviour) -> None:
        self._behave = behave
        self.requests = 0
        self.stopped = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def send_slowly(self, connection: socket.socket, parts: Iterable[bytes], pause_s: float) -> None:
        """Send the parts with pauses between them, until the client or the test ends it."""
        for part in parts:
            connection.sendall(part)
            if self.stopped.wait(pause_s):
                return

    def stop(self) -> None:
        self.stopped.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(5.0)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._threads.append(threading.Thread(target=self._serve, args=(connection,), daemon=True))
                self._threads[-1].start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.settimeout(10.0)
            _read_request(connection)
            self.requests += 1
            self._behave(connection)


def _read_request(connection: socket.socket) -> None:
    received = b""
    while b"\r\n\r\n" not in received:
        part = connection.recv(65536)
        if not part:
            return
        received += part
    head, _, body = received.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: *(\d+)", head)
    left = (int(length[1]) if length else 0) - len(body)
    while left > 0:
        left -= len(connection.recv(65536)) or left
