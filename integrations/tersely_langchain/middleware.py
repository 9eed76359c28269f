"""Tool results enter an agent's history compressed. The model can open the originals."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain.agents.middleware.types import ToolCallRequest
from langchain.tools import ToolRuntime
from langchain_core.messages import AnyMessage, ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.types import Command

from tersely import Compressor
from tersely.adapters import Shortener, check_count, original_tool
from tersely.agent import ToolError
from tersely_langchain.messages import find_user_text

TOOL_NAME = "open_original"
PART_CHARACTERS = 4000
"""Characters of an original that the tool shows at once."""


def _merge(old: dict[str, str] | None, new: dict[str, str] | None) -> dict[str, str]:
    return {**(old or {}), **(new or {})}


class TerselyState(AgentState[Any]):
    """The agent's state, with the originals of what was compressed, by id. Checkpointers keep them."""

    tersely_originals: NotRequired[Annotated[dict[str, str], _merge]]


class TerselyMiddleware(AgentMiddleware[TerselyState, Any, Any]):
    """Compresses every tool result of more than `over` tokens before it enters the history, for the call's
    arguments and the user's last message. What was sent once never changes, so prompt caches stay warm. The
    model gets a tool, `open_original`, for what was left out.

    Args:
        over: tokens, by the compressor's counter.
        compressor: None for the bundled model.
    """

    state_schema = TerselyState

    def __init__(self, *, over: int = 500, compressor: Compressor | None = None) -> None:
        super().__init__()
        self._over = check_count(over, "over", "tokens")
        compressor = compressor or Compressor()
        self._shortener = Shortener(compressor, compressor.count_tokens)
        self.tools = [_make_tool()]

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

    def _shorten(
        self, request: ToolCallRequest, result: ToolMessage | Command[Any]
    ) -> ToolMessage | Command[Any]:
        # A Command changes more than the history. Images are no text, and errors are needed whole.
        if not isinstance(result, ToolMessage) or request.tool_call["name"] == TOOL_NAME:
            return result
        if result.status == "error" or not isinstance(result.content, str):
            return result
        query = f"{request.tool_call['args']} {find_user_text(_read_messages(request.state))}"
        message = {"role": "tool", "content": result.content}
        shortened, originals = self._shortener.shorten(message, self._over, query)
        if not originals:
            return result
        update = {
            "messages": [result.model_copy(update={"content": shortened["content"]})],
            "tersely_originals": dict(originals),
        }
        return Command(update=update)


def _read_messages(state: Any) -> Sequence[AnyMessage]:
    return state.get("messages", ()) if isinstance(state, dict) else getattr(state, "messages", ())


def _make_tool() -> StructuredTool:
    def open_original(id: str, runtime: ToolRuntime, part: int = 1) -> str:  # noqa: A002  # the model's word
        """Shows a text that was shortened, part by part.

        Args:
            id: the id of the original, as the shortened text names it.
            part: which part; 1 by default.
        """
        originals = runtime.state.get("tersely_originals") or {}
        try:
            return original_tool(originals.get, PART_CHARACTERS).run({"id": id, "part": str(part)})
        except ToolError as error:
            return f"[error: {error}]"

    return StructuredTool.from_function(open_original, parse_docstring=True)
