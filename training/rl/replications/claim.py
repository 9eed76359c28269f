"""A claim of a paper, its predictions from before the first run, and the verdict on the results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from benchmarks.shared.statistics import RESAMPLES, Estimate

Metrics = Mapping[str, float | None]
"""The measurement of one run. None if there was nothing to measure."""

Verdict = Literal["replicated", "null", "reversed", "not measured"]


@dataclass(frozen=True, slots=True)
class Prediction:
    """A predicted difference `higher` - `lower` of a metric, written down before the runs.

    statistic: "mean" compares the means over seeds; "deviation" compares the sample deviations over seeds.
    """

    metric: str
    higher: str
    """The arm whose value is predicted to be higher."""
    lower: str
    margin: float
    """Minimum difference that supports the claim, in the metric's unit."""
    statistic: Literal["mean", "deviation"] = "mean"

    def describe(self) -> str:
        what = f"`{self.metric}`" if self.statistic == "mean" else f"deviation of `{self.metric}` over seeds"
        return f"{what}: {self.higher} above {self.lower} by at least {self.margin:g}"


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim. `run(arm, seed, folder)` trains and measures one arm. `folder` keeps what it needs to
    continue after an interruption; the arms of a seed share `folder.parent`."""

    name: str
    paper: str
    """The paper's statement, with its numbers."""
    setup: str
    """The setup here."""
    arms: Sequence[str]
    seeds: int
    predictions: Sequence[Prediction]
    """The first decides the verdict; the others are reported."""
    initial: str
    """Metric of the policy's success before reinforcement learning."""
    run: Callable[[str, int, Path], Metrics]
    remarks: str = ""
    """Changes that were tried, and why; empty if there were none."""


@dataclass(frozen=True, slots=True)
class Row:
    """One finished run."""

    arm: str
    seed: int
    metrics: Metrics
    seconds: float


def compare(prediction: Prediction, rows: Sequence[Row]) -> Estimate | None:
    """Return the predicted difference with its 95 % interval, from a bootstrap over seeds that keeps the two
    arms of a seed together. Returns None if fewer than two seeds measured the metric in both arms."""
    higher, lower = (_values(prediction.metric, arm, rows) for arm in (prediction.higher, prediction.lower))
    seeds = sorted(higher.keys() & lower.keys())
    if len(seeds) < 2:
        return None
    pairs = np.array([(higher[seed], lower[seed]) for seed in seeds])
    picks = np.random.default_rng(0).integers(0, len(seeds), size=(RESAMPLES, len(seeds)))
    if prediction.statistic == "mean":
        value, draws = pairs.mean(axis=0), pairs[picks].mean(axis=1)
    else:
        value, draws = pairs.std(axis=0, ddof=1), pairs[picks].std(axis=1, ddof=1)
    low, high = np.quantile(draws[:, 0] - draws[:, 1], [0.025, 0.975])
    return Estimate(float(value[0] - value[1]), float(low), float(high))


def judge(prediction: Prediction, difference: Estimate | None) -> Verdict:
    """Return "replicated" if the interval is above zero and the difference reaches the margin, "reversed" if
    the interval is below zero, else "null"."""
    if difference is None:
        return "not measured"
    if difference.standing == "behind":
        return "reversed"
    reached = difference.standing == "ahead" and difference.value >= prediction.margin
    return "replicated" if reached else "null"


def _values(metric: str, arm: str, rows: Sequence[Row]) -> dict[int, float]:
    return {
        row.seed: value for row in rows if row.arm == arm and (value := row.metrics.get(metric)) is not None
    }
