"""What `AgentMemory` asks for, made of what LangChain has: messages, a store, a chat model."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Coroutine, Sequence
from typing import Any, TypedDict, TypeVar, Unpack

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage, convert_to_openai_messages
from langchain_core.runnables import RunnableConfig

from tersely.chat import ChatError, Message, Options, Reply
from tersely.chat.transcript import render, text_of

logger = logging.getLogger("tersely")

Json = dict[str, Any]
T = TypeVar("T")

QUIET: RunnableConfig = {"metadata": {"lc_source": "summarization"}}
"""As LangChain marks calls of its own that write summaries."""
_ROLES = {"ai": "assistant", "system": "system"}


class Kept(TypedDict):
    """What the state holds of a memory."""

    read: int
    """Messages of the history that the memory has read."""
    digest: str
    """Of those, so that a history that was edited is known."""
    events: list[Json]
    """Of `AgentMemory`, from the last reset on; messages of the history by their ids."""


class StateLog:
    """The store of a memory, made of an agent's state: `read` messages of the history are in its events.
    There are none where the history is not the one that was read."""

    def __init__(self, messages: Sequence[AnyMessage], kept: Kept | None) -> None:
        self.messages = list(messages)
        self.given = [mapping(m) for m in messages]
        self.originals: dict[str, str] = {}
        self._by_id = {m.id: given for m, given in zip(messages, self.given, strict=True)}
        self.read, self._events = 0, list[Json]()
        if kept is None:
            return
        wanted = {event["id"] for event in kept["events"] if "id" in event}
        if kept["digest"] == self._digest(kept["read"]) and wanted <= self._by_id.keys():
            self.read, self._events = kept["read"], list(kept["events"])
        else:
            logger.info("the history has been edited, so its context is made anew")

    def kept(self) -> Kept:
        return {"read": self.read, "digest": self._digest(self.read), "events": self._events}

    def forget(self) -> None:
        """Begin anew, with the first message."""
        self.read, self._events = 0, []

    def events(self, session: str) -> list[Json]:
        """See `EventStore`."""
        return [
            {"kind": "message", "message": self._by_id[event["id"]], "full": event["full"]}
            if "id" in event
            else event
            for event in self._events
        ]

    def append(
        self, session: str, number: int, events: Sequence[Json], originals: Sequence[tuple[str, str]] = ()
    ) -> None:
        """See `EventStore`. What a reset takes out is not needed to go on, and leaves."""
        for event in events:
            if event["kind"] == "reset":
                self._events = [e for e in self._events if e["kind"] in ("first", "pin")]
            self._events.append(self._short(event) if event["kind"] == "message" else event)
        self.originals.update(originals)

    def original(self, session: str, key: str) -> str | None:
        """See `EventStore`; the agent's tool looks into the state itself."""
        return self.originals.get(key)

    def _short(self, event: Json) -> Json:
        """The history's own message by its id, and any other as it is."""
        if self.read == len(self.messages) or event["message"] != self.given[self.read]:
            return event
        own = self.messages[self.read].id
        return event if own is None else {"kind": "message", "id": own, "full": event["full"]}

    def _digest(self, count: int) -> str:
        return hashlib.sha256(json.dumps([count, self.given[:count]]).encode()).hexdigest()


class Chat:
    """A chat model of LangChain's as one of tersely's. It gets the transcript as text, because providers
    refuse calls of tools that a request does not offer.

    Args:
        loop: where the model is to run; None for the thread that asks.
    """

    def __init__(self, model: BaseChatModel, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._model, self._loop = model, loop
        self.name = type(model).__name__

    def complete(self, messages: Sequence[Message], **options: Unpack[Options]) -> Reply:
        """See `ChatModel`."""
        if self._loop is not None:
            return _waited(self.acomplete(messages, **options), self._loop)
        try:
            return Reply(self._model.invoke(_asked(messages), QUIET).text)
        except Exception as error:  # every provider has its own
            raise _failed(error) from error

    async def acomplete(self, messages: Sequence[Message], **options: Unpack[Options]) -> Reply:
        """See `ChatModel`."""
        try:
            return Reply((await self._model.ainvoke(_asked(messages), QUIET)).text)
        except Exception as error:  # every provider has its own
            raise _failed(error) from error


def mapping(message: BaseMessage) -> Json:
    """The message in OpenAI's format; as text, where that has no place for what it holds."""
    try:
        found = convert_to_openai_messages(message)
    except ValueError:
        return as_text(message)
    assert isinstance(found, dict)
    return json.loads(json.dumps(found))


def as_text(message: BaseMessage) -> Json:
    """The message as one that may stand anywhere."""
    head = "[result of a tool] " if message.type == "tool" else ""
    others = [b.get("type") for b in message.content if isinstance(b, dict) and b.get("type") != "text"]
    tail = "".join(f" [{kind}]" for kind in others)
    return {"role": _ROLES.get(message.type, "user"), "content": f"{head}{message.text}{tail}"}


def _asked(messages: Sequence[Message]) -> list[AnyMessage]:
    *transcript, request = messages
    return [HumanMessage(f"{render(transcript)}\n\n{text_of(request)}")]


def _waited(work: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop) -> T:
    return asyncio.run_coroutine_threadsafe(work, loop).result()


def _failed(error: Exception) -> ChatError:
    logger.warning("the model wrote no notes, so sentences of the history take their place: %s", error)
    return ChatError(str(error))
