"""Read an answer that comes as events, and show all of it except the calls that the proxy answers itself.

Text is shown as it comes. A call, and the thoughts before it, wait until the answer is complete.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator
from typing import Any, NamedTuple

from tersely_proxy.interfaces import TOOL, Json, add_usage

_END = re.compile(rb"\r?\n\r?\n")


class Event(NamedTuple):
    """An event, as it came."""

    raw: bytes
    data: Json | None
    """The event's data if they are an object."""


async def read_events(parts: AsyncIterator[bytes]) -> AsyncIterator[Event]:
    """Yield the events of a stream, and the rest at its end."""
    rest = b""
    async for part in parts:
        rest += part
        if b"\n" not in part:
            continue
        start = 0
        for match in _END.finditer(rest):
            yield _read_event(rest[start : match.end()])
            start = match.end()
        rest = rest[start:]
    if rest:
        yield _read_event(rest)


class Stream(ABC):
    """The events of one answer to the client, which may need several answers of the model."""

    def __init__(self) -> None:
        self.answer: Json = {}
        """The model's answer so far, as it would be without a stream."""
        self._used: Any = None
        """Tokens of the model's earlier answers."""
        self._is_later = False

    @abstractmethod
    def feed(self, event: Event) -> Iterator[bytes]:
        """Take an event of the model, and yield the events that the client gets now."""

    @abstractmethod
    def go_on(self) -> Iterator[bytes]:
        """Yield what the client still gets of an answer whose calls the proxy has answered.

        The model's next answer follows.
        """

    @abstractmethod
    def finish(self) -> Iterator[bytes]:
        """Yield the rest of the last answer, without calls of the tool."""


class ChatStream(Stream):
    """Chat completions."""

    def __init__(self) -> None:
        super().__init__()
        self._head: Json = {}
        self._held: list[Event] = []
        self._is_parted = True
        """False if a blank line must still separate the text of this answer from that of the one before."""

    def feed(self, event: Event) -> Iterator[bytes]:
        chunk = event.data
        if chunk is None:
            if b"[DONE]" in event.raw:
                self._held.append(event)
            else:
                yield event.raw
            return
        self._gather(chunk)
        choice = _first_choice(chunk)
        is_end = choice.get("finish_reason") or (chunk.get("usage") and not choice)
        if self._held or is_end or _delta(choice).get("tool_calls"):
            self._held.append(event)
        else:
            yield self._write(event, choice)

    def go_on(self) -> Iterator[bytes]:
        for event in self._held:
            choice = _first_choice(event.data)
            if event.data and _delta(choice).get("content"):
                shown = {**choice, "delta": {"content": choice["delta"]["content"]}, "finish_reason": None}
                yield write_event(event, {**event.data, **self._head, "choices": [shown]})
        self._used = add_usage(self._used, self.answer.get("usage"))
        self._is_parted = not self.answer["choices"][0]["message"].get("content")
        self._held, self.answer, self._is_later = [], {}, True

    def finish(self) -> Iterator[bytes]:
        calls = self.answer["choices"][0]["message"].get("tool_calls", []) if self.answer else []
        left = [number for number, call in enumerate(calls) if call["function"]["name"] != TOOL]
        for event in self._held:
            choice = _first_choice(event.data)
            if event.data is None:
                yield event.raw
                continue
            if len(left) < len(calls) and choice:
                delta = dict(_delta(choice))
                own = delta.pop("tool_calls", None) or []
                shown = [{**one, "index": left.index(one["index"])} for one in own if one["index"] in left]
                choice = {**choice, "delta": {**delta, **({"tool_calls": shown} if shown else {})}}
                if not left and choice.get("finish_reason"):
                    choice["finish_reason"] = "stop"
                event = Event(b"", {**event.data, "choices": [choice]})
            yield self._write(event, choice)

    def _write(self, event: Event, choice: Json) -> bytes:
        """Return an event for the client. Those of later answers continue the first."""
        chunk = event.data or {}
        if not self._is_later:
            self._head = self._head or {key: chunk[key] for key in ("id", "created") if key in chunk}
            return event.raw or write_event(event, chunk)
        chunk = {**chunk, **self._head}
        if delta := {key: value for key, value in _delta(choice).items() if key != "role"}:
            if delta.get("content") and not self._is_parted:
                delta["content"], self._is_parted = f"\n\n{delta['content']}", True
            chunk["choices"] = [{**choice, "delta": delta}]
        if chunk.get("usage"):
            chunk["usage"] = add_usage(self._used, chunk["usage"])
        return write_event(event, chunk)

    def _gather(self, chunk: Json) -> None:
        answer = self.answer
        if not answer:
            answer |= {"choices": [{"message": {"role": "assistant"}, "finish_reason": None}], "usage": None}
        answer["usage"] = chunk.get("usage") or answer["usage"]
        choice, whole = _first_choice(chunk), answer["choices"][0]
        whole["finish_reason"] = choice.get("finish_reason") or whole["finish_reason"]
        message = whole["message"]
        for key, value in _delta(choice).items():
            if key == "tool_calls":
                for part in value or []:
                    _add_call(message.setdefault("tool_calls", []), part)
            elif isinstance(value, str) and key != "role":
                message[key] = (message.get(key) or "") + value


def _read_event(raw: bytes) -> Event:
    lines = [line[5:] for line in raw.splitlines() if line.startswith(b"data:")]
    try:
        data = json.loads(b"\n".join(lines))
    except ValueError:
        data = None
    return Event(raw, data if isinstance(data, dict) else None)


def write_event(event: Event, data: Json) -> bytes:
    """Return an event with the same name and other data."""
    name = next((line + b"\n" for line in event.raw.splitlines() if line.startswith(b"event:")), b"")
    return name + b"data: " + json.dumps(data, separators=(",", ":")).encode() + b"\n\n"


def _first_choice(chunk: Json | None) -> Json:
    choices = (chunk or {}).get("choices")
    return choices[0] if isinstance(choices, list) and choices else {}


def _delta(choice: Json) -> Json:
    return choice.get("delta") or {}


def _add_call(calls: list[Json], part: Json) -> None:
    while len(calls) <= part["index"]:
        calls.append({"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
    call, function = calls[part["index"]], part.get("function") or {}
    call["id"] = part.get("id") or call["id"]
    for key in ("name", "arguments"):
        call["function"][key] += function.get(key) or ""
