"""`python -m benchmarks.retrieval.merging`: from which similarity on two lessons may be merged.

`lessons.txt` has each lesson in two wordings, followed by a lesson on the same subject that says something
else. A good threshold merges the wordings and nothing else. Half of the triples choose it, as the lowest
hundredth at which no other lesson is merged. The others test it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.command import Measured, Options, make_parser, run
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
    rows = [row for name, embed in embedders.items() for row in _measure_embedder(name, embed, triples)]
    settings = {"triples of each half": len(triples) // 2}
    return Measured([Table("Merged", COLUMNS, tuple(rows), across="embeddings")], ours.name, settings)


def read_lessons() -> list[Triple]:
    """Return the triples of `lessons.txt`."""
    return [block.splitlines() for block in LESSONS.read_text(encoding="utf-8").strip().split("\n\n")]


def _measure_embedder(name: str, embed: Embed, triples: Sequence[Triple]) -> list[Row]:
    _, forbidden = compare(embed, triples[::2])
    chosen = choose_threshold(forbidden)
    same, other = compare(embed, triples[1::2])
    return [
        {
            "embeddings": name,
            "threshold": threshold,
            "chosen": threshold == chosen,
            "same lesson merged": round(float((same > threshold).mean()), 4),
            "another lesson merged": round(float((other > threshold).mean()), 4),
        }
        for threshold in sorted({*THRESHOLDS, chosen})
    ]


def compare(embed: Embed, triples: Sequence[Triple]) -> tuple[Similarities, Similarities]:
    """Return how similar the two wordings are, and how similar the other lesson is to the nearer wording."""
    lesson, same, other = (embed([triple[i] for triple in triples]) for i in range(3))
    nearer = np.maximum((lesson * other).sum(axis=1), (same * other).sum(axis=1))
    return (lesson * same).sum(axis=1), nearer


def choose_threshold(forbidden: Similarities) -> float:
    """Return the lowest hundredth that no similarity is above."""
    return float(np.ceil(100 * forbidden.max().item()) / 100)


if __name__ == "__main__":
    sys.exit(main())
