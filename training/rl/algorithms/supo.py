"""SUPO: a rollout that summarises and resets is a list of prompt-and-response pairs that share one
advantage."""

from __future__ import annotations

from collections.abc import Sequence

from training.rl.targets import Target, count_written, group_by_task, spread_over_turns, standardise
from training.rl.trajectory import Trajectory, Turn

OVERLONG = ("turns", "overlong")
"""Outcomes of a rollout that used up H turns or S summaries without an answer."""


def make_targets(
    trajectories: Sequence[Trajectory], mask_overlong: bool = True, reward_summaries: bool = True
) -> list[Target]:
    """Return the group-relative advantage, computed once for each rollout and shared by all of its
    sub-trajectories, summaries included (SUPO, theorem 3.2). Weights are 1 / M for the M tokens of all
    targets: the mean over tokens.

    With `mask_overlong`, rollouts without an answer (`OVERLONG`) give no target. They do not enter the mean
    and deviation of their group either; the paper leaves that open. If they entered with reward 0, any
    answer, even a guess, would look better than continuing.

    Without `reward_summaries`, the tokens of summaries (turns with a quality) have weight 0, so that the
    policy learns from its actions alone (the ablation of CompactionRL, arXiv 2607.05378).
    """
    rows: list[tuple[Trajectory, float]] = []
    for group in group_by_task(trajectories).values():
        kept = [t for t in group if not (mask_overlong and t.outcome in OVERLONG)]
        rows += zip(kept, standardise([trajectory.reward for trajectory in kept]), strict=True)
    weight = 1 / max(1, sum(count_written(trajectory) for trajectory, _ in rows))

    def weigh(turn: Turn) -> float:
        return weight if reward_summaries or turn.quality is None else 0.0

    return [
        Target(
            segment,
            spread_over_turns(segment, [advantage] * len(segment.turns)),
            spread_over_turns(segment, [weigh(turn) for turn in segment.turns]),
        )
        for trajectory, advantage in rows
        for segment in trajectory.segments
    ]
