"""The answer for what an endpoint, or the framework, has raised."""

from __future__ import annotations

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from tersely import TerselyError
from tersely_http import answer

_LONGEST_PLACE = 80
"""Most characters of the name of a field, which the client may have chosen."""


async def answer_error(request: Request, error: Exception) -> JSONResponse:
    """An answer that names cause and remedy. Errors that are none of the client's are raised again."""
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
    place = ".".join(str(part) for part in first["loc"] if part != "body")[:_LONGEST_PLACE] or "the body"
    return f"{place}: {first['msg']}. The page /docs shows what a request consists of."
