"""A claim of a paper, its predictions from before the first run, and the verdict on the results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Literal

import numpy as np

from benchmarks.shared.statistics import RESAMPLES, Estimate, Floats

Metrics = Mapping[str, float | None]
"""The measurement of one run. None if there was nothing to measure."""

Verdict = Literal["replicated", "built in", "null", "reversed", "too few seeds", "not measured"]
FEWEST_SEEDS = 10
SIGNIFICANT = 0.05
_MOST_FLIPS = 2**14


@dataclass(frozen=True, slots=True)
class Prediction:
    """A predicted difference `higher` - `lower` of a metric, written down before the runs.

    statistic: "mean" compares the means over seeds; "deviation" compares the sample deviations over seeds.
    missing: value of a run that had nothing to measure, because no rollout did what the metric is about. None
        if that cannot happen. No seed is left out.
    allowance: added to the higher arm's value, so that a prediction can say that a loss stays below it.
    controls: pairs of arms without the mechanism, such as a flawless expert or a policy without reinforcement
        learning. If one pair differs as predicted, too, the difference is built in.
    initial: the metric before reinforcement learning, as a further control: the same two arms are compared by
        it, so that what their cold starts differ in is built in. "" for arms that share a cold start.
    """

    metric: str
    higher: str
    """The arm whose value is predicted to be higher."""
    lower: str
    margin: float
    """Minimum difference that supports the claim, in the metric's unit."""
    statistic: Literal["mean", "deviation"] = "mean"
    missing: float | None = None
    controls: Sequence[tuple[str, str]] = ()
    initial: str = ""
    allowance: float = 0.0

    def describe(self) -> str:
        what = f"`{self.metric}`" if self.statistic == "mean" else f"deviation of `{self.metric}` over seeds"
        if self.allowance:
            what += f" + {self.allowance:g}"
        return f"{what}: {self.higher} above {self.lower} by at least {self.margin:g}"

    def list_controls(self) -> list[Prediction]:
        """Return the same prediction for the arms of each control, and for the metric before the training."""
        own = replace(self, controls=(), initial="")
        pairs = [replace(own, higher=higher, lower=lower) for higher, lower in self.controls]
        return [*pairs, replace(own, metric=self.initial)] if self.initial else pairs


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
    """The predictions. The first decides the verdict, and the others are reported."""
    initial: str
    """Metric of the policy's success before reinforcement learning."""
    run: Callable[[str, int, Path], Metrics]
    remarks: str = ""
    """Changes that were tried, and why; empty without changes."""


@dataclass(frozen=True, slots=True)
class Row:
    """One finished run."""

    arm: str
    seed: int
    metrics: Metrics
    seconds: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """The predicted difference, as it was measured."""

    difference: Estimate
    """The difference with its 95 % interval, from a bootstrap over seeds that keeps the two arms of a seed
    together."""
    p: float
    """Probability of a difference at least as large in size if the arms of each seed were exchanged at random
    (sign-flip test, exact for up to 14 seeds). The percentile bootstrap over few seeds is too narrow."""
    seeds: int


def compare(prediction: Prediction, rows: Sequence[Row]) -> Comparison | None:
    """Return the comparison of the arms of a prediction, from the rows.

    Returns None if fewer than two seeds ran both arms, or if a run has no value for the metric.
    """
    higher, lower = (_read_values(prediction, arm, rows) for arm in (prediction.higher, prediction.lower))
    seeds = sorted(higher.keys() & lower.keys())
    pairs = np.array([[higher[s] + prediction.allowance, lower[s]] for s in seeds], dtype=float)
    if len(seeds) < 2 or np.isnan(pairs).any():
        return None
    generator = np.random.default_rng(0)
    picks = generator.integers(0, len(seeds), size=(RESAMPLES, len(seeds)))
    low, high = np.quantile(_measure(prediction, pairs[picks]), [0.025, 0.975])
    value = float(_measure(prediction, pairs[None])[0])
    if 2 ** len(seeds) <= _MOST_FLIPS:
        flips = np.array(list(product((False, True), repeat=len(seeds))))
    else:
        flips = generator.random((_MOST_FLIPS, len(seeds))) < 0.5
    exchanged = np.where(flips[:, :, None], pairs[None, :, ::-1], pairs[None])
    extreme = np.abs(_measure(prediction, exchanged)) >= abs(value) - 1e-12
    return Comparison(Estimate(value, float(low), float(high)), float(extreme.mean()), len(seeds))


def judge(prediction: Prediction, rows: Sequence[Row]) -> Verdict:
    """Return the verdict on a prediction.

    "too few seeds": there are fewer than ten seeds. "replicated": the interval is above zero, p is below
    0.05, and the difference reaches the margin. "built in": the same holds, and also between the arms of a
    control. "reversed": the interval is below zero, and p is below 0.05. "null": everything else.
    """
    found = compare(prediction, rows)
    if found is None:
        return "not measured"
    difference = found.difference
    if found.seeds < FEWEST_SEEDS:
        return "too few seeds"
    is_significant = difference.standing != "level" and found.p < SIGNIFICANT
    if is_significant and difference.standing == "behind":
        return "reversed"
    if not is_significant or difference.value < prediction.margin:
        return "null"
    controls = (judge(control, rows) for control in prediction.list_controls())
    return "built in" if "replicated" in controls else "replicated"


def _measure(prediction: Prediction, pairs: Floats) -> Floats:
    """Return the difference of the statistic, for pairs of shape (draws, seeds, 2)."""
    summary = pairs.mean(axis=1) if prediction.statistic == "mean" else pairs.std(axis=1, ddof=1)
    return summary[:, 0] - summary[:, 1]


def _read_values(prediction: Prediction, arm: str, rows: Sequence[Row]) -> dict[int, float]:
    """Return the value of each seed. For a run without a value, it is the prediction's `missing`, or NaN if
    that is None."""
    missing = float("nan") if prediction.missing is None else prediction.missing
    own = {row.seed: row.metrics.get(prediction.metric) for row in rows if row.arm == arm}
    return {seed: missing if value is None else value for seed, value in own.items()}
