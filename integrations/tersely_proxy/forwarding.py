"""Send each request to the upstream server, and relay the answer as it comes."""

from __future__ import annotations

import asyncio
import logging
import zlib
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

import httpx2
from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive, Scope, Send

from tersely.adapters import EDIT_TOOLS, ToolLimits
from tersely.inputs import check_count, check_flag, check_kind, check_time_limit
from tersely.runtime.cancellation import run_cancellable
from tersely.runtime.limits import check_key, parse_json
from tersely.runtime.offline import check_address, client_settings
from tersely.runtime.workers import allowed_threads
from tersely_http import answer, wait_until_gone
from tersely_ledger import LedgerSettings
from tersely_ledger.store import SHORTENED
from tersely_proxy.formats import READERS
from tersely_proxy.interfaces import INTERFACES
from tersely_proxy.opening import Opening
from tersely_proxy.recording import UNPAID, Bookkeeper, Recording
from tersely_proxy.rewriting import Receipts, Rewriter, Rewritten

logger = logging.getLogger("tersely.proxy")

BYPASS = "x-tersely-bypass"
"""A request with this header is forwarded unchanged."""
CONNECT_S = 10.0
"""Seconds to reach the upstream server. Its answer has no limit but the client's own."""

_PROXY_HEADERS = (b"x-tersely-key", BYPASS.encode())
_CONNECTION_HEADERS = frozenset(
    b"connection expect keep-alive proxy-authenticate proxy-authorization te trailer transfer-encoding "
    b"upgrade".split()
)
"""Headers that are for one connection only (RFC 9110, sections 7.6.1 and 10.1.1)."""

_ENCODINGS = ("identity", "gzip", "x-gzip")
"""Encodings of bodies that are shortened."""

RawHeaders = list[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxySettings:
    """The upstream server, the limits of texts, and who may use the proxy.

    Raises:
        InvalidInputError: a value cannot be used.
    """

    upstream: str
    """Address of the upstream server, without the paths of its interface."""
    limits: ToolLimits = field(default_factory=lambda: ToolLimits(1000, dict.fromkeys(EDIT_TOOLS)))
    """Largest number of tokens of a result, by the name of its tool. Blocks of context in messages have the
    name "context"."""
    key: str | None = field(default=None, repr=False)
    """Key that clients send as `x-tersely-key: KEY`; None if everybody may use the proxy."""
    local_only: bool = True
    """True if requests must name this machine as their host."""
    slots: int | None = None
    """Largest number of requests that are shortened at once; None for one on each usable core."""
    queue: int = 64
    """Largest number of requests that wait for a slot. Further ones are forwarded unchanged."""
    timeout_s: float = 10.0
    """Longest time that a request waits for its texts to be shortened. Then it is forwarded unchanged."""
    max_bytes: int = 64 * 2**20
    """Largest number of bytes of a request's body."""
    open_originals: bool = False
    """True if the model gets a tool that returns the original of a shortened text. The proxy runs this
    tool."""
    ledger: LedgerSettings | None = None
    """Settings of the ledger that records requests, and of the share that is left unchanged for comparison;
    None for neither."""

    def __post_init__(self) -> None:
        if self.slots is not None:
            check_count(self.slots, "slots", "requests")
        check_count(self.queue, "queue", "requests")
        check_count(self.max_bytes, "max_bytes", "bytes")
        check_time_limit(self.timeout_s)
        check_flag(self.local_only, "local_only")
        check_flag(self.open_originals, "open_originals")
        check_kind(self.limits, ToolLimits, "limits")
        if self.ledger is not None:
            check_kind(self.ledger, LedgerSettings, "ledger")
        if self.key is not None:
            check_key(self.key)


class Prepared(NamedTuple):
    """A request as it goes to the upstream server."""

    body: bytes | AsyncIterator[bytes]
    headers: dict[str, str]
    """Headers for the answer."""
    is_changed: bool = False
    recording: Recording | None = None
    opening: Opening | None = None
    """Answers the model's calls for originals; None if the model has no tool for them."""


class Forwarder:
    """An ASGI application that sends every request to the upstream server."""

    def __init__(self, settings: ProxySettings, rewriter: Rewriter, receipts: Receipts) -> None:
        self._address = check_address(settings.upstream)
        self._timeout_s, self._max_bytes = settings.timeout_s, settings.max_bytes
        self._rewriter, self._receipts = rewriter, receipts
        self._slots = allowed_threads(settings.slots)
        self._most_waiting = self._slots + settings.queue
        self._opens_originals = settings.open_originals
        self._bookkeeper = None if settings.ledger is None else Bookkeeper(settings.ledger)
        self.waiting = 0
        """Number of requests whose texts are being shortened or wait to be shortened."""

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Open the connections and threads, and keep them for as long as the proxy runs."""
        timeout = httpx2.Timeout(None, connect=CONNECT_S)
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=50)
        self._free_slots = asyncio.Semaphore(self._slots)
        # The loop's own threads also look up host names, which must not wait for texts to be shortened.
        pool = ThreadPoolExecutor(self._slots + 4, "tersely-request")
        asyncio.get_running_loop().set_default_executor(pool)
        try:
            async with httpx2.AsyncClient(
                timeout=timeout, limits=limits, **client_settings(self._address)
            ) as self._client:
                yield
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        if self._bookkeeper is not None:
            self._bookkeeper.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        check_address(self._address.url)  # raises if TERSELY_OFFLINE was set meanwhile
        scope["tersely"]["path"] = "forwarded"
        if _is_outside(scope["raw_path"]):
            refusal = answer(400, "The path has a # or a part that is .. , which no path of a chat API has.")
            await refusal(scope, receive, send)
            return
        if request.headers.get("upgrade", "").lower() == "websocket":  # Codex then uses HTTP at once
            refusal = answer(426, "The proxy has no WebSockets. Use HTTP.", {"upgrade": "HTTP/1.1"})
            await refusal(scope, receive, send)
            return
        headers = [pair for pair in scope["headers"] if pair[0] not in _PROXY_HEADERS]
        try:
            prepared = await self._prepare(request)
        except ClientDisconnect:
            return
        if isinstance(prepared.body, bytes):
            headers = [pair for pair in headers if pair[0] != b"content-length"]
        if prepared.is_changed:  # a changed body is sent unzipped
            headers = [pair for pair in headers if pair[0] != b"content-encoding"]
        if prepared.recording or prepared.opening:
            headers = _limit_encodings(headers, gzip=prepared.opening is None)

        async def send_on(body: bytes | AsyncIterator[bytes]) -> httpx2.Response:
            upstream = httpx2.Request(
                scope["method"], self._find_url(scope), headers=self._to_upstream(headers), content=body
            )
            return await self._client.send(upstream, stream=True)

        try:
            response = await send_on(prepared.body)
        except (httpx2.TransportError, ClientDisconnect) as error:
            logger.warning("no answer", extra={"fields": {"reason": type(error).__name__}})
            late = isinstance(error, httpx2.TimeoutException)
            refusal = answer(504 if late else 502, f"{self._address.public_url} cannot be reached.")
            await refusal(scope, receive, send)
            return
        try:
            body = response.aiter_raw()
            if prepared.opening:
                body = prepared.opening.relay(response, send_on)
            await _relay(response, body, receive, send, prepared)
        finally:
            await response.aclose()
            if prepared.recording:
                await prepared.recording.finish()

    async def _prepare(self, request: Request) -> Prepared:
        path, fields = request.scope["path"], request.scope["tersely"]
        end = next((end for end in READERS if path.endswith(end)), None)
        encoding = request.headers.get("content-encoding", "identity").lower()
        is_signed = request.headers.get("authorization", "").startswith("AWS4-")  # the body is signed too
        if request.method != "POST" or end is None or is_signed or encoding not in _ENCODINGS:
            return Prepared(request.stream(), {"x-tersely-status": "forwarded"})
        fields["path"] = end
        body = await request.body()
        if request.headers.get(BYPASS, "").lower() in ("true", "1", "yes"):
            return Prepared(body, {"x-tersely-status": "bypassed"})
        plain = body if encoding == "identity" else _unzip(body, self._max_bytes)
        if plain is None:
            return Prepared(body, {"x-tersely-status": "forwarded"})
        rewritten, status = await self._rewrite(plain, end)
        recording = self._bookkeeper.open(rewritten, status) if self._bookkeeper else None
        is_changed = bool(rewritten.changes) and (recording is None or recording.arm == SHORTENED)
        if recording and rewritten.changes and not is_changed:
            status = recording.arm
        fields["result"] = status
        headers = {"x-tersely-status": status}
        if rewritten.changes:
            tokens = {"tokens_before": rewritten.tokens_before, "tokens_after": rewritten.tokens_after}
            fields.update(tokens)
            headers["x-tersely-receipt"] = self._receipts.keep(rewritten)
            headers |= {f"x-tersely-{name.replace('_', '-')}": str(count) for name, count in tokens.items()}
            headers["x-tersely-best-left-out"] = str(rewritten.best_left_out)
        sent = rewritten.body if is_changed else body
        recording_kept = None if end in UNPAID else recording
        if not self._opens_originals or (recording and recording.arm != SHORTENED):
            return Prepared(sent, headers, is_changed, recording_kept)
        offered = await asyncio.to_thread(_offer, end, rewritten.body)
        headers["x-tersely-tool"] = "offered" if offered else "not offered"
        if offered is None:
            return Prepared(sent, headers, is_changed, recording_kept)
        opening = None if end in UNPAID else Opening(INTERFACES[end], offered, rewritten.originals)
        return Prepared(offered.encode(), headers, True, recording_kept, opening)

    async def _rewrite(self, body: bytes, end: str) -> tuple[Rewritten, str]:
        """Return the body with shorter texts, and a status: "compressed", "unchanged" or "failed"."""
        problem, read = "too many requests wait", READERS[end]
        interface = INTERFACES.get(end) if self._opens_originals else None

        def can_open(parsed: Any) -> bool:
            return interface is not None and interface.can_offer(parsed)

        if self.waiting < self._most_waiting:
            self.waiting += 1
            try:
                async with asyncio.timeout(self._timeout_s), self._free_slots:
                    rewritten = await run_cancellable(self._rewriter.rewrite, body, read, can_open)
                return rewritten, "compressed" if rewritten.changes else "unchanged"
            except TimeoutError:
                problem = "the time is up"
            except Exception as error:  # noqa: BLE001 - the request goes on, whatever has failed
                problem = type(error).__name__  # its message may quote the request
            finally:
                self.waiting -= 1
        logger.warning("forwarded as it is", extra={"fields": {"reason": problem}})
        try:
            return self._rewriter.leave(body, read, can_open), "failed"
        except Exception:  # noqa: BLE001 - it cannot be read at all
            return Rewritten(body), "failed"

    def _find_url(self, scope: Scope) -> httpx2.URL:
        base = httpx2.URL(self._address.url)
        path = base.raw_path.rstrip(b"/") + scope["raw_path"]
        query = scope["query_string"]
        return base.copy_with(raw_path=path + b"?" + query if query else path)

    def _to_upstream(self, headers: RawHeaders) -> RawHeaders:
        kept = [pair for pair in headers if pair[0] not in _CONNECTION_HEADERS and pair[0] != b"host"]
        if self._address.authorization and not any(name == b"authorization" for name, _ in kept):
            kept.append((b"authorization", self._address.authorization.encode()))
        return kept


def _offer(end: str, body: bytes) -> str | None:
    """Return a request with the tool that opens originals; None if it cannot be offered."""
    interface = INTERFACES.get(end)
    try:
        text = body.decode()
        return interface.offer(text, parse_json(body)) if interface else None
    except ValueError:  # no JSON
        return None


def _unzip(body: bytes, most: int) -> bytes | None:
    """Return the content of a gzip file; None if it is broken or has more than `most` bytes."""
    stream = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        content = stream.decompress(body, most)
    except zlib.error:
        return None
    return content if stream.eof and not stream.unused_data else None


def _limit_encodings(headers: RawHeaders, *, gzip: bool) -> RawHeaders:
    """Ask the upstream server for an answer that the proxy can read: in gzip if `gzip` is true and the client
    accepts it, otherwise without an encoding."""
    others = [pair for pair in headers if pair[0] != b"accept-encoding"]
    accepted = b",".join(value for name, value in headers if name == b"accept-encoding")
    return [*others, (b"accept-encoding", b"gzip" if gzip and b"gzip" in accepted.lower() else b"identity")]


def _is_outside(raw_path: bytes) -> bool:
    """Return whether the path may lead out of the upstream server's base path, or contains a `#`."""
    return b"#" in raw_path or any(unquote_to_bytes(part) == b".." for part in raw_path.split(b"/"))


async def _relay(
    response: httpx2.Response, body: AsyncIterator[bytes], receive: Receive, send: Send, prepared: Prepared
) -> None:
    """Send an answer with this body to the client, until it ends or the client goes away."""
    if prepared.recording:
        prepared.recording.watch(response.status_code, response.headers)
    raw = ((name.lower(), value) for name, value in response.headers.raw)
    headers = [pair for pair in raw if pair[0] not in _CONNECTION_HEADERS]
    if prepared.opening:  # the body may change
        headers = [pair for pair in headers if pair[0] != b"content-length"]
    headers += [(name.encode(), value.encode()) for name, value in prepared.headers.items()]
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})

    async def relay_body() -> None:
        async for chunk in body:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
            if prepared.recording:
                prepared.recording.feed(chunk)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    relayed = asyncio.ensure_future(relay_body())
    gone = asyncio.ensure_future(wait_until_gone(receive))
    await asyncio.wait({relayed, gone}, return_when=asyncio.FIRST_COMPLETED)
    for task in (relayed, gone):
        task.cancel()
    try:
        await relayed
    except httpx2.TransportError as error:
        # The end of the body is not sent, so the client sees that the answer is not complete.
        logger.warning("the answer broke off", extra={"fields": {"reason": type(error).__name__}})
    except asyncio.CancelledError:
        if not gone.done():
            raise
