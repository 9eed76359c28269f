"""What the benchmark of prepared documents records."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.quality.rows import Metric
from benchmarks.shared.environment import Environment
from benchmarks.shared.statistics import Estimate

WORDS, RATE = 120, 0.25
"""Of a made document, and of its compression."""
RATES = (0.1, 0.25)
"""Of the compressions of evaluation sets. The calls at the first one are timed."""


@dataclass(frozen=True, slots=True)
class PreparedTiming:
    """One way to hand the documents in, on one request or on the questions of a task."""

    request: str
    system: str
    read: float
    """Share of the sentences that the model read."""
    p50: float
    p95: float
    ratio: float
    """p50 over that of unprepared documents."""


@dataclass(frozen=True, slots=True)
class PreparedBytes:
    """What is stored, for a document of the requests; means."""

    text: float
    all: float
    vectors: float
    seconds: float
    """To prepare it."""


@dataclass(frozen=True, slots=True)
class PreparedQuality:
    """What is kept of a task at a rate."""

    task: str
    rate: float
    metric: Metric
    unprepared: Estimate
    difference: Estimate
    """What is kept of prepared documents minus what is kept of unprepared ones, paired by question."""


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """One run of the benchmark."""

    benchmark: str
    model: str
    threads: int
    seed: int
    environment: Environment
    timings: tuple[PreparedTiming, ...]
    rounds: int
    stored: PreparedBytes
    questions: dict[str, int]
    """By task."""
    words: dict[str, float]
    """By task, the mean number of words of a document."""
    quality: tuple[PreparedQuality, ...]
