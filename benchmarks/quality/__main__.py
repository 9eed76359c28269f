"""`python -m benchmarks.quality --data DIR`: what every system keeps of every task, at every rate."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from benchmarks import command
from benchmarks.command import Measured, make_parser, run, track
from benchmarks.quality.controls import (
    CHARACTERS,
    MINILM_WHOLE,
    OURS,
    WHOLE,
    CachedScorer,
    load_selector,
    make_controls,
)
from benchmarks.quality.runner import (
    OWN,
    RATES,
    Metric,
    QuestionRows,
    kept_and_total,
    read_rows,
    run_task,
)
from benchmarks.quality.slim import require_slim
from benchmarks.rows import Line, Lines, group_lines
from benchmarks.shared.statistics import Estimate, bootstrap, bootstrap_difference, estimate_share
from benchmarks.shared.tasks import TASKS, Example
from benchmarks.table import Column, Row, Table

METRICS: tuple[Metric, ...] = ("answers", "support")

LEAD = Column("lead", "points", interval="bootstrap")
ACHIEVED = (Column("rate achieved", format=".3f"), Column("highest", format=".3f", printed=False))
"""Tokens kept over tokens given: of all questions, and of the question with the largest share."""
SETS = (
    Column("set"),
    Column("task", printed=False),
    Column("questions"),
    Column("with an answer"),
    Column("supporting sentences", format=","),
    Column("tokens a question", format=","),
    Column("unanswerable"),
    Column("kept of these", "%"),
    Column("nothing kept"),
)
"""The last three columns count the questions without an answer, and say how much tersely's own threshold
keeps of their documents."""
ANSWERS = (
    Column("set"),
    Column("rate"),
    Column("system"),
    Column("answers kept", "%", interval="wilson"),
    *ACHIEVED,
)
SUPPORT = (
    Column("set"),
    Column("rate"),
    Column("system"),
    Column("support kept", "%", interval="bootstrap"),
    *ACHIEVED,
)
STRONGEST = (Column("set"), Column("kept"), Column("rate"), LEAD, Column("standing"), Column("peer"))
LEADS = (Column("set"), Column("kept"), Column("rate"), Column("peer"), LEAD)


class Options(command.Options):
    """The options of the command."""

    tasks: list[str] | None


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = make_parser("benchmarks.quality", __doc__, "data", "model", "threads", limit=sys.maxsize)
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), metavar="TASK", help=", ".join(TASKS))
    return run(parser, arguments, Options(), measure)


def measure(options: Options) -> Measured:
    """Run every task that the options name."""
    require_slim()
    selector, model = load_selector(options.model, options.threads)
    ours = CachedScorer(selector)  # the control of whole documents reads the same scores
    names = options.tasks or [name for name, task in TASKS.items() if "eval" in task.sources]
    lines: list[Line] = []
    for name in names:
        questions = _load(name, options)
        left_out = (MINILM_WHOLE,) if TASKS[name].language else (MINILM_WHOLE, CHARACTERS)
        scorers = {OURS: ours, **make_controls(ours, options.seed, *left_out)}
        lines += run_task(name, track(questions, TASKS[name].title), scorers, slim=True)
    return Measured(make_tables(lines, options.seed), model, rows=lines)


def _load(name: str, options: Options) -> list[Example]:
    task = TASKS[name]
    limit = min(options.limit, task.sample or options.limit)
    return task.load("eval", data=options.data, limit=limit, seed=options.seed)


def make_tables(lines: Lines, seed: int) -> list[Table]:
    """Return all tables, from the lines of all tasks."""
    tasks = group_lines(lines, "task")
    rows = {name: read_rows(own) for name, own in tasks.items()}
    leads = [row for name in rows for row in _compare(TASKS[name].title, rows[name], seed)]
    printed = tuple(TASKS[name].title for name in rows if TASKS[name].language in (None, "en"))
    return [
        Table(
            "Sets",
            SETS,
            tuple(_describe_set(name, tasks[name], rows[name]) for name in rows),
            only={"set": printed},
        ),
        Table("Lead over the strongest peer", STRONGEST, find_strongest(leads), across="rate"),
        Table("Answers", ANSWERS, _estimate(rows, "answers", seed), across="system", only={"rate": ("0.1",)}),
        Table(
            "Support",
            SUPPORT,
            _estimate(rows, "support", seed),
            across="system",
            only={"rate": ("0.1", "0.25")},
        ),
        Table("Lead over each peer", LEADS, tuple(leads), printed=False),
    ]


def _describe_set(name: str, lines: Lines, rows: QuestionRows) -> Row:
    ours = rows[OURS, OWN]
    empty = [row for row, line in zip(ours, lines, strict=True) if not line["answerable"]]
    rate = sum(row["tokens_after"] for row in empty) / max(1, sum(row["tokens_before"] for row in empty))
    return {
        "set": TASKS[name].title,
        "task": name,
        "questions": len(lines),
        "with an answer": sum(row["answer_kept"] is not None for row in ours),
        "supporting sentences": sum(line["sentences"] for line in lines),
        "tokens a question": round(float(np.mean([row["tokens_before"] for row in ours]))),
        "unanswerable": len(empty) or None,
        "kept of these": round(rate, 4) if empty else None,
        "nothing kept": sum(not row["tokens_after"] for row in empty) if empty else None,
    }


def _estimate(rows: dict[str, QuestionRows], metric: Metric, seed: int) -> tuple[Row, ...]:
    """Return the share that each system keeps of each task at each setting, and the rates."""
    table: list[Row] = []
    for name, task in rows.items():
        for (system, setting), questions in task.items():
            kept, total = kept_and_total(questions, metric)
            if not total.any():
                continue
            if metric == "answers":
                share = estimate_share(float(kept.sum()), int(total.sum()))
            else:
                share = bootstrap(kept, total, seed)
            place = {"set": TASKS[name].title, "system": system, "rate": setting}
            table.append({**place, f"{metric} kept": share.round(), **_measure_rates(questions)})
    return tuple(table)


def _measure_rates(rows: Lines) -> dict[str, float]:
    before, after = (sum(row[name] for row in rows) for name in ("tokens_before", "tokens_after"))
    highest = max(row["tokens_after"] / row["tokens_before"] for row in rows if row["tokens_before"])
    return {"rate achieved": round(after / max(1, before), 4), "highest": round(highest, 4)}


def _compare(title: str, rows: QuestionRows, seed: int) -> list[dict[str, str | Estimate]]:
    """Return tersely's lead over each peer, paired by question, at each rate."""
    peers = [name for name in dict.fromkeys(system for system, _ in rows) if name not in (OURS, WHOLE)]
    leads: list[dict[str, str | Estimate]] = []
    for metric in METRICS:
        for setting in map(str, RATES):
            ours, total = kept_and_total(rows[OURS, setting], metric)
            for peer in peers if total.any() else ():
                theirs, _ = kept_and_total(rows[peer, setting], metric)
                lead = bootstrap_difference(ours, theirs, total, seed).round()
                leads.append({"set": title, "kept": metric, "rate": setting, "peer": peer, "lead": lead})
    return leads


def find_strongest(leads: Sequence[Row]) -> tuple[Row, ...]:
    """Return, for each set, metric and rate, the row of the peer with the smallest lower end."""
    strongest: dict[tuple[object, ...], Row] = {}
    for row in leads:
        place = (row["set"], row["kept"], row["rate"])
        if place not in strongest or _lead(row).low < _lead(strongest[place]).low:
            strongest[place] = {**row, "standing": _lead(row).standing}
    return tuple(strongest.values())


def _lead(row: Row) -> Estimate:
    lead = row["lead"]
    assert isinstance(lead, Estimate)
    return lead


if __name__ == "__main__":
    sys.exit(main())
