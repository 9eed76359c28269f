"""Real servers for tests: an ASGI application in a thread, and the `tersely` command in a process."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import uvicorn
from starlette.types import Receive, Send

from tersely_http import TimedProtocol, listen

HOST = "127.0.0.1"
COMMAND = [sys.executable, "-c", "import sys; from tersely.cli import main; sys.exit(main())"]


async def start_and_stop(receive: Receive, send: Send) -> None:
    """Answer the messages about the life of a server."""
    for event in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{event}.complete"})


async def read_body(receive: Receive) -> bytes:
    """Return the body of a request."""
    body = b""
    while (message := await receive())["type"] == "http.request":
        body += message["body"]
        if not message["more_body"]:
            break
    return body


@contextmanager
def serve_app(app: Any) -> Iterator[str]:
    """Serve an ASGI application; yield its URL."""
    with listen(HOST, 0, "--port") as opened:
        server = uvicorn.Server(uvicorn.Config(app, http=TimedProtocol, ws="none", log_config=None))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [opened]}, daemon=True)
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.005)
        try:
            yield f"http://{HOST}:{opened.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(20)
            assert not thread.is_alive(), "the server did not stop"


class ServerProcess:
    """A `tersely` server in its own process. `log` holds the lines of its standard error so far."""

    def __init__(self, *arguments: str, env: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, *arguments, "--port", "0"], stderr=subprocess.PIPE, text=True, env=env
        )
        assert self.process.stderr is not None
        self.log: list[str] = []
        first = self.process.stderr.readline()
        assert "http://" in first, first + self.process.stderr.read()
        self.url = first.split()[-1]
        self.port = int(self.url.rpartition(":")[2])
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        self.log.extend(self.process.stderr)

    def stop(self, timeout_s: float = 30) -> int:
        """Ask the server to stop, wait until it has, and return its exit code."""
        self.process.terminate()
        code = self.process.wait(timeout_s)
        self._reader.join(5)
        assert self.process.stderr is not None
        self.process.stderr.close()
        return code


@contextmanager
def serve_command(*arguments: str, env: dict[str, str] | None = None) -> Iterator[ServerProcess]:
    """Run a `tersely` server."""
    server = ServerProcess(*arguments, env=env)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.stop()


def wait_until_admitted(url: str, count: int, **options: Any) -> None:
    """Wait until the server works on `count` requests, or keeps them waiting."""
    deadline = time.monotonic() + 60
    while f"tersely_admitted_requests {count}.0" not in httpx2.get(f"{url}/metrics", **options).text:
        assert time.monotonic() < deadline, f"the server has never had {count} requests"
        time.sleep(0.05)
