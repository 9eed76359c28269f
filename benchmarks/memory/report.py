"""The section of RESULTS.md on agent memories."""

from __future__ import annotations

from benchmarks.markdown import format_table
from benchmarks.memory.replay import CACHED_PRICE, WRITTEN_PRICE
from benchmarks.memory.rows import Lead, MemoryRow, MemoryRun, SetRow, StressRow


def render(run: MemoryRun) -> str:
    """A table for each set, then the long task."""
    chat = f"; in the sets with a model, {run.chat_model} writes them" if run.chat_model else ""
    return "\n\n".join(
        [
            f"Model {run.model}. Notes are sentences of the transcript{chat}. Seed {run.seed}. "
            f"{run.environment.describe()}",
            f"Billed: input tokens, and {WRITTEN_PRICE:g} for each token that a model writes for a summary. "
            "With a cache, input that also stood at the beginning of the call before costs "
            f"{CACHED_PRICE:g}.",
            *map(_render_set, run.sets),
            _render_stress(run.stress),
        ]
    )


def _render_set(row: SetRow) -> str:
    header = ["", "billed", "with a cache", "facts held, %", "tersely at no higher bill"]
    header += ["orphans", "longest", "ms a message"]
    counts = f"{row.transcripts} transcripts, {row.messages} messages, {row.facts} facts."
    return f"### {row.title}\n\n{counts}\n\n{format_table(header, [_list_cells(r) for r in row.rows])}"


def _list_cells(row: MemoryRow) -> list[str]:
    return [
        f"**{row.system}**" if row.is_ours else row.system,
        f"{row.billed:,}",
        f"{row.billed_with_cache:,}",
        f"{row.held.value} ({row.held.low}–{row.held.high})",
        _format_lead(row.against),
        str(row.orphans),
        f"{row.longest:,}",
        str(row.milliseconds_per_message),
    ]


def _format_lead(lead: Lead | None) -> str:
    if lead is None:
        return "–"
    points = lead.difference
    return f"{points.value:+.1f} ({points.low:+.1f} to {points.high:+.1f})"


def _render_stress(row: StressRow) -> str:
    quarters = ", ".join(f"{milliseconds:g}" for milliseconds in row.milliseconds)
    return (
        f"### A long task\n\n{row.turns} turns with a scripted model and a file: {row.summaries} "
        f"resets, at most {row.longest:,} tokens of {row.limit:,}; median milliseconds of a turn "
        f"in each quarter of the task: {quarters}; {row.file_bytes:,} bytes on disk."
    )
