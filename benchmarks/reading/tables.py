"""The tables of a run, from its rows alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.quality.controls import OURS
from benchmarks.reading.contexts import TOOLS, Key
from benchmarks.reading.rows import Answer
from benchmarks.shared.statistics import Estimate, Floats, bootstrap, bootstrap_difference, resample
from benchmarks.shared.tasks import TASKS
from benchmarks.table import Column, Row, Table

MEAN = "mean of the sets"
READ = (
    Column("reader"),
    Column("set"),
    Column("size"),
    Column("system"),
    Column("questions"),
    Column("tokens", "%", format=".1f"),
    Column("F1", "%", interval="bootstrap"),
    Column("exact", "%"),
    Column("abstained", "%"),
)
LEADS = (
    Column("reader"),
    Column("set"),
    Column("size"),
    Column("against"),
    Column("questions"),
    Column("lead in F1", "points", interval="bootstrap"),
    Column("standing"),
)


@dataclass(frozen=True, slots=True)
class Size:
    """Tokens of a context, and of all documents."""

    tokens: int
    before: int


def make_tables(answers: Mapping[str, Sequence[Answer]], sizes: Mapping[Key, Size], seed: int) -> list[Table]:
    """Return the tables. `answers` are those of each reader."""
    read: list[Row] = []
    leads: list[Row] = []
    for reader, rows in answers.items():
        groups: dict[tuple[str, str, str], dict[str, Answer]] = {}
        for row in rows:
            groups.setdefault((row.set, row.size, row.system), {})[row.id] = row
        for (name, size, system), own in groups.items():
            place = {"reader": reader, "set": title(name), "size": size, "system": system}
            read.append({**place, **_average(list(own.values()), sizes, seed)})
        leads += _compare(reader, groups, seed)
    return [
        Table("Answers", READ, tuple(read), across="size"),
        Table("Tersely's lead", LEADS, tuple(leads), across="size"),
    ]


def title(name: str) -> str:
    """Return the name of a set in tables."""
    return "Real tool results" if name == TOOLS else TASKS[name].title


def _average(rows: Sequence[Answer], sizes: Mapping[Key, Size], seed: int) -> Row:
    own = [sizes[row.key] for row in rows]
    return {
        "questions": len(rows),
        "tokens": round(sum(s.tokens for s in own) / sum(s.before for s in own), 4),
        "F1": bootstrap(np.array([r.f1 for r in rows]), np.ones(len(rows)), seed).round(),
        "exact": round(float(np.mean([r.em for r in rows])), 4),
        "abstained": round(float(np.mean([r.abstained for r in rows])), 4),
    }


def _compare(
    reader: str, groups: Mapping[tuple[str, str, str], Mapping[str, Answer]], seed: int
) -> list[Row]:
    """Return tersely's lead over each system at the same size, and over all documents, by set and on the
    mean of the sets that have both."""
    rows: list[Row] = []
    sizes = list(dict.fromkeys(size for _, size, system in groups if system == OURS))
    for size in sizes:
        pairs: dict[str, dict[str, tuple[Floats, Floats]]] = {}
        for (name, own_size, system), theirs in groups.items():
            ours = groups.get((name, size, OURS))
            if ours is None or system == OURS or own_size not in (size, "all"):
                continue
            both = [key for key in ours if key in theirs]
            if both:
                pairs.setdefault(system, {})[name] = (
                    np.array([ours[key].f1 for key in both]),
                    np.array([theirs[key].f1 for key in both]),
                )
        for system, sets in pairs.items():
            place = {"reader": reader, "size": size, "against": system}
            for name, (ours_f1, theirs_f1) in sets.items():
                ones = np.ones(len(ours_f1))
                lead = bootstrap_difference(ours_f1, theirs_f1, ones, seed).round()
                rows.append(_lead(place, title(name), len(ones), lead))
            if len(sets) > 1:
                lead = _compare_means(list(sets.values()), seed)
                rows.append(_lead(place, MEAN, sum(len(o) for o, _ in sets.values()), lead))
    return rows


def _lead(place: Row, name: str, questions: int, lead: Estimate) -> Row:
    return {**place, "set": name, "questions": questions, "lead in F1": lead, "standing": lead.standing}


def _compare_means(sets: Sequence[tuple[Floats, Floats]], seed: int) -> Estimate:
    """Return the difference of the means over sets. Questions are drawn within each set."""
    draws = [resample(o - t, np.ones(len(o)), seed + at) for at, (o, t) in enumerate(sets)]
    together = np.mean(draws, axis=0)
    low, high = np.quantile(together, [0.025, 0.975])
    value = float(np.mean([(ours - theirs).mean() for ours, theirs in sets]))
    return Estimate(value, float(low), float(high)).round()
