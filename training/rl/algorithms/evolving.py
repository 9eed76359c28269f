"""Evolving Rollouts: groups with one outcome teach the experience bank, but not the policy.

A step has this order (appendix B.2), which `loop` keeps. Rollouts read the published bank and get rewards.
The bank takes lessons from all groups, consolidates them, and forgets those that never helped. The policy is
updated on the groups whose rewards differ. Then the bank publishes its new edition. `episode.Learner` is the
bank's interface."""

from __future__ import annotations

from collections.abc import Sequence

from training.rl.algorithms import grpo
from training.rl.targets import Target, group_by_task
from training.rl.trajectory import Trajectory

SUCCESS = 0.5
"""Minimum reward of a success (table 3)."""


def make_targets(trajectories: Sequence[Trajectory]) -> list[Target]:
    """Apply GRPO to the groups whose rewards differ. The weights count only those groups' rollouts, so that
    the other groups do not change the size of the step."""
    mixed = [t for group in group_by_task(trajectories).values() if has_variance(group) for t in group]
    return grpo.make_targets(mixed)


def has_variance(group: Sequence[Trajectory]) -> bool:
    return len({trajectory.reward for trajectory in group}) > 1


def succeeded(trajectory: Trajectory) -> bool:
    return trajectory.reward >= SUCCESS
