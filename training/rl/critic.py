"""A critic for the tiny policy, and functions to read it and the reference policy for PPO."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from training.rl.tiny import TinyPolicy
from training.rl.trajectory import Segment, Trajectory

ROWS = 64
"""Number of segments read at once."""


class Critic(nn.Module):
    """Estimator of the remaining reward before each token: a copy of a policy with a new head, which returns
    0 at first."""

    def __init__(self, policy: TinyPolicy) -> None:
        super().__init__()
        self.body = copy.deepcopy(policy)
        self.head = nn.Linear(policy.config.width, 1)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, tokens: Tensor) -> Tensor:
        """Map (rows, length) token ids to (rows, length) values after each of them."""
        return self.head(self.body.states(tokens))[..., 0]


def read_values(critic: Critic, trajectories: Sequence[Trajectory]) -> list[list[float]]:
    """Return the value before each token that the policy wrote, for each trajectory."""
    return _read(trajectories, lambda tokens: critic(tokens)[:, :-1])


def read_logprobs(policy: TinyPolicy, trajectories: Sequence[Trajectory]) -> list[list[float]]:
    """Return the log-probability under `policy` of each written token in nats, for each trajectory."""

    def score(tokens: Tensor) -> Tensor:
        distribution = policy(tokens[:, :-1]).log_softmax(-1)
        return distribution.gather(2, tokens[:, 1:, None])[..., 0]

    return _read(trajectories, score)


@torch.no_grad()
def _read(trajectories: Sequence[Trajectory], score: Callable[[Tensor], Tensor]) -> list[list[float]]:
    """Score the written tokens; `score` maps (rows, length) token ids to (rows, length - 1) numbers, without
    the first token."""
    segments = [segment for trajectory in trajectories for segment in trajectory.segments]
    rows: list[list[float]] = []
    for start in range(0, len(segments), ROWS):
        rows += _read_segments(segments[start : start + ROWS], score)
    left = iter(rows)
    return [[number for _ in t.segments for number in next(left)] for t in trajectories]


def _read_segments(segments: Sequence[Segment], score: Callable[[Tensor], Tensor]) -> list[list[float]]:
    tokens = pad_sequence([torch.tensor(segment.tokens) for segment in segments], batch_first=True)
    scores = score(tokens).tolist()
    return [
        [row[i - 1] for i, own in enumerate(segment.mask) if own]
        for row, segment in zip(scores, segments, strict=True)
    ]
