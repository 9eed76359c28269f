"""Run every system over every question of a task, at every setting, and score what it keeps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import floor
from typing import Literal

import numpy as np

from benchmarks.quality.controls import OURS, CachedScorer
from benchmarks.quality.slim import SLIM, compress_to, count_rendered
from benchmarks.shared.statistics import Floats
from benchmarks.shared.tasks import Example, KeptSpan, score_kept
from tersely import Compression, Compressor, Document
from tersely.score import Scorer

RATES = (0.05, 0.1, 0.25, 0.5)
OWN = "own"
"""The setting without a limit: tersely's own threshold, and as many tokens for each control."""
SETTINGS = (*map(str, RATES), OWN)

Metric = Literal["answers", "support"]


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """One system's result for one question at one setting."""

    answer_kept: bool | None
    """True if an answer was kept; None if the question has no answer to keep."""
    support_kept: float
    """Number of supporting spans kept."""
    supports: int
    """Number of supporting spans."""
    tokens_before: int
    tokens_after: int
    kept: tuple[KeptSpan, ...] = ()
    """The kept ranges; empty in rows that come from a file."""


QuestionRows = dict[tuple[str, str], list[QuestionRow]]
"""Rows of each system and setting: one for each question of a task, in its order."""


def score_question(example: Example, kept: Sequence[KeptSpan], before: int, after: int) -> QuestionRow:
    """Return the row of a system that kept the spans `kept`, `after` of `before` tokens."""
    score = score_kept(example, kept)
    support = (score.support_kept or 0.0) * score.supports
    return QuestionRow(score.answer_kept, support, score.supports, before, after, tuple(kept))


def kept_and_total(rows: Sequence[QuestionRow], metric: Metric) -> tuple[Floats, Floats]:
    """Return how many answers or spans of each question were kept, and how many it has, both of shape
    (questions,)."""
    if metric == "answers":
        kept = [float(bool(row.answer_kept)) for row in rows]
        total = [float(row.answer_kept is not None) for row in rows]
    else:
        kept = [row.support_kept for row in rows]
        total = [float(row.supports) for row in rows]
    return np.array(kept), np.array(total)


def list_spans(result: Compression) -> list[KeptSpan]:
    """Return the kept ranges of a compression."""
    return [(span.doc, span.start, span.end) for span in result.kept]


def run_task(
    examples: Iterable[Example],
    ours: Scorer,
    controls: Mapping[str, Scorer],
    *,
    slim: bool,
) -> QuestionRows:
    """Return the rows of `ours`, of each control, and of LLMSlim if `slim`, over the same questions."""
    systems = {OURS: Compressor(CachedScorer(ours))}
    systems |= {name: Compressor(CachedScorer(scorer)) for name, scorer in controls.items()}
    names = [*systems, *([SLIM] if slim else [])]
    rows: QuestionRows = {(name, setting): [] for name in names for setting in SETTINGS}
    for example in examples:
        documents = example.to_documents()
        before = 0
        limits: dict[str, int] = {}
        for name, compressor in systems.items():
            for setting, result in _compress(compressor, example.question, documents, limits.get(OWN)):
                if result.status == "failed_open":
                    raise RuntimeError(f"{name} failed on {example.id}: {result.reason}")
                before = result.tokens_before
                rows[name, setting].append(
                    score_question(example, list_spans(result), before, result.tokens_after)
                )
                if name == OURS:
                    limits[setting] = (
                        result.tokens_after if setting == OWN else floor(before * float(setting) + 1e-9)
                    )
        if slim:
            count = systems[OURS].count_tokens
            for setting, limit in limits.items():
                kept = compress_to(example, limit, count)
                after = count_rendered(example, kept, count)
                rows[SLIM, setting].append(score_question(example, kept, before, after))
    return rows


def _compress(
    compressor: Compressor, question: str, documents: Sequence[Document], budget: int | None
) -> Iterator[tuple[str, Compression]]:
    """Compress at every setting; `budget` is that of the last one, None for the model's threshold."""
    for rate in RATES:
        yield str(rate), compressor.compress(question, documents, rate=rate)
    if budget is None:
        yield OWN, compressor.compress(question, documents)
    else:
        # A budget cannot be zero. If tersely keeps nothing, one token keeps nothing either.
        yield OWN, compressor.compress(question, documents, budget=max(1, budget))
