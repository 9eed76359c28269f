"""The events of an `AgentMemory`, kept in an agent's state."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Sequence
from typing import TypedDict

from langchain_core.messages import AnyMessage

from tersely_langchain.messages import Json, to_openai

logger = logging.getLogger("tersely")


class SavedMemory(TypedDict):
    """What the agent's state holds of a memory."""

    read: int
    """Number of messages of the history that the memory has read."""
    digest: str
    """Checksum of these messages; it shows whether the history was edited."""
    events: list[Json]
    """The memory's events from the last reset on. A message of the history is kept as its id."""


class EventLog:
    """A `tersely_agents.memory.EventStore` for one session: a history, and the events of its first messages.

    There are no events where the history was edited since they were saved.

    Args:
        messages: the history.
        saved: what the state holds of the memory; None where there is nothing yet.
        lookup: finds a text that was shortened in an earlier step, by its id.
    """

    def __init__(
        self,
        messages: Sequence[AnyMessage],
        saved: SavedMemory | None,
        lookup: Callable[[str], str | None],
    ) -> None:
        self.messages = list(messages)
        self.openai_messages = [to_openai(message) for message in messages]
        self.originals: dict[str, str] = {}
        """Texts that were shortened in this step, by id."""
        self._lookup = lookup
        self.messages_read = 0
        self._events: list[Json] = []
        self._by_id = {
            message.id: converted
            for message, converted in zip(self.messages, self.openai_messages, strict=True)
        }
        if saved is None:
            return
        ids = {event["id"] for event in saved["events"] if "id" in event}
        if saved["digest"] == self._digest(saved["read"]) and ids <= self._by_id.keys():
            self.messages_read, self._events = saved["read"], list(saved["events"])
        else:
            logger.info("the history was edited, so its context is built again")

    def save(self) -> SavedMemory:
        """What the state is to hold."""
        return {
            "read": self.messages_read,
            "digest": self._digest(self.messages_read),
            "events": self._events,
        }

    def clear(self) -> None:
        """Remove all events, so that the history is read again from its first message."""
        self.messages_read, self._events = 0, []

    def events(self, session: str) -> list[Json]:
        """The events of the only session, in order, with whole messages."""
        return [
            {**event, "message": self._by_id[event["id"]]} if "id" in event else event
            for event in self._events
        ]

    def append(
        self, session: str, number: int, events: Sequence[Json], originals: Sequence[tuple[str, str]] = ()
    ) -> None:
        """Add events and originals (id, text). A reset removes the messages before it: none is needed."""
        for event in events:
            if event["kind"] == "reset":
                self._events = [e for e in self._events if e["kind"] in ("first", "pin")]
            self._events.append(self._shorten(event) if event["kind"] == "message" else event)
        self.originals.update(originals)

    def original(self, session: str, key: str) -> str | None:
        """The text that was shortened under this id; None for an id that is not known."""
        return self.originals.get(key) or self._lookup(key)

    def _shorten(self, event: Json) -> Json:
        """The event with the message's id, if it is the history's next message; else as it is."""
        place = self.messages_read
        if place == len(self.messages) or event["message"] != self.openai_messages[place]:
            return event
        message_id = self.messages[place].id
        if message_id is None:
            return event
        return {"id": message_id, **{key: value for key, value in event.items() if key != "message"}}

    def _digest(self, count: int) -> str:
        return hashlib.sha256(json.dumps([count, self.openai_messages[:count]]).encode()).hexdigest()
