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
        """The same estimate as it is recorded."""
        return Estimate(*(round(x, digits) for x in (self.value, self.low, self.high)))

    @property
    def standing(self) -> Standing:
        """Where a difference leaves the system that it favours when it is positive."""
        if self.low > 0:
            return "ahead"
        return "behind" if self.high < 0 else "level"


def pool(estimates: Sequence[Estimate], sizes: Sequence[int]) -> Estimate:
    """The estimate for the questions of several sets together: the mean by size, with the interval of a sum
    of independent normal variables."""
    shares = np.array(sizes) / sum(sizes)
    value = float(shares @ [estimate.value for estimate in estimates])
    half = float(np.hypot.reduce(shares * [(e.high - e.low) / 2 for e in estimates]))
    return Estimate(value, value - half, value + half)


def estimate_share(successes: float, total: int) -> Estimate:
    """Share of successes with Wilson's score interval. Raises ValueError without trials."""
    if total <= 0:
        raise ValueError("a share needs at least one trial")
    share = successes / total
    spread = _Z**2 / total
    centre = (share + spread / 2) / (1 + spread)
    half = _Z * sqrt(share * (1 - share) / total + spread / (4 * total)) / (1 + spread)
    return Estimate(share, max(0.0, centre - half), min(1.0, centre + half))


def bootstrap(kept: Floats, total: Floats, seed: int) -> Estimate:
    """sum(kept) / sum(total) over questions, both of shape (questions,), with its percentile interval."""
    draws = _resample(kept, total, seed)
    low, high = np.quantile(draws, [0.025, 0.975])
    return Estimate(float(kept.sum() / total.sum()), float(low), float(high))


def bootstrap_difference(ours: Floats, theirs: Floats, total: Floats, seed: int) -> Estimate:
    """Difference of two such ratios over the same questions; resampling keeps the pairs together."""
    return bootstrap(ours - theirs, total, seed)


def bootstrap_mean(values: Sequence[float], seed: int) -> Estimate:
    """Mean of one value a question, with its percentile interval."""
    return bootstrap(np.array(values, dtype=float), np.ones(len(values)), seed)


def bootstrap_mean_difference(ours: Sequence[float], theirs: Sequence[float], seed: int) -> Estimate:
    """Mean of `ours` minus mean of `theirs`, over the same questions."""
    ones = np.ones(len(theirs))
    return bootstrap_difference(np.array(ours, dtype=float), np.array(theirs, dtype=float), ones, seed)


def _resample(kept: Floats, total: Floats, seed: int) -> Floats:
    if not total.sum() > 0:
        raise ValueError("an average needs at least one thing to keep")
    draw = np.random.default_rng(seed)
    picks = draw.integers(0, len(total), size=(RESAMPLES, len(total)))
    sums = total[picks].sum(axis=1)
    # A resample without anything to keep has no share. It occurs only where almost no question has labels.
    valid = sums > 0
    return kept[picks].sum(axis=1)[valid] / sums[valid]
