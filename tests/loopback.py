"""A local HTTP server whose answers a test defines."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[dict[str, Any]], tuple[int, Any]]
"""From the JSON of a request to a status code and a body. Bytes are sent unchanged, other values as JSON."""

Serve = Callable[[Answer], "Server"]


class Server:
    """A server that records the body and the Authorization header of every request."""

    def __init__(self, answer: Answer) -> None:
        self.requests: list[tuple[dict[str, Any], str | None]] = []
        self.listed: Any = {"object": "list", "data": [{"id": "small", "object": "model"}]}
        """The answer to GET requests: OpenAI's list of models."""
        self.location = ""
        """Address of a redirect; empty for none."""
        self.withheld = 0
        """Bytes that the header announces and that are never sent."""
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.requests.append((body, self.headers.get("Authorization")))
                code, value = answer(body)
                payload = value if isinstance(value, bytes) else json.dumps(value).encode()
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                if server.location:
                    self.send_header("Location", server.location)
                self.send_header("Content-Length", str(len(payload) + server.withheld))
                self.end_headers()
                self.wfile.write(payload)

            def do_GET(self) -> None:
                payload = json.dumps(server.listed).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"


@contextmanager
def serving() -> Iterator[Serve]:
    """A function that starts servers. All of them stop at the end."""
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
