"""An agent that never shows its model more than a limit: an `AgentMemory` in the agent's state."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import takewhile
from typing import Annotated, Any, NotRequired, Unpack

from langchain.agents.middleware import ModelRequest
from langchain.agents.middleware.types import ModelCallResult, ModelResponse, PrivateStateAttr
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, HumanMessage, convert_to_messages
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from tersely import Compressor, InvalidInputError
from tersely.adapters import resolve_compressor
from tersely.messages import get_text, render_messages
from tersely_agents.chat import ChatError, Message, Options, Reply
from tersely_agents.memory import AgentMemory
from tersely_langchain.event_log import EventLog, SavedMemory
from tersely_langchain.messages import to_text_message
from tersely_langchain.middleware import TerselyMiddleware, TerselyState, find_kept, keep_originals

logger = logging.getLogger("tersely")

NO_TASK = {"role": "user", "content": "[the conversation so far]"}
"""First message of the memory if the history begins with a message of the assistant."""
CALL_CONFIG: RunnableConfig = {"metadata": {"lc_source": "summarization"}}
"""Mark of LangChain's own calls that write summaries."""


class TerselyMemoryState(TerselyState):
    """The agent's state, and the values that the memory needs besides the history.

    Checkpointers keep it, and `invoke` does not return it.
    """

    tersely_memory: NotRequired[Annotated[SavedMemory, PrivateStateAttr]]


class TerselyMemory(TerselyMiddleware):
    """A middleware that shows the model a context of less than `limit` tokens.

    When the next step would not fit, the model is asked for notes, and the context starts again from the
    task, the pins and the notes (see `AgentMemory`). The history itself stays whole. Tool results are
    compressed when they come in, as by `TerselyMiddleware`.

    Everything is in the agent's state, so a checkpointer restores it, even when an agent returns to an
    earlier checkpoint. An edited history is read again. Put middleware that edits histories before this one,
    so that this happens only once.

    Args:
        limit: the largest number of tokens of the history that the model is shown, by the compressor's
            counter; 512 or more. The system prompt and the tools are not counted.
        model: writes the notes; None for the most relevant sentences of the history, without a call.
        pins: texts that stay word for word, by name.
        over: tokens above which a tool result is compressed; None compresses only the results of `tools`.
        tools: limits in tokens by tool name; None leaves the results of that tool unchanged.
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
        compressor = resolve_compressor(compressor)
        super().__init__(over=over, tools=tools, compressor=compressor)
        if model is not None and not isinstance(model, BaseChatModel):
            raise InvalidInputError(f"model is {type(model).__name__}. Pass a chat model of LangChain.")
        if pins is not None and not isinstance(pins, Mapping):
            raise InvalidInputError(f"pins is {type(pins).__name__}. Pass texts, by name.")
        if not all(isinstance(text, str) for pin in (pins or {}).items() for text in pin):
            raise InvalidInputError("A pin or its name is no text. Pass texts, by name.")
        self._limit, self._model, self._pins = limit, model, dict(pins or {})
        self._compressor = compressor
        # Refuse a bad limit, and pins that leave no room, now instead of during a run.
        memory = AgentMemory([{"role": "user", "content": ""}], limit=limit, compressor=compressor)
        for name, text in self._pins.items():
            memory.pin(name, text)

    def before_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Read the new messages, and reset the context if it is full."""
        return self._update(state, runtime, self._make_chat())

    async def abefore_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Call `before_model` without blocking the event loop."""
        chat = self._make_chat(asyncio.get_running_loop())
        return await asyncio.to_thread(self._update, state, runtime, chat)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelCallResult[Any]:
        """Show the model the memory's context instead of the history."""
        return handler(self._replace_messages(request, self._make_chat()))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelCallResult[Any]:
        """Call `wrap_model_call` without blocking the event loop."""
        chat = self._make_chat(asyncio.get_running_loop())
        return await handler(await asyncio.to_thread(self._replace_messages, request, chat))

    def _make_chat(self, loop: asyncio.AbstractEventLoop | None = None) -> LangChainChat | None:
        return None if self._model is None else LangChainChat(self._model, loop)

    def _update(self, state: Any, runtime: Runtime[Any], chat: LangChainChat | None) -> dict[str, Any]:
        log = _open_log(state["messages"], state, runtime)
        self._read_history(log, chat)
        originals = keep_originals(log.originals, runtime.store, _find_thread(runtime))
        return {"tersely_memory": log.save(), **originals}

    def _replace_messages(self, request: ModelRequest[Any], chat: LangChainChat | None) -> ModelRequest[Any]:
        # Take the request's messages instead of the state's, because other middleware may have changed them.
        log = _open_log(request.messages, request.state, request.runtime)
        memory = self._read_history(log, chat)
        unchanged: dict[str, list[AnyMessage]] = {}
        for message, converted in zip(log.messages, log.openai_messages, strict=True):
            unchanged.setdefault(json.dumps(converted), []).append(message)
        messages: list[Any] = []
        for converted in reversed(memory.transcript.messages):
            # Prefer LangChain's own message: it holds more than OpenAI's format can.
            same = unchanged.get(json.dumps(converted))
            messages.append(same.pop() if same else convert_to_messages([converted])[0])
        return request.override(messages=messages[::-1])

    def _read_history(self, log: EventLog, chat: LangChainChat | None) -> AgentMemory:
        """Return the memory, after it has read the messages that are new to it."""
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
                # A result without its call, for example. Providers refuse it too, so it becomes text.
                memory.interrupt()
                if memory.transcript.is_full:
                    memory.prepare(chat)
                memory.append(to_text_message(log.messages[log.messages_read]))
            log.messages_read += 1
        memory.interrupt()
        memory.prepare(chat)
        return memory

    def _open_memory(self, log: EventLog) -> AgentMemory:
        memory = self._restore_memory(log) or self._start_memory(log)
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
        """Start a memory with the messages before the assistant's first message as its prompt."""
        count = sum(1 for _ in takewhile(lambda m: m.type in ("system", "human"), log.messages))
        log.messages_read = count
        first = log.openai_messages[:count] or [NO_TASK]
        return AgentMemory(first, limit=self._limit, compressor=self._compressor, store=log)


def _open_log(messages: Sequence[AnyMessage], state: Mapping[str, Any], runtime: Any) -> EventLog:
    def lookup(key: str) -> str | None:
        return find_kept(key, state, runtime.store, _find_thread(runtime))

    return EventLog(messages, state.get("tersely_memory"), lookup)


def _find_thread(runtime: Any) -> str | None:
    return None if runtime.execution_info is None else runtime.execution_info.thread_id


class LangChainChat:
    """A chat model of LangChain as a `tersely_agents.chat.ChatModel`; it writes the notes of a memory.

    The model gets the transcript as text, because providers refuse tool calls of tools that a request does
    not offer.

    Args:
        model: LangChain's chat model.
        loop: the event loop in which `complete` runs the model; None for the calling thread.
    """

    def __init__(self, model: BaseChatModel, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._model, self._loop = model, loop
        self.name = type(model).__name__

    def complete(self, messages: Sequence[Message], **options: Unpack[Options]) -> Reply:
        """Return the model's reply. Raises ChatError if the model fails."""
        if self._loop is not None:
            return asyncio.run_coroutine_threadsafe(self.acomplete(messages, **options), self._loop).result()
        try:
            return Reply(self._model.invoke(_to_prompt(messages), CALL_CONFIG).text)
        except Exception as error:  # every provider raises errors of its own
            raise _to_chat_error(error) from error

    async def acomplete(self, messages: Sequence[Message], **options: Unpack[Options]) -> Reply:
        """Await the model's reply. Raises ChatError if the model fails."""
        try:
            return Reply((await self._model.ainvoke(_to_prompt(messages), CALL_CONFIG)).text)
        except Exception as error:  # every provider raises errors of its own
            raise _to_chat_error(error) from error


def _to_prompt(messages: Sequence[Message]) -> list[AnyMessage]:
    """Return one message: the transcript as text, and below it the last message, which is the instruction."""
    *transcript, instruction = messages
    return [HumanMessage(f"{render_messages(transcript)}\n\n{get_text(instruction)}")]


def _to_chat_error(error: Exception) -> ChatError:
    logger.warning("the model wrote no notes, so sentences of the history take their place: %s", error)
    return ChatError(str(error))
