"""The server as an ASGI application, and the answers to errors."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi_offline import FastAPIOffline
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

import tersely
from tersely import Compressor, TerselyError
from tersely.adapters import resolve_compressor
from tersely.inputs import check_kind
from tersely.runtime.workers import allowed_threads
from tersely_http import Guard, Recorder, answer, run_command
from tersely_http.metrics import Metrics
from tersely_server.endpoints import Endpoints
from tersely_server.gate import Gate
from tersely_server.schemas import FORMS
from tersely_server.settings import ServerSettings

_OPEN_PATHS = frozenset({"/", "/health", "/docs", "/openapi.json"})
"""Paths that need no key: they show nothing that clients have sent."""
_OPEN_FOLDER = "/static-offline-docs/"
"""Scripts and styles of the page /docs."""
_LONGEST_PLACE = 80
"""Largest number of characters of a field name in a message: the client may have chosen it."""


def build_app(compressor: Compressor, settings: ServerSettings | None = None) -> FastAPI:
    """Build the server for a compressor. Raises InvalidInputError for an argument that cannot be used."""
    compressor = resolve_compressor(compressor)
    settings = check_kind(ServerSettings() if settings is None else settings, ServerSettings, "settings")
    gate = Gate(allowed_threads(settings.slots), settings.queue, settings.timeout_s)
    metrics = Metrics(lambda: gate.admitted)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with gate.open():
            yield

    app = FastAPIOffline(
        title="tersely",
        version=tersely.__version__,
        description="Keeps the sentences that a question needs, with a receipt for every one.",
        lifespan=lifespan,
        redoc_url=None,
        swagger_ui_parameters={"validatorUrl": None},  # else the page asks a server elsewhere
    )
    app.include_router(Endpoints(compressor, settings, gate, metrics).router())
    for kind in (TerselyError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, _answer_error)
    app.add_middleware(
        Guard,
        key=settings.key,
        key_header="authorization",
        is_open=lambda path: path in _OPEN_PATHS or path.startswith(_OPEN_FOLDER),
        local_only=settings.local_only,
        max_bytes=settings.max_bytes,
    )
    app.add_middleware(Recorder, id_header="x-request-id", count=metrics.count_request)
    return app


def serve(compressor: Compressor, *, host: str, port: int, settings: ServerSettings) -> None:
    """Serve until the process is told to stop. Raises InvalidInputError for an unusable address."""
    run_command("serve", lambda: build_app(compressor, settings), host, port, settings.key)


async def _answer_error(request: Request, error: Exception) -> JSONResponse:
    if isinstance(error, HTTPException):
        return answer(error.status_code, str(error.detail), error.headers)
    if isinstance(error, RequestValidationError):
        # Only the first problem, and without the value, which may be of any size.
        first = error.errors()[0]
        parts = ".".join(str(part) for part in first["loc"] if part not in {"body", *FORMS})
        place = parts[:_LONGEST_PLACE] or "the body"
        return answer(422, f"{place}: {first['msg']}. The page /docs shows what a request consists of.")
    if isinstance(error, TerselyError):
        return answer(422, str(error))
    return answer(500, "The server has a fault, which its log shows.")
