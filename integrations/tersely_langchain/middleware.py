"""Middleware that compresses tool results before they enter an agent's history, and keeps the originals.

The originals are in the agent's store, under the thread, or else in the agent's state.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain.agents.middleware.types import PrivateStateAttr, ToolCallRequest
from langchain.tools import ToolRuntime
from langchain_core.messages import AnyMessage, ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.store.base import BaseStore
from langgraph.types import Command

from tersely import Compressor
from tersely.adapters import ToolLimits, resolve_compressor
from tersely.messages import join_query
from tersely_agents.agent.tools import find_original
from tersely_agents.memory.shortening import Shortener, join_texts
from tersely_agents.memory.store import original_id
from tersely_langchain.messages import find_user_text, read_texts, shorten_result

TOOL_NAME = "open_original"
STATE_KEY = "tersely_originals"
"""Key of the agent's state that holds originals by id."""


def keep_originals(
    originals: Mapping[str, str], store: BaseStore | None, thread: str | None
) -> dict[str, dict[str, str]]:
    """Keep originals (text by id) in the store, under the thread; return the update of the agent's state.

    Without a store or a thread, the update holds the originals.
    """
    if store is None or thread is None:
        return {STATE_KEY: dict(originals)} if originals else {}
    for key, text in originals.items():
        store.put(_namespace(thread), key, {"text": text}, index=False)
    return {}


def find_kept(key: str, state: Mapping[str, Any], store: BaseStore | None, thread: str | None) -> str | None:
    """Return the original that `keep_originals` has kept under this id, or None."""
    if key in (kept := state.get(STATE_KEY) or {}):
        return kept[key]
    item = None if store is None or thread is None else store.get(_namespace(thread), key)
    return None if item is None else item.value["text"]


def _namespace(thread: str) -> tuple[str, ...]:
    # Thread ids may hold characters that a store does not allow.
    return ("tersely", "originals", hashlib.sha256(thread.encode("utf-8", "surrogatepass")).hexdigest()[:32])


def _find_thread(config: Mapping[str, Any]) -> str | None:
    thread = config.get("configurable", {}).get("thread_id")
    return None if thread is None else str(thread)


def _open_original(id: str, runtime: ToolRuntime, part: int = 1) -> str:  # noqa: A002  # the model's word
    """Shows a text that was shortened, part by part.

    Args:
        id: the id of the original, as the shortened text names it.
        part: which part; 1 by default.
    """
    state = runtime.state if isinstance(runtime.state, dict) else {}

    def find(key: str) -> str | None:
        found = find_kept(key, state, runtime.store, _find_thread(runtime.config))
        if found is not None:
            return found
        # The history may hold the whole result: `TerselyContextEdit` shortens only what the model is shown.
        results = [m for m in state.get("messages") or () if isinstance(m, ToolMessage)]
        texts = (join_texts(read_texts(message.content)) for message in results)
        return next((text for text in texts if original_id(text) == key), None)

    return find_original(find, id, part)


class _OpenOriginal(StructuredTool):
    def __reduce__(self) -> str:
        return TOOL_NAME  # there is only one; its schema is made at run time and cannot be pickled


open_original = _OpenOriginal.from_function(_open_original, name=TOOL_NAME, parse_docstring=True)
"""The tool that opens the originals of this agent's thread, for agents that use `TerselyContextEdit`."""


def _merge(old: dict[str, str] | None, new: dict[str, str] | None) -> dict[str, str]:
    return {**(old or {}), **(new or {})}


class TerselyState(AgentState[Any]):
    """The agent's state with the originals of compressed results by id, unless a store holds them.

    Checkpointers keep them, and `invoke` does not return them.
    """

    tersely_originals: NotRequired[Annotated[dict[str, str], PrivateStateAttr, _merge]]


class TerselyMiddleware(AgentMiddleware[TerselyState, Any, Any]):
    """A middleware that compresses every tool result of more than `over` tokens before it enters the history.

    It keeps the parts that the call's arguments and the last user message need. A message that was sent once
    never changes, so prompt caches stay warm. The model gets a tool, `open_original`, to read what was left
    out.

    In lists of content blocks the texts are compressed, even if a tool returns them in a `Command`. Images,
    other blocks and errors stay. If the compressor's model fails, exact matches choose the sentences, and the
    result says so.

    The agent's store holds the originals under the id of the thread; without a store or a thread, the agent's
    state does.

    Args:
        over: tokens, by the compressor's counter; None compresses only the results of `tools`.
        tools: limits in tokens by tool name; None leaves the results of that tool unchanged.
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
        compressor = resolve_compressor(compressor)
        self._shortener = Shortener(compressor, compressor.count_tokens)

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Return the result of the call, compressed if it is long."""
        return self._shorten(request, handler(request))

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """Call `wrap_tool_call` without blocking the event loop."""
        return await asyncio.to_thread(self._shorten, request, await handler(request))

    def _shorten(self, request: ToolCallRequest, result: Any) -> Any:
        name = request.tool_call["name"]
        limit = self._limits.get(name)
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
            shortened, new = shorten_result(message, limit, query, self._shortener)
            originals.update(new)
            return shortened

        changed = _change_messages(result, shorten)
        thread = _find_thread(request.runtime.config)
        return _add_update(changed, keep_originals(originals, request.runtime.store, thread))


def _change_messages(result: ToolMessage | Command[Any], change: Callable[[Any], Any]) -> Any:
    """Return the message, or the command with its messages, changed."""
    if not isinstance(result, Command):
        return change(result)
    if not isinstance(result.update, dict) or "messages" not in result.update:
        return result
    messages: Any = result.update["messages"]
    is_list = isinstance(messages, list | tuple)
    changed = [change(message) for message in messages] if is_list else change(messages)
    return replace(result, update={**result.update, "messages": changed})


def _add_update(result: ToolMessage | Command[Any], update: dict[str, Any]) -> ToolMessage | Command[Any]:
    if not update:
        return result
    before: Any = result.update if isinstance(result, Command) else {"messages": [result]}
    originals = _merge(before.get(STATE_KEY), update[STATE_KEY])
    added = {**before, STATE_KEY: originals}
    return replace(result, update=added) if isinstance(result, Command) else Command(update=added)


def _read_messages(state: Any) -> Sequence[AnyMessage]:
    return state.get("messages", ()) if isinstance(state, dict) else getattr(state, "messages", ())
