"""The layers around the endpoints, as ASGI applications: what they refuse costs next to nothing."""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tersely_server.errors import RequestError, answer
from tersely_server.logs import log_request
from tersely_server.metrics import Metrics

_OPEN = frozenset({"/", "/health", "/docs", "/openapi.json"})
"""Paths that need no key: they hold nothing of what clients send."""
_OPEN_FOLDER = "/static-offline-docs/"
"""Scripts and styles of the page /docs."""
_LOCAL = frozenset({"127.0.0.1", "localhost", "::1"})


class Recorder:
    """Counts and logs every request, and gives it an id. Endpoints add facts to `scope["tersely"]`."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.monotonic(), 0
        facts: dict[str, Any] = {"id": secrets.token_hex(8)}
        scope["tersely"] = facts

        async def send_recorded(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)["x-request-id"] = facts["id"]
            await send(message)

        try:
            await self._app(scope, receive, send_recorded)
        finally:
            seconds = time.monotonic() - started
            path = getattr(scope.get("route"), "path", "other")
            self._metrics.count_request(path, status or 500, seconds)
            log_request(
                {**facts, "method": scope["method"], "path": path, "status": status or 500}
                | {"seconds": round(seconds, 4)}
            )


class Guard:
    """Refuses requests for another host, without the key, or with too large a body."""

    def __init__(self, app: ASGIApp, *, key: str | None, local_only: bool, max_bytes: int) -> None:
        self._app, self._key, self._local_only, self._max_bytes = app, key, local_only, max_bytes

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
        if self._local_only and _host_of(headers.get("host", "")) not in _LOCAL:
            raise RequestError(400, "The Host header must name this machine, such as 127.0.0.1.")
        if self._key is not None and not _is_open(scope["path"]):
            scheme, _, given = headers.get("authorization", "").partition(" ")
            if scheme.lower() != "bearer" or not hmac.compare_digest(given.encode(), self._key.encode()):
                message = "The key is missing or wrong. Send it as `Authorization: Bearer KEY`."
                raise RequestError(401, message, {"WWW-Authenticate": "Bearer"})
        length = headers.get("content-length", "")
        if length.isdecimal() and int(length[:20]) > self._max_bytes:
            raise self._too_large()

    def _limit(self, receive: Receive) -> Callable[[], Any]:
        """`receive` for a body whose length is not announced, or is announced wrongly."""
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


def _is_open(path: str) -> bool:
    return path in _OPEN or path.startswith(_OPEN_FOLDER)


def _host_of(header: str) -> str:
    """The host of a Host header, without port and brackets."""
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0].lower()
