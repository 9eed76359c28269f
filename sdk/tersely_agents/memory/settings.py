"""The limits of a memory."""

from __future__ import annotations

from dataclasses import dataclass

from tersely.errors import InvalidInputError
from tersely.inputs import check_count

SMALLEST_LIMIT = 200
"""Smallest limit, in tokens. A lower one would leave no room for notes and a held step."""
SUMMARY_SHARE = 0.25
"""Largest share of the limit for a summary."""


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
        for name, unit in (
            ("max_summaries", "summaries"),
            ("max_steps", "steps"),
            ("summary_tokens", "tokens"),
            ("compress_over", "tokens"),
        ):
            if getattr(self, name) is not None:
                check_count(getattr(self, name), name, unit)
        largest_summary = self.share(SUMMARY_SHARE)
        if self.summary_tokens is not None and self.summary_tokens > largest_summary:
            raise InvalidInputError(
                f"summary_tokens is {self.summary_tokens}, more than a quarter of the limit. Pass "
                f"{largest_summary} or less."
            )

    @property
    def summary_limit(self) -> int:
        """Largest number of tokens of a summary."""
        return self.share(SUMMARY_SHARE) if self.summary_tokens is None else self.summary_tokens

    def share(self, share: float) -> int:
        """Return a share of the limit in tokens."""
        return int(share * self.limit)
