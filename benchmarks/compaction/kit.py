"""The sessions of compaction-conformance-kit, compacted by our ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Any, cast

from benchmarks.compaction.compacting import Compact
from tersely.messages import Json

DISTRIBUTION = "compaction-conformance-kit"
SEEDS = (1, 2, 3, 4)
ROUNDS = 5
_ROLES = ("system", "user", "assistant")


def kit_version() -> str:
    """Return the version of the kit."""
    return version(DISTRIBUTION)


def measure_kit(
    ways: Mapping[str, Compact], budgets: Sequence[float], seeds: Sequence[int] = SEEDS
) -> list[dict[str, Any]]:
    """Return the kit's own results: an entry for each way and budget."""
    benchmark: Any = import_module("compaction_kit.benchmark")
    factories = {name: _make_factory(name, way) for name, way in ways.items()}
    payload = benchmark.run_budget_benchmark(factories, budgets=budgets, seeds=seeds, rounds=ROUNDS)
    return cast("list[dict[str, Any]]", payload["entries"])


def _make_factory(name: str, way: Compact) -> Any:
    kit: Any = import_module("compaction_kit.compacted")

    class Way:
        """A way to compact, in the kit's form."""

        def __init__(self) -> None:
            self.name = name

        def compact(self, turns: Sequence[Any], round_num: int = 1, budget_chars: int = 0) -> Any:
            messages: list[Json] = [
                {"role": turn.role if turn.role in _ROLES else "user", "content": turn.text} for turn in turns
            ]
            return kit.CompactedContext(way(messages, budget_chars), name, round_num)

    return Way
