"""A balanced sample has no more of a large set than of the median one."""

from __future__ import annotations

from collections import Counter

from training.export.balance import draw_balanced


def test_large_sets_are_cut_to_the_median_size() -> None:
    sources = ["a"] * 5 + ["b"] * 50 + ["c"] * 8
    drawn = draw_balanced(sources)
    assert Counter(sources[i] for i in drawn) == {"a": 5, "b": 8, "c": 8}
    assert drawn == sorted(set(drawn)) == draw_balanced(sources)


def test_the_items_of_a_large_set_are_drawn_from_all_of_it() -> None:
    sources = ["a"] * 10 + ["b"] * 1000
    draws = [set(draw_balanced(sources, seed)) - set(range(10)) for seed in range(40)]
    assert all(len(d) == 10 for d in draws)
    assert min(map(min, draws)) < 60
    assert max(map(max, draws)) > 960


def test_a_single_set_is_kept_whole() -> None:
    assert draw_balanced(["mine"] * 70) == list(range(70))
    assert draw_balanced([]) == []
