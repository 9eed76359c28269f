"""What a client is told when its request fails."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

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
    502: "bad_gateway",
    503: "unavailable",
    504: "timeout",
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
