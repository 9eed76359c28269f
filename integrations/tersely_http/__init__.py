"""An ASGI application on a socket: what the servers of tersely share. Their extras bring uvicorn."""

from tersely_http.listening import listen
from tersely_http.protocol import TimedProtocol
from tersely_http.run import run

__all__ = ["TimedProtocol", "listen", "run"]
