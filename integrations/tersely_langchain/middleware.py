"""Tool results enter an agent's history compressed. The model can open the originals."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain.agents.middleware.types import PrivateStateAttr, ToolCallRequest
from langchain_core.messages import AnyMessage, ToolMessage
from langgraph.types import Command

from tersely import Compressor
from tersely.adapters import ToolLimits, check_compressor
from tersely.messages import join_query
from tersely_agents.memory.shortening import Shortener
from tersely_langchain.messages import find_user_text, shorten_result
from tersely_langchain.originals import STATE_KEY, TOOL_NAME, find_thread, keep_originals, open_original


def _merge(old: dict[str, str] | None, new: dict[str, str] | None) -> dict[str, str]:
    return {**(old or {}), **(new or {})}


class TerselyState(AgentState[Any]):
    """The agent's state, with the originals of what was compressed, by id, unless a store holds them.
    Checkpointers keep them, and `invoke` does not return them."""

    tersely_originals: NotRequired[Annotated[dict[str, str], PrivateStateAttr, _merge]]


class TerselyMiddleware(AgentMiddleware[TerselyState, Any, Any]):
    """Compresses every tool result of more than `over` tokens before it enters the history, for the call's
    arguments and the user's last message. What was sent once never changes, so prompt caches stay warm. The
    model gets a tool, `open_original`, for what was left out.

    Of results that are lists of content blocks the texts are compressed, also where a tool returns them in a
    `Command`. Images and other blocks stay, and so do errors. If the model of the compressor fails, sentences
    are chosen by exact matches, and the result says so.

    The agent's store holds the originals under the id of the thread, or the agent's state where there is no
    store or no thread.

    Args:
        over: tokens, by the compressor's counter; None compresses only the results of `tools`.
        tools: tokens for the tools with these names; None leaves a tool's results as they are.
        compressor: None for the bundled model.

    Raises:
        InvalidInputError: an argument cannot be used.
    """

    state_schema = TerselyState
    tools = (open_original,)

    def __init__(
        self,
        *,
        over: int | None = 500,
        tools: Mapping[str, int | None] | None = None,
        compressor: Compressor | None = None,
    ) -> None:
        super().__init__()
        self._limits = ToolLimits(over, tools)
        compressor = check_compressor(compressor)
        self._shortener = Shortener(compressor, compressor.count_tokens)

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """The call's result, compressed where it is long."""
        return self._shorten(request, handler(request))

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """`wrap_tool_call` without blocking the event loop."""
        return await asyncio.to_thread(self._shorten, request, await handler(request))

    def _shorten(self, request: ToolCallRequest, result: Any) -> Any:
        name = request.tool_call["name"]
        limit = self._limits.of(name)
        if limit is None or name == TOOL_NAME:
            return result
        if isinstance(result, list):  # a tool may return several messages and commands
            return [self._shorten(request, one) for one in result]
        # A command to another graph changes a state that has no place for originals.
        if isinstance(result, Command) and result.graph is not None:
            return result
        query = join_query(request.tool_call["args"], find_user_text(_read_messages(request.state)))
        originals: dict[str, str] = {}

        def shorten(message: Any) -> Any:
            shortened, own = shorten_result(message, limit, query, self._shortener)
            originals.update(own)
            return shortened

        changed = _change_messages(result, shorten)
        store, thread = request.runtime.store, find_thread(request.runtime.config)
        return _add_update(changed, keep_originals(originals, store, thread))


def _change_messages(result: ToolMessage | Command[Any], change: Callable[[Any], Any]) -> Any:
    """The message, or the command with messages, with each message changed."""
    if not isinstance(result, Command):
        return change(result)
    update: Any = result.update

    def change_value(key: Any, value: Any) -> Any:
        if key != "messages":
            return value
        return [change(message) for message in value] if isinstance(value, list | tuple) else change(value)

    if isinstance(update, dict):
        return replace(result, update={key: change_value(key, value) for key, value in update.items()})
    if _is_pairs(update):
        return replace(result, update=[(key, change_value(key, value)) for key, value in update])
    return result


def _add_update(result: ToolMessage | Command[Any], update: dict[str, Any]) -> ToolMessage | Command[Any]:
    if not update:
        return result
    if not isinstance(result, Command):
        return Command(update={"messages": [result], **update})
    before: Any = result.update
    if isinstance(before, dict):
        originals = _merge(before.get(STATE_KEY), update[STATE_KEY])
        return replace(result, update={**before, STATE_KEY: originals})
    return replace(result, update=[*before, *update.items()])


def _is_pairs(update: Any) -> bool:
    return isinstance(update, list | tuple) and all(
        isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in update
    )


def _read_messages(state: Any) -> Sequence[AnyMessage]:
    return state.get("messages", ()) if isinstance(state, dict) else getattr(state, "messages", ())
