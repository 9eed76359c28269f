"""The endpoints. Most turn the JSON of a request into a call of the SDK, and its result into JSON."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from typing import Any

from fastapi import APIRouter, Depends, Request
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse

import tersely
from tersely import Compression, CompressionOptions, Compressor, InvalidInputError
from tersely.options import OPTION_FIELDS
from tersely.runtime.limits import parse_json
from tersely_agents.summaries import Summarizer, Summary
from tersely_http import RequestError, describe
from tersely_http.metrics import CONTENT_TYPE, Metrics
from tersely_ledger import RecordingCompressor
from tersely_ledger.store import SHADOW, open_ledger
from tersely_server import playground, schemas
from tersely_server.gate import Gate
from tersely_server.gateway import Gateway
from tersely_server.settings import ServerSettings
from tersely_server.systemone import decide

_FAILURES: dict[int | str, dict[str, Any]] = {
    status: {"model": schemas.ErrorReply, "description": text}
    for status, text in {
        400: "The request cannot be read.",
        401: "The key is missing or wrong.",
        413: "There is too much text, or there are too many documents.",
        422: "A value cannot be used; the message says which and why.",
        429: "The server is busy; the header Retry-After says when to come again.",
        503: "The request took too long, or the model failed.",
    }.items()
}
_LINES = {
    "description": "JSON lines, each as soon as its result is there.",
    "content": {"application/x-ndjson": {"schema": {"type": "string"}}},
}


class Endpoints:
    """Handlers of the server's paths."""

    def __init__(
        self, compressor: Compressor, settings: ServerSettings, gate: Gate, metrics: Metrics
    ) -> None:
        self._compressor, self._settings, self._gate, self._metrics = compressor, settings, gate, metrics
        self._summarizer = Summarizer(compressor=compressor)
        self._recorded, ledger, shadow = compressor, None, False
        if settings.ledger is not None:
            ledger, shadow = open_ledger(settings.ledger.path), settings.ledger.shadow
            self._recorded = RecordingCompressor(compressor, ledger, shadow=shadow, source="server")
        self._headers = {"x-tersely-status": SHADOW} if shadow else {}
        self._gateway = Gateway(compressor, ledger, shadow=shadow)

    def router(self) -> APIRouter:
        """Return the paths with their requests and replies."""
        open_paths = APIRouter()
        open_paths.add_api_route("/health", self.health, response_model=schemas.Health)
        open_paths.add_api_route("/", self.playground, include_in_schema=False)
        # The key itself is checked before the body is read; this tells clients and the page /docs about it.
        bearer = [Depends(HTTPBearer(auto_error=False))] if self._settings.key is not None else []
        router = APIRouter(dependencies=bearer, route_class=_LimitedRoute)
        router.add_api_route("/metrics", self.metrics, response_class=Response, include_in_schema=False)
        router.add_api_route("/playground/view", self.view, methods=["POST"], include_in_schema=False)
        for path, endpoint, reply in (
            ("/v1/compress", self.compress, schemas.CompressReply | schemas.GatewayReply),
            ("/v1/messages/compress", self.compress_messages, schemas.MessagesReply),
            ("/v1/summarize", self.summarize, Summary),
            ("/rerank", self.rerank, list[schemas.Ranked]),
            ("/v1/systemone", self.decide, schemas.SystemOneReply),
        ):
            router.add_api_route(path, endpoint, methods=["POST"], response_model=reply, responses=_FAILURES)
        router.add_api_route(
            "/v1/retrieve/{hash}",
            self.retrieve,
            response_model=schemas.Original,
            responses={404: {"model": schemas.ErrorReply, "description": "The id is unknown or forgotten."}},
        )
        router.add_api_route(
            "/v1/compress/batch",
            self.compress_batch,
            methods=["POST"],
            response_class=StreamingResponse,
            responses={200: _LINES, **_FAILURES},
        )
        open_paths.include_router(router)
        return open_paths

    async def health(self) -> schemas.Health:
        """Say that the server is there, and what it runs."""
        return schemas.Health(status="ok", version=tersely.__version__, model=self._compressor.model)

    async def playground(self) -> Response:
        return HTMLResponse(playground.make_page(), headers={"Content-Security-Policy": playground.POLICY})

    async def view(self, request: Request, body: schemas.CompressRequest) -> Response:
        """Compress for the playground. The ledger does not record what somebody tries there."""
        documents = self._read_documents(request, [body])[0]
        with self._gate.admit():
            result = await self._gate.run(
                request, self._compressor.compress, body.query, documents, **_options(body)
            )
        self._report(request, result)
        return _JsonAnswer(playground.make_view(result, documents))

    async def metrics(self) -> Response:
        return Response(self._metrics.render(), media_type=CONTENT_TYPE)

    async def compress(self, request: Request, body: schemas.CompressBody) -> Response:
        """Keep what the query needs. If a gateway sends `messages` instead, shorten their tool results."""
        if isinstance(body, schemas.GatewayRequest):
            return await self._compress_for_gateway(request, body)
        documents = self._read_documents(request, [body])[0]
        with self._gate.admit():
            result = await self._gate.run(
                request, self._recorded.compress, body.query, documents, **_options(body)
            )
        self._report(request, result)
        return _JsonAnswer(result.to_dict(), headers=self._headers)

    async def _compress_for_gateway(self, request: Request, body: schemas.GatewayRequest) -> Response:
        self._check_count(len(body.messages), "messages")
        with self._gate.admit():
            done = await self._gate.run(
                request, self._gateway.shorten, body.messages, body.config.frozen_message_count
            )
        for receipt in done.receipts:
            self._report(request, receipt)
        return _JsonAnswer(
            {
                "messages": done.messages,
                "tokens_before": done.tokens_before,
                "tokens_after": done.tokens_after,
                "tokens_saved": done.tokens_before - done.tokens_after,
                "compression_ratio": done.tokens_after / done.tokens_before if done.tokens_before else 1.0,
                "transforms_applied": ["tersely"] if done.results else [],
                "ccr_hashes": list(dict.fromkeys(result["hash"] for result in done.results)),
                "results": done.results,
            },
            headers=self._headers,
        )

    async def retrieve(self, hash: str) -> Response:  # noqa: A002 - the name in the path
        """Return the original of a text that was shortened for a gateway. The server keeps it for an hour
        after its last use."""
        original = self._gateway.originals.get(hash)
        if original is None:
            raise RequestError(404, "There is no original with this hash, or no longer.")
        return _JsonAnswer({"hash": hash, "original_content": original})

    async def compress_batch(self, request: Request, body: schemas.BatchRequest) -> Response:
        """Keep what each query needs. Every result comes as a line of its own, as soon as it is there."""
        documents = self._read_documents(request, body.requests)
        options = _options(body)
        CompressionOptions(**options)  # a bad option is an error of the whole request

        async def compress(index: int) -> dict[str, Any]:
            item = body.requests[index]
            head = {"index": index, "id": item.id}
            try:
                result = await self._gate.run(
                    request, self._recorded.compress, item.query, documents[index], **options
                )
            except InvalidInputError as error:
                return {**head, **describe(422, str(error))}
            except RequestError as error:
                return {**head, **describe(error.status_code, error.detail)}
            self._report(request, result)
            return {**head, **result.to_dict()}

        lines = self._stream([lambda index=index: compress(index) for index in range(len(documents))])
        await anext(lines)
        return StreamingResponse(lines, media_type="application/x-ndjson", headers=self._headers)

    async def compress_messages(self, request: Request, body: schemas.MessagesRequest) -> Response:
        """Make the tool results of a chat shorter. All other messages stay."""
        self._check_count(len(body.messages), "messages")
        with self._gate.admit():
            result = await self._gate.run(
                request,
                self._recorded.compress_messages,
                body.messages,
                query=body.query,
                budget=body.budget,
                rate=body.rate,
                timeout=body.timeout,
            )
        self._report(request, result.receipt)
        names = ("messages", "results", "tokens_before", "tokens_after")
        values = {name: getattr(result, name) for name in names}
        return _JsonAnswer({**values, "receipt": result.receipt.to_dict()}, headers=self._headers)

    async def rerank(self, request: Request, body: schemas.RerankRequest) -> Response:
        """Rank texts by how likely they help to answer the query, and prune each to what the query needs.

        Requests and replies have the shape of text-embeddings-inference, with `pruned_text` in addition.
        """
        self._check_count(len(body.texts), "texts")
        with self._gate.admit():
            result = await self._gate.run(request, self._compressor.compress, body.query, body.texts)
        self._report(request, result)
        if result.status == "failed_open":
            raise RequestError(503, f"The model failed: {result.reason}.")
        pruned = {document.source: document.text for document in result.documents}
        ranked = [
            {
                "index": index,
                "score": _to_log_odds(relevance) if body.raw_scores else relevance,
                "pruned_text": pruned.get(index, ""),
                **({"text": body.texts[index]} if body.return_text else {}),
            }
            for index, relevance in enumerate(result.relevance)
        ]
        return _JsonAnswer(sorted(ranked, key=lambda row: -row["score"]))

    async def decide(self, request: Request, body: schemas.SystemOneRequest) -> Response:
        """Say how likely it is that texts answer questions, in the shape of System One."""
        self._check_count(len(body.questions), "questions")
        results: list[Compression] = []
        with self._gate.admit():
            reply = await self._gate.run(request, decide, self._compressor, body, results.append)
        for result in results:
            self._report(request, result)
            if result.status == "failed_open":
                raise RequestError(503, f"The model failed: {result.reason}.")
        return _JsonAnswer(reply)

    async def summarize(self, request: Request, body: schemas.SummarizeRequest) -> Response:
        """Summarize in the documents' own sentences, each with its source."""
        documents = self._read_documents(request, [body])[0]
        with self._gate.admit():
            summary = await self._gate.run(
                request,
                self._summarizer.summarize,
                body.query,
                documents,
                question=body.question,
                budget=body.budget,
            )
        return _JsonAnswer(summary.to_dict())

    async def _stream(
        self, jobs: Sequence[Callable[[], Coroutine[Any, Any, dict[str, Any]]]]
    ) -> AsyncIterator[bytes]:
        """Yield an empty text once the request is admitted, then the results of the jobs as JSON lines.

        No more jobs run at once than there are slots, so that other requests get their turn.
        """
        waiting = list(reversed(jobs))
        running: set[asyncio.Task[dict[str, Any]]] = set()
        with self._gate.admit():
            yield b""
            try:
                while waiting or running:
                    while waiting and len(running) < self._gate.slots:
                        running.add(asyncio.ensure_future(waiting.pop()()))
                    done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                    for task in done:
                        yield _dump(task.result()) + b"\n"
            finally:
                for task in running:
                    task.cancel()

    def _read_documents(
        self, request: Request, questions: Sequence[schemas.WithDocuments]
    ) -> list[list[str | dict[str, Any]]]:
        """Return the documents of every question, as the SDK takes them."""
        count = sum(len(question.documents) for question in questions)
        self._check_count(count, "documents")
        request.scope["tersely"]["documents"] = count
        if self._settings.log_text:
            request.scope["tersely"]["queries"] = [question.query for question in questions]
        return [[d if isinstance(d, str) else d.model_dump() for d in q.documents] for q in questions]

    def _check_count(self, count: int, items: str) -> None:
        """Raise RequestError if a request has more items, such as documents, than the limit for documents."""
        most = self._settings.max_documents
        if count > most:
            raise RequestError(413, f"There are {count} {items}, and at most {most} are taken at once.")

    def _report(self, request: Request, result: Compression) -> None:
        """Add a result to the metrics, and to the log line of the request."""
        self._metrics.count_compression(result)
        fields = request.scope["tersely"]
        fields["tokens_before"] = fields.get("tokens_before", 0) + result.tokens_before
        fields["tokens_after"] = fields.get("tokens_after", 0) + result.tokens_after
        fields["result"] = result.status


def _options(body: Any) -> dict[str, Any]:
    return {option.name: getattr(body, option.name) for option in OPTION_FIELDS}


def _to_log_odds(probability: float) -> float:
    bounded = min(max(probability, 1e-12), 1 - 1e-12)
    return math.log(bounded / (1 - bounded))


class _LimitedRoute(APIRoute):
    """A route that reads the JSON of its requests with the limits of the SDK."""

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


class _JsonAnswer(JSONResponse):
    """JSON of values that may have come from a client."""

    def render(self, content: Any) -> bytes:
        return _dump(content)


def _dump(value: Any) -> bytes:
    """Return one line of JSON. A lone surrogate becomes an escape, as it came."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()
