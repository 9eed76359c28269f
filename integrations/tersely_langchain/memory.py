"""A history that never outgrows its limit: `AgentMemory` inside an agent's state."""

from __future__ import annotations

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
from tersely.agent import AgentMemory
from tersely_langchain.bridge import Chat, Kept, StateLog, mapping
from tersely_langchain.middleware import TerselyMiddleware, TerselyState


class TerselyMemoryState(TerselyState):
    """The agent's state, with what the memory holds beside the history; checkpointers keep it."""

    tersely_memory: NotRequired[Kept]


class TerselyMemory(TerselyMiddleware):
    """Shows the model a context of less than `limit` tokens: where the next step would not fit, it is asked
    for notes, and the context starts again from the task, the pins and the notes (see `AgentMemory`). The
    history itself stays whole. Tool results are compressed when they come in, as by `TerselyMiddleware`.

    All of it is in the agent's state, so that a checkpointer brings it back, also when going back in time.

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
        self._model = None if model is None else Chat(model)
        self._pins = dict(pins or {})
        self._compressor = compressor
        AgentMemory([{"role": "user", "content": ""}], limit=limit)  # complains now, not in the first run

    def before_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Reads the messages that are new, and resets the context where it is full."""
        messages: list[AnyMessage] = state["messages"]
        log = StateLog(messages, state.get("tersely_memory"))
        memory = self._memory(log)
        while log.read < len(messages):
            if messages[log.read].type != "tool":
                memory.interrupt()  # a run that was stopped has left calls without results
            if memory.full:
                memory.prepare(self._model)
            memory.append(mapping(messages[log.read]))
            log.read += 1
        memory.interrupt()
        memory.prepare(self._model)
        return {"tersely_memory": log.kept(), "tersely_originals": log.originals}

    async def abefore_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """See `before_model`."""
        import asyncio

        return await asyncio.to_thread(self.before_model, state, runtime)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelCallResult[Any]:
        """Shows the model the memory's context instead of the history."""
        return handler(self._shown(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelCallResult[Any]:
        """See `wrap_model_call`."""
        return await handler(self._shown(request))

    def _memory(self, log: StateLog) -> AgentMemory:
        if log.read:
            return AgentMemory(limit=self._limit, compressor=self._compressor, store=log)
        first = list(takewhile(lambda m: m.type in ("system", "human"), log.messages))
        if not first:
            raise InvalidInputError("The history begins with no message of the user's. Start with the task.")
        log.read = len(first)
        memory = AgentMemory(
            [mapping(m) for m in first], limit=self._limit, compressor=self._compressor, store=log
        )
        for name, text in self._pins.items():
            memory.pin(name, text)
        return memory

    def _shown(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        log = StateLog(request.state["messages"], request.state.get("tersely_memory"))
        if not log.read:
            return request
        context = self._memory(log).messages
        given = {json.dumps(mapping(m)): m for m in log.messages}
        # What is as it was goes out as it was, with all that only LangChain knows of it.
        shown: list[Any] = [given.get(json.dumps(m)) or convert_to_messages([m])[0] for m in context]
        return request.override(messages=[*shown, *log.messages[log.read :]])
