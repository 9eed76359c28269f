"""Limits on what a server may cost: seconds, bytes and the depth of its JSON."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
import time
from collections.abc import Iterable
from typing import Any

from tersely.errors import InvalidInputError

MAX_ANSWER_BYTES = 8 * 2**20
"""Most bytes of an answer. A reply of 100,000 tokens has less than one million."""
MAX_VALUES = 1_000_000
"""Most brackets and commas in a JSON text. Each may stand for a value that takes a hundred bytes of RAM."""
MAX_SHOWN = 300
"""Characters of a server's own words in an error message."""

_CONTROL = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")


class OversizeError(ValueError):
    """An answer has more bytes than the limit."""


class Deadline:
    """A point in time after which the connections of a call are shut down.

    The time limit of a socket holds for each read only, so a server that sends a byte now and then could
    hold a call for ever. Use it as a context manager.
    """

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._lock = threading.Lock()
        self._connections: list[socket.socket] = []
        self._timer = threading.Timer(seconds, self._shut_down)
        self._timer.daemon = True

    def __enter__(self) -> Deadline:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        with self._lock:
            for connection in self._connections:
                connection.close()
            self._connections.clear()

    @property
    def remaining(self) -> float:
        """Seconds that are left, at least a thousandth, because 0 means no limit to some libraries."""
        return max(0.001, self._end - time.monotonic())

    @property
    def has_passed(self) -> bool:
        return time.monotonic() >= self._end

    def watch(self, connection: socket.socket) -> None:
        """Shut this connection down when the time is up, even in the middle of a read or a handshake."""
        with self._lock:
            # TLS detaches the socket that it wraps. A duplicate stands for the same connection.
            self._connections.append(connection.dup())
        if self.has_passed:
            self._shut_down()

    def pause(self, seconds: float) -> bool:
        """Wait before another attempt. False, at once, if no time would be left for it."""
        if time.monotonic() + seconds >= self._end:
            return False
        time.sleep(seconds)
        return True

    def _shut_down(self) -> None:
        with self._lock:
            for connection in self._connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)


def check_retries(retries: object) -> int:
    """A number of further attempts. Raises InvalidInputError unless it is 0 or more."""
    if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
        raise InvalidInputError(f"retries is {retries!r}. Pass 0 or more.")
    return retries


def check_key(key: object) -> None:
    """Raises InvalidInputError for an empty key, and for one that cannot stand in a header, without showing
    it."""
    if isinstance(key, str) and not key.strip():
        raise InvalidInputError("The API key is empty. Pass a key, or None for none.")
    if not (isinstance(key, str) and key.isascii() and key.isprintable()):
        raise InvalidInputError(
            "The API key has characters that a header cannot hold, such as a line break. Pass the key alone."
        )


def join_limited(chunks: Iterable[bytes], limit: int = MAX_ANSWER_BYTES) -> bytes:
    """The chunks as one. Raises OversizeError as soon as they have more bytes than the limit."""
    answer = bytearray()
    for chunk in chunks:
        answer += chunk
        check_size(len(answer), limit)
    return bytes(answer)


def check_size(size: int, limit: int = MAX_ANSWER_BYTES) -> None:
    """Raises OversizeError if an answer of `size` bytes is too large."""
    if size > limit:
        raise OversizeError(f"the answer has more than {limit} bytes")


def parse_json(data: str | bytes) -> Any:
    """The value in a JSON text. Raises ValueError if there is none that can be read within limits."""
    encoded = data.encode("utf-8", "replace") if isinstance(data, str) else data
    if sum(map(encoded.count, (b",", b"[", b"{"))) > MAX_VALUES:
        raise ValueError("the JSON has too many values")
    try:
        return json.loads(data, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("the JSON is too deep") from None


def _refuse_constant(name: str) -> None:
    """Python reads NaN and the infinities, and other programs cannot read them again."""
    raise ValueError(f"{name} is not in JSON")


def clean(text: object) -> str:
    """A server's own words on one line, without control characters, at most `MAX_SHOWN` characters."""
    return _CONTROL.sub(" ", str(text)[: 4 * MAX_SHOWN]).strip()[:MAX_SHOWN]


def drop_surrogates(text: str) -> str:
    """The text with U+FFFD for lone surrogates, which JSON may hold and files and databases refuse."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
