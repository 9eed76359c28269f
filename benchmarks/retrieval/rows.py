"""Rows of the retrieval benchmark, as they are recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.shared.environment import Environment


@dataclass(frozen=True, slots=True)
class RetrievalRow:
    """One system on one task, with a value for each question."""

    system: str
    mrr: tuple[float, ...]
    """One over the rank of the best gold document."""
    first: tuple[float, ...]
    """1 if that document is the first, else 0."""
    ten: tuple[float, ...]
    """1 if it is among the first ten, else 0."""


@dataclass(frozen=True, slots=True)
class RetrievalTask:
    """One task, measured."""

    name: str
    title: str
    questions: int
    pool: int
    """Documents to search in."""
    rows: tuple[RetrievalRow, ...]


@dataclass(frozen=True, slots=True)
class CallTimes:
    """Milliseconds of a call."""

    p50: float
    p95: float

    @staticmethod
    def of(milliseconds: Sequence[float]) -> CallTimes:
        """Quantiles of `milliseconds`, rounded as they are recorded."""
        p50, p95 = (round(float(np.quantile(milliseconds, q)), 2) for q in (0.5, 0.95))
        return CallTimes(p50, p95)


@dataclass(frozen=True, slots=True)
class IndexRow:
    """A full experience bank with one index."""

    index: str
    recall: CallTimes
    insert: CallTimes
    """With a merge where two entries are alike."""
    open_s: float


@dataclass(frozen=True, slots=True)
class BankRow:
    """A full experience bank."""

    entries: int
    bytes: int
    """On disk."""
    indices: tuple[IndexRow, ...]


@dataclass(frozen=True, slots=True)
class RetrievalRun:
    """One run of `python -m benchmarks.retrieval`."""

    benchmark: str
    model: str
    dimension: int
    seed: int
    environment: Environment
    tasks: tuple[RetrievalTask, ...]
    milliseconds: dict[str, float]
    """By model, the median time of one question."""
    bank: BankRow
