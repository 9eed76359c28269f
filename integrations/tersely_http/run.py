"""Serve until the process is told to stop."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import uvicorn

from tersely_http.protocol import TimedProtocol


def run(app: Any, opened: socket.socket, **settings: Any) -> None:
    """Serve an ASGI application on the socket until the process is told to stop. What it has accepted, it
    finishes. `settings` go to `uvicorn.Config`."""
    config = uvicorn.Config(app, http=TimedProtocol, ws="none", **{"log_level": "warning", **settings})
    asyncio.run(uvicorn.Server(config).serve(sockets=[opened]))
