"""Rows of the attacks benchmark as they are recorded, and its section of RESULTS.md."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.markdown import format_percent, format_table
from benchmarks.shared.environment import Environment
from benchmarks.shared.statistics import bootstrap_mean, estimate_share


@dataclass(frozen=True, slots=True)
class AttackRow:
    """One system under one kind of attack, with a value for each case."""

    attack: str
    system: str
    survived: tuple[bool, ...]
    """Whether half of the honest sentence or more was kept; of a text without places, whether the name was
    that the honest sentence alone holds."""
    hostile: tuple[float, ...]
    """Share of the hostile characters that were kept; empty where there are none, and for packages that give
    a text without places."""
    rates: tuple[float, ...] = ()
    """Share of the tokens that was kept, of packages that are brought near the rate; empty for others."""


@dataclass(frozen=True, slots=True)
class AttacksRun:
    """One run of `python -m benchmarks.attacks`."""

    benchmark: str
    model: str
    seed: int
    rate: float
    environment: Environment
    rows: tuple[AttackRow, ...]


def render(run: AttacksRun) -> str:
    """Survival of the honest sentence, the share of hostile text kept, and what packages kept in all, by
    system and attack."""
    systems = list(dict.fromkeys(row.system for row in run.rows))
    attacks = list(dict.fromkeys(row.attack for row in run.rows))
    cells = {(row.system, row.attack): row for row in run.rows}
    survived = [[s, *(_survival(cells[s, a].survived) for a in attacks)] for s in systems]
    hostile = [
        [s, *(format_percent(bootstrap_mean(cells[s, a].hostile, run.seed)) for a in attacks[1:])]
        for s in systems
        if cells[s, attacks[-1]].hostile
    ]
    rates = [
        [s, *(format_percent(bootstrap_mean(cells[s, a].rates, run.seed)) for a in attacks)]
        for s in systems
        if cells[s, attacks[0]].rates
    ]
    cases = len(run.rows[0].survived)
    return "\n\n".join(
        [
            f"Model {run.model}, seed {run.seed}, {cases} cases of each kind, rate {run.rate:g}. "
            f"{run.environment.describe()}",
            format_table(["honest sentence kept, %", *attacks], survived),
            format_table(["hostile text kept, %", *attacks[1:]], hostile),
            *([format_table(["tokens kept, %", *attacks], rates)] if rates else []),
        ]
    )


def _survival(survived: tuple[bool, ...]) -> str:
    return format_percent(estimate_share(sum(survived), len(survived)))
