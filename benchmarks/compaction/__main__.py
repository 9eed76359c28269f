"""`python -m benchmarks.compaction`: how many of the users' statements are left after five compactions.

Two measures: the sessions of compaction-conformance-kit, scored by the kit, and conversations of our own on
other topics. A budget is a share of the conversation's characters, the same in every round. The system gets
nothing but the text of the round before, and no language model.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from benchmarks import command
from benchmarks.command import Measured, make_parser, run, track
from benchmarks.compaction.compacting import Compact, make_ways
from benchmarks.compaction.conversations import Conversation, read_conversations
from benchmarks.compaction.kit import DISTRIBUTION, ROUNDS, kit_version, measure_kit
from benchmarks.rows import Line, Lines, group_lines
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
    lines = [*measure_kit(ways, BUDGETS), *measure_own(ways, read_conversations(), BUDGETS)]
    return Measured(make_tables(lines), settings={"rounds": ROUNDS, DISTRIBUTION: kit_version()}, rows=lines)


def measure_own(
    ways: Mapping[str, Compact], conversations: Sequence[Conversation], budgets: Sequence[float]
) -> list[Line]:
    """Return a line for each budget, way and conversation."""
    lines: list[Line] = []
    for budget in budgets:
        for name, way in ways.items():
            for conversation in track(conversations, name):
                most = int(budget * sum(len(get_text(m)) + 1 for m in conversation.messages))
                text = compact_often(way, conversation.messages, most)
                lines.append(
                    {
                        "sessions": "our own",
                        "system": name,
                        "budget": budget,
                        "case": conversation.name,
                        "statements": len(conversation.kept),
                        "kept": conversation.count_kept(text),
                        "outdated": len(conversation.stale),
                        "left": conversation.count_stale(text),
                        "pairs": 0,
                        "pairs kept": 0,
                        "fits": len(text) <= most,
                    }
                )
    return lines


def make_tables(lines: Lines) -> list[Table]:
    """Return the table, from the lines of all sessions."""
    groups = group_lines(lines, "sessions", "system", "budget")
    rows = [
        {"sessions": sessions, "system": system, "budget": budget, **_sum_up(own)}
        for (sessions, system, budget), own in groups.items()
    ]
    return [Table("After five compactions", COLUMNS, tuple(rows), across="budget")]


def _sum_up(lines: Lines) -> Row:
    """Return the cells of a system at a budget."""

    def count(name: str) -> int:
        return sum(line[name] for line in lines)

    pairs = count("pairs")
    return {
        "statements kept": estimate_share(count("kept"), count("statements")),
        "outdated values left": f"{count('left')} of {count('outdated')}",
        "distinct pairs kept": f"{count('pairs kept')} of {pairs}" if pairs else None,
        "within the budget": all(line["fits"] for line in lines),
    }


def compact_often(way: Compact, messages: Sequence[Json], budget: int) -> str:
    """Return the text after all rounds."""
    text = ""
    for _ in range(ROUNDS):
        text = way(messages, budget)
        messages = [{"role": "system", "content": text}]
    return text


if __name__ == "__main__":
    sys.exit(main())
