"""An ASGI application on a socket: the shared part of tersely's servers. Their extras bring uvicorn."""

from tersely_http.layers import CLOSED, Guard, Recorder, RequestError, answer, describe, wait_until_gone
from tersely_http.protocol import TimedProtocol
from tersely_http.serving import check_exposed, listen, read_key, run, run_command

__all__ = [
    "CLOSED",
    "Guard",
    "Recorder",
    "RequestError",
    "TimedProtocol",
    "answer",
    "check_exposed",
    "describe",
    "listen",
    "read_key",
    "run",
    "run_command",
    "wait_until_gone",
]
