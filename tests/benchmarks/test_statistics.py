"""Intervals against values worked out by hand or known from tables."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.quality.report import verdict
from benchmarks.quality.statistics import Estimate, bootstrap, paired_difference, wilson


def test_wilson_at_known_points() -> None:
    half = wilson(50, 100)  # (0.5 + z²/200 ± z·sqrt(0.0025 + z²/40000)) / (1 + z²/100)
    assert (half.value, half.low, half.high) == pytest.approx((0.5, 0.4038, 0.5962), abs=1e-4)
    none = wilson(0, 10)  # upper end z²/(10 + z²)
    assert (none.value, none.low, none.high) == pytest.approx((0.0, 0.0, 0.2775), abs=1e-4)
    with pytest.raises(ValueError, match="at least one trial"):
        wilson(0, 0)


def test_bootstrap_of_one_value_has_no_spread() -> None:
    found = bootstrap(np.full(20, 1.0), np.full(20, 2.0), seed=1)
    assert (found.value, found.low, found.high) == (0.5, 0.5, 0.5)


def test_bootstrap_weighs_questions_by_what_they_have() -> None:
    found = bootstrap(np.array([1.0, 0.0]), np.array([1.0, 3.0]), seed=1)
    assert found.value == 0.25


def test_bootstrap_agrees_with_the_normal_interval_of_a_large_sample() -> None:
    kept = np.array([1.0] * 300 + [0.0] * 700)
    found = bootstrap(kept, np.ones(1000), seed=3)
    half = 1.96 * (0.3 * 0.7 / 1000) ** 0.5
    assert found.low == pytest.approx(0.3 - half, abs=0.004)
    assert found.high == pytest.approx(0.3 + half, abs=0.004)


def test_pairing_sees_what_separate_intervals_hide() -> None:
    theirs = np.array([1.0, 0.0] * 100)
    ours = theirs.copy()
    ours[1:40:2] = 1.0  # twenty questions more, none lost
    difference = paired_difference(ours, theirs, np.ones(200), seed=5)
    assert difference.value == pytest.approx(0.1)
    assert 0.05 < difference.low < 0.1 < difference.high < 0.15


def test_questions_without_labels_do_not_count() -> None:
    found = bootstrap(np.array([1.0, 0.0, 0.0]), np.array([1.0, 1.0, 0.0]), seed=1)
    assert found.value == 0.5
    with pytest.raises(ValueError, match="at least one thing"):
        bootstrap(np.zeros(3), np.zeros(3), seed=1)


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [(0.01, 0.1, "ahead"), (-0.01, 0.1, "level"), (-0.1, -0.01, "behind"), (0, 0, "level")],
)
def test_verdict(low: float, high: float, word: str) -> None:
    assert verdict(Estimate((low + high) / 2, low, high)) == word
