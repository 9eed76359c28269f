"""The proxy as an ASGI application."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

import tersely
from tersely import Compressor
from tersely.adapters import resolve_compressor
from tersely.inputs import check_kind
from tersely_http import Guard, Recorder, answer, run_command
from tersely_http.metrics import CONTENT_TYPE, Metrics
from tersely_proxy.forwarding import Forwarder, ProxySettings
from tersely_proxy.rewriting import Receipts, Rewriter

HEALTH, METRICS, RECEIPTS = "/tersely/health", "/tersely/metrics", "/tersely/receipts/"
"""Paths that the proxy itself answers. Requests to all other paths go to the upstream server."""


def build_app(compressor: Compressor, settings: ProxySettings) -> Starlette:
    """Build the proxy for a compressor.

    Raises OfflineError if TERSELY_OFFLINE forbids the upstream server, and InvalidInputError for an address
    or another argument that cannot be used.
    """
    compressor = resolve_compressor(compressor)
    settings = check_kind(settings, ProxySettings, "settings")
    metrics = Metrics(lambda: forwarder.waiting)
    rewriter = Rewriter(compressor, settings.limits, metrics)
    receipts = Receipts(rewriter)
    forwarder = Forwarder(settings, rewriter, receipts)

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok", "version": tersely.__version__, "model": compressor.model})

    async def show_metrics(_: Request) -> Response:
        return Response(metrics.render(), media_type=CONTENT_TYPE)

    async def show_receipt(request: Request) -> Response:
        request.scope["tersely"]["path"] = RECEIPTS  # logs and metrics then leave the id out
        receipt = receipts.get(request.path_params["id"])
        if receipt is None:
            return answer(404, "There is no receipt with this id, or the proxy no longer has it.")
        return JSONResponse(receipt)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with forwarder.open():
            yield

    routes = [
        Route(HEALTH, health),
        Route(METRICS, show_metrics),
        Route(f"{RECEIPTS}{{id}}", show_receipt),
        Mount("/", app=forwarder),
    ]
    app = Starlette(routes=routes, lifespan=lifespan)
    app.add_middleware(
        Guard,
        key=settings.key,
        key_header="x-tersely-key",
        is_open=lambda path: path == HEALTH,
        local_only=settings.local_only,
        max_bytes=settings.max_bytes,
    )
    app.add_middleware(Recorder, id_header="x-tersely-request-id", count=metrics.count_request)
    return app


def serve(compressor: Compressor, *, host: str, port: int, settings: ProxySettings) -> None:
    """Serve until the process is told to stop. Raises InvalidInputError for an unusable address."""
    # The replies have the upstream server's date header, so the proxy adds none.
    run_command("proxy", lambda: build_app(compressor, settings), host, port, settings.key, date_header=False)
