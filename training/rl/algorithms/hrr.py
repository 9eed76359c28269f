"""Hindsight Response Replay (ZipRL): GRPO's advantage, moved between the turns of a rollout by the quality of
their summaries."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from training.rl.targets import Target, count_written, group_by_task, spread_over_turns, standardise
from training.rl.trajectory import Trajectory, Turn


def make_targets(trajectories: Sequence[Trajectory], w: float = 0.2) -> list[Target]:
    """Return A_ij = A_GRPO_i + w (Q_ij - mean_j Q_ij) for turn j of rollout i (ZipRL, equation 4).

    Weights are 1 / (N |o_i|), where |o_i| counts the tokens of all turns of the rollout (equation 5): a turn
    does not count as a row, although it is a segment.

    The mean is over the turns that have a quality. A turn without a summary has no quality and keeps
    A_GRPO_i, so the shaping terms of a rollout sum to 0 over its turns. A group whose rewards are all equal
    still has the shaping, and so a gradient.
    """
    targets: list[Target] = []
    for group in group_by_task(trajectories).values():
        advantages = standardise([trajectory.reward for trajectory in group])
        for trajectory, advantage in zip(group, advantages, strict=True):
            weight = 1 / (len(trajectories) * max(1, count_written(trajectory)))
            qualities = [turn.quality for turn in trajectory.turns if turn.quality is not None]
            reference = fmean(qualities) if qualities else 0.0
            targets += [
                Target(
                    segment,
                    spread_over_turns(
                        segment, [advantage + w * _shape(turn, reference) for turn in segment.turns]
                    ),
                    spread_over_turns(segment, [weight] * len(segment.turns)),
                )
                for segment in trajectory.segments
            ]
    return targets


def _shape(turn: Turn, reference: float) -> float:
    return 0.0 if turn.quality is None else turn.quality - reference
