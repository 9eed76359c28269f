"""Intervals, compared with values worked out by hand or known from tables."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.shared.statistics import Estimate, bootstrap, bootstrap_difference, estimate_share, pool


def test_wilson_intervals_at_known_points() -> None:
    half = estimate_share(50, 100)  # (0.5 + z²/200 ± z·sqrt(0.0025 + z²/40000)) / (1 + z²/100)
    assert (half.value, half.low, half.high) == pytest.approx((0.5, 0.4038, 0.5962), abs=1e-4)
    none = estimate_share(0, 10)  # upper end z²/(10 + z²)
    assert (none.value, none.low, none.high) == pytest.approx((0.0, 0.0, 0.2775), abs=1e-4)
    with pytest.raises(ValueError, match="at least one trial"):
        estimate_share(0, 0)


def test_bootstrap_of_one_value_has_no_spread() -> None:
    estimate = bootstrap(np.full(20, 1.0), np.full(20, 2.0), seed=1)
    assert estimate == Estimate(0.5, 0.5, 0.5)


def test_bootstrap_weighs_questions_by_what_they_have() -> None:
    assert bootstrap(np.array([1.0, 0.0]), np.array([1.0, 3.0]), seed=1).value == 0.25


def test_bootstrap_agrees_with_the_normal_interval_of_a_large_sample() -> None:
    kept = np.array([1.0] * 300 + [0.0] * 700)
    estimate = bootstrap(kept, np.ones(1000), seed=3)
    half = 1.96 * (0.3 * 0.7 / 1000) ** 0.5
    assert estimate.low == pytest.approx(0.3 - half, abs=0.004)
    assert estimate.high == pytest.approx(0.3 + half, abs=0.004)


def test_pairing_shows_a_lead_that_separate_intervals_hide() -> None:
    theirs = np.array([1.0, 0.0] * 100)
    ours = theirs.copy()
    ours[1:40:2] = 1.0  # twenty questions more, none lost
    difference = bootstrap_difference(ours, theirs, np.ones(200), seed=5)
    assert difference.value == pytest.approx(0.1)
    assert 0.05 < difference.low < 0.1 < difference.high < 0.15


def test_sets_are_pooled_by_size() -> None:
    pooled = pool([Estimate(0.1, 0.06, 0.14), Estimate(0.3, 0.0, 0.6)], [300, 100])
    # 0.75 * 0.1 + 0.25 * 0.3, and a half width of the root of (0.75 * 0.04)^2 + (0.25 * 0.3)^2.
    assert [round(x, 4) for x in (pooled.value, pooled.low, pooled.high)] == [0.15, 0.0692, 0.2308]


def test_questions_without_labels_do_not_count() -> None:
    estimate = bootstrap(np.array([1.0, 0.0, 0.0]), np.array([1.0, 1.0, 0.0]), seed=1)
    assert estimate.value == 0.5
    with pytest.raises(ValueError, match="at least one thing"):
        bootstrap(np.zeros(3), np.zeros(3), seed=1)


@pytest.mark.parametrize(
    ("low", "high", "standing"),
    [(0.01, 0.1, "ahead"), (-0.01, 0.1, "level"), (-0.1, -0.01, "behind"), (0, 0, "level")],
)
def test_a_difference_tells_whether_it_is_ahead_level_or_behind(
    low: float, high: float, standing: str
) -> None:
    assert Estimate((low + high) / 2, low, high).standing == standing
