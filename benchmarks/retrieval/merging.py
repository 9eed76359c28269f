"""`python -m benchmarks.retrieval.merging`: from which similarity on two lessons may be merged.

Each lesson stands there in two wordings, beside a third lesson on the same subject that says something else
(`lessons.py`). A good threshold merges the wordings and nothing else. Half of the triples choose it, as the
lowest hundredth at which no other lesson is merged. The others test it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.arguments import add_out, make_parser
from benchmarks.markdown import format_table
from benchmarks.results import publish
from benchmarks.retrieval.lessons import TRIPLES, Triple
from benchmarks.shared.environment import Environment, read_environment
from benchmarks.shared.minilm import load_minilm
from tersely.embedding import SentenceEmbedder
from tersely_agents.experience.bank import MERGE_THRESHOLD

Similarities = NDArray[np.float32]
Embed = Callable[[Sequence[str]], NDArray[np.float32]]

THRESHOLDS = (0.6, 0.7, 0.8, MERGE_THRESHOLD)


@dataclass(frozen=True, slots=True)
class MergingRow:
    """One embedder at one threshold; shares of the half that has not chosen it."""

    embedder: str
    threshold: float
    chosen: bool
    """Whether the first half has chosen it."""
    same: float
    """Share of lessons whose other wording is merged."""
    other: float
    """Share of lessons that the lesson beside it would replace, or its other wording."""


@dataclass(frozen=True, slots=True)
class MergingRun:
    """One run of the benchmark."""

    benchmark: str
    environment: Environment
    triples: int
    """Of each half."""
    rows: tuple[MergingRow, ...]


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command."""

    out: Path


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = make_parser("benchmarks.retrieval.merging", __doc__)
    add_out(parser, "merging")
    options = Options(**vars(parser.parse_args(arguments)))
    return publish("merging", measure, render, options.out)


def measure() -> MergingRun:
    """Compare the triples with every embedder."""
    rows: list[MergingRow] = []
    embedders: dict[str, Embed] = {"tersely": SentenceEmbedder().embed, "MiniLM": load_minilm().embed}
    for name, embed in embedders.items():
        rows += _measure_embedder(name, embed)
    return MergingRun("merging", read_environment(), len(TRIPLES) // 2, tuple(rows))


def _measure_embedder(name: str, embed: Embed) -> list[MergingRow]:
    _, forbidden = compare(embed, TRIPLES[::2])
    chosen = choose_threshold(forbidden)
    same, other = compare(embed, TRIPLES[1::2])
    return [
        MergingRow(
            name,
            threshold,
            threshold == chosen,
            round(float((same > threshold).mean()), 4),
            round(float((other > threshold).mean()), 4),
        )
        for threshold in sorted({*THRESHOLDS, chosen})
    ]


def compare(embed: Embed, triples: Sequence[Triple]) -> tuple[Similarities, Similarities]:
    """Of each triple: how similar the two wordings are, and how similar the third lesson is to the nearer."""
    lesson, same, other = (embed([triple[i] for triple in triples]) for i in range(3))
    nearer = np.maximum((lesson * other).sum(axis=1), (same * other).sum(axis=1))
    return (lesson * same).sum(axis=1), nearer


def choose_threshold(forbidden: Similarities) -> float:
    """The lowest hundredth that no similarity is above."""
    return float(np.ceil(100 * forbidden.max().item()) / 100)


def render(run: MergingRun) -> str:
    """The table, in Markdown."""
    rows = [
        [
            row.embedder,
            f"{row.threshold:.2f}{' (chosen)' if row.chosen else ''}",
            f"{100 * row.same:.0f}",
            f"{100 * row.other:.0f}",
        ]
        for row in run.rows
    ]
    header = ["", "threshold", "same lesson merged, %", "another lesson merged, %"]
    return "\n\n".join(
        [
            run.environment.describe(),
            f"{run.triples} triples choose the threshold, {run.triples} others give the shares.",
            format_table(header, rows),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
