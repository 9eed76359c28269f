"""The server over streamable HTTP, on this machine only."""

from __future__ import annotations

import asyncio
import errno
import socket
from typing import Any

import h11
import uvicorn
from mcp.server import MCPServer
from uvicorn.protocols.http.h11_impl import H11Protocol

from tersely import InvalidInputError

HOST = "127.0.0.1"
REQUEST_S = 10.0
"""Seconds in which a request has to arrive, head and body."""


def listen(port: int) -> socket.socket:
    """A socket that is bound to the port. Raises InvalidInputError where that cannot be."""
    opened = socket.socket()
    try:
        # Not on Windows, where it would let two programs have one port.
        if hasattr(socket, "AF_UNIX"):
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((HOST, port))
        opened.listen()
    except (OSError, OverflowError) as error:
        opened.close()
        taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        why = "is taken" if taken else f"cannot be opened ({error})"
        raise InvalidInputError(
            f"Port {port} {why}. Stop the program that has it, or pass another port to --http."
        ) from error
    return opened


def run(server: MCPServer[Any], opened: socket.socket) -> None:
    """Serve on the socket until the process is told to stop."""
    config = uvicorn.Config(
        server.streamable_http_app(host=HOST), http=TimedProtocol, ws="none", log_level="warning"
    )
    asyncio.run(uvicorn.Server(config).serve(sockets=[opened]))


class TimedProtocol(H11Protocol):
    """Closes a connection whose request has begun, or should begin, and is not there after `REQUEST_S`."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._start()

    def data_received(self, data: bytes) -> None:
        self._start()
        super().data_received(data)
        if not self._is_waiting():
            self._stop()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def _start(self) -> None:
        # One time for the whole request: a byte now and then does not prolong it.
        if self._timer is None:
            self._timer = self.loop.call_later(REQUEST_S, self._end)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end(self) -> None:
        self._timer = None
        if self._is_waiting() and not self.transport.is_closing():
            self.transport.close()

    def _is_waiting(self) -> bool:
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY)
