"""GRPO: a rollout is rated relative to the other rollouts of its task."""

from __future__ import annotations

from collections.abc import Sequence

from training.rl.targets import Target, count_written, group_by_task, spread_over_turns, standardise
from training.rl.trajectory import Trajectory


def make_targets(trajectories: Sequence[Trajectory]) -> list[Target]:
    """Return A_i = (R_i - mean R) / std R over the group, for each token of rollout i (DeepSeekMath, equation
    3).

    Weights are 1 / (N |o_i|): the mean over a rollout's tokens, then over the N rollouts. A group whose
    rewards are all equal has advantage 0.
    """
    targets: list[Target] = []
    for group in group_by_task(trajectories).values():
        advantages = standardise([trajectory.reward for trajectory in group])
        for trajectory, advantage in zip(group, advantages, strict=True):
            weight = 1 / (len(trajectories) * max(1, count_written(trajectory)))
            targets += [
                Target(
                    segment,
                    spread_over_turns(segment, [advantage] * len(segment.turns)),
                    spread_over_turns(segment, [weight] * len(segment.turns)),
                )
                for segment in trajectory.segments
            ]
    return targets
