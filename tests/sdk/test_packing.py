from __future__ import annotations

import random
from collections.abc import Callable
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tersely.packing.fill import Candidate, Place, fit, pack, priority, sort_by_priority


def items(*rows: tuple[float, int]) -> list[Candidate]:
    return sort_by_priority([Candidate(0, index, score, cost) for index, (score, cost) in enumerate(rows)])


def units(choice: frozenset[Place]) -> list[int]:
    return sorted(unit for _, unit in choice)


def additive(ranked: list[Candidate], titles: list[int]) -> Callable[[frozenset[Place]], int]:
    costs = {(item.doc, item.unit): item.cost for item in ranked}
    return lambda choice: (
        sum(costs[key] for key in choice) + sum(titles[doc] for doc in {d for d, _ in choice})
    )


def test_best_first_and_passes_over_what_does_not_fit() -> None:
    ranked = items((0.9, 5), (0.8, 7), (0.7, 4))
    assert pack(ranked, [0], 10) == ({(0, 0), (0, 2)}, 9)


def test_ties_go_to_the_cheaper_then_to_the_earlier() -> None:
    assert [item.unit for item in items((0.5, 3), (0.5, 1), (0.5, 3), (0.9, 9))] == [3, 1, 0, 2]


def test_the_first_unit_of_a_document_pays_its_title() -> None:
    ranked = sort_by_priority([Candidate(0, 0, 0.9, 5), Candidate(1, 0, 0.8, 5), Candidate(0, 1, 0.7, 5)])
    assert pack(ranked, [4, 4], 14) == ({(0, 0), (0, 1)}, 14)


def test_fit_uses_the_measured_size_not_the_sum() -> None:
    ranked = items(*[(1 - n / 100, 10) for n in range(20)])
    plus_one_each = fit(ranked, [0], 55, lambda choice: 11 * len(choice))
    assert units(plus_one_each) == [0, 1, 2, 3, 4]
    half_of_each = fit(ranked, [0], 55, lambda choice: 5 * len(choice))
    assert len(half_of_each) == 11


def test_scale_makes_the_first_guess_right() -> None:
    ranked = items(*[(1 - n / 1000, 10) for n in range(200)])
    sizes: list[int] = []

    def measure(choice: frozenset[Place]) -> int:
        sizes.append(5 * len(choice))
        return sizes[-1]

    assert len(fit(ranked, [0], 500, measure, scale=2.0)) == 100
    assert sizes == [500]


def test_a_unit_that_measures_larger_than_it_counts_leaves_room_for_a_smaller_one() -> None:
    ranked = items((0.9, 9), (0.5, 4))
    sizes = {frozenset[int](): 0, frozenset({0}): 11, frozenset({1}): 4, frozenset({0, 1}): 15}
    assert units(fit(ranked, [0], 10, lambda choice: sizes[frozenset(units(choice))])) == [1]


@pytest.mark.parametrize(
    "measure", [lambda c: len(c) ** 3, lambda c: 1000 if len(c) % 2 else len(c), lambda c: 7]
)
def test_odd_counters_never_break_the_limit(measure: Callable[[frozenset[Place]], int]) -> None:
    ranked = items(*[(n / 100, 1 + n % 7) for n in range(100)])
    for limit in (1, 6, 7, 50, 99):
        choice = fit(ranked, [3], limit, measure)
        assert not choice or measure(choice) <= limit


rows = st.lists(st.tuples(st.integers(0, 2), st.floats(0, 1), st.integers(0, 30)), max_size=30)


@given(rows, st.lists(st.integers(0, 10), min_size=3, max_size=3), st.integers(0, 200))
def test_nothing_that_fits_is_left_out(
    spec: list[tuple[int, float, int]], titles: list[int], limit: int
) -> None:
    ranked = sort_by_priority(
        [Candidate(doc, index, score, cost) for index, (doc, score, cost) in enumerate(spec)]
    )
    measure = additive(ranked, titles)
    choice = fit(ranked, titles, limit, measure)
    assert measure(choice) <= limit
    for item in ranked:
        if (item.doc, item.unit) not in choice:
            assert measure(choice | {(item.doc, item.unit)}) > limit


@given(rows, st.integers(0, 100), st.randoms(use_true_random=False))
def test_the_order_of_the_items_does_not_matter(
    spec: list[tuple[int, float, int]], limit: int, shuffle: random.Random
) -> None:
    given_items = [Candidate(doc, index, score, cost) for index, (doc, score, cost) in enumerate(spec)]
    shuffled = shuffle.sample(given_items, len(given_items))
    assert pack(sort_by_priority(given_items), [1, 1, 1], limit) == pack(
        sort_by_priority(shuffled), [1, 1, 1], limit
    )


def test_small_cases_keep_at_least_half_of_what_is_possible() -> None:
    # Greedy with a fall-through is not the knapsack optimum, but must not be far off on sentence-like costs.
    generator = random.Random(7)
    for _ in range(40):
        spec = [(generator.random(), generator.randint(8, 30)) for _ in range(8)]
        ranked, limit = items(*spec), 60
        kept = sum(spec[unit][0] for unit in units(pack(ranked, [0], limit)[0]))
        best = max(
            sum(spec[i][0] for i in group)
            for size in range(9)
            for group in combinations(range(8), size)
            if sum(spec[i][1] for i in group) <= limit
        )
        assert kept >= best / 2


def test_a_unit_is_worth_its_score_per_length_up_to_that_of_a_long_sentence() -> None:
    assert priority(0.8, 16, 0.5) == 0.2
    assert priority(0.8, 64, 0.5) == priority(0.8, 5000, 0.5) == 0.1
    assert priority(0.8, 16, 0.0) == priority(0.8, 0, 0.5) == 0.8
