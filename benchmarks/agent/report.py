"""The section of RESULTS.md, from the rows of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean

from benchmarks.agent.rows import AgentRun, TaskRow
from benchmarks.markdown import format_percent, format_table
from benchmarks.shared.statistics import estimate_share

OURS, FREE = "tersely-agent", "tersely-agent, free"
BASE, CONSTRAINED_BASE = "base", "base, grammar"
REACT = "ReAct, base"
SYSTEMS = (OURS, FREE, BASE, CONSTRAINED_BASE, REACT)


def render(run: AgentRun) -> str:
    """The section of RESULTS.md."""
    systems = [name for name in SYSTEMS if any(row.system == name for row in run.rows)]
    return "\n\n".join(
        [
            f"Selector {run.model}, agent {run.agent}. {run.environment.describe()} Seed {run.seed}.",
            f"At most {run.max_turns} turns a task, in strict mode; a system with fewer tasks got the first "
            "of them. In percent, with Wilson intervals of 95 %: *well-formed*, replies that are turns; "
            "*inside*, summaries that have the length of their level, of those turns that had something to "
            "summarise; *answered*, tasks that came to an answer, and *right*, those whose answer contains "
            "the right one. Tokens are those of all prompts and replies of a task. ReAct's replies have no "
            "form to break.",
            format_table(
                [
                    "system",
                    "tasks",
                    "well-formed",
                    "inside",
                    "answered",
                    "right",
                    "F1",
                    "turns",
                    "tokens in",
                    "out",
                    "s",
                ],
                [_render_system([row for row in run.rows if row.system == name], name) for name in systems],
            ),
            "Levels of the summaries: "
            + "; ".join(_count_levels(run.rows, name) for name in systems if name != REACT)
            + ".",
        ]
    )


def _render_system(rows: Sequence[TaskRow], name: str) -> list[str]:
    tasks, replies = len(rows), sum(row.replies for row in rows)
    summaries = sum(row.summaries for row in rows)
    return [
        name,
        f"{tasks:,}",
        "–" if name == REACT else _share(sum(row.well_formed for row in rows), replies),
        _share(sum(row.inside for row in rows), summaries),
        _share(sum(row.outcome == "answered" for row in rows), tasks),
        _share(sum(row.correct for row in rows), tasks),
        f"{100 * fmean(row.f1 for row in rows):.1f}",
        f"{replies / tasks:.1f}",
        f"{fmean(row.tokens_in for row in rows):,.0f}",
        f"{fmean(row.tokens_out for row in rows):,.0f}",
        f"{fmean(row.seconds for row in rows):.0f}",
    ]


def _share(count: int, total: int) -> str:
    return format_percent(estimate_share(count, total)) if total else "–"


def _count_levels(rows: Sequence[TaskRow], name: str) -> str:
    levels = Counter(level for row in rows if row.system == name for level in row.levels)
    shown = ", ".join(f"{count} of level {level}" for level, count in sorted(levels.items()))
    return f"{name} {shown or 'none'}"
