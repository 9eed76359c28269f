"""The tables of a run, from its rows alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from benchmarks.quality.controls import OURS
from benchmarks.reading.contexts import MEETINGS, TOOLS, Key
from benchmarks.reading.rows import get_key
from benchmarks.rows import Line, Lines, group_lines
from benchmarks.shared.statistics import Estimate, Floats, resample
from benchmarks.shared.tasks import TASKS
from benchmarks.table import Column, Row, Table

MEAN = "mean of the sets"
TITLES = {TOOLS: "Real tool results", MEETINGS: "Meetings of 5k to 11k words"}
"""Sets that are not passages, so that the mean leaves them out."""
FEWEST = 10
"""Number of questions of a row."""
READ = (
    Column("reader"),
    Column("set"),
    Column("system"),
    Column("size"),
    Column("questions", format="d"),
    Column("tokens", "%", format=".1f"),
    Column("F1", "%", interval="bootstrap"),
    Column("exact", "%"),
    Column("abstained", "%"),
)
LEADS = (
    Column("reader"),
    Column("set"),
    Column("against"),
    Column("questions"),
    Column("size"),
    Column("lead in F1", "points", interval="bootstrap"),
    Column("standing"),
)
Groups = Mapping[tuple[str, str, str], Mapping[str, Line]]
"""By set, size and system, the answer to each question."""


def make_tables(answers: Mapping[str, Lines], sizes: Mapping[Key, Line], seed: int) -> list[Table]:
    """Return the tables. `answers` are those of each reader, `sizes` the lines of the contexts."""
    read: list[Row] = []
    leads: list[Row] = []
    for reader, lines in answers.items():
        by_place = sorted(group_lines(lines, "set", "size", "system").items())
        groups = {place: {line["id"]: line for line in own} for place, own in by_place}
        groups = {place: own for place, own in groups.items() if len(own) >= FEWEST}
        for (name, size, system), own in groups.items():
            place = {"reader": reader, "set": title(name), "size": size, "system": system}
            read.append({**place, **_average([list(own.values())], sizes, seed)})
        for size, system, sets in _list_means(groups):
            place = {"reader": reader, "set": MEAN, "size": size, "system": system}
            read.append({**place, **_average(sets, sizes, seed)})
        leads += _compare(reader, groups, seed)
    columns = (replace(READ[0], printed=len(answers) > 1), *READ[1:])
    return [
        Table("Answers", columns, tuple(read), across="size"),
        Table("Tersely's lead", LEADS, tuple(leads), across="size", printed=False),
    ]


def title(name: str) -> str:
    """Return the name of a set in tables."""
    return TITLES[name] if name in TITLES else TASKS[name].title


def _name_sets(groups: Groups, size: str) -> list[str]:
    """Return the sets of passages that tersely compressed to a size, or all sets for the size "all"."""
    return sorted(
        {n for n, own, system in groups if n in TASKS and (size == "all" or (own == size and system == OURS))}
    )


def _list_means(groups: Groups) -> Iterator[tuple[str, str, list[list[Line]]]]:
    """Yield each size and system with its answers to the sets of passages, if it has all of that size."""
    for size, system in dict.fromkeys((size, system) for _, size, system in groups):
        names = _name_sets(groups, size)
        sets = [list(groups[name, size, system].values()) for name in names if (name, size, system) in groups]
        if len(sets) == len(names) > 1:
            yield size, system, sets


def _average(sets: Sequence[Lines], sizes: Mapping[Key, Line], seed: int) -> Row:
    """Return the means over sets that count alike. Questions are drawn within each set."""
    contexts = [[sizes[get_key(line)] for line in own] for own in sets]
    shares = [sum(c["tokens"] for c in own) / sum(c["before"] for c in own) for own in contexts]

    def mean(name: str) -> float:
        return round(float(np.mean([np.mean([line[name] for line in own]) for own in sets])), 4)

    return {
        "questions": sum(map(len, sets)),
        "tokens": round(float(np.mean(shares)), 4),
        "F1": _estimate_mean([np.array([line["f1"] for line in own]) for own in sets], seed),
        "exact": mean("em"),
        "abstained": mean("abstained"),
    }


def _estimate_mean(sets: Sequence[Floats], seed: int) -> Estimate:
    """Return the mean of the means of the sets."""
    draws = [resample(values, np.ones(len(values)), seed + at) for at, values in enumerate(sets)]
    low, high = np.quantile(np.mean(draws, axis=0), [0.025, 0.975])
    return Estimate(float(np.mean([values.mean() for values in sets])), float(low), float(high)).round()


def _compare(reader: str, groups: Groups, seed: int) -> list[Row]:
    """Return tersely's lead over each system at the same size, and over all documents, by set and on the
    mean of the sets of passages."""
    rows: list[Row] = []
    sizes = list(dict.fromkeys(size for _, size, system in groups if system == OURS))
    for size in sizes:
        pairs: dict[str, dict[str, tuple[Floats, Floats]]] = {}
        for (name, own_size, system), theirs in groups.items():
            ours = groups.get((name, size, OURS))
            if ours is None or system == OURS or own_size not in (size, "all"):
                continue
            both = [key for key in ours if key in theirs]
            if len(both) >= FEWEST:
                pairs.setdefault(system, {})[name] = (
                    np.array([ours[key]["f1"] for key in both]),
                    np.array([theirs[key]["f1"] for key in both]),
                )
        for system, sets in pairs.items():
            place = {"reader": reader, "size": size, "against": system}
            for name, (ours_f1, theirs_f1) in sets.items():
                lead = _estimate_mean([ours_f1 - theirs_f1], seed)
                rows.append(_lead(place, title(name), len(ours_f1), lead))
            passages = [ours_f1 - theirs_f1 for name, (ours_f1, theirs_f1) in sets.items() if name in TASKS]
            if len(passages) == len(_name_sets(groups, size)) > 1:
                rows.append(_lead(place, MEAN, sum(map(len, passages)), _estimate_mean(passages, seed)))
    return rows


def _lead(place: Row, name: str, questions: int, lead: Estimate) -> Row:
    return {**place, "set": name, "questions": questions, "lead in F1": lead, "standing": lead.standing}
