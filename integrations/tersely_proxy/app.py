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
from tersely.adapters import check_compressor
from tersely.inputs import check_kind
from tersely_http import Guard, Recorder, answer
from tersely_http.metrics import CONTENT_TYPE, Metrics
from tersely_proxy.forwarding import Forwarder
from tersely_proxy.receipts import Receipts
from tersely_proxy.rewriting import Rewriter
from tersely_proxy.settings import ProxySettings

HEALTH, METRICS, RECEIPTS = "/tersely/health", "/tersely/metrics", "/tersely/receipts/"
"""The proxy's own paths. All others are those of the server behind it."""


def build_app(compressor: Compressor, settings: ProxySettings) -> Starlette:
    """The proxy for a compressor, with where it forwards to.

    Raises OfflineError where TERSELY_OFFLINE forbids that, and InvalidInputError for an unusable address and
    for another argument that cannot be used.
    """
    compressor = check_compressor(compressor)
    settings = check_kind(settings, ProxySettings, "settings")
    metrics = Metrics(lambda: forwarder.waiting)
    rewriter = Rewriter(compressor, settings.limits, metrics)
    receipts = Receipts(rewriter)
    forwarder = Forwarder(settings, rewriter, receipts)

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok", "version": tersely.__version__, "model": compressor.model})

    async def show_metrics(_: Request) -> Response:
        return Response(metrics.render(), media_type=CONTENT_TYPE)

    async def receipt(request: Request) -> Response:
        request.scope["tersely"]["path"] = RECEIPTS
        found = receipts.get(request.path_params["id"])
        return (
            answer(404, "There is no such receipt, or no longer.") if found is None else JSONResponse(found)
        )

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with forwarder.open():
            yield

    routes = [
        Route(HEALTH, health),
        Route(METRICS, show_metrics),
        Route(f"{RECEIPTS}{{id}}", receipt),
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
