"""Rows of the memory benchmark, as they are recorded."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.shared.environment import Environment
from benchmarks.shared.statistics import Estimate


@dataclass(frozen=True, slots=True)
class Lead:
    """tersely against another memory, at no higher bill."""

    setting: str
    """The most expensive setting of tersely that costs no more."""
    difference: Estimate
    """Facts that tersely holds minus those that the other holds, in percentage points."""


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """One memory on one set of transcripts."""

    system: str
    billed: int
    """In input tokens at full price."""
    billed_with_cache: int
    held: Estimate
    """Facts held of those needed, in percent."""
    orphans: int
    longest: int
    """Tokens of the largest context."""
    milliseconds_per_message: float
    against: Lead | None = None
    """None for tersely itself, and where all its settings cost more."""

    @property
    def is_ours(self) -> bool:
        """Whether the memory is tersely's."""
        return self.system.startswith("tersely")


@dataclass(frozen=True, slots=True)
class SetRow:
    """One set of transcripts."""

    title: str
    transcripts: int
    messages: int
    facts: int
    rows: tuple[MemoryRow, ...]


@dataclass(frozen=True, slots=True)
class StressRow:
    """One long task."""

    turns: int
    limit: int
    longest: int
    """Most tokens of a context."""
    summaries: int
    """Resets."""
    milliseconds: tuple[float, ...]
    """Median of a turn in each quarter of the task."""
    file_bytes: int


@dataclass(frozen=True, slots=True)
class MemoryRun:
    """One run of `python -m benchmarks.memory`."""

    benchmark: str
    environment: Environment
    model: str
    chat_model: str | None
    seed: int
    sets: tuple[SetRow, ...]
    stress: StressRow
