"""ASGI layers around an application, and the errors that clients get. A refusal takes almost no time."""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

logger = logging.getLogger("tersely.http")

CLOSED = 499
"""Status of a request from a client that has gone, for the log and the metrics; nobody receives it."""
_LOCAL = frozenset({"127.0.0.1", "localhost", "::1"})
_ERROR_TYPES = {
    400: "malformed",
    401: "unauthorized",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    422: "invalid_input",
    429: "busy",
    CLOSED: "client_gone",
    502: "bad_gateway",
    503: "unavailable",
    504: "timeout",
}


class RequestError(HTTPException):
    """A request gets no result. The detail names the cause and the remedy."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, message, headers)


def describe(status: int, message: str) -> dict[str, Any]:
    """Return the body of an answer without a result."""
    return {"error": {"type": _ERROR_TYPES.get(status, "error"), "message": message}}


def answer(status: int, message: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Return an answer without a result."""
    return JSONResponse(describe(status, message), status, headers)


async def wait_until_gone(receive: Receive) -> None:
    """Wait until the client has closed its connection. The body of the request must have been read."""
    while (await receive())["type"] != "http.disconnect":
        pass


class Recorder:
    """A layer that logs every request and gives it an id. Endpoints add fields to the log by
    `scope["tersely"]`.

    Args:
        app: the application that answers.
        id_header: header of the answer that holds the id.
        count: called with an endpoint's path, the status and the seconds of every request.
    """

    def __init__(
        self, app: ASGIApp, *, id_header: str, count: Callable[[str, int, float], None] = lambda *_: None
    ) -> None:
        self._app, self._id_header, self._count = app, id_header, count

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.monotonic(), 0
        fields: dict[str, Any] = {"id": secrets.token_hex(8)}
        scope["tersely"] = fields

        async def send_recorded(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[self._id_header] = fields["id"]
            await send(message)

        try:
            await self._app(scope, receive, send_recorded)
        except asyncio.CancelledError:  # the server stops
            if not status:
                refusal = answer(503, "The server stops. Send the request again.", {"Retry-After": "1"})
                await refusal(scope, receive, send_recorded)
        finally:
            seconds = time.monotonic() - started
            # The path of the endpoint: clients may put secrets into the path of a request.
            path = fields.pop("path", None) or getattr(scope.get("route"), "path", "other")
            self._count(path, status or 500, seconds)
            fields |= {"method": scope["method"], "path": path, "status": status or 500}
            logger.info("request", extra={"fields": {**fields, "seconds": round(seconds, 4)}})


class Guard:
    """A layer that refuses requests for another host, without the key, or with too large a body.

    Args:
        app: the application that answers all other requests.
        key: the key that clients must send; None if they need none.
        key_header: header that holds the key; `authorization` holds `Bearer KEY`.
        is_open: returns whether a path needs no key.
        local_only: True to require a Host header that names this machine.
        max_bytes: the largest number of bytes of a body.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        key: str | None,
        key_header: str,
        is_open: Callable[[str], bool],
        local_only: bool,
        max_bytes: int,
    ) -> None:
        self._app, self._key, self._key_header, self._is_open = app, key, key_header, is_open
        self._local_only, self._max_bytes = local_only, max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            self._check(scope)
        except RequestError as error:
            # The rest of the request is not read, so no other can follow on this connection.
            headers = {**(error.headers or {}), "Connection": "close"}
            await answer(error.status_code, error.detail, headers)(scope, receive, send)
            return
        await self._app(scope, self._limit(receive), send)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        if self._local_only and _read_host(headers.get("host", "")) not in _LOCAL:
            raise RequestError(400, "The Host header must name this machine, such as 127.0.0.1.")
        if self._key is not None and not self._is_open(scope["path"]):
            self._check_key(headers.get(self._key_header, ""), self._key)
        length = headers.get("content-length", "")
        if length.isdecimal() and int(length[:20]) > self._max_bytes:
            raise self._too_large()

    def _check_key(self, given: str, key: str) -> None:
        how = f"{self._key_header}: KEY"
        if self._key_header == "authorization":
            how = "Authorization: Bearer KEY"
            scheme, _, given = given.partition(" ")
            given = given if scheme.lower() == "bearer" else ""
        if not hmac.compare_digest(given.encode(), key.encode()):
            raise RequestError(
                401, f"The key is missing or wrong. Send it as `{how}`.", {"WWW-Authenticate": "Bearer"}
            )

    def _limit(self, receive: Receive) -> Receive:
        """Limit a body whose length is not announced, or announced wrongly."""
        size = 0

        async def receive_limited() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > self._max_bytes:
                raise self._too_large()
            return message

        return receive_limited

    def _too_large(self) -> RequestError:
        return RequestError(413, f"The body has more than {self._max_bytes} bytes. Send less at once.")


def _read_host(header: str) -> str:
    """Return the host of a Host header, without port and brackets."""
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0].lower()
