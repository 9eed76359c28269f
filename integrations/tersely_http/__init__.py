"""An ASGI application on a socket: what the servers of tersely share. Their extras bring uvicorn."""

from tersely_http.errors import CLOSED, RequestError, answer, describe
from tersely_http.exposure import check_exposed, read_key
from tersely_http.layers import Guard, Recorder
from tersely_http.listening import listen
from tersely_http.protocol import TimedProtocol
from tersely_http.run import run, run_command

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
]
