"""Tool results that enter an agent's history compressed, and can be opened again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain.agents.middleware.types import ToolCallRequest
from langchain.tools import ToolRuntime
from langchain_core.messages import AnyMessage, ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.types import Command

from tersely import Compressor
from tersely.agent.tools import ToolError, original_tool
from tersely.inputs import check_count
from tersely.memory.shortening import Shortener
from tersely_langchain.editing import asked

OPEN = "open_original"
PART = 4000
"""Characters of an original that are shown at once."""


def _merged(old: dict[str, str] | None, new: dict[str, str] | None) -> dict[str, str]:
    return {**(old or {}), **(new or {})}


class TerselyState(AgentState[Any]):
    """The agent's state, with the originals of what was compressed, by id; checkpointers keep them."""

    tersely_originals: NotRequired[Annotated[dict[str, str], _merged]]


class TerselyMiddleware(AgentMiddleware[TerselyState, Any, Any]):
    """Compresses every tool result of more than `over` tokens for the call's arguments and the user's last
    message, before it enters the history. What has once been sent never changes, so that prompt caches stay
    warm. The model gets a tool, `open_original`, for what was left out.

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
        self.tools = [_open_original()]

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """See `AgentMiddleware`."""
        return self._shortened(request, handler(request))

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """See `AgentMiddleware`."""
        import asyncio

        return await asyncio.to_thread(self._shortened, request, await handler(request))

    def _shortened(
        self, request: ToolCallRequest, result: ToolMessage | Command[Any]
    ) -> ToolMessage | Command[Any]:
        # A Command changes more than the history, and images or errors are no text to choose from.
        if not isinstance(result, ToolMessage) or request.tool_call["name"] == OPEN:
            return result
        if result.status == "error" or not isinstance(result.content, str):
            return result
        query = f"{request.tool_call['args']} {asked(_messages(request.state))}"
        given = {"role": "tool", "content": result.content}
        short, originals = self._shortener.shorten(given, self._over, query)
        if not originals:
            return result
        message = result.model_copy(update={"content": short["content"]})
        return Command(update={"messages": [message], "tersely_originals": dict(originals)})


def _messages(state: Any) -> Sequence[AnyMessage]:
    return state.get("messages", ()) if isinstance(state, dict) else getattr(state, "messages", ())


def _open_original() -> StructuredTool:
    def open_original(id: str, runtime: ToolRuntime, part: int = 1) -> str:  # noqa: A002  # the model's word
        """Shows a text that was shortened, part by part.

        Args:
            id: the id of the original, as the shortened text names it.
            part: which part; 1 by default.
        """
        originals = runtime.state.get("tersely_originals") or {}
        try:
            return original_tool(originals.get, PART).run({"id": id, "part": str(part)})
        except ToolError as error:
            return f"[error: {error}]"

    return StructuredTool.from_function(open_original, parse_docstring=True)
