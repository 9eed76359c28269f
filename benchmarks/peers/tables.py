"""The tables of the comparison with peers, from a line for each output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks.peers.catalogue import BY_NAME
from benchmarks.peers.process import Count, Output
from benchmarks.quality.controls import OURS
from benchmarks.rows import Line, Lines, group_lines
from benchmarks.shared.statistics import Estimate, bootstrap_mean_difference
from benchmarks.shared.tasks import TASKS, Example
from benchmarks.table import Column, Row, Table, Values
from tersely.metrics import contains_answer

ALL, UNCOMPRESSED = "all documents", 1.0
KEPT = (
    Column("set"),
    Column("system"),
    Column("questions"),
    Column("budget"),
    Column("answers kept", "%", interval="wilson"),
    Column("lead of tersely", "points", interval="bootstrap"),
    Column("rate achieved", format=".3f"),
)
"""The lead is at the size of a peer's output, and at the same rate as a control's."""
READ = (
    Column("reader"),
    Column("set"),
    Column("system"),
    Column("budget"),
    Column("F1", "%", interval="bootstrap"),
    Column("to all documents", "points", interval="bootstrap"),
)
SYSTEMS = (
    Column("system"),
    Column("version"),
    Column("one question", "ms", format=",.1f"),
    Column("peak memory", "MB", format=",.0f"),
    Column("installed without weights", "MB", format=",.0f"),
    Column("load", "s", format=".1f"),
    Column("failed calls"),
    Column("failure"),
    Column("how it ran"),
)
NEEDS = ("version", "peak memory", "installed without weights", "load", "failed calls", "failure")

Tasks = Mapping[str, Sequence[Example]]
Key = tuple[str, str, float]
"""Key of an output: system, task and budget."""
Outputs = dict[Key, list[Output]]
Needs = dict[str, str | float | None]
"""Cells of a system in the table of systems."""


def compare_answers(ours: Values, theirs: Values, seed: int) -> Estimate | None:
    """Return the difference of the means over the questions that both answered, or None without any."""
    pairs = [(a, b) for a, b in zip(ours, theirs, strict=False) if a is not None and b is not None]
    if not pairs:
        return None
    return bootstrap_mean_difference([a for a, _ in pairs], [b for _, b in pairs], seed).round()


def make_lines(
    outputs: Outputs,
    sizes: Mapping[Key, Sequence[int]],
    read: Mapping[str, Mapping[Key, Values]],
    tasks: Tasks,
    count: Count,
) -> list[Line]:
    """Return a line for each output.

    `tersely` says whether tersely keeps an answer in as many tokens; only lines of peers have it. `f1` has
    the score of each reader that read the output.

    Args:
        sizes: the result of `keep_at_sizes`.
        read: the scores of each reader, by its name.
    """
    before = {task: [count(e.full_text) for e in examples] for task, examples in tasks.items()}
    lines: list[Line] = []
    for key, texts in outputs.items():
        system, task, budget = key
        for number, output in enumerate(texts):
            example = tasks[task][number]
            line: Line = {
                "task": task,
                "id": example.id,
                "system": system,
                "budget": budget,
                "kept": int(contains_answer(output.text, example.answers)),
                "before": before[task][number],
                "after": count(output.text),
                "seconds": round(output.seconds, 6),
                "f1": {name: own[key][number] for name, own in read.items() if number < len(own[key])},
            }
            lines.append({**line, "tersely": sizes[key][number]} if key in sizes else line)
    return lines


def make_tables(lines: Lines, seed: int) -> list[Table]:
    """Return the tables of kept answers and of the readers, if there are readers."""
    groups = group_lines(lines, "system", "task", "budget")
    tasks = list(dict.fromkeys(task for _, task, _ in groups))
    kept = [_describe_kept(key, groups, seed) for key in sorted(groups, key=lambda key: tasks.index(key[1]))]
    readers = dict.fromkeys(name for line in lines for name in line["f1"])
    read = [_describe_answers(name, key, groups, seed) for name in readers for key in groups]
    return [
        Table("Answers kept", KEPT, tuple(kept), across="budget", only={"set": (TASKS[tasks[0]].title,)}),
        *([Table("Answers of a reader", READ, tuple(read), across="budget", printed=False)] if read else []),
    ]


def _describe_kept(key: Key, groups: Mapping[Key, Lines], seed: int) -> Row:
    (system, task, budget), own = key, groups[key]
    kept = [line["kept"] for line in own]
    if "tersely" in own[0]:
        ours = [line["tersely"] for line in own]
    else:
        ours = [line["kept"] for line in groups.get((OURS, task, budget), ())][: len(own)]
    lead = bootstrap_mean_difference(ours, kept, seed).round() if ours and system != OURS else None
    shares = [line["after"] / max(1, line["before"]) for line in own]
    return {
        "set": TASKS[task].title,
        "system": system,
        "questions": len(own),
        "budget": budget,
        "answers kept": tuple(kept),
        "lead of tersely": lead,
        "rate achieved": round(float(np.mean(shares)), 4),
    }


def _describe_answers(reader: str, key: Key, groups: Mapping[Key, Lines], seed: int) -> Row:
    system, task, budget = key
    f1, whole = (
        tuple(line["f1"][reader] for line in groups[place] if reader in line["f1"])
        for place in (key, (ALL, task, UNCOMPRESSED))
    )
    return {
        "reader": reader,
        "set": TASKS[task].title,
        "system": system,
        "budget": budget,
        "F1": f1,
        "to all documents": None if system == ALL else compare_answers(f1, whole, seed),
    }


def list_systems(lines: Lines, needs: Mapping[str, Needs]) -> Table:
    """Return the table of the time and the space that each system needs."""
    seconds: dict[str, list[float]] = {name: [] for name in needs}
    for line in lines:
        # The embeddings of the MiniLM controls come from a file.
        if line["system"] != ALL and not line["system"].startswith("MiniLM"):
            seconds.setdefault(line["system"], []).append(line["seconds"])
    systems: list[Row] = [
        {
            "system": name,
            "one question": round(1000 * float(np.median(taken)), 2) if taken else None,
            **{cell: needs.get(name, {}).get(cell) for cell in NEEDS},
            "how it ran": BY_NAME[name].setup if name in BY_NAME else None,
        }
        for name, taken in seconds.items()
    ]
    return Table("Speed and size", SYSTEMS, tuple(systems), printed=False)
