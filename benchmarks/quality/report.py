"""Estimates from the rows of all questions, and the section of RESULTS.md."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.markdown import format_table
from benchmarks.quality.controls import CONTROLS, OURS
from benchmarks.quality.rows import (
    OWN,
    SETTINGS,
    Cell,
    Comparison,
    Metric,
    QualityRun,
    QuestionRow,
    QuestionRows,
    TaskSummary,
    Unanswerable,
    kept_and_total,
)
from benchmarks.shared.statistics import Estimate, bootstrap, bootstrap_difference, estimate_share, pool
from benchmarks.shared.tasks import Example

TITLES = {OURS: "**tersely**", **{control.name: control.title for control in CONTROLS}}
SINGLE_HOP = ("qed_nq_30", "squad", "wikiqa")
"""Sets that are also compared together: questions with one hop, among hard negatives."""
METRICS: dict[Metric, str] = {"answers": "Answers kept, %", "support": "Supporting sentences kept, %"}


def summarise(
    name: str, title: str, examples: Sequence[Example], rows: QuestionRows, seed: int
) -> TaskSummary:
    """An estimate for each system and setting, and tersely against each peer."""
    own = rows[OURS, OWN]
    comparisons = (_compare(rows, setting, metric, seed) for setting in SETTINGS for metric in METRICS)
    return TaskSummary(
        name=name,
        title=title,
        questions=len(examples),
        answerable=sum(e.findable for e in examples),
        supports=sum(len(e.support or ()) for e in examples),
        tokens=round(float(np.mean([row.tokens_before for row in own]))) if own else 0,
        cells=tuple(_estimate(*key, questions, seed) for key, questions in rows.items()),
        comparisons=tuple(comparison for comparison in comparisons if comparison),
        unanswerable=_summarise_unanswerable(examples, own),
    )


def _estimate(system: str, setting: str, rows: Sequence[QuestionRow], seed: int) -> Cell:
    before, after = sum(row.tokens_before for row in rows), sum(row.tokens_after for row in rows)
    highest = max(row.tokens_after / row.tokens_before for row in rows if row.tokens_before)
    answers, answerable = kept_and_total(rows, "answers")
    support, supports = kept_and_total(rows, "support")
    return Cell(
        system=system,
        setting=setting,
        rate=round(after / max(1, before), 4),
        highest_rate=round(highest, 4),
        answers=estimate_share(float(answers.sum()), int(answerable.sum())).round()
        if answerable.any()
        else None,
        support=bootstrap(support, supports, seed).round() if supports.any() else None,
    )


def _compare(rows: QuestionRows, setting: str, metric: Metric, seed: int) -> Comparison | None:
    ours, total = kept_and_total(rows[OURS, setting], metric)
    if not total.any():
        return None
    differences = {
        control.name: bootstrap_difference(
            ours, kept_and_total(rows[control.name, setting], metric)[0], total, seed
        )
        for control in CONTROLS
        if control.is_peer and (control.name, setting) in rows
    }
    strongest = min(differences, key=lambda peer: differences[peer].low)
    return Comparison(
        setting=setting,
        metric=metric,
        differences={peer: difference.round() for peer, difference in differences.items()},
        strongest=strongest,
        standing=differences[strongest].standing,
    )


def _summarise_unanswerable(examples: Sequence[Example], own: Sequence[QuestionRow]) -> Unanswerable | None:
    rows = [row for row, example in zip(own, examples, strict=True) if not example.answers]
    if not rows:
        return None
    rate = sum(row.tokens_after for row in rows) / max(1, sum(row.tokens_before for row in rows))
    return Unanswerable(len(rows), round(rate, 4), sum(not row.tokens_after for row in rows))


def render(run: QualityRun) -> str:
    """The section of RESULTS.md."""
    parts = [
        f"Model {run.model}, {run.split} split, seed {run.seed}. {run.environment.describe()}",
        "### Where tersely stands",
        "Difference to the strongest peer (random, first, BM25 and MiniLM sentences, LLMSlim) in percentage "
        "points, paired by question, with its 95 % interval. The strongest peer is the one with the smallest "
        "lower end. *ahead*: the interval is above zero; *level*: it contains zero; *behind*: it is below.",
        _render_standing(run.tasks),
        *_render_pool([task for task in run.tasks if task.name in SINGLE_HOP]),
    ]
    for task in run.tasks:
        parts += _render_task(task)
    return "\n\n".join(parts)


def _render_task(task: TaskSummary) -> list[str]:
    parts = [
        f"### {task.title}",
        f"{task.questions} questions, {task.answerable} with an answer to keep, "
        f"{task.supports} supporting sentences, {task.tokens} tokens a question on average.",
    ]
    if task.unanswerable:
        none = task.unanswerable
        parts.append(
            f"On the {none.questions} questions that the documents do not answer, the model's own threshold "
            f"keeps {none.rate:.1%} of the tokens, and nothing at all on {none.kept_nothing}."
        )
    systems = list(dict.fromkeys(cell.system for cell in task.cells))
    for metric, heading in METRICS.items():
        rows: list[list[str]] = []
        for system in systems:
            estimates = [getattr(task.find_cell(system, setting), metric) for setting in SETTINGS]
            if estimates[-1]:
                rows.append([TITLES[system], *map(_format_share, estimates)])
        if rows:
            parts.append(format_table([heading, *_head_settings()], rows))
    rates = [
        [TITLES[system], *(f"{task.find_cell(system, setting).rate:.3f}" for setting in SETTINGS)]
        for system in systems
    ]
    return [*parts, format_table(["Rate achieved", *_head_settings()], rates)]


def _render_standing(tasks: Sequence[TaskSummary]) -> str:
    rows: list[list[str]] = []
    for task in tasks:
        for metric in METRICS:
            comparisons = [task.find_comparison(setting, metric) for setting in SETTINGS]
            if any(comparisons):
                rows.append([f"{task.title}: {metric}", *map(_format_comparison, comparisons)])
    return format_table(["", *_head_settings()], rows)


def _render_pool(tasks: Sequence[TaskSummary]) -> list[str]:
    """The sets of `SINGLE_HOP` together; nothing if one of them was not run."""
    if len(tasks) < len(SINGLE_HOP):
        return []
    sizes = [task.answerable for task in tasks]
    rows: list[list[str]] = []
    for control in CONTROLS:
        cells: list[str] = []
        for setting in SETTINGS:
            found = [task.find_comparison(setting, "answers") for task in tasks]
            differences = [c.differences[control.name] for c in found if c and control.name in c.differences]
            if len(differences) == len(tasks):
                lead = pool(differences, sizes)
                cells.append(f"{_format_difference(lead)} *{lead.standing}*")
        if cells:
            rows.append([f"tersely - {control.title}", *cells])
    titles = [task.title for task in tasks]
    return [
        f"Questions with one hop together: the {sum(sizes)} answers of {', '.join(titles[:-1])}, and "
        f"{titles[-1]}. Answers kept more than by each peer, in percentage points.",
        format_table(["", *_head_settings()], rows),
    ]


def _head_settings() -> list[str]:
    return [*(f"rate {setting}" for setting in SETTINGS if setting != OWN), "own threshold"]


def _format_share(share: Estimate | None) -> str:
    if not share:
        return ""
    return f"{100 * share.value:.1f} ({100 * share.low:.1f}–{100 * share.high:.1f})"


def _format_comparison(comparison: Comparison | None) -> str:
    if not comparison:
        return ""
    lead = comparison.differences[comparison.strongest]
    return f"{_format_difference(lead)} *{comparison.standing}* ({comparison.strongest})"


def _format_difference(lead: Estimate) -> str:
    return f"{100 * lead.value:+.1f} ({100 * lead.low:+.1f} to {100 * lead.high:+.1f})"
