"""Shorter tool results for an agent whose history has grown too long."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from haystack import default_from_dict, default_to_dict
from haystack.dataclasses import ChatMessage, FileContent, ImageContent, TextContent, ToolCallResult
from haystack.token_counters.types import TokenCounter
from haystack.tools.tool import Tool

from tersely import Compressor
from tersely.adapters import NOTE_KEY, ToolLimits, check_keep
from tersely.messages import join_query
from tersely.user_text import find_last_request
from tersely_agents.agent.tools import find_original
from tersely_agents.memory.shortening import Shortener
from tersely_haystack.component import check_model_name

SMALLEST_LIMIT = 50
"""Smallest number of tokens to which a tool result is shortened."""
Content = str | Sequence[TextContent | ImageContent | FileContent]


class TerselyCompactor:
    """A compactor of older tool results: `CompactionHook(TerselyCompactor(), context_window=...)`.

    It keeps the sentences that the user message before a result needs, and shortens only as far as the target
    requires. Calls and other messages keep their places; errors, images and files stay unchanged.

    A shortened result says so in its first line, with the id of its original, which is kept in the message's
    meta. Give the agent the tool `open_original` of this package, so that the model can read it.

    Args:
        model: None for the bundled model, a folder, or a hub name.
        keep: number of newest tool results that stay whole.
        over: the largest number of tokens of a result at first. It is halved until the history is small
            enough, but not below 50. None shortens only the results of `tools`.
        tools: limits in tokens by tool name; None leaves the results of that tool unchanged.

    Raises:
        InvalidInputError: an argument cannot be used.
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        keep: int = 2,
        over: int | None = 800,
        tools: Mapping[str, int | None] | None = None,
    ) -> None:
        self.model, self.keep = check_model_name(model), check_keep(keep)
        self.limits = ToolLimits(over, tools)
        self._shortener: Shortener | None = None

    def compact(
        self, messages: list[ChatMessage], target_tokens: int, token_counter: TokenCounter
    ) -> list[ChatMessage] | None:
        """Return the history with shorter tool results, or None if it would not become smaller.

        It may still have more than `target_tokens`, because only older tool results are shortened.
        """
        tokens_before = token_counter.count(messages=messages)
        compacted, tokens = messages, tokens_before
        for limits in self._list_limits():
            if tokens <= target_tokens:
                break
            compacted = self._shorten_results(messages, limits)
            tokens = token_counter.count(messages=compacted)
        return compacted if tokens < tokens_before else None

    async def compact_async(
        self, messages: list[ChatMessage], target_tokens: int, token_counter: TokenCounter
    ) -> list[ChatMessage] | None:
        """Call `compact` without blocking the event loop."""
        return await asyncio.to_thread(self.compact, messages, target_tokens, token_counter)

    def to_dict(self) -> dict[str, Any]:
        """Return the arguments of `__init__`, for YAML."""
        tools = None if self.limits.tools is None else dict(self.limits.tools)
        return default_to_dict(self, model=self.model, keep=self.keep, over=self.limits.over, tools=tools)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> TerselyCompactor:
        """Make the compactor that `to_dict` has described."""
        return default_from_dict(cls, data)

    def _list_limits(self) -> Iterator[ToolLimits]:
        yield self.limits
        over = self.limits.over
        while over is not None and over // 2 >= SMALLEST_LIMIT:
            over //= 2
            yield replace(self.limits, over=over)

    def _shorten_results(self, messages: list[ChatMessage], limits: ToolLimits) -> list[ChatMessage]:
        places = [place for place, message in enumerate(messages) if message.tool_call_result is not None]
        shortened = list(messages)
        for place in places[: max(0, len(places) - self.keep)]:
            message, result = messages[place], messages[place].tool_call_result
            if result is None or result.error:
                continue
            limit = limits.get(result.origin.tool_name)
            if limit is not None:
                # Only earlier messages count, so that a result is always shortened to the same text.
                query = join_query(result.origin.arguments, _find_user_text(messages[:place]))
                shortened[place] = self._shorten(message, result, limit, query)
        return shortened

    def _shorten(
        self, message: ChatMessage, result: ToolCallResult, limit: int, query: str | None
    ) -> ChatMessage:
        if self._shortener is None:
            compressor = Compressor(self.model)
            self._shortener = Shortener(compressor, compressor.count_tokens)
        note = message.meta.get(NOTE_KEY)
        texts = [note["original"]] if note else _read_texts(result.result)
        shortened, originals, _ = self._shortener.shorten_texts(texts, limit, query)
        if not originals:
            return message
        ((key, original),) = originals
        meta = {**message.meta, NOTE_KEY: {"id": key, "original": original}}
        content = _replace_texts(result.result, shortened)
        return ChatMessage.from_tool(content, origin=result.origin, meta=meta)


def _read_texts(content: Content) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [part.text for part in content if isinstance(part, TextContent)]


def _replace_texts(content: Content, texts: Sequence[str]) -> Content:
    """Return the content with other texts. Parts whose text is empty or missing are left out."""
    if isinstance(content, str):
        return texts[0]
    following = iter(texts)
    parts = (TextContent(next(following, "")) if isinstance(part, TextContent) else part for part in content)
    return [part for part in parts if not isinstance(part, TextContent) or part.text]


def _find_user_text(messages: Sequence[ChatMessage]) -> str:
    return find_last_request(message.text or "" for message in reversed(messages) if message.is_from("user"))


def _open_original(id: str, messages: Sequence[ChatMessage], part: int = 1) -> str:  # noqa: A002
    notes = (message.meta.get(NOTE_KEY) or {} for message in messages)
    originals = {note["id"]: note["original"] for note in notes if "original" in note}
    return find_original(originals.get, id, part)


open_original = Tool(
    name="open_original",
    description="Shows a text that was shortened, part by part.",
    parameters={
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": "the id of the original, as the shortened text names it"},
            "part": {"type": "integer", "description": "which part; 1 by default"},
        },
        "required": ["id"],
    },
    function=_open_original,
    inputs_from_state={"messages": "messages"},
)
"""A tool that opens the originals of results that a `TerselyCompactor` has shortened in the same agent's
history."""
