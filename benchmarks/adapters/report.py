"""Rows of the adapters' benchmark, and its section of RESULTS.md."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.markdown import format_table
from benchmarks.shared.environment import Environment

DOCUMENTS, WORDS, RATE = 10, 120, 0.25
"""The smaller request of the latency benchmark."""


@dataclass(frozen=True, slots=True)
class AdapterRow:
    """What one adapter adds to a bare call."""

    name: str
    added: float
    """Share of the bare call's time, with the ends of its 95 % interval."""
    low: float
    high: float
    added_ms: float
    """Median difference in milliseconds."""


@dataclass(frozen=True, slots=True)
class AdaptersRun:
    """One run of the benchmark."""

    benchmark: str
    model: str
    seed: int
    rounds: int
    environment: Environment
    frameworks: dict[str, str]
    """Version by distribution."""
    bare: float
    """Median seconds of the bare call."""
    adapters: tuple[AdapterRow, ...]


def render(run: AdaptersRun) -> str:
    """The section of RESULTS.md."""
    frameworks = ", ".join(f"{name} {number}" for name, number in run.frameworks.items())
    rows = [
        [
            row.name,
            f"{100 * row.added:+.1f}",
            f"{100 * row.low:+.1f} to {100 * row.high:+.1f}",
            f"{row.added_ms:+.1f}",
        ]
        for row in run.adapters
    ]
    return "\n\n".join(
        [
            f"Model {run.model}, seed {run.seed}. {run.environment.describe()}",
            f"{DOCUMENTS} documents of {WORDS} words at rate {RATE}, {run.rounds} rounds, "
            f"{frameworks}. Each call follows a bare `compress`, whose median is {run.bare:.3f} s. The table "
            "shows what the adapter adds: in percent of the bare call, with a 95 % bootstrap interval over "
            "rounds, and as the median difference.",
            format_table(["adapter", "added, %", "95 %", "added, ms"], rows),
        ]
    )
