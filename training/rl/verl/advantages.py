"""Our algorithms on verl's batches.

In verl a row is one output of an agent loop, which is one segment here. verl's loss is the mean over all
tokens that the policy wrote (loss_agg_mode "token-mean"). So each advantage is multiplied by its weight and
by the number of those tokens, which gives the algorithms' weighted sum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from training.rl.targets import Target
from training.rl.trajectory import Segment, Trajectory, Turn


def read_trajectories(
    keys: Sequence[str], lengths: Sequence[int], rewards: Sequence[float], facts: Sequence[Mapping[str, Any]]
) -> list[Trajectory]:
    """Read the trajectories of a batch, without their tokens.

    Args:
        keys: verl's keys `{question}_{rollout}_{segment}`, in any order. lengths: number of tokens of each
        row's response. rewards: reward of each row's rollout. facts: for each row `turns` as [start, end,
        quality or None] in the response, `outcome`, and in a rollout's last row its `facts`.
    """
    rows: dict[tuple[str, str], dict[int, int]] = {}
    for row, key in enumerate(keys):
        question, rollout, part = key.rsplit("_", 2)
        rows.setdefault((question, rollout), {})[int(part)] = row
    made: list[Trajectory] = []
    for (question, _), parts in rows.items():
        ordered = [parts[part] for part in sorted(parts)]
        segments = tuple(_read_segment(lengths[row], facts[row]["turns"], row) for row in ordered)
        last = ordered[-1]
        more = facts[last].get("facts") or {}
        made.append(Trajectory(question, segments, float(rewards[last]), facts[last]["outcome"], facts=more))
    return made


def compute_advantages(
    make_targets: Callable[[Sequence[Trajectory]], Sequence[Target]],
    trajectories: Sequence[Trajectory],
    mask: Tensor,
) -> Tensor:
    """Return (rows, tokens) advantages for verl: 0 where `mask` (rows, tokens) is 0, and for rollouts that
    the algorithm skips."""
    advantages = torch.zeros(mask.shape, dtype=torch.float32)
    written = mask.sum().item()
    for target in make_targets(trajectories):
        row = target.segment.tokens[0]
        gains = [a * w * written for a, w in zip(target.advantages, target.weights, strict=True)]
        advantages[row, : len(gains)] = torch.tensor(gains)
    return advantages * mask


def _read_segment(length: int, turns: Sequence[Sequence[Any]], row: int) -> Segment:
    """Return a segment with only the response. Its tokens are the index of its row."""
    read = tuple(Turn(int(start), int(end), quality) for start, end, quality in turns)
    return Segment((row,) * length, (0.0,) * length, read)
