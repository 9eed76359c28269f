"""Rows of the quality benchmark: what was kept of each question, and the estimates that are recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from benchmarks.shared.environment import Environment
from benchmarks.shared.statistics import Estimate, Floats, Standing
from benchmarks.shared.tasks import Example, KeptSpan, score_kept

RATES = (0.05, 0.1, 0.25, 0.5)
OWN = "own"
"""The setting without a limit: tersely's own threshold, and as many tokens for each control."""
SETTINGS = (*map(str, RATES), OWN)

Metric = Literal["answers", "support"]


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """What one system kept of one question at one setting."""

    answer_kept: bool | None
    """None where the question has no answer to keep."""
    support_kept: float
    """Number of supporting spans kept."""
    supports: int
    """Number of supporting spans."""
    tokens_before: int
    tokens_after: int


def score_question(example: Example, kept: Sequence[KeptSpan], before: int, after: int) -> QuestionRow:
    """The row of an example of which a system kept the spans `kept`, `after` of `before` tokens."""
    score = score_kept(example, kept)
    support = (score.support_kept or 0.0) * score.supports
    return QuestionRow(score.answer_kept, support, score.supports, before, after)


QuestionRows = dict[tuple[str, str], list[QuestionRow]]
"""By system and setting, a row for each question of a task, in its order."""


def kept_and_total(rows: Sequence[QuestionRow], metric: Metric) -> tuple[Floats, Floats]:
    """For each question how much was kept and how much there was to keep, two arrays of shape
    (questions,)."""
    if metric == "answers":
        kept = [float(bool(row.answer_kept)) for row in rows]
        total = [float(row.answer_kept is not None) for row in rows]
    else:
        kept = [row.support_kept for row in rows]
        total = [float(row.supports) for row in rows]
    return np.array(kept), np.array(total)


@dataclass(frozen=True, slots=True)
class Cell:
    """One system at one setting, over a task."""

    system: str
    setting: str
    rate: float
    """Tokens kept over tokens given."""
    highest_rate: float
    """The same for the question with the highest rate."""
    answers: Estimate | None
    """Share of answers kept; None where the task has none to keep."""
    support: Estimate | None
    """Share of supporting sentences kept; None where the task labels none."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """tersely against its peers by one metric at one setting."""

    setting: str
    metric: Metric
    differences: dict[str, Estimate]
    """By peer, the share that tersely keeps minus that of the peer, paired by question."""
    strongest: str
    """The peer whose difference has the smallest lower end."""
    standing: Standing
    """Of tersely, next to the strongest peer."""


@dataclass(frozen=True, slots=True)
class Unanswerable:
    """What tersely's own threshold keeps where the documents hold no answer."""

    questions: int
    rate: float
    kept_nothing: int
    """Questions of which nothing was kept."""


@dataclass(frozen=True, slots=True)
class TaskSummary:
    """One task, measured."""

    name: str
    title: str
    questions: int
    answerable: int
    """Questions with an answer to keep."""
    supports: int
    """Supporting sentences."""
    tokens: int
    """Mean tokens of a question's documents."""
    cells: tuple[Cell, ...]
    comparisons: tuple[Comparison, ...]
    unanswerable: Unanswerable | None

    def find_cell(self, system: str, setting: str) -> Cell:
        """The cell of a system at a setting. Raises StopIteration where there is none."""
        return next(cell for cell in self.cells if (cell.system, cell.setting) == (system, setting))

    def find_comparison(self, setting: str, metric: Metric) -> Comparison | None:
        """The comparison at a setting; None where the task has nothing to keep of that kind."""
        rows = (row for row in self.comparisons if (row.setting, row.metric) == (setting, metric))
        return next(rows, None)


@dataclass(frozen=True, slots=True)
class QualityRun:
    """One run of `python -m benchmarks.quality`."""

    benchmark: str
    model: str
    split: str
    seed: int
    limit: int | None
    neighbours: str
    rates: tuple[float, ...]
    systems: tuple[str, ...]
    """The controls that ran."""
    environment: Environment
    tasks: tuple[TaskSummary, ...]
