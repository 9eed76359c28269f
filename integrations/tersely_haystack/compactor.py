"""Shorter tool results for an agent whose history has grown too long."""

from __future__ import annotations

from typing import Any

from haystack import default_from_dict, default_to_dict
from haystack.dataclasses import ChatMessage
from haystack.token_counters.types import TokenCounter

from tersely import Compressor
from tersely.memory.shortening import Shortener

STEPS = (800, 400, 200, 100, 50)
"""Most tokens of a tool result, tried one after the other until the history is small enough."""


class TerselyCompactor:
    """For `CompactionHook(TerselyCompactor(), context_window=...)`: tool results are compressed for the
    user's message before them, only as far as it takes. Calls, results and all other messages stay where they
    are.

    Args:
        model: None for the bundled model, a folder, or a hub name.
        keep: newest tool results that stay whole.
    """

    def __init__(self, model: str | None = None, *, keep: int = 2) -> None:
        self.model, self.keep = model, keep
        self._shortener: Shortener | None = None

    def compact(
        self, messages: list[ChatMessage], target_tokens: int, token_counter: TokenCounter
    ) -> list[ChatMessage] | None:
        """See `Compactor`."""
        before = token_counter.count(messages=messages)
        found, after = messages, before
        for most in STEPS:
            if after <= target_tokens:
                break
            found = self._shortened(messages, most)
            after = token_counter.count(messages=found)
        return found if after < before else None

    async def compact_async(
        self, messages: list[ChatMessage], target_tokens: int, token_counter: TokenCounter
    ) -> list[ChatMessage] | None:
        """`compact` without blocking the event loop."""
        import asyncio

        return await asyncio.to_thread(self.compact, messages, target_tokens, token_counter)

    def to_dict(self) -> dict[str, Any]:
        """See `Compactor`."""
        return default_to_dict(self, model=self.model, keep=self.keep)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> TerselyCompactor:
        """See `Compactor`."""
        return default_from_dict(cls, data)

    def _shortened(self, messages: list[ChatMessage], most: int) -> list[ChatMessage]:
        if self._shortener is None:
            compressor = Compressor(self.model)
            self._shortener = Shortener(compressor, compressor.count_tokens)
        results = [place for place, m in enumerate(messages) if m.tool_call_result is not None]
        found = list(messages)
        for place in results[: max(0, len(results) - self.keep)]:
            message, given = messages[place], messages[place].tool_call_result
            if given is not None and isinstance(given.result, str) and not given.error:
                # By what was asked before it, not after: then the same result is always shown the same.
                query = f"{given.origin.arguments} {_asked(messages[:place])}"
                short = self._shortener.fit(given.result, most, query)
                found[place] = ChatMessage.from_tool(short, origin=given.origin, meta=dict(message.meta))
        return found


def _asked(messages: list[ChatMessage]) -> str:
    """The user's last message."""
    return next((m.text or "" for m in reversed(messages) if m.is_from("user")), "")
