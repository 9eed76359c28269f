"""Intervals: Wilson for one share, the bootstrap over questions for averages and for paired differences.

Every quantity here is a ratio of sums over questions: kept over all. A question contributes one answer, or as
many supporting sentences as it has, which is the micro average.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2000
_Z = 1.959964

Floats = NDArray[np.float64]

Standing = Literal["ahead", "level", "behind"]
"""An interval above zero, around it, or below it."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float

    def round(self, digits: int = 4) -> Estimate:
        """Return the estimate as it is recorded."""
        return Estimate(*(round(x, digits) for x in (self.value, self.low, self.high)))

    @property
    def standing(self) -> Standing:
        """Return "ahead" for a difference above zero, "behind" below it, "level" if zero is inside."""
        if self.low > 0:
            return "ahead"
        return "behind" if self.high < 0 else "level"


def quantile(values: Sequence[float], q: float, digits: int = 4) -> float:
    """Return the quantile `q` of the values, rounded as it is recorded."""
    return round(float(np.quantile(values, q)), digits)


def estimate_share(successes: float, total: int) -> Estimate:
    """Return the share of successes with Wilson's score interval. Raises ValueError without trials."""
    if total <= 0:
        raise ValueError("a share needs at least one trial")
    share = successes / total
    spread = _Z**2 / total
    centre = (share + spread / 2) / (1 + spread)
    half = _Z * sqrt(share * (1 - share) / total + spread / (4 * total)) / (1 + spread)
    return Estimate(share, max(0.0, centre - half), min(1.0, centre + half))


def bootstrap(kept: Floats, total: Floats, seed: int) -> Estimate:
    """Return sum(kept) / sum(total), both of shape (questions,), with its percentile interval."""
    draws = resample(kept, total, seed)
    low, high = np.quantile(draws, [0.025, 0.975])
    return Estimate(float(kept.sum() / total.sum()), float(low), float(high))


def bootstrap_difference(ours: Floats, theirs: Floats, total: Floats, seed: int) -> Estimate:
    """Return the difference of two such ratios over the same questions; pairs are drawn together."""
    return bootstrap(ours - theirs, total, seed)


def bootstrap_mean(values: Sequence[float], seed: int) -> Estimate:
    """Return the mean of one value a question, with its percentile interval."""
    return bootstrap(np.array(values, dtype=float), np.ones(len(values)), seed)


def bootstrap_mean_difference(ours: Sequence[float], theirs: Sequence[float], seed: int) -> Estimate:
    """Return the mean of `ours` minus the mean of `theirs`, over the same questions."""
    ones = np.ones(len(theirs))
    return bootstrap_difference(np.array(ours, dtype=float), np.array(theirs, dtype=float), ones, seed)


def resample(kept: Floats, total: Floats, seed: int) -> Floats:
    """Return sum(kept) / sum(total) of each resample of the questions, shape (resamples,)."""
    if not total.sum() > 0:
        raise ValueError("an average needs at least one thing to keep")
    draw = np.random.default_rng(seed)
    picks = draw.integers(0, len(total), size=(RESAMPLES, len(total)))
    sums = total[picks].sum(axis=1)
    # A resample without anything to keep has no share. It occurs only if almost no question has labels.
    valid = sums > 0
    return kept[picks].sum(axis=1)[valid] / sums[valid]
