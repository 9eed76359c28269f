"""Shorter tool results for an agent whose history has grown too long."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from haystack import default_from_dict, default_to_dict
from haystack.dataclasses import ChatMessage
from haystack.token_counters.types import TokenCounter

from tersely import Compressor
from tersely.adapters import Shortener

RESULT_LIMITS = (800, 400, 200, 100, 50)
"""Most tokens of a tool result. They are tried in order until the history is small enough."""


class TerselyCompactor:
    """For `CompactionHook(TerselyCompactor(), context_window=...)`: older tool results are compressed for the
    user's message before them, only as far as the target needs. Calls, results and all other messages keep
    their places.

    Args:
        model: None for the bundled model, a folder, or a hub name.
        keep: number of newest tool results that stay whole.
    """

    def __init__(self, model: str | None = None, *, keep: int = 2) -> None:
        self.model, self.keep = model, keep
        self._shortener: Shortener | None = None

    def compact(
        self, messages: list[ChatMessage], target_tokens: int, token_counter: TokenCounter
    ) -> list[ChatMessage] | None:
        """The history with shorter tool results, or None where it would not become smaller.

        It may have more than `target_tokens`: nothing but older tool results is shortened.
        """
        tokens_before = token_counter.count(messages=messages)
        compacted, tokens = messages, tokens_before
        for limit in RESULT_LIMITS:
            if tokens <= target_tokens:
                break
            compacted = self._shorten_results(messages, limit)
            tokens = token_counter.count(messages=compacted)
        return compacted if tokens < tokens_before else None

    async def compact_async(
        self, messages: list[ChatMessage], target_tokens: int, token_counter: TokenCounter
    ) -> list[ChatMessage] | None:
        """`compact` without blocking the event loop."""
        return await asyncio.to_thread(self.compact, messages, target_tokens, token_counter)

    def to_dict(self) -> dict[str, Any]:
        """The arguments of `__init__`, for YAML."""
        return default_to_dict(self, model=self.model, keep=self.keep)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> TerselyCompactor:
        """The compactor of a dictionary that `to_dict` has made."""
        return default_from_dict(cls, data)

    def _shorten_results(self, messages: list[ChatMessage], limit: int) -> list[ChatMessage]:
        """The messages, with at most `limit` tokens for each older tool result."""
        if self._shortener is None:
            compressor = Compressor(self.model)
            self._shortener = Shortener(compressor, compressor.count_tokens)
        places = [place for place, message in enumerate(messages) if message.tool_call_result is not None]
        shortened = list(messages)
        for place in places[: max(0, len(places) - self.keep)]:
            message, result = messages[place], messages[place].tool_call_result
            if result is not None and isinstance(result.result, str) and not result.error:
                # Only what comes before it counts, so that a result is always shortened to the same text.
                query = f"{result.origin.arguments} {_find_user_text(messages[:place])}"
                text = self._shortener.fit(result.result, limit, query)
                shortened[place] = ChatMessage.from_tool(text, origin=result.origin, meta=dict(message.meta))
        return shortened


def _find_user_text(messages: Sequence[ChatMessage]) -> str:
    """The text of the user's last message; empty where there is none."""
    return next((message.text or "" for message in reversed(messages) if message.is_from("user")), "")
