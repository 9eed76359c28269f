"""Rows of the latency and throughput benchmarks, as they are recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.shared.environment import Environment


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of repeated calls."""

    p50: float
    p95: float
    timings: int

    @staticmethod
    def of(seconds: Sequence[float]) -> Timing:
        """Quantiles of `seconds`, rounded as they are recorded."""
        p50, p95 = (round(float(np.quantile(seconds, q)), 4) for q in (0.5, 0.95))
        return Timing(p50, p95, len(seconds))


@dataclass(frozen=True, slots=True)
class TimingRow:
    """One system on one request."""

    system: str
    request: str
    p50: float
    p95: float
    timings: int
    ratio: float | None
    """p50 over that of tersely; None for tersely itself."""


@dataclass(frozen=True, slots=True)
class ProcessRow:
    """Compressions in a process of their own."""

    seconds: float
    """Mean of a compression."""
    peak_bytes: int
    """Most resident RAM of the process."""
    tokens_before: int


@dataclass(frozen=True, slots=True)
class InstallRow:
    """The wheel, and a fresh installation of it with everything that the base install needs."""

    wheel_bytes: int
    installed_bytes: int
    distributions: int


@dataclass(frozen=True, slots=True)
class LatencyRun:
    """One run of `python -m benchmarks.latency`."""

    benchmark: str
    model: str
    threads: int
    environment: Environment
    titles: dict[str, str]
    """How the table calls each system."""
    systems: tuple[TimingRow, ...]
    import_seconds: Timing
    cold_start: Timing
    """From starting Python to the first result."""
    request: ProcessRow
    """The larger request."""
    long_words: int
    long: ProcessRow
    """One document of `long_words` words."""
    install: InstallRow | None

    def find_row(self, system: str, request: str) -> TimingRow:
        """The row of one system on one request. Raises StopIteration where there is none."""
        return next(row for row in self.systems if (row.system, row.request) == (system, request))


@dataclass(frozen=True, slots=True)
class RamRow:
    """Resident RAM of one process over many calls."""

    calls: int
    settled_bytes: int
    """After a warm-up."""
    most_bytes: int
    """The most afterwards."""
    growth: float


@dataclass(frozen=True, slots=True)
class ThroughputRow:
    """One system on requests of one size."""

    documents: int
    system: str
    tokens_per_second: int


@dataclass(frozen=True, slots=True)
class ThroughputRun:
    """One run of `python -m benchmarks.latency.throughput`."""

    benchmark: str
    model: str
    threads: int
    environment: Environment
    ram: RamRow
    systems: tuple[ThroughputRow, ...]
