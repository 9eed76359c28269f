"""Inputs of the loss: segments with an advantage and a weight for each token that the policy wrote.

An algorithm turns trajectories into targets. The weights include its normaliser, so that the loss is a
weighted sum for any batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from training.rl.trajectory import Segment, Trajectory


@dataclass(frozen=True, slots=True)
class Target:
    """One segment with a number for each of its tokens, 0.0 outside the mask."""

    segment: Segment
    advantages: tuple[float, ...]
    weights: tuple[float, ...]
    values: tuple[float, ...] | None = None
    """The critic's values when the segment was written; None without a critic."""
    returns: tuple[float, ...] | None = None
    """Values that the critic should learn."""


def spread_over_turns(segment: Segment, values: Iterable[float]) -> tuple[float, ...]:
    """Give all tokens of a turn its value, and the other tokens 0.0."""
    spread = [0.0] * len(segment.tokens)
    for turn, value in zip(segment.turns, values, strict=True):
        spread[turn.start : turn.end] = [value] * (turn.end - turn.start)
    return tuple(spread)


def spread_over_written(segment: Segment, values: Iterator[float]) -> tuple[float, ...]:
    """Give each token that the policy wrote the next of `values`, and the other tokens 0.0."""
    return tuple(next(values) if own else 0.0 for own in segment.mask)


def count_written(trajectory: Trajectory) -> int:
    """Return the number of tokens that the policy wrote, over all segments."""
    return sum(turn.end - turn.start for turn in trajectory.turns)


def group_by_task(trajectories: Sequence[Trajectory]) -> Mapping[str, list[Trajectory]]:
    groups: dict[str, list[Trajectory]] = {}
    for trajectory in trajectories:
        groups.setdefault(trajectory.task, []).append(trajectory)
    return groups


def standardise(rewards: Sequence[float]) -> list[float]:
    """Return (R - mean) / sample deviation, like verl; zeros if all rewards are equal."""
    if len(set(rewards)) < 2:
        return [0.0] * len(rewards)
    mean, deviation = fmean(rewards), stdev(rewards)
    return [(reward - mean) / deviation for reward in rewards]
