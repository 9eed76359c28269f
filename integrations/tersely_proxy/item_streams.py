"""Streams of numbered items: the blocks of Anthropic's messages, and the items of OpenAI's responses."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field

from tersely_proxy.interfaces import Json, add_usage, is_call, is_ours, is_thought
from tersely_proxy.streams import Event, Stream, write_event


@dataclass(slots=True)
class _Item:
    """A block or an item of an answer."""

    value: Json
    events: list[Event] = field(default_factory=list)
    number: int | None = None
    """Its place in the client's stream; None while it waits."""


class ItemStream(Stream):
    """A stream of items with numbers: blocks of messages, or items of responses."""

    number_key: str
    start_key: str
    """Key of an item in the event that begins it."""

    def __init__(self) -> None:
        super().__init__()
        self._items: dict[int, _Item] = {}
        self._shown = 0
        """Number of items that the client has got."""
        self._last: list[Event] = []
        """Events at the end of the answer."""

    def feed(self, event: Event) -> Iterator[bytes]:
        data = event.data
        if data is None:
            yield event.raw
            return
        kind = data.get("type", "")
        if self._read_answer(kind, data):
            self._last.append(event)
        elif (number := data.get(self.number_key)) is not None:
            if number in self._items:
                self._read_item(kind, data)
            else:
                self._items[number] = _Item(dict(data.get(self.start_key) or {}))
            item = self._items[number]
            item.events.append(event)
            if item.number is not None:
                yield from self._show(item)
            elif not (is_call(item.value) or is_thought(item.value) or self._waits()):
                for waiting in self._items.values():
                    yield from self._show(waiting)
        elif not (self._is_later and self._is_start(kind)):
            yield self._renumber(event, data)

    def go_on(self) -> Iterator[bytes]:
        for item in list(self._items.values()):
            if item.number is None and not is_call(item.value) and not is_thought(item.value):
                yield from self._show(item)
        self._used = add_usage(self._used, self.answer.get("usage"))
        self._items, self._last, self.answer, self._is_later = {}, [], {}, True

    def finish(self) -> Iterator[bytes]:
        is_hidden = any(is_ours(item.value) for item in self._items.values())
        left = [item for item in self._items.values() if not is_ours(item.value)]
        while is_hidden and left and left[-1].number is None and is_thought(left[-1].value):
            left.pop()  # it belongs to a call that is left out
        for item in left:
            yield from self._show(item)
        for event in self._last:
            yield self._renumber(event, self._write_last(event.data or {}, is_hidden))

    def _waits(self) -> bool:
        """Return whether a call waits, so that all after it must."""
        return any(is_call(item.value) and item.number is None for item in self._items.values())

    def _show(self, item: _Item) -> Iterator[bytes]:
        if item.number is None and not self._may_show(item):
            return
        if item.number is None:
            item.number, self._shown = self._shown, self._shown + 1
        for event in item.events:
            yield self._renumber(event, {**(event.data or {}), self.number_key: item.number})
        item.events.clear()

    def _may_show(self, item: _Item) -> bool:
        return True

    def _renumber(self, event: Event, data: Json) -> bytes:
        return event.raw if data == event.data else write_event(event, data)

    @abstractmethod
    def _is_start(self, kind: str) -> bool:
        """Return whether an event begins an answer."""

    @abstractmethod
    def _read_answer(self, kind: str, data: Json) -> bool:
        """Read an event if it is about the whole answer. Return whether it comes at the end of the answer."""

    @abstractmethod
    def _read_item(self, kind: str, data: Json) -> None:
        """Read an event about a part of an item."""

    @abstractmethod
    def _write_last(self, data: Json, is_hidden: bool) -> Json:
        """Return the data of an event at the end of the answer, as the client gets it.

        `is_hidden`: whether calls of the tool were left out.
        """


class MessageStream(ItemStream):
    """Anthropic's messages."""

    number_key, start_key = "index", "content_block"

    def __init__(self) -> None:
        super().__init__()
        self._earlier = 0
        self._arguments: dict[int, str] = {}

    def go_on(self) -> Iterator[bytes]:
        yield from super().go_on()
        self._earlier, self._arguments = self._shown, {}

    def _is_start(self, kind: str) -> bool:
        return kind == "message_start"

    def _may_show(self, item: _Item) -> bool:
        # The client lacks the call that the thoughts of a later answer follow.
        return not (self._earlier and is_thought(item.value))

    def _read_answer(self, kind: str, data: Json) -> bool:
        if kind == "message_start":
            self.answer = {**data["message"], "content": []}
        elif kind == "message_delta":
            self.answer["stop_reason"] = data["delta"].get("stop_reason")
            self.answer["usage"] = {**self.answer.get("usage", {}), **(data.get("usage") or {})}
        elif kind == "message_stop":
            self.answer["content"] = [item.value for item in self._items.values()]
        return kind in ("message_delta", "message_stop")

    def _read_item(self, kind: str, data: Json) -> None:
        number, block = data["index"], self._items[data["index"]].value
        for key, value in data.get("delta", {}).items():
            if key == "partial_json":
                self._arguments[number] = self._arguments.get(number, "") + value
            elif key == "citation":
                block["citations"] = [*(block.get("citations") or []), value]
            elif key != "type" and isinstance(value, str):
                block[key] = (block.get(key) or "") + value
        if kind == "content_block_stop" and self._arguments.get(number):
            block["input"] = json.loads(self._arguments[number])

    def _write_last(self, data: Json, is_hidden: bool) -> Json:
        if data.get("type") != "message_delta":
            return data
        if self._is_later:
            data = {**data, "usage": add_usage(self._used, self.answer.get("usage"))}
        others = any(
            item.value.get("type") == "tool_use" and item.number is not None for item in self._items.values()
        )
        if is_hidden and not others and data["delta"].get("stop_reason") == "tool_use":
            data = {**data, "delta": {**data["delta"], "stop_reason": "end_turn"}}
        return data


class ResponseStream(ItemStream):
    """OpenAI's responses."""

    number_key, start_key = "output_index", "item"

    def __init__(self) -> None:
        super().__init__()
        self._output: list[Json] = []
        """The items of earlier answers that the client has got."""
        self._last_number: int | None = None
        """Number of the last event that the client has got."""

    def go_on(self) -> Iterator[bytes]:
        before = list(self._items.values())
        yield from super().go_on()
        self._output += [item.value for item in before if item.number is not None]

    def _is_start(self, kind: str) -> bool:
        return kind in ("response.created", "response.in_progress", "response.queued")

    def _read_answer(self, kind: str, data: Json) -> bool:
        if kind not in ("response.completed", "response.incomplete", "response.failed"):
            return False
        self.answer = data["response"]
        return True

    def _read_item(self, kind: str, data: Json) -> None:
        if kind == "response.output_item.done":
            self._items[data["output_index"]].value = data["item"]

    def _renumber(self, event: Event, data: Json) -> bytes:
        if (number := data.get("sequence_number")) is not None:
            number = number if self._last_number is None else self._last_number + 1
            self._last_number, data = number, {**data, "sequence_number": number}
        return super()._renumber(event, data)

    def _write_last(self, data: Json, is_hidden: bool) -> Json:
        response = data["response"]
        if not (self._is_later or is_hidden):
            return data
        left = [item.value for item in self._items.values() if item.number is not None]
        usage = add_usage(self._used, response.get("usage"))
        return {**data, "response": {**response, "output": [*self._output, *left], "usage": usage}}
