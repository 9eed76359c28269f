"""Serve until the process is told to stop."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Callable
from typing import Any

import uvicorn

from tersely_http.exposure import check_exposed
from tersely_http.listening import listen
from tersely_http.logs import log_to_stderr
from tersely_http.protocol import TimedProtocol

MAX_CONNECTIONS = 500
"""Open connections, idle ones included. Further ones are answered with 503."""


def run(app: Any, opened: socket.socket, **settings: Any) -> None:
    """Serve an ASGI application on the socket until the process is told to stop. What it has accepted, it
    finishes. `settings` go to `uvicorn.Config`."""
    config = uvicorn.Config(app, http=TimedProtocol, ws="none", **{"log_level": "warning", **settings})
    asyncio.run(uvicorn.Server(config).serve(sockets=[opened]))


def run_command(
    command: str, make_app: Callable[[], Any], host: str, port: int, key: str | None, **settings: Any
) -> None:
    """Serve for `tersely COMMAND`: one line with the address on standard error, then the log.

    Raises InvalidInputError for an address that cannot be used, or that others reach without a key.
    """
    check_exposed(host, key)
    with listen(host, port, "--port") as opened:
        log_to_stderr()
        app = make_app()
        shown = f"[{host}]" if ":" in host else host
        print(f"tersely {command}: http://{shown}:{opened.getsockname()[1]}", file=sys.stderr, flush=True)
        run(
            app,
            opened,
            log_config=None,
            limit_concurrency=MAX_CONNECTIONS,
            server_header=False,
            **settings,
        )
