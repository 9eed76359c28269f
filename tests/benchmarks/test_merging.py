"""The benchmark of merging lessons: its choice by hand, and its texts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.retrieval.lessons import TRIPLES, Triple
from benchmarks.retrieval.merging import MergingRow, MergingRun, choose_threshold, compare, render
from benchmarks.shared.environment import read_environment


def test_the_threshold_is_the_lowest_hundredth_that_merges_no_other_lesson() -> None:
    forbidden = np.array([0.2, 0.711, 0.5], np.float32)
    chosen = choose_threshold(forbidden)
    assert chosen == 0.72
    assert not (forbidden > chosen).any()
    assert (forbidden > chosen - 0.01).any()


def test_a_lesson_counts_by_the_nearer_wording() -> None:
    places = {"a": (1.0, 0.0), "b": (0.6, 0.8), "c": (0.0, 1.0)}

    def embed(texts: Sequence[str]) -> np.ndarray:
        return np.array([places[text] for text in texts], np.float32)

    same, other = compare(embed, [Triple("a", "b", "c")])
    assert np.allclose(same, [0.6])
    assert np.allclose(other, [0.8]), "of b, as a has nothing of c"


def test_the_texts_are_forty_triples_of_different_lessons() -> None:
    assert len(TRIPLES) == 40
    texts = [text for triple in TRIPLES for text in triple]
    assert len(set(texts)) == len(texts)
    assert all(text.endswith(".") and ". When " in text for text in texts), "a title and a description"


def test_the_table_marks_the_chosen_threshold() -> None:
    row = MergingRow("tersely", 0.87, True, 0.05, 0.0)
    assert "| tersely | 0.87 (chosen) | 5 | 0 |" in render(
        MergingRun("merging", read_environment(), 20, (row,))
    )
