"""The event store of an `AgentMemory` in an agent's state."""

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
    """A memory as the agent's state holds it."""

    read: int
    """Number of messages of the history that the memory has read."""
    digest: str
    """Checksum of these messages; it shows whether the history was edited."""
    events: list[Json]
    """The memory's events since the last reset. A message of the history is kept as its id."""


class EventLog:
    """A `tersely_agents.memory.EventStore` for one session: a history, and the events of its first messages.

    It starts without events if the history was edited since they were saved.

    Args:
        messages: the history.
        saved: the memory in the agent's state; None if there is nothing yet.
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
        self.messages_read = 0
        self._lookup = lookup
        self._events: list[Json] = []
        ids = [message.id for message in self.messages]
        self._by_id = dict(zip(ids, self.openai_messages, strict=True))
        if saved is None:
            return
        needed = {event["id"] for event in saved["events"] if "id" in event}
        if saved["digest"] == self._digest(saved["read"]) and needed <= self._by_id.keys():
            self.messages_read, self._events = saved["read"], list(saved["events"])
        else:
            logger.info("the history was edited, so its context is built again")

    def save(self) -> SavedMemory:
        """Return the memory for the agent's state."""
        digest = self._digest(self.messages_read)
        return {"read": self.messages_read, "digest": digest, "events": self._events}

    def clear(self) -> None:
        """Remove all events, so that the history is read again from its first message."""
        self.messages_read, self._events = 0, []

    def events(self, session: str) -> list[Json]:
        """Return the events of the only session, in order, with whole messages."""
        return [
            {**event, "message": self._by_id[event["id"]]} if "id" in event else event
            for event in self._events
        ]

    def append(
        self, session: str, number: int, events: Sequence[Json], originals: Sequence[tuple[str, str]] = ()
    ) -> None:
        """Add events and originals (id, text). A reset removes the messages before it."""
        for event in events:
            if event["kind"] == "reset":
                self._events = [e for e in self._events if e["kind"] in ("first", "pin")]
            self._events.append(self._shorten(event) if event["kind"] == "message" else event)
        self.originals.update(originals)

    def original(self, session: str, key: str) -> str | None:
        """Return the text that was shortened under this id; None for an unknown id."""
        return self.originals.get(key) or self._lookup(key)

    def _shorten(self, event: Json) -> Json:
        """Replace the event's message with its id, if it is the next message of the history."""
        place = self.messages_read
        if place == len(self.messages) or event["message"] != self.openai_messages[place]:
            return event
        message_id = self.messages[place].id
        if message_id is None:
            return event
        return {"id": message_id, **{key: value for key, value in event.items() if key != "message"}}

    def _digest(self, count: int) -> str:
        return hashlib.sha256(json.dumps([count, self.openai_messages[:count]]).encode()).hexdigest()
