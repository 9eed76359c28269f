"""The section of RESULTS.md on sentence embeddings."""

from __future__ import annotations

from benchmarks.markdown import format_percent, format_table
from benchmarks.retrieval.rows import BankRow, RetrievalRow, RetrievalRun
from benchmarks.shared.statistics import bootstrap_mean


def render(run: RetrievalRun) -> str:
    """Ranks on every task, the time of one question, and the times of a full bank."""
    header = ["%, with 95 % intervals"]
    lines: dict[str, list[str]] = {}
    for task in run.tasks:
        header += [f"{task.title}: {measure}" for measure in ("MRR", "first", "in ten")]
        for row in task.rows:
            lines.setdefault(row.system, [row.system]).extend(_list_cells(row, run.seed))
    pools = ", ".join(f"{t.title} {t.questions} questions and {t.pool:,} documents" for t in run.tasks)
    times = ", ".join(f"{name} {milliseconds:g} ms" for name, milliseconds in run.milliseconds.items())
    return "\n\n".join(
        [
            f"Embeddings {run.model}, {run.dimension} numbers. {run.environment.describe()} "
            f"Seed {run.seed}. {pools}.",
            format_table(header, list(lines.values())),
            f"One question embedded alone, in turns: {times}.",
            f"An experience bank of {run.bank.entries:,} entries ({run.bank.bytes / 1e6:.0f} MB on disk), "
            "milliseconds of one call without the time to make its two vectors:",
            _render_bank(run.bank),
        ]
    )


def _list_cells(row: RetrievalRow, seed: int) -> list[str]:
    return [format_percent(bootstrap_mean(values, seed)) for values in (row.mrr, row.first, row.ten)]


def _render_bank(bank: BankRow) -> str:
    header = ["", "recall, p50", "p95", "insert with merge, p50", "p95", "opening, s"]
    rows: list[list[str]] = []
    for row in bank.indices:
        times = (row.recall.p50, row.recall.p95, row.insert.p50, row.insert.p95, row.open_s)
        rows.append([row.index, *(f"{value:g}" for value in times)])
    return format_table(header, rows)
