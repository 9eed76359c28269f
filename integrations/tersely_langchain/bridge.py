"""What `AgentMemory` asks for, made of what LangChain has: a store and a chat model."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, TypedDict, Unpack

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, BaseMessage, convert_to_messages, convert_to_openai_messages
from langchain_core.runnables import RunnableConfig

from tersely.chat import ChatError, Message, Options, Reply

logger = logging.getLogger("tersely")

Json = dict[str, Any]

QUIET: RunnableConfig = {"metadata": {"lc_source": "summarization"}}
"""As LangChain marks calls of its own that write summaries."""


class Kept(TypedDict):
    """What the state holds of a memory."""

    read: int
    """Messages of the history that the memory has read."""
    last: str | None
    """Id of the last of those."""
    events: list[Json]
    """Of `AgentMemory`, from the last reset on; messages by their ids in the history."""


class StateLog:
    """The store of a memory, made of an agent's state. `read` messages of the history are in it; none where
    the history is not the one that was read."""

    def __init__(self, messages: Sequence[AnyMessage], kept: Kept | None) -> None:
        self.messages = list(messages)
        self.read = 0
        self.originals: dict[str, str] = {}
        self._events: list[Json] = []
        self._by_id = {m.id: m for m in messages}
        if kept is None:
            return
        wanted = {event["id"] for event in kept["events"] if "id" in event}
        last = self.messages[: kept["read"]][-1:]
        if len(messages) >= kept["read"] and last[0].id == kept["last"] and wanted <= self._by_id.keys():
            self.read, self._events = kept["read"], list(kept["events"])
        else:
            logger.info("the history has been rewritten, so its context is made anew")

    def kept(self) -> Kept:
        return {"read": self.read, "last": self.messages[self.read - 1].id, "events": self._events}

    def events(self, session: str) -> list[Json]:
        """See `EventStore`."""
        return [
            {"kind": "message", "message": mapping(self._by_id[e["id"]]), "full": e["full"]}
            if "id" in e
            else e
            for e in self._events
        ]

    def append(
        self, session: str, number: int, events: Sequence[Json], originals: Sequence[tuple[str, str]] = ()
    ) -> None:
        """See `EventStore`. What a reset takes out is not needed to go on."""
        for event in events:
            if event["kind"] == "reset":
                self._events = [e for e in self._events if e["kind"] in ("first", "pin")]
            if event["kind"] == "message":
                event = self._short(event)
            self._events.append(event)
        self.originals.update(originals)

    def _short(self, event: Json) -> Json:
        """The history's own message by its id, and any other as it is."""
        message = self.messages[self.read] if self.read < len(self.messages) else None
        if message is None or message.id is None or event["message"] != mapping(message):
            return event
        return {"kind": "message", "id": message.id, "full": event["full"]}

    def original(self, session: str, key: str) -> str | None:
        """See `EventStore`; the agent's tool looks into the state itself."""
        return self.originals.get(key)


class Chat:
    """A chat model of LangChain's as one of tersely's."""

    def __init__(self, model: BaseChatModel) -> None:
        self._model = model
        self.name = type(model).__name__

    def complete(self, messages: Sequence[Message], **options: Unpack[Options]) -> Reply:
        """See `ChatModel`."""
        try:
            return Reply(self._model.invoke(convert_to_messages([dict(m) for m in messages]), QUIET).text)
        except Exception as error:  # every provider has its own
            raise _failed(error) from error

    async def acomplete(self, messages: Sequence[Message], **options: Unpack[Options]) -> Reply:
        """See `ChatModel`."""
        try:
            return Reply(
                (await self._model.ainvoke(convert_to_messages([dict(m) for m in messages]), QUIET)).text
            )
        except Exception as error:  # every provider has its own
            raise _failed(error) from error


def _failed(error: Exception) -> ChatError:
    logger.warning("the model wrote no notes, so sentences of the history take their place: %s", error)
    return ChatError(str(error))


def mapping(message: BaseMessage) -> Json:
    found = convert_to_openai_messages(message)
    assert isinstance(found, dict)
    return found
