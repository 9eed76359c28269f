"""Send JSON to a server and read its answer, within limits of time and size."""

from __future__ import annotations

import asyncio
import importlib
import json
import random
from contextlib import aclosing
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from tersely.errors import InvalidInputError, MissingDependencyError, TerselyError
from tersely.runtime.limits import check_key, clean, parse_json
from tersely.runtime.offline import check_address, client_settings

if TYPE_CHECKING:
    import ssl

    import httpx2

MAX_ANSWER_BYTES = 8 * 2**20
"""Largest number of bytes of an answer. A reply of 100,000 tokens has less than one million."""
_MAX_REFUSAL_BYTES = 2**16
"""Largest number of bytes that are read of an answer that is not a success."""
_PAUSE_S = 0.5
"""Seconds before the second attempt; each further pause is twice as long."""
_BUSY_CODES = frozenset({408, 409, 429})
"""HTTP codes below 500 after which another attempt may succeed."""


class _FailureError(Exception):
    """An attempt that failed. The message continues a sentence that begins with the server's name."""

    def __init__(self, reason: str, *, is_temporary: bool = False, pause_s: float = 0.0) -> None:
        super().__init__(reason)
        self.is_temporary, self.pause_s = is_temporary, pause_s


class Endpoint:
    """A server that takes and gives JSON. Several threads or tasks may use it at once.

    Args:
        url: address of the server; a user and password in it replace the key, and are never shown.
        api_key: the key, which is sent as a bearer token; None for no key.
        timeout_s: seconds for a call, including all its attempts.
        retries: further attempts, with growing pauses, if the server is busy or the connection breaks.
        kind: words of error messages before the address, such as "the reranker at".
        faster: a way to get an answer sooner, such as "lower max_tokens".
        error: the class of the errors that calls raise.

    Raises:
        InvalidInputError: `url` is not an HTTP address, or another argument cannot be used.
        OfflineError: the server is not on this machine and TERSELY_OFFLINE forbids the network.
        MissingDependencyError: httpx2 is not installed.
    """

    def __init__(
        self,
        url: str,
        api_key: str | None,
        timeout_s: float,
        retries: int,
        *,
        kind: str,
        faster: str,
        error: type[TerselyError] = TerselyError,
    ) -> None:
        self.address = check_address(url)
        if api_key is not None:
            check_key(api_key)
        if isinstance(retries, bool) or not isinstance(cast("object", retries), int) or retries < 0:
            raise InvalidInputError(f"retries is {retries!r}. Pass 0 or more.")
        try:
            importlib.import_module("httpx2")
        except ImportError as missing:
            message = "Calling a server needs the httpx2 package: pip install httpx2"
            raise MissingDependencyError(message) from missing
        self.name = f"{kind} {self.address.public_url}".strip()
        self._key, self._timeout_s, self._retries = api_key, timeout_s, retries
        self._faster, self._error = faster, error
        authorization = self.address.authorization or (api_key and f"Bearer {api_key}")
        self._headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if authorization:
            self._headers["Authorization"] = authorization

    def open(self) -> httpx2.AsyncClient:
        """Open a client for `asend`. Close it in the same event loop."""
        import httpx2

        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=100)
        return httpx2.AsyncClient(limits=limits, verify=_make_tls_context(), **client_settings(self.address))

    def send(self, path: str = "", body: dict[str, Any] | None = None) -> bytes:
        """Call `asend` in a separate event loop, because only a task can be stopped while it reads."""
        from anyio.from_thread import start_blocking_portal

        async def run() -> bytes:
            async with self.open() as client:
                return await self.asend(client, path, body)

        with start_blocking_portal() as portal:
            return portal.call(run)

    async def asend(
        self, client: httpx2.AsyncClient, path: str = "", body: dict[str, Any] | None = None
    ) -> bytes:
        """Post `body`, or send a GET request if it is None, and return the server's answer.

        Raises:
            OfflineError: the server is not on this machine and TERSELY_OFFLINE forbids the network.
            TerselyError: of the class `error`; the body is not JSON, or no usable answer came in time.
        """
        import httpx2

        try:
            content = None if body is None else json.dumps(body, allow_nan=False).encode()
            url = httpx2.URL(self._join_url(path))
            end = asyncio.get_running_loop().time() + self._timeout_s
            async with asyncio.timeout_at(end):
                return await self._retry(client, url, content, end)
        except TimeoutError as error:
            raise self._error(
                f"{self.name} did not answer within {self._timeout_s} s. Raise timeout_s, or {self._faster}."
            ) from error
        except _FailureError as error:  # chain its cause instead, because its message may hold the key
            raise self._error(f"{self.name} {self._hide_key(str(error))}") from error.__cause__
        except (ValueError, TypeError, RecursionError, httpx2.InvalidURL) as error:
            raise self._error(
                f"The request to {self.name} cannot be sent ({type(error).__name__}). Check it."
            ) from error

    async def _retry(
        self, client: httpx2.AsyncClient, url: httpx2.URL, content: bytes | None, end: float
    ) -> bytes:
        """Return the first answer. `end` is a time of the event loop."""
        now, attempt = asyncio.get_running_loop().time, 0
        while True:
            try:
                return await self._attempt(client, url, content, end - now())
            except _FailureError as error:
                pause = max(error.pause_s, _PAUSE_S * 2**attempt * random.uniform(0.75, 1.0))
                if attempt >= self._retries or not error.is_temporary or pause >= end - now():
                    raise
            attempt += 1
            await asyncio.sleep(pause)

    async def _attempt(
        self, client: httpx2.AsyncClient, url: httpx2.URL, content: bytes | None, seconds: float
    ) -> bytes:
        import httpx2

        request = client.build_request(
            "GET" if content is None else "POST",
            url.copy_with(query=None),  # httpx2 logs it, and the query may hold a key
            content=content,
            headers=self._headers,
            # TCP and TLS get less than half of the time each, and so end before the call is cancelled:
            # a cancelled handshake would leave its socket open.
            timeout=httpx2.Timeout(None, connect=0.45 * seconds),
            extensions={"target": url.raw_path},
        )
        try:
            async with aclosing(await client.send(request, stream=True)) as response:
                return await _read_answer(response)
        except (httpx2.HTTPError, OSError) as error:
            cause = f"{type(error).__name__}: {clean(error)}".removesuffix(": ")
            raise _FailureError(
                f"cannot be reached ({cause}). Check that the server runs at this address.", is_temporary=True
            ) from error

    def _join_url(self, path: str) -> str:
        """Return the address with `path` appended, in front of the query if it has one."""
        base, mark, query = self.address.url.partition("?")
        return (base.rstrip("/") + path if path else base) + mark + query

    def _hide_key(self, text: str) -> str:
        """Replace the key in a text, unless it is so short that it may be a word."""
        return text.replace(self._key, "[key]") if self._key and len(self._key) > 7 else text


@cache
def _make_tls_context() -> ssl.SSLContext:
    """Read the trusted certificates once, because that takes longer than many requests."""
    import httpx2

    return httpx2.create_ssl_context()


async def _read_answer(response: httpx2.Response) -> bytes:
    """Return the body of a success. Raises _FailureError for a refusal, or a body that cannot be used."""
    import httpx2

    limit = MAX_ANSWER_BYTES if response.is_success else _MAX_REFUSAL_BYTES
    is_compressed = response.headers.get("content-encoding", "").strip().lower() not in ("", "identity")
    body = bytearray()
    if not is_compressed:  # a compressed body could become a thousand times as large
        try:
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > limit:
                    break
        except httpx2.HTTPError:
            if response.is_success:  # a part of a refusal will do
                raise
    if not response.is_success:
        raise _make_refusal(response, bytes(body))
    if is_compressed:
        raise _FailureError("failed: its answer is compressed, which was not asked for. Check the address.")
    if len(body) > limit:
        raise _FailureError(f"failed: the answer has more than {limit} bytes. Check the address.")
    return bytes(body)


def _make_refusal(response: httpx2.Response, body: bytes) -> _FailureError:
    status = response.status_code
    message = clean(_find_message(body)) or clean(response.reason_phrase)
    if status in range(300, 400):
        message = "it redirects, which is not followed. Pass the address that it redirects to."
    try:
        pause_s = float(response.headers.get("retry-after", ""))
    except ValueError:
        pause_s = 0.0
    return _FailureError(
        f"refused the request: HTTP {status} {message}".rstrip(),
        is_temporary=status in _BUSY_CODES or status >= 500,
        pause_s=pause_s if pause_s > 0 else 0.0,  # nan too
    )


def _find_message(body: bytes) -> str:
    """Return the error message in the body, if it has the format of a common server, or the whole body."""
    try:
        value = parse_json(body)
    except ValueError:
        value = None
    for key in ("error", "message", "detail"):
        if isinstance(value, dict) and key in value:
            value = cast("dict[str, Any]", value)[key]
    return value if isinstance(value, str) else body.decode("utf-8", "replace")
