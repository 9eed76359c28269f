"""Send each request on, and relay the answer as it comes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

import httpx2
from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive, Scope, Send

from tersely.runtime.cancellation import run_cancellable
from tersely.runtime.offline import check_address, client_settings
from tersely.runtime.workers import allowed_threads
from tersely_http import answer
from tersely_proxy.formats import READERS
from tersely_proxy.receipts import Receipts
from tersely_proxy.rewriting import Reader, Rewriter, Rewritten
from tersely_proxy.settings import ProxySettings

logger = logging.getLogger("tersely.proxy")

BYPASS = "x-tersely-bypass"
"""A request with this header is forwarded as it is."""
CONNECT_S = 10.0
"""Seconds to reach the server behind the proxy. For its answer there is no limit but the client's own."""

_OWN = (b"x-tersely-key", BYPASS.encode())
_HOP = frozenset(
    b"connection expect keep-alive proxy-authenticate proxy-authorization te trailer transfer-encoding "
    b"upgrade".split()
)
"""Headers that are for one connection only (RFC 9110, sections 7.6.1 and 10.1.1)."""

RawHeaders = list[tuple[bytes, bytes]]


class Forwarder:
    """An ASGI application that sends every request to the server behind the proxy."""

    def __init__(self, settings: ProxySettings, rewriter: Rewriter, receipts: Receipts) -> None:
        self._address = check_address(settings.upstream)
        self._timeout_s = settings.timeout_s
        self._rewriter, self._receipts = rewriter, receipts
        self._slots = allowed_threads(settings.slots)
        self._most = self._slots + settings.queue
        self._waiting = 0

    @property
    def waiting(self) -> int:
        """Requests whose texts are shortened, or wait for that."""
        return self._waiting

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """The connections and threads, for as long as the proxy runs."""
        timeout = httpx2.Timeout(None, connect=CONNECT_S)
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=50)
        self._free_slots = asyncio.Semaphore(self._slots)
        # The loop's own threads also look names up, and that must not wait for texts to be shortened.
        with ThreadPoolExecutor(self._slots + 4, "tersely-request") as pool:
            asyncio.get_running_loop().set_default_executor(pool)
            async with httpx2.AsyncClient(
                timeout=timeout, limits=limits, **client_settings(self._address)
            ) as self._client:
                yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        check_address(self._address.url)
        scope["tersely"]["path"] = "forwarded"
        headers = [pair for pair in scope["headers"] if pair[0] not in _OWN]
        try:
            body, added = await self._prepare(request)
        except ClientDisconnect:
            return
        if isinstance(body, bytes):
            headers = [pair for pair in headers if pair[0] != b"content-length"]
        await self._relay(scope, receive, send, headers, body, added)

    async def _prepare(self, request: Request) -> tuple[bytes | AsyncIterator[bytes], dict[str, str]]:
        """The body to send, and headers for the answer."""
        path = request.scope["path"]
        end = next((end for end in READERS if path.endswith(end)), None)
        if request.method != "POST" or end is None or "content-encoding" in request.headers:
            return request.stream(), {}
        request.scope["tersely"]["path"] = end
        body = await request.body()
        if request.headers.get(BYPASS, "").lower() in ("true", "1", "yes"):
            return body, {"x-tersely-status": "bypassed"}
        rewritten, status = await self._rewrite(body, READERS[end])
        request.scope["tersely"]["result"] = status
        added = {"x-tersely-status": status}
        if rewritten.changes:
            added |= {
                "x-tersely-receipt": self._receipts.keep(rewritten),
                "x-tersely-tokens-before": str(rewritten.tokens_before),
                "x-tersely-tokens-after": str(rewritten.tokens_after),
            }
            request.scope["tersely"] |= {
                "tokens_before": rewritten.tokens_before,
                "tokens_after": rewritten.tokens_after,
            }
        return rewritten.body, added

    async def _rewrite(self, body: bytes, read: Reader) -> tuple[Rewritten, str]:
        """The body with shorter texts, and what became of it: "compressed", "unchanged" or
        "failed"."""
        problem = ""
        if self._waiting < self._most:
            self._waiting += 1
            try:
                async with asyncio.timeout(self._timeout_s), self._free_slots:
                    rewritten = await run_cancellable(self._rewriter.rewrite, body, read)
                return rewritten, "compressed" if rewritten.changes else "unchanged"
            except TimeoutError:
                problem = "the time is up"
            except Exception as error:  # noqa: BLE001 - the request goes on, whatever has failed
                problem = type(error).__name__  # its message may quote the request
            finally:
                self._waiting -= 1
        logger.warning(
            "forwarded as it is", extra={"fields": {"reason": problem or "too many requests wait"}}
        )
        try:
            return self._rewriter.leave(body, read), "failed"
        except Exception:  # noqa: BLE001 - it cannot be read at all
            return Rewritten(body), "failed"

    async def _relay(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        headers: RawHeaders,
        body: bytes | AsyncIterator[bytes],
        added: dict[str, str],
    ) -> None:
        request = httpx2.Request(
            scope["method"], self._find_url(scope), headers=self._to_upstream(headers), content=body
        )
        try:
            response = await self._client.send(request, stream=True)
        except (httpx2.TransportError, ClientDisconnect) as error:
            logger.warning("no answer", extra={"fields": {"reason": type(error).__name__}})
            late = isinstance(error, httpx2.TimeoutException)
            refusal = answer(504 if late else 502, f"{self._address.shown} cannot be reached.")
            await refusal(scope, receive, send)
            return
        try:
            await self._relay_answer(response, receive, send, added)
        finally:
            await response.aclose()

    async def _relay_answer(
        self, response: httpx2.Response, receive: Receive, send: Send, added: dict[str, str]
    ) -> None:
        kept = [(name.lower(), value) for name, value in response.headers.raw if name.lower() not in _HOP]
        extra = [(name.encode(), value.encode()) for name, value in added.items()]
        await send({"type": "http.response.start", "status": response.status_code, "headers": kept + extra})

        async def relay_body() -> None:
            async for chunk in response.aiter_raw():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})

        relayed = asyncio.ensure_future(relay_body())
        gone = asyncio.ensure_future(_wait_until_gone(receive))
        await asyncio.wait({relayed, gone}, return_when=asyncio.FIRST_COMPLETED)
        for task in (relayed, gone):
            task.cancel()
        try:
            await relayed
        except httpx2.TransportError as error:
            # Without its end, the client sees that the answer is not whole.
            logger.warning("the answer broke off", extra={"fields": {"reason": type(error).__name__}})
        except asyncio.CancelledError:
            if not gone.done():
                raise

    def _find_url(self, scope: Scope) -> httpx2.URL:
        base = httpx2.URL(self._address.url)
        path = base.raw_path.rstrip(b"/") + scope["raw_path"]
        query = scope["query_string"]
        return base.copy_with(raw_path=path + b"?" + query if query else path)

    def _to_upstream(self, headers: RawHeaders) -> RawHeaders:
        kept = [pair for pair in headers if pair[0] not in _HOP and pair[0] != b"host"]
        if self._address.authorization and not any(name == b"authorization" for name, _ in kept):
            kept.append((b"authorization", self._address.authorization.encode()))
        return kept


async def _wait_until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
