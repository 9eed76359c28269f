"""`python -m benchmarks.compaction`: what is left of users' statements after five compactions.

Two measures: the sessions of compaction-conformance-kit, scored by the kit, and conversations of our own on
other topics. A budget is a share of the conversation's characters, the same in every round. The system gets
nothing but the text of the round before, and no language model.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks import command
from benchmarks.command import Measured, make_parser, run, track
from benchmarks.compaction.compacting import Compact, make_ways
from benchmarks.compaction.conversations import Conversation, read_conversations
from benchmarks.compaction.kit import DISTRIBUTION, ROUNDS, kit_version, measure_kit
from benchmarks.shared.statistics import estimate_share
from benchmarks.table import Column, Row, Table
from tersely.messages import Json, get_text

BUDGETS = (0.1, 0.2, 0.3)

COLUMNS = (
    Column("sessions"),
    Column("system"),
    Column("budget", "%", format=".0f"),
    Column("statements kept", "%", interval="wilson"),
    Column("outdated values left"),
    Column("distinct pairs kept"),
    Column("within the budget"),
)


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    return run(make_parser("benchmarks.compaction", __doc__), arguments, command.Options(), measure)


def measure(options: command.Options) -> Measured:
    """Compact every session in every way. The kit draws its sessions with seeds of its own."""
    ways = make_ways()
    rows = [_describe_entry(entry) for entry in measure_kit(ways, BUDGETS)]
    rows += measure_own(ways, read_conversations(), BUDGETS)
    table = Table("After five compactions", COLUMNS, tuple(rows), across="budget")
    return Measured([table], settings={"rounds": ROUNDS, DISTRIBUTION: kit_version()})


def measure_own(
    ways: Mapping[str, Compact], conversations: Sequence[Conversation], budgets: Sequence[float]
) -> list[Row]:
    """Return a row for each way and budget, over all conversations."""
    rows: list[Row] = []
    for budget in budgets:
        for name, way in ways.items():
            kept = stale = 0
            fits = True
            for conversation in track(conversations, name):
                most = int(budget * sum(len(get_text(m)) + 1 for m in conversation.messages))
                text = compact_often(way, conversation.messages, most)
                kept += conversation.count_kept(text)
                stale += conversation.count_stale(text)
                fits = fits and len(text) <= most
            rows.append(
                {
                    "sessions": "our own",
                    "system": name,
                    "budget": budget,
                    "statements kept": estimate_share(kept, sum(len(c.kept) for c in conversations)),
                    "outdated values left": f"{stale} of {sum(len(c.stale) for c in conversations)}",
                    "distinct pairs kept": None,
                    "within the budget": fits,
                }
            )
    return rows


def compact_often(way: Compact, messages: Sequence[Json], budget: int) -> str:
    """Return the text after all rounds."""
    text = ""
    for _ in range(ROUNDS):
        text = way(messages, budget)
        messages = [{"role": "system", "content": text}]
    return text


def _describe_entry(entry: Mapping[str, Any]) -> Row:
    randomized, semantic = entry["randomized"], entry["semantic"]
    canaries = 20 * randomized["sessions"]
    conflicts = semantic["conflicts"]
    return {
        "sessions": "the kit's",
        "system": str(entry["compactor"]),
        "budget": float(str(entry["budget_fraction"])),
        "statements kept": estimate_share(round(randomized["overall_final_survival"] * canaries), canaries),
        "outdated values left": f"{conflicts['stale']} of {conflicts['n']}",
        "distinct pairs kept": f"{conflicts['pairs_both_held']} of {conflicts['pairs']}",
        "within the budget": bool(entry["budget_compliant"]),
    }


if __name__ == "__main__":
    sys.exit(main())
