"""Layers around an application, as ASGI applications: what they refuse costs next to nothing."""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tersely_http.errors import RequestError, answer
from tersely_http.logs import log_request

_LOCAL = frozenset({"127.0.0.1", "localhost", "::1"})


class Recorder:
    """Logs every request, and gives it an id. Endpoints add facts to `scope["tersely"]`.

    Args:
        app: what answers.
        id_header: the header of the answer that has the id.
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
        facts: dict[str, Any] = {"id": secrets.token_hex(8)}
        scope["tersely"] = facts

        async def send_recorded(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[self._id_header] = facts["id"]
            await send(message)

        try:
            await self._app(scope, receive, send_recorded)
        finally:
            seconds = time.monotonic() - started
            # That of the endpoint: what a client has put into the path of a request may be a secret.
            path = facts.pop("path", None) or getattr(scope.get("route"), "path", "other")
            self._count(path, status or 500, seconds)
            log_request(
                {**facts, "method": scope["method"], "path": path, "status": status or 500}
                | {"seconds": round(seconds, 4)}
            )


class Guard:
    """Refuses requests for another host, without the key, or with too large a body.

    Args:
        app: what answers the others.
        key: what clients must send; None for none.
        key_header: where they send it; in `authorization` as `Bearer KEY`.
        is_open: whether a path needs no key.
        local_only: whether the Host header must name this machine.
        max_bytes: most bytes of a body.
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
        if self._local_only and _host_of(headers.get("host", "")) not in _LOCAL:
            raise RequestError(400, "The Host header must name this machine, such as 127.0.0.1.")
        if self._key is not None and not self._is_open(scope["path"]):
            self._check_key(headers.get(self._key_header, ""), self._key)
        length = headers.get("content-length", "")
        if length.isdecimal() and int(length[:20]) > self._max_bytes:
            raise self._too_large()

    def _check_key(self, given: str, key: str) -> None:
        if self._key_header == "authorization":
            scheme, _, given = given.partition(" ")
            given = given if scheme.lower() == "bearer" else ""
        if not hmac.compare_digest(given.encode(), key.encode()):
            how = (
                "Authorization: Bearer KEY"
                if self._key_header == "authorization"
                else f"{self._key_header}: KEY"
            )
            raise RequestError(
                401, f"The key is missing or wrong. Send it as `{how}`.", {"WWW-Authenticate": "Bearer"}
            )

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


def _host_of(header: str) -> str:
    """The host of a Host header, without port and brackets."""
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0].lower()
