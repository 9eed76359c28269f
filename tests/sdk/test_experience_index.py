"""Both indexes against brute force."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tersely_agents.experience import Index
from tersely_agents.experience.types import Vectors
from tests.sdk.experiences import INDEXES


@pytest.mark.parametrize("make_index", INDEXES)
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_an_index_finds_what_brute_force_finds(make_index: Callable[[int], Index], seed: int) -> None:
    r = np.random.default_rng(seed)
    index = make_index(4)
    rows: list[tuple[Vectors, Vectors]] = []

    def vector() -> Vectors:
        return r.choice([-1.0, 0.0, 0.5, 1.0], 4).astype(np.float32)

    for _ in range(r.integers(1, 40)):
        action = r.random()
        if action < 0.6 or not rows:
            count = int(r.integers(1, 4))
            new = [(vector(), vector()) for _ in range(count)]
            index.add(np.stack([a for a, _ in new]), np.stack([b for _, b in new]))
            rows += new
        elif action < 0.8:
            position = int(r.integers(len(rows)))
            rows[position] = (vector(), vector())
            index.replace(position, *rows[position])
        else:
            position = int(r.integers(len(rows)))
            index.remove(position)
            rows[position] = rows[-1]
            rows.pop()
        assert len(index) == len(rows)
    query, problem, alpha, k = vector(), vector(), float(r.random()), int(r.integers(1, 8))
    scores = [float(alpha * query @ a + (1 - alpha) * problem @ b) for a, b in rows]
    matches = index.search(query, problem, alpha, k)
    assert [s for _, s in matches] == pytest.approx(sorted(scores, reverse=True)[:k], abs=1e-5)
    assert all(scores[position] == pytest.approx(score, abs=1e-5) for position, score in matches)
    nearest = index.nearest(query)
    if rows:
        assert nearest is not None
        assert nearest[1] == pytest.approx(max(float(query @ a) for a, _ in rows), abs=1e-5)
    else:
        assert nearest is None


@pytest.mark.parametrize("make_index", INDEXES)
@pytest.mark.parametrize("decay", [8.0, 1e9], ids=["leading numbers are largest", "all numbers are alike"])
def test_an_index_of_many_long_vectors_finds_what_brute_force_finds(
    make_index: Callable[[int], Index], decay: float
) -> None:
    r = np.random.default_rng(5)
    size, dimension = 3000, 96

    def vectors(count: int) -> Vectors:
        rows = r.normal(size=(count, dimension)) * np.exp(-np.arange(dimension) / decay)
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    index, own, problems = make_index(dimension), vectors(size), vectors(size)
    own[10] = own[2000] = own[50]
    problems[10] = problems[2000] = problems[50]
    index.add(own, problems)
    for query, problem in zip([*vectors(20), own[50]], [*vectors(20), problems[50]], strict=True):
        scores = 0.3 * own @ query + 0.7 * problems @ problem
        matches = index.search(query, problem, 0.3, 7)
        assert [s for _, s in matches] == pytest.approx(np.sort(scores)[::-1][:7], abs=1e-5)
        assert all(scores[position] == pytest.approx(score, abs=1e-5) for position, score in matches)
        nearest = index.nearest(query)
        assert nearest is not None
        assert nearest[1] == pytest.approx(np.max(own @ query), abs=1e-5)
    assert [position for position, _ in index.search(own[50], problems[50], 0.3, 3)] == [10, 50, 2000]
