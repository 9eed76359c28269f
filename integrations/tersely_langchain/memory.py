"""A history that never outgrows its limit: `AgentMemory` inside an agent's state."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from itertools import takewhile
from typing import Any, NotRequired

from langchain.agents.middleware import ModelRequest
from langchain.agents.middleware.types import ModelCallResult, ModelResponse
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, convert_to_messages
from langgraph.runtime import Runtime

from tersely import Compressor, InvalidInputError
from tersely.memory import AgentMemory
from tersely_langchain.bridge import Chat, Kept, StateLog, as_text
from tersely_langchain.middleware import TerselyMiddleware, TerselyState

NO_TASK = {"role": "user", "content": "[the conversation so far]"}
"""In front of a history that begins with a message of the assistant's."""


class TerselyMemoryState(TerselyState):
    """The agent's state, with what the memory holds beside the history; checkpointers keep it."""

    tersely_memory: NotRequired[Kept]


class TerselyMemory(TerselyMiddleware):
    """Shows the model a context of less than `limit` tokens: where the next step would not fit, it is asked
    for notes, and the context starts again from the task, the pins and the notes (see `AgentMemory`). The
    history itself stays whole. Tool results are compressed when they come in, as by `TerselyMiddleware`.

    All of it is in the agent's state, so that a checkpointer brings it back, also when going back in time. A
    history that was edited is read anew; middleware that edits histories belongs before this one, so that it
    happens once.

    Args:
        limit: tokens of the history that the model may be shown, by the compressor's counter; 512 or more.
            The system prompt and the tools come on top.
        model: writes the notes; None for the most relevant sentences of the history, without a call.
        pins: texts that stay word for word, by name.
        over: tokens from which a tool result is compressed.
        compressor: None for the bundled model.

    Raises:
        InvalidInputError: an argument cannot be used; later, where the task and the pins take more than half
            of the limit.
    """

    state_schema = TerselyMemoryState

    def __init__(
        self,
        *,
        limit: int,
        model: BaseChatModel | None = None,
        pins: Mapping[str, str] | None = None,
        over: int = 500,
        compressor: Compressor | None = None,
    ) -> None:
        compressor = compressor or Compressor()
        super().__init__(over=over, compressor=compressor)
        self._limit = limit
        self._model = model
        self._pins = dict(pins or {})
        self._compressor = compressor
        AgentMemory([{"role": "user", "content": ""}], limit=limit)  # complains now, not in the first run

    def before_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Reads the messages that are new, and resets the context where it is full."""
        return self._update(state, self._chat())

    async def abefore_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """See `before_model`."""
        return await asyncio.to_thread(self._update, state, self._chat(asyncio.get_running_loop()))

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelCallResult[Any]:
        """Shows the model the memory's context instead of the history."""
        return handler(self._shown(request, self._chat()))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelCallResult[Any]:
        """See `wrap_model_call`."""
        chat = self._chat(asyncio.get_running_loop())
        return await handler(await asyncio.to_thread(self._shown, request, chat))

    def _chat(self, loop: asyncio.AbstractEventLoop | None = None) -> Chat | None:
        return None if self._model is None else Chat(self._model, loop)

    def _update(self, state: Any, chat: Chat | None) -> dict[str, Any]:
        log = StateLog(state["messages"], state.get("tersely_memory"))
        self._read(log, chat)
        return {"tersely_memory": log.kept(), "tersely_originals": log.originals}

    def _shown(self, request: ModelRequest[Any], chat: Chat | None) -> ModelRequest[Any]:
        # The request's messages and not the state's, because other middleware may have changed them.
        log = StateLog(request.messages, request.state.get("tersely_memory"))
        memory = self._read(log, chat)
        given: dict[str, list[AnyMessage]] = {}
        for message, own in zip(log.messages, log.given, strict=True):
            given.setdefault(json.dumps(own), []).append(message)
        shown: list[Any] = []
        for context in reversed(memory.transcript.messages):
            # What is as it was goes out as it was, with all that only LangChain knows of it.
            same = given.get(json.dumps(context))
            shown.append(same.pop() if same else convert_to_messages([context])[0])
        return request.override(messages=shown[::-1])

    def _read(self, log: StateLog, chat: Chat | None) -> AgentMemory:
        """The memory, with all messages read that are new to it."""
        memory = self._open(log)
        while log.read < len(log.messages):
            message = log.given[log.read]
            if message["role"] != "tool":
                memory.interrupt()  # a run that was stopped has left calls without results
            if memory.transcript.is_full:
                memory.prepare(chat)
            try:
                memory.append(message)
            except (
                InvalidInputError
            ):  # a result without its call, for example, which no provider takes either
                memory.interrupt()
                if memory.transcript.is_full:
                    memory.prepare(chat)
                memory.append(as_text(log.messages[log.read]))
            log.read += 1
        memory.interrupt()
        memory.prepare(chat)
        return memory

    def _open(self, log: StateLog) -> AgentMemory:
        memory = None
        if log.events(""):
            try:
                memory = AgentMemory(limit=self._limit, compressor=self._compressor, store=log)
            except InvalidInputError:
                log.forget()  # it was made with a higher limit
        if memory is None:
            first = [m for m, _ in takewhile(_is_asked, zip(log.given, log.messages, strict=True))]
            log.read = len(first)
            memory = AgentMemory(
                first or [NO_TASK], limit=self._limit, compressor=self._compressor, store=log
            )
        for name in memory.transcript.pins.keys() | self._pins.keys():
            if memory.transcript.pins.get(name) != self._pins.get(name):
                memory.pin(name, self._pins.get(name))
        return memory


def _is_asked(pair: tuple[dict[str, Any], AnyMessage]) -> bool:
    return pair[1].type in ("system", "human")
