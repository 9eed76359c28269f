"""The limits of a memory, checked."""

from __future__ import annotations

from dataclasses import dataclass

from tersely.errors import InvalidInputError
from tersely.inputs import check_count

SMALLEST_LIMIT = 512
"""Tokens, so that notes and a held step find room in what the shares leave."""
SUMMARY_SHARE = 0.25
"""Share of the limit that a summary may take at most."""


@dataclass(frozen=True, slots=True)
class MemorySettings:
    """The limits of a memory; `AgentMemory` describes them.

    Raises InvalidInputError for values that cannot be used.
    """

    limit: int
    max_summaries: int | None = None
    max_steps: int | None = None
    summary_tokens: int | None = None
    compress_over: int | None = None
    replay: bool = True

    def __post_init__(self) -> None:
        check_count(self.limit, "limit", "tokens")
        if self.limit < SMALLEST_LIMIT:
            raise InvalidInputError(f"limit is {self.limit}. Pass {SMALLEST_LIMIT} tokens or more.")
        _check_optional(self.max_summaries, "max_summaries", "summaries")
        _check_optional(self.max_steps, "max_steps", "steps")
        _check_optional(self.summary_tokens, "summary_tokens", "tokens")
        if self.summary_tokens is not None and self.summary_tokens > self._largest_summary:
            raise InvalidInputError(
                f"summary_tokens is {self.summary_tokens}, more than a quarter of the limit. Pass "
                f"{self._largest_summary} or less."
            )
        _check_optional(self.compress_over, "compress_over", "tokens")

    @property
    def summary_limit(self) -> int:
        """Most tokens of a summary."""
        return self._largest_summary if self.summary_tokens is None else self.summary_tokens

    @property
    def _largest_summary(self) -> int:
        return int(SUMMARY_SHARE * self.limit)


def _check_optional(value: int | None, name: str, unit: str) -> None:
    if value is not None:
        check_count(value, name, unit)
