"""Measure ways to compact with compaction-conformance-kit (see `compacting`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Any

from benchmarks.compaction.compacting import Compact
from benchmarks.rows import Line
from tersely.messages import Json

DISTRIBUTION = "compaction-conformance-kit"
SEEDS = (1, 2, 3, 4)
ROUNDS = 5
STATEMENTS = 20
"""Number of statements in the session that the kit draws with a seed."""
_ROLES = ("system", "user", "assistant")


def kit_version() -> str:
    """Return the version of the kit."""
    return version(DISTRIBUTION)


def measure_kit(ways: Mapping[str, Compact], budgets: Sequence[float]) -> list[Line]:
    """Return the kit's results: a line for each budget, way and seed."""
    benchmark: Any = import_module("compaction_kit.benchmark")
    lines: list[Line] = []
    for budget in budgets:
        for name, way in ways.items():
            for seed in SEEDS:
                payload = benchmark.run_budget_benchmark(
                    {name: _make_factory(name, way)}, budgets=(budget,), seeds=(seed,), rounds=ROUNDS
                )
                (entry,) = payload["entries"]
                case = {"sessions": "the kit's", "system": name, "budget": budget, "case": f"seed {seed}"}
                lines.append({**case, **_describe_entry(entry)})
    return lines


def _describe_entry(entry: Mapping[str, Any]) -> Line:
    conflicts = entry["semantic"]["conflicts"]
    return {
        "statements": STATEMENTS,
        "kept": round(entry["randomized"]["overall_final_survival"] * STATEMENTS),
        "outdated": conflicts["n"],
        "left": conflicts["stale"],
        "pairs": conflicts["pairs"],
        "pairs kept": conflicts["pairs_both_held"],
        "fits": bool(entry["budget_compliant"]),
    }


def _make_factory(name: str, way: Compact) -> Any:
    kit: Any = import_module("compaction_kit.compacted")

    class Way:
        """A way to compact, with the interface that the kit calls."""

        def __init__(self) -> None:
            self.name = name

        def compact(self, turns: Sequence[Any], round_num: int = 1, budget_chars: int = 0) -> Any:
            messages: list[Json] = [
                {"role": turn.role if turn.role in _ROLES else "user", "content": turn.text} for turn in turns
            ]
            return kit.CompactedContext(way(messages, budget_chars), name, round_num)

    return Way
