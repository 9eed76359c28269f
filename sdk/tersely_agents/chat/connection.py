"""Requests to a server by the openai package, within limits of time and size."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, cast
from weakref import WeakKeyDictionary

from tersely.runtime import limits
from tersely.runtime.limits import Deadline, OversizeError
from tersely.runtime.offline import check_address, client_settings
from tersely_agents.chat.protocol import ChatError

Operation = Callable[[Any], Any]
"""From a client to its streaming response, a context manager."""

_SHOWN_BYTES = 2**16
"""Bytes that are read of an error's body."""
_PAUSE_S = 0.5
_MAX_PAUSE_S = 8.0
_BUSY = frozenset({408, 409, 429})
"""HTTP codes below 500 after which another attempt may succeed."""
_REDIRECTS = range(300, 400)

_DEADLINE: ContextVar[Deadline] = ContextVar("deadline")
"""Of the call that runs in this thread."""


class _RefusalError(Exception):
    """An answer that is not a success, or not readable."""

    def __init__(self, status: int, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status, self.retry_after = status, retry_after

    @property
    def may_pass(self) -> bool:
        return self.status in _BUSY or self.status >= 500


class Connection:
    """Sends requests to one address. Several threads or tasks may use it at once.

    Args:
        openai: the openai package.
        url: where the server is; checked before every request.
        api_key: sent as a bearer token.
        timeout_s: seconds for a call, including all its attempts.
        retries: further attempts if the server is busy or the connection breaks.
    """

    def __init__(self, openai: Any, url: str, api_key: str, timeout_s: float, retries: int) -> None:
        address = check_address(url)
        self._openai, self._url, self._api_key = openai, url, api_key
        self._timeout_s, self._retries = timeout_s, retries
        self.address = address
        headers = {"Accept-Encoding": "identity"}
        if address.authorization is not None:
            headers["Authorization"] = address.authorization
        self._headers = headers
        hooks: dict[str, list[Any]] = {"request": [_watch_connection], "response": [_check_response]}
        http_client = openai.DefaultHttpxClient(event_hooks=hooks, **client_settings(address))
        # Only a new connection can be watched, so none is kept open.
        self._client = openai.OpenAI(
            http_client=http_client, **self._settings({**headers, "Connection": "close"})
        )
        # A connection belongs to the event loop that opened it.
        self._async_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()

    def send(self, operation: Operation) -> Any:
        """The JSON value that the server answers. Raises ChatError if there is none in time."""
        check_address(self._url)
        with Deadline(self._timeout_s) as deadline:
            token = _DEADLINE.set(deadline)
            try:
                for attempt in range(self._retries + 1):
                    try:
                        with operation(self._client) as response:
                            answer = limits.join_limited(response.http_response.iter_raw())
                        if deadline.has_passed:  # what was cut off may look whole
                            raise self._late()
                        return self._parse(answer)
                    except ChatError:
                        raise
                    except Exception as error:  # httpx, ssl and openai have many unrelated classes
                        pause = self._choose_pause(error, attempt, deadline)
                        if pause is None or not deadline.pause(pause):
                            raise self._explain(error, deadline) from error
            finally:
                _DEADLINE.reset(token)
        raise AssertionError("the last attempt either returns or raises")

    async def asend(self, operation: Operation) -> Any:
        """`send` without blocking the event loop."""
        check_address(self._url)
        deadline = Deadline(self._timeout_s)
        try:
            async with asyncio.timeout(self._timeout_s):
                for attempt in range(self._retries + 1):
                    try:
                        answer = bytearray()
                        async with operation(self._find_async_client()) as response:
                            async for chunk in response.http_response.aiter_raw():
                                answer += chunk
                                limits.check_size(len(answer))
                        return self._parse(bytes(answer))
                    except ChatError:
                        raise
                    except Exception as error:  # httpx, ssl and openai have many unrelated classes
                        pause = self._choose_pause(error, attempt, deadline)
                        if pause is None or pause >= deadline.remaining:
                            raise self._explain(error, deadline) from error
                        await asyncio.sleep(pause)
        except TimeoutError as error:
            raise self._late() from error
        raise AssertionError("the last attempt either returns or raises")

    async def aclose(self) -> None:
        """Close the connections of the running event loop. Later calls open new ones."""
        client = self._async_clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    def _settings(self, headers: dict[str, str]) -> dict[str, Any]:
        return {
            "base_url": self.address.url,
            "api_key": self._api_key,
            "timeout": self._timeout_s,
            "max_retries": 0,
            "default_headers": headers,
        }

    def _find_async_client(self) -> Any:
        loop = asyncio.get_running_loop()
        client = self._async_clients.get(loop)
        if client is None:
            http_client = self._openai.DefaultAsyncHttpxClient(
                event_hooks={"response": [_acheck_response]}, **client_settings(self.address)
            )
            client = self._async_clients[loop] = self._openai.AsyncOpenAI(
                http_client=http_client, **self._settings(self._headers)
            )
        return client

    def _parse(self, answer: bytes) -> Any:
        try:
            return limits.parse_json(answer)
        except ValueError as error:
            raise ChatError(
                f"{self.address.shown} gave an answer that is not a chat completion "
                f"({limits.clean(error)}). Check base_url; it usually has to end in /v1."
            ) from error

    def _choose_pause(self, error: Exception, attempt: int, deadline: Deadline) -> float | None:
        """Seconds to wait for another attempt; None if there is no reason for one."""
        refusal = _find_refusal(error)
        is_final = refusal is not None and not refusal.may_pass
        if attempt >= self._retries or deadline.has_passed or is_final or self._is_own_fault(error):
            return None
        pause = min(_PAUSE_S * 2**attempt, _MAX_PAUSE_S) * random.uniform(0.75, 1.0)
        return max(pause, (refusal.retry_after or 0.0) if refusal is not None else 0.0)

    def _is_own_fault(self, error: Exception) -> bool:
        """Whether the request cannot be sent, or the answer is too large: it would be so again."""
        if isinstance(error, self._openai.OpenAIError):
            return not isinstance(error, self._openai.APIConnectionError)
        return isinstance(error, ValueError | TypeError | LookupError | AttributeError | RecursionError)

    def _late(self) -> ChatError:
        return ChatError(
            f"{self.address.shown} did not answer within {self._timeout_s} s. Raise timeout_s, or lower "
            "max_tokens."
        )

    def _explain(self, error: Exception, deadline: Deadline) -> ChatError:
        where, refusal = self.address.shown, _find_refusal(error)
        if deadline.has_passed or isinstance(error, self._openai.APITimeoutError):
            return self._late()
        if refusal is not None:
            reason = str(refusal).replace(self._api_key, "[key]") if len(self._api_key) > 7 else str(refusal)
            return ChatError(f"{where} refused the request: HTTP {refusal.status} {reason}".rstrip())
        if isinstance(error, OversizeError):
            return ChatError(f"{where} failed: {error}. Check base_url.")
        if self._is_own_fault(error):
            return ChatError(f"The request to {where} cannot be sent ({type(error).__name__}). Check it.")
        return ChatError(f"{where} cannot be reached. Check that the server runs at this address.")


def _find_refusal(error: BaseException | None) -> _RefusalError | None:
    """The refusal that the openai package may have wrapped."""
    while error is not None and not isinstance(error, _RefusalError):
        error = error.__cause__
    return error


def _watch_connection(request: Any) -> None:
    deadline = _DEADLINE.get()

    def trace(event: str, details: dict[str, Any]) -> None:
        if event.endswith("connect_tcp.complete"):
            deadline.watch(details["return_value"].get_extra_info("socket"))

    request.extensions["trace"] = trace


def _check_response(response: Any) -> None:
    _check_encoding(response)
    if not response.is_success:
        body = bytearray()
        with contextlib.suppress(Exception):  # a part of the body will do
            for chunk in response.iter_raw():
                body += chunk
                if len(body) >= _SHOWN_BYTES:
                    break
        raise _read_refusal(response, bytes(body))


async def _acheck_response(response: Any) -> None:
    _check_encoding(response)
    if not response.is_success:
        body = bytearray()
        with contextlib.suppress(Exception):  # a part of the body will do
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) >= _SHOWN_BYTES:
                    break
        raise _read_refusal(response, bytes(body))


def _check_encoding(response: Any) -> None:
    """A compressed answer could be a thousand times as large as what was sent."""
    if response.headers.get("content-encoding", "").strip().lower() not in ("", "identity"):
        raise _RefusalError(
            response.status_code if not response.is_success else 200, "its answer is compressed"
        )


def _read_refusal(response: Any, body: bytes) -> _RefusalError:
    if response.status_code in _REDIRECTS:
        message = "it redirects, which is not followed. Pass the address that it redirects to."
        return _RefusalError(response.status_code, message)
    try:
        retry_after = float(response.headers.get("retry-after", ""))
    except ValueError:
        retry_after = None
    message = limits.clean(_find_message(body))
    return _RefusalError(response.status_code, message, retry_after if (retry_after or 0.0) > 0 else None)


def _find_message(body: bytes) -> str:
    """What the server says is wrong: the message in the formats of common servers, or else the whole body."""
    try:
        value = limits.parse_json(body)
    except ValueError:
        return body.decode("utf-8", "replace")
    for key in ("error", "message", "detail"):
        if isinstance(value, dict) and key in value:
            value = cast("dict[str, Any]", value)[key]
    return value if isinstance(value, str) else body.decode("utf-8", "replace")
