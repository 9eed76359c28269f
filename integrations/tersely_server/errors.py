"""What a client is told when its request fails."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from tersely import TerselyError

CLOSED = 499
"""Status of a request whose client has gone, for the log and the metrics; nobody receives it."""

_TYPES = {
    400: "malformed",
    401: "unauthorized",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    422: "invalid_input",
    429: "busy",
    CLOSED: "client_gone",
    503: "unavailable",
}


class RequestError(HTTPException):
    """A request gets no result. The detail names the cause and the remedy."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, message, headers)


def describe(status: int, message: str) -> dict[str, Any]:
    """The body of an answer without a result."""
    return {"error": {"type": _TYPES.get(status, "error"), "message": message}}


def answer(status: int, message: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """An answer without a result."""
    return JSONResponse(describe(status, message), status, headers)


async def answer_error(request: Request, error: Exception) -> JSONResponse:
    """The answer for what an endpoint, or the framework, has raised."""
    if isinstance(error, TerselyError):
        return answer(422, str(error))
    if isinstance(error, RequestValidationError):
        return answer(422, _explain(error))
    if isinstance(error, HTTPException):
        return answer(error.status_code, str(error.detail), error.headers)
    raise error


def _explain(error: RequestValidationError) -> str:
    """The first thing that is wrong. What the client has sent is not repeated: it may be of any size."""
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"] if part != "body") or "the body"
    return f"{place}: {first['msg']}. The page /docs shows what a request consists of."
