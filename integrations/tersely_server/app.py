"""The server as an ASGI application."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi_offline import FastAPIOffline
from starlette.exceptions import HTTPException

import tersely
from tersely import Compressor, TerselyError
from tersely.adapters import check_compressor
from tersely.inputs import check_kind
from tersely.runtime.workers import allowed_threads
from tersely_http import Guard, Recorder
from tersely_http.metrics import Metrics
from tersely_server.endpoints import Endpoints
from tersely_server.errors import answer_error
from tersely_server.gate import Gate
from tersely_server.settings import ServerSettings

_OPEN = frozenset({"/", "/health", "/docs", "/openapi.json"})
"""Paths that need no key: they hold nothing of what clients send."""
_OPEN_FOLDER = "/static-offline-docs/"
"""Scripts and styles of the page /docs."""


def build_app(compressor: Compressor, settings: ServerSettings | None = None) -> FastAPI:
    """The server for a compressor, with what its clients may do.

    Raises InvalidInputError for an argument that cannot be used.
    """
    compressor = check_compressor(compressor)
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
    for kind in (TerselyError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, answer_error)
    app.add_middleware(
        Guard,
        key=settings.key,
        key_header="authorization",
        is_open=_is_open,
        local_only=settings.local_only,
        max_bytes=settings.max_bytes,
    )
    app.add_middleware(Recorder, id_header="x-request-id", count=metrics.count_request)
    return app


def _is_open(path: str) -> bool:
    return path in _OPEN or path.startswith(_OPEN_FOLDER)
