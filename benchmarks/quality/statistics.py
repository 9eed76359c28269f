"""Intervals: Wilson for one share, the bootstrap over questions for averages and for paired differences.

Every quantity here is a ratio of sums over questions: kept over all. A question contributes one answer, or as
many supporting sentences as it has, which is the micro average.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2000
_Z = 1.959964

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float


def wilson(successes: float, total: int) -> Estimate:
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
    draws = _resampled(kept, total, seed)
    low, high = np.quantile(draws, [0.025, 0.975])
    return Estimate(float(kept.sum() / total.sum()), float(low), float(high))


def paired_difference(ours: Floats, theirs: Floats, total: Floats, seed: int) -> Estimate:
    """Difference of two such ratios over the same questions; resampling keeps the pairs together."""
    return bootstrap(ours - theirs, total, seed)


def _resampled(kept: Floats, total: Floats, seed: int) -> Floats:
    if not total.sum() > 0:
        raise ValueError("an average needs at least one thing to keep")
    draw = np.random.default_rng(seed)
    picks = draw.integers(0, len(total), size=(RESAMPLES, len(total)))
    sums = total[picks].sum(axis=1)
    # A resample without anything to keep says nothing; it cannot occur unless almost no question has labels.
    valid = sums > 0
    return kept[picks].sum(axis=1)[valid] / sums[valid]
