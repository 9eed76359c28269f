"""Listen on a socket and serve until the process is told to stop. Without a key, only for this machine."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn

from tersely import InvalidInputError
from tersely.inputs import decode_utf8
from tersely.runtime.offline import is_loopback
from tersely_http.protocol import TimedProtocol

KEY_VARIABLE = "TERSELY_API_KEY"
FINISH_S = 1
"""Seconds in which accepted requests may finish after the signal to stop. The others are then refused."""
_REFUSE_S = 1
"""Seconds for sending the refusals."""
_CLOSE_S = 0.5
"""Seconds from the last answer to the end of the process."""
_END_S = 5
"""Longest time from the signal to the end of the process, in seconds."""
MAX_CONNECTIONS = 500
"""Largest number of open connections, idle ones included. Further ones are answered with 503."""


def read_key(file: str | None) -> str | None:
    """Return the key in the file, or in the environment; None without a key.

    Raises InvalidInputError if the file is empty.
    """
    if file is not None:
        key = decode_utf8(Path(file).read_bytes(), file).strip()
        if not key:
            raise InvalidInputError(f"{file}: has no key. Write it on one line.")
        return key
    return os.environ.get(KEY_VARIABLE) or None


def check_exposed(host: str, key: str | None) -> None:
    """Raise InvalidInputError if other machines could reach the server without a key."""
    if key is None and not is_loopback(host):
        raise InvalidInputError(
            f"{host} can be reached from other machines, so clients must send a key. Pass --key-file, or set "
            f"{KEY_VARIABLE}."
        )


def listen(host: str, port: int, option: str) -> socket.socket:
    """Return a socket that listens on the address. The error message names `option`, which sets the port.

    Raises InvalidInputError if the port is taken or cannot be opened.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only if the protocol is named. Without it, small packets would wait.
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if sys.platform != "win32":  # where this option would let two programs have one port
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((host, port))
        opened.listen()
    except (OSError, OverflowError) as error:
        opened.close()
        taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        why = "is taken" if taken else f"cannot be opened ({error})"
        remedy = "Stop the program that has it" if taken else "Check the host"
        raise InvalidInputError(f"Port {port} {why}. {remedy}, or pass another port to {option}.") from error
    return opened


class _Server(uvicorn.Server):
    """A server whose process ends once all clients have an answer, even if a thread still works."""

    _signal: int | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self._signal is None:
            self._signal = sig
            self._end_process(_END_S, sig)
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        if self.server_state.tasks:  # cancelled requests, which send their refusals
            await asyncio.wait(self.server_state.tasks, timeout=_REFUSE_S)
        if self._signal is not None:
            self._end_process(_CLOSE_S, self._signal)

    def _end_process(self, seconds: float, sig: int) -> None:
        end = threading.Timer(seconds, os._exit, [128 + sig])
        end.daemon = True
        end.start()


def run(app: Any, opened: socket.socket, **settings: Any) -> None:
    """Serve an ASGI application on the socket until the process is told to stop.

    Accepted requests then have `FINISH_S` to finish. `settings` go to `uvicorn.Config`.
    """
    config = uvicorn.Config(
        app,
        http=TimedProtocol,
        ws="none",
        **{"log_level": "warning", "timeout_graceful_shutdown": FINISH_S, **settings},
    )
    asyncio.run(_Server(config).serve(sockets=[opened]))


def run_command(
    command: str, make_app: Callable[[], Any], host: str, port: int, key: str | None, **settings: Any
) -> None:
    """Serve for `tersely COMMAND`: print one line with the address to standard error, then the log.

    Raises InvalidInputError if the address cannot be used, or if others could reach it without a key.
    """
    check_exposed(host, key)
    with listen(host, port, "--port") as opened:
        handler = logging.StreamHandler()
        handler.setFormatter(_JsonFormatter())
        logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
        logging.getLogger("tersely.http").setLevel(logging.INFO)
        app = make_app()
        shown = f"[{host}]" if ":" in host else host
        print(f"tersely {command}: http://{shown}:{opened.getsockname()[1]}", file=sys.stderr, flush=True)
        limits: dict[str, Any] = {"limit_concurrency": MAX_CONNECTIONS, "log_config": None}
        run(app, opened, **limits, server_header=False, **settings)


class _JsonFormatter(logging.Formatter):
    """A formatter that writes one JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "time": f"{seconds}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line)  # ASCII, so that no text can break a line or a terminal
