"""Estimates from the rows of all questions, and the section of RESULTS.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean

import numpy as np

from benchmarks.markdown import format_lead, format_percent, format_table
from benchmarks.shared.statistics import Estimate, bootstrap, bootstrap_mean, bootstrap_mean_difference
from benchmarks.summaries.rows import SummariesRun, SummaryRow

EXTRACTIVE, SELECTION, BASE, WRITTEN, OURS = "extractive", "selection", "base", "written", "tersely-recon"
SYSTEMS = (EXTRACTIVE, SELECTION, BASE, WRITTEN, OURS)
TITLES = {
    "hotpotqa": "HotpotQA, 10 paragraphs",
    "qed_nq_10": "Natural Questions (QED), 10 hard negatives",
    "qmsum": "QMSum, 10k-word meetings",
    "squality": "SQuALITY, 5k-word stories",
}

Count = Callable[[SummaryRow], int]


def render(run: SummariesRun) -> str:
    """The section of RESULTS.md."""
    asked = f"Reader {run.reader}. " if run.reader else ""
    parts = [
        f"Selector {run.model}, summarizer {run.summarizer}. {asked}{run.environment.describe()} "
        f"Seed {run.seed}.",
        "In percent of all sentences, with bootstrap intervals of 95 % over questions: *grounded*, sentences "
        "that the check finds a source for; *unknown*, sentences with a name or a number that no document "
        "contains; *contradicting*, sentences that deny what their source says, or the reverse, or have "
        "another number or name (a rule). *Selection* is what the models read.",
    ]
    for task in dict.fromkeys(row.task for row in run.rows):
        rows = [row for row in run.rows if row.task == task]
        count = len({row.question for row in rows})
        parts += [f"### {TITLES[task]}, {count} questions", _render_task(rows, run.seed)]
        parts += [line for line in (_compare(rows, run.seed),) if line]
    return "\n\n".join(parts)


def _render_task(rows: Sequence[SummaryRow], seed: int) -> str:
    has_answers = any(row.f1 is not None for row in rows)
    header = [
        "system",
        "grounded",
        "unknown",
        "contradicting",
        "F1" if has_answers else "ROUGE-L",
        "tokens",
        "seconds",
    ]
    table: list[list[str]] = []
    for system in SYSTEMS:
        own = [row for row in rows if row.system == system]
        score = format_percent(bootstrap_mean(_score(own), seed))
        shares = [format_percent(share(own, count, seed)) for count in (_supported, _unknown, _contradicting)]
        tokens, seconds = (
            fmean(values) for values in zip(*((r.tokens, r.seconds) for r in own), strict=True)
        )
        table.append([system, *shares, score, f"{tokens:.0f}", f"{seconds:.1f}"])
    return format_table(header, table)


def _compare(rows: Sequence[SummaryRow], seed: int) -> str:
    """Our score against the extractive summary of the same size and against the base model, paired."""
    ours = _score([row for row in rows if row.system == OURS])
    leads = {
        other: format_lead(
            bootstrap_mean_difference(ours, _score([row for row in rows if row.system == other]), seed)
        )
        for other in (EXTRACTIVE, BASE)
    }
    text = "; ".join(f"against {other} {lead}" for other, lead in leads.items())
    return f"{OURS}'s score in points, paired by question: {text}."


def share(rows: Sequence[SummaryRow], count: Count, seed: int) -> Estimate:
    """Share of the sentences that `count` counts, over the sentences of all rows; 0 where there is none."""
    sentences = np.array([row.sentences for row in rows], dtype=float)
    if not sentences.any():
        return Estimate(0.0, 0.0, 0.0)
    return bootstrap(np.array([count(row) for row in rows], dtype=float), sentences, seed)


def _score(rows: Sequence[SummaryRow]) -> list[float]:
    """Of each question: F1, or ROUGE-L where there are references. Where the reader failed it is 0."""
    return [row.rouge if row.rouge is not None else row.f1 or 0.0 for row in rows]


def _supported(row: SummaryRow) -> int:
    return row.supported


def _unknown(row: SummaryRow) -> int:
    return row.unknown


def _contradicting(row: SummaryRow) -> int:
    return row.contradicting
