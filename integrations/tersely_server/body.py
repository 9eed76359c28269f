"""JSON in and out, within limits, whatever it holds."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.responses import JSONResponse

from tersely.runtime.limits import parse_json
from tersely_http import RequestError


class LimitedRoute(APIRoute):
    """Reads the JSON of its requests with the limits of the SDK."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_limited(request: Request) -> Response:
            return await handle(_LimitedRequest(request.scope, request.receive))

        return handle_limited


class _LimitedRequest(Request):
    async def json(self) -> Any:
        try:
            return parse_json(await self.body())
        except ValueError as error:
            raise RequestError(400, f"The body cannot be read as JSON ({error}).") from error


class JsonAnswer(JSONResponse):
    """JSON of values that may have come from a client."""

    def render(self, content: Any) -> bytes:
        return dump(content)


def dump(value: Any) -> bytes:
    """One line of JSON. A lone surrogate becomes an escape, as it came."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()
