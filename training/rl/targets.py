"""What the loss reads: segments with an advantage and a weight for every token that the policy wrote.

An algorithm turns trajectories into targets; the weights carry its normaliser, so that the loss is a plain
weighted sum whatever the batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from training.rl.trajectory import Segment, Trajectory


@dataclass(frozen=True, slots=True)
class Target:
    """One segment. The numbers have the length of its tokens, and are 0.0 outside the mask."""

    segment: Segment
    advantages: tuple[float, ...]
    weights: tuple[float, ...]
    values: tuple[float, ...] | None = None
    """What the critic said when the segment was written; None without a critic."""
    returns: tuple[float, ...] | None = None
    """What the critic is to say."""


def spread_over_turns(segment: Segment, values: Iterable[float]) -> tuple[float, ...]:
    """One value for each turn, given to all of its tokens; 0.0 for the other tokens."""
    spread = [0.0] * len(segment.tokens)
    for turn, value in zip(segment.turns, values, strict=True):
        spread[turn.start : turn.end] = [value] * (turn.end - turn.start)
    return tuple(spread)


def spread_over_written(segment: Segment, values: Iterator[float]) -> tuple[float, ...]:
    """The next of `values` for each token that the policy wrote; 0.0 for the other tokens."""
    return tuple(next(values) if own else 0.0 for own in segment.mask)


def count_written(trajectory: Trajectory) -> int:
    """Tokens that the policy wrote, over all segments."""
    return sum(turn.end - turn.start for turn in trajectory.turns)


def group_by_task(trajectories: Sequence[Trajectory]) -> Mapping[str, list[Trajectory]]:
    groups: dict[str, list[Trajectory]] = {}
    for trajectory in trajectories:
        groups.setdefault(trajectory.task, []).append(trajectory)
    return groups


def standardise(rewards: Sequence[float]) -> list[float]:
    """(R - mean) / deviation of the sample, as verl computes it; zeros where all rewards are equal."""
    if len(set(rewards)) < 2:
        return [0.0] * len(rewards)
    mean, deviation = fmean(rewards), stdev(rewards)
    return [(reward - mean) / deviation for reward in rewards]
