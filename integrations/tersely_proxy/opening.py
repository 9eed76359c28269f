"""Answer the model's calls for originals by further requests, before the client sees them."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing

import httpx2

from tersely_proxy.interfaces import UNKNOWN, Chat, Interface, Json, Messages, Responses
from tersely_proxy.item_streams import MessageStream, ResponseStream
from tersely_proxy.streams import ChatStream, Stream, read_events

logger = logging.getLogger("tersely.proxy")

MAX_REQUESTS = 8
"""Largest number of further requests for one answer. Calls in the answer to the last one are left out."""

_STREAMS: dict[type[Interface], type[Stream]] = {
    Chat: ChatStream,
    Messages: MessageStream,
    Responses: ResponseStream,
}

Send = Callable[[bytes], Awaitable[httpx2.Response]]
"""A function that sends the next body to the upstream server."""


class Opening:
    """The originals that the model may open in its answer to one request."""

    def __init__(self, interface: Interface, body: str, originals: Mapping[str, str]) -> None:
        self._interface, self._body, self._originals = interface, body, originals
        self._left = MAX_REQUESTS

    async def relay(self, response: httpx2.Response, send: Send) -> AsyncIterator[bytes]:
        """Yield the body for the client. Calls of other tools wait until the answer is complete."""
        kind = response.headers.get("content-type", "")
        encoding = response.headers.get("content-encoding", "identity")
        if response.status_code != 200 or encoding != "identity":
            parts = response.aiter_raw()
        elif kind.startswith("text/event-stream"):
            parts = self._relay_events(response, send)
        elif "json" in kind:
            parts = self._relay_whole(response, send)
        else:
            parts = response.aiter_raw()
        async for part in parts:
            yield part

    async def _relay_whole(self, response: httpx2.Response, send: Send) -> AsyncIterator[bytes]:
        raw = await _read_raw(response)
        shown: Json | None = None
        interface, answer = self._interface, _read(raw)
        while answer is not None and (results := self._open(answer)) is not None:
            if (later := await self._ask(answer, results, send)) is None:
                break
            async with aclosing(later):
                following = _read(await _read_raw(later))
            if following is None:
                break
            part = interface.hide(answer, all_calls=True)
            shown, answer, raw = interface.join(shown, part) if shown else part, following, b""
        if answer is None:
            yield raw
            return
        if self._calls(answer):
            answer, raw = interface.hide(answer, all_calls=False), b""
        yield raw or json.dumps(interface.join(shown, answer) if shown else answer).encode()

    async def _relay_events(self, response: httpx2.Response, send: Send) -> AsyncIterator[bytes]:
        stream, opened = _STREAMS[type(self._interface)](), list[httpx2.Response]()
        try:
            while True:
                async for event in read_events(response.aiter_raw()):
                    for part in stream.feed(event):
                        yield part
                if (results := self._open(stream.answer)) is None:
                    break
                if (later := await self._ask(stream.answer, results, send)) is None:
                    break
                opened.append(response := later)
                for part in stream.go_on():
                    yield part
            for part in stream.finish():
                yield part
        finally:
            for one in opened:
                await one.aclose()

    def _open(self, answer: Json) -> dict[str, str] | None:
        """Return the results of the calls in an answer by their ids; None if it is the last answer."""
        calls = self._calls(answer)
        if not calls or not self._left:
            return None
        self._left -= 1
        return {call: self._originals.get(key, UNKNOWN) for call, key in calls.items()}

    def _calls(self, answer: Json) -> dict[str, str]:
        try:
            return {call.id: call.key for call in self._interface.find_calls(answer)}
        except (AttributeError, IndexError, KeyError, TypeError):
            return {}  # an error, or an answer of another shape

    async def _ask(self, answer: Json, results: Mapping[str, str], send: Send) -> httpx2.Response | None:
        """Return the answer to the next request; None if it fails. The client then gets the answer so far."""
        self._body = self._interface.extend(self._body, answer, results)
        problem = ""
        try:
            response = await send(self._body.encode())
            if response.status_code == 200:
                return response
            problem = str(response.status_code)
            await response.aclose()
        except httpx2.TransportError as error:
            problem = type(error).__name__
        logger.warning("an original was not shown", extra={"fields": {"reason": problem}})
        return None


async def _read_raw(response: httpx2.Response) -> bytes:
    return b"".join([part async for part in response.aiter_raw()])


def _read(raw: bytes) -> Json | None:
    try:
        answer = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return answer if isinstance(answer, dict) else None
