"""Rows of the benchmark without a question, and its section of RESULTS.md."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.markdown import format_lead, format_percent, format_table
from benchmarks.shared.environment import Environment
from benchmarks.shared.statistics import Estimate
from benchmarks.without_question.cases import TITLES
from benchmarks.without_question.methods import OURS

MEASURES = {
    "words": "words of the summaries",
    "pairs": "pairs of neighbouring words of the summaries",
    "named": "names and numbers of the summaries",
    "answers": "answers to later questions",
}


@dataclass(frozen=True, slots=True)
class OpenRow:
    """One method on the cases of one set at one rate."""

    source: str
    rate: float
    method: str
    measure: str
    kept: Estimate
    """Mean share that is kept."""
    lead: Estimate | None
    """Of tersely, over the same cases; None for itself."""
    tokens: float
    """Mean share of the tokens."""
    seconds: float
    """Median of a call."""


@dataclass(frozen=True, slots=True)
class OpenRun:
    """One run of the benchmark."""

    benchmark: str
    seed: int
    cases: dict[str, int]
    """By set."""
    environment: Environment
    rows: tuple[OpenRow, ...]


def render(run: OpenRun) -> str:
    """The section of RESULTS.md."""
    sizes = ", ".join(f"{TITLES[name]}: {count}" for name, count in run.cases.items())
    parts = [
        f"Seed {run.seed}. Cases: {sizes}. {run.environment.describe()}",
        "Documents are compressed to a share of their tokens before anything is asked. Shares of what a "
        "summary says, or of the answers to later questions, that the text still holds, in percent [95 % "
        "interval over cases]; and tersely's lead over the same cases. *Lead of each*: the first sentences "
        "of every document in turn. *LexRank*: sentences by centrality. *Dropped words*: the rarest words of "
        "all documents are kept, a stand-in for LLMLingua-2 and Selective Context, whose models we lack. "
        "The settings of tersely were chosen on training sets: QMSum, FairytaleQA and SQuAD.",
    ]
    for measure, title in MEASURES.items():
        rows = [row for row in run.rows if row.measure == measure]
        if not rows:
            continue
        header = ["set and rate", *dict.fromkeys(row.method for row in rows)]
        places = dict.fromkeys((row.source, row.rate) for row in rows)
        kept: list[list[str]] = []
        leads: list[list[str]] = []
        for source, rate in places:
            own = [row for row in rows if (row.source, row.rate) == (source, rate)]
            name = f"{source} {rate:g}"
            kept.append([name, *(format_percent(row.kept) for row in own)])
            leads.append([name, *(format_lead(row.lead) for row in own if row.lead is not None)])
        parts.append(f"Share of the {title} that is kept:")
        parts.append(format_table(header, kept))
        parts.append("tersely's lead, in points:")
        parts.append(format_table([header[0], *(name for name in header[1:] if name != OURS)], leads))
    return "\n\n".join(parts)
