"""`python -m benchmarks.retrieval.merging`: from which similarity on two lessons may be merged.

`lessons.txt` has each lesson in two wordings, followed by a lesson on the same subject that says something
else. A good threshold merges the wordings and nothing else. Half of the triples choose it, as the lowest
hundredth at which no other lesson is merged. The others test it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from math import ceil
from pathlib import Path
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from benchmarks.command import Measured, Options, make_parser, run
from benchmarks.rows import Line, Lines, group_lines
from benchmarks.shared.minilm import load_minilm
from benchmarks.table import Column, Row, Table
from tersely.embedding import SentenceEmbedder
from tersely_agents.experience.bank import MERGE_THRESHOLD

LESSONS = Path(__file__).with_name("lessons.txt")
THRESHOLDS = (0.6, 0.7, 0.8, MERGE_THRESHOLD)
COLUMNS = (
    Column("threshold", format=".2f"),
    Column("embeddings"),
    Column("chosen"),
    Column("same lesson merged", "%", format=".0f"),
    Column("another lesson merged", "%", format=".0f"),
)

Similarities = NDArray[np.float32]
Embed = Callable[[Sequence[str]], NDArray[np.float32]]
Triple = Sequence[str]
"""A lesson, the same in other words, and another one. Titles and descriptions, as the bank joins them."""


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    return run(make_parser("benchmarks.retrieval.merging", __doc__), arguments, Options(), measure)


def measure(options: Options) -> Measured:
    """Compare the triples with every embedder."""
    ours = SentenceEmbedder()
    triples = read_lessons()
    embedders: dict[str, Embed] = {"tersely": ours.embed, "MiniLM": load_minilm().embed}
    lines = [line for name, embed in embedders.items() for line in _measure_embedder(name, embed, triples)]
    return Measured(make_tables(lines), ours.name, {"triples of each half": len(triples) // 2}, lines)


def read_lessons() -> list[Triple]:
    """Return the triples of `lessons.txt`."""
    return [block.splitlines() for block in LESSONS.read_text(encoding="utf-8").strip().split("\n\n")]


def _measure_embedder(name: str, embed: Embed, triples: Sequence[Triple]) -> Iterator[Line]:
    """Yield a line for each triple. Every second triple, from the first, helps to choose the threshold."""
    for number, (same, other) in enumerate(zip(*compare(embed, triples), strict=True)):
        yield {
            "embeddings": name,
            "triple": number,
            "chooses": number % 2 == 0,
            "same": round(float(same), 6),
            "other": round(float(other), 6),
        }


def make_tables(lines: Lines) -> list[Table]:
    """Return the table, from the similarities of all triples."""
    groups = group_lines(lines, "embeddings")
    rows = [
        {"embeddings": name, **row}
        for name, own in groups.items()
        for row in _try_thresholds(
            choose_threshold([line["other"] for line in own if line["chooses"]]),
            [line for line in own if not line["chooses"]],
        )
    ]
    return [Table("Merged", COLUMNS, tuple(rows), across="embeddings")]


def _try_thresholds(chosen: float, lines: Lines) -> Iterator[Row]:
    """Yield a row for each threshold, with the shares of lessons that it merges."""
    for threshold in sorted({*THRESHOLDS, chosen}):
        yield {
            "threshold": threshold,
            "chosen": threshold == chosen,
            "same lesson merged": round(fmean(line["same"] > threshold for line in lines), 4),
            "another lesson merged": round(fmean(line["other"] > threshold for line in lines), 4),
        }


def compare(embed: Embed, triples: Sequence[Triple]) -> tuple[Similarities, Similarities]:
    """Return the similarity of the two wordings, and the similarity of the other lesson to the nearer
    wording."""
    lesson, same, other = (embed([triple[i] for triple in triples]) for i in range(3))
    nearer = np.maximum((lesson * other).sum(axis=1), (same * other).sum(axis=1))
    return (lesson * same).sum(axis=1), nearer


def choose_threshold(forbidden: Sequence[float]) -> float:
    """Return the lowest hundredth that no similarity is above."""
    return ceil(100 * max(forbidden)) / 100


if __name__ == "__main__":
    sys.exit(main())
