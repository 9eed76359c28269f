"""An agent that never shows its model more than a limit: an `AgentMemory` in the agent's state."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import takewhile
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware import ModelRequest
from langchain.agents.middleware.types import ModelCallResult, ModelResponse, PrivateStateAttr
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, convert_to_messages
from langgraph.runtime import Runtime

from tersely import Compressor, InvalidInputError
from tersely.adapters import check_compressor
from tersely_agents.memory import AgentMemory
from tersely_langchain.chat import LangChainChat
from tersely_langchain.event_log import EventLog, SavedMemory
from tersely_langchain.messages import to_text_message
from tersely_langchain.middleware import TerselyMiddleware, TerselyState
from tersely_langchain.originals import find_kept, keep_originals

NO_TASK = {"role": "user", "content": "[the conversation so far]"}
"""Stands in front of a history that begins with a message of the assistant."""


class TerselyMemoryState(TerselyState):
    """The agent's state, with what the memory needs besides the history. Checkpointers keep it, and `invoke`
    does not return it."""

    tersely_memory: NotRequired[Annotated[SavedMemory, PrivateStateAttr]]


class TerselyMemory(TerselyMiddleware):
    """Shows the model a context of less than `limit` tokens.

    Where the next step would not fit, the model is asked for notes, and the context starts again from the
    task, the pins and the notes (see `AgentMemory`). The history itself stays whole. Tool results are
    compressed when they come in, as by `TerselyMiddleware`.

    The agent's state holds all of it, so that a checkpointer brings it back, also when an agent goes back to
    an earlier checkpoint. A history that was edited is read again. Put middleware that edits histories before
    this one, so that this happens once.

    Args:
        limit: most tokens of the history that the model is shown, by the compressor's counter; 512 or more.
            The system prompt and the tools come on top.
        model: writes the notes; None for the most relevant sentences of the history, without a call.
        pins: texts that stay word for word, by name.
        over: tokens above which a tool result is compressed; None for those of `tools` only.
        tools: tokens for the tools with these names; None leaves a tool's results as they are.
        compressor: None for the bundled model.

    Raises:
        InvalidInputError: an argument cannot be used; later, the task and the pins take more than half of the
            limit.
    """

    state_schema = TerselyMemoryState

    def __init__(
        self,
        *,
        limit: int,
        model: BaseChatModel | None = None,
        pins: Mapping[str, str] | None = None,
        over: int | None = 500,
        tools: Mapping[str, int | None] | None = None,
        compressor: Compressor | None = None,
    ) -> None:
        compressor = check_compressor(compressor)
        super().__init__(over=over, tools=tools, compressor=compressor)
        if model is not None and not isinstance(model, BaseChatModel):
            raise InvalidInputError(f"model is {type(model).__name__}. Pass a chat model of LangChain.")
        if pins is not None and not isinstance(pins, Mapping):
            raise InvalidInputError(f"pins is {type(pins).__name__}. Pass texts, by name.")
        if not all(isinstance(text, str) for pin in (pins or {}).items() for text in pin):
            raise InvalidInputError("A pin or its name is no text. Pass texts, by name.")
        self._limit = limit
        self._model = model
        self._pins = dict(pins or {})
        self._compressor = compressor
        # Refuses a bad limit, and pins that leave no room, now and not in a run.
        memory = AgentMemory([{"role": "user", "content": ""}], limit=limit, compressor=compressor)
        for name, text in self._pins.items():
            memory.pin(name, text)

    def before_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Reads the new messages, and resets the context where it is full."""
        return self._update(state, runtime, self._make_chat())

    async def abefore_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """`before_model` without blocking the event loop."""
        chat = self._make_chat(asyncio.get_running_loop())
        return await asyncio.to_thread(self._update, state, runtime, chat)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelCallResult[Any]:
        """Shows the model the memory's context instead of the history."""
        return handler(self._replace_messages(request, self._make_chat()))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelCallResult[Any]:
        """`wrap_model_call` without blocking the event loop."""
        chat = self._make_chat(asyncio.get_running_loop())
        return await handler(await asyncio.to_thread(self._replace_messages, request, chat))

    def _make_chat(self, loop: asyncio.AbstractEventLoop | None = None) -> LangChainChat | None:
        return None if self._model is None else LangChainChat(self._model, loop)

    def _update(self, state: Any, runtime: Runtime[Any], chat: LangChainChat | None) -> dict[str, Any]:
        log = _open_log(state["messages"], state, runtime)
        self._read_history(log, chat)
        thread = _find_thread(runtime)
        return {"tersely_memory": log.save(), **keep_originals(log.originals, runtime.store, thread)}

    def _replace_messages(self, request: ModelRequest[Any], chat: LangChainChat | None) -> ModelRequest[Any]:
        # The request's messages, not the state's: other middleware may have changed them.
        log = _open_log(request.messages, request.state, request.runtime)
        memory = self._read_history(log, chat)
        unchanged: dict[str, list[AnyMessage]] = {}
        for message, converted in zip(log.messages, log.openai_messages, strict=True):
            unchanged.setdefault(json.dumps(converted), []).append(message)
        messages: list[Any] = []
        for converted in reversed(memory.transcript.messages):
            # LangChain's message, where there is one: it holds more than OpenAI's format has place for.
            same = unchanged.get(json.dumps(converted))
            messages.append(same.pop() if same else convert_to_messages([converted])[0])
        return request.override(messages=messages[::-1])

    def _read_history(self, log: EventLog, chat: LangChainChat | None) -> AgentMemory:
        """The memory, after it has read the messages that are new to it."""
        memory = self._open_memory(log)
        while log.messages_read < len(log.messages):
            message = log.openai_messages[log.messages_read]
            if message["role"] != "tool":
                memory.interrupt()  # a run that was stopped has left calls without results
            if memory.transcript.is_full:
                memory.prepare(chat)
            try:
                memory.append(message)
            except InvalidInputError:
                # For example a result without its call, which providers refuse too: it becomes text.
                memory.interrupt()
                if memory.transcript.is_full:
                    memory.prepare(chat)
                memory.append(to_text_message(log.messages[log.messages_read]))
            log.messages_read += 1
        memory.interrupt()
        memory.prepare(chat)
        return memory

    def _open_memory(self, log: EventLog) -> AgentMemory:
        memory = self._restore_memory(log)
        if memory is None:
            memory = self._start_memory(log)
        for name in memory.transcript.pins.keys() | self._pins.keys():
            if memory.transcript.pins.get(name) != self._pins.get(name):
                memory.pin(name, self._pins.get(name))
        return memory

    def _restore_memory(self, log: EventLog) -> AgentMemory | None:
        if not log.events(""):
            return None
        try:
            return AgentMemory(limit=self._limit, compressor=self._compressor, store=log)
        except InvalidInputError:  # it was made with a higher limit
            log.clear()
            return None

    def _start_memory(self, log: EventLog) -> AgentMemory:
        """A memory whose first prompt is what the history has before the assistant's first message."""
        count = sum(1 for _ in takewhile(lambda m: m.type in ("system", "human"), log.messages))
        first = log.openai_messages[:count]
        log.messages_read = count
        return AgentMemory(first or [NO_TASK], limit=self._limit, compressor=self._compressor, store=log)


def _open_log(messages: Sequence[AnyMessage], state: Mapping[str, Any], runtime: Any) -> EventLog:
    def lookup(key: str) -> str | None:
        return find_kept(key, state, runtime.store, _find_thread(runtime))

    return EventLog(messages, state.get("tersely_memory"), lookup)


def _find_thread(runtime: Any) -> str | None:
    return None if runtime.execution_info is None else runtime.execution_info.thread_id
