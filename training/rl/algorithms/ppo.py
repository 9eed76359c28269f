"""PPO with a critic (RECON, appendix B.4): each token has its own advantage, and the distance to the
reference policy is subtracted from the reward."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from training.rl.targets import Target, count_written, spread_over_written, standardise
from training.rl.trajectory import Trajectory

Rows = Sequence[Sequence[float]]
"""Numbers of each trajectory: one for each token that the policy wrote, over all segments in order."""


def make_targets(
    trajectories: Sequence[Trajectory],
    values: Rows,
    references: Rows,
    *,
    kl: float = 0.001,
    gamma: float = 1.0,
    lam: float = 1.0,
) -> list[Target]:
    """Return advantages by GAE, standardised over all tokens of the batch, and the returns that the critic
    learns.

    The reward of a token is -kl (log pi_old - log pi_reference), and the last one of a trajectory gets the
    trajectory's reward too. RECON's objective (appendix C) has no KL term, so its fixed KL is in the reward
    here. A trajectory that was cut off ends with its last token; the value after it is 0.

    kl, gamma and lam are RECON's. Tokens that the policy did not write are not steps: the value after a
    written token is that of the next written one. Weights are 1 / (N |y_i|): the mean over a trajectory's
    written tokens, then over the N trajectories.

    Args:
        values: the critic's, before each token.
        references: log-probabilities under the reference policy, in nats.
    """
    rewards = [
        pay_tokens(trajectory, reference, kl)
        for trajectory, reference in zip(trajectories, references, strict=True)
    ]
    rows = [
        estimate_advantages(reward, value, gamma=gamma, lam=lam)
        for reward, value in zip(rewards, values, strict=True)
    ]
    standardised = iter(standardise([advantage for row in rows for advantage in row]))
    targets: list[Target] = []
    for trajectory, row, value in zip(trajectories, rows, values, strict=True):
        old = iter(value)
        returns = (advantage + v for advantage, v in zip(row, value, strict=True))
        weight = 1 / (len(trajectories) * max(1, count_written(trajectory)))
        targets += _cut(trajectory, standardised, weight, old, returns)
    return targets


def pay_tokens(trajectory: Trajectory, reference: Sequence[float], kl: float) -> list[float]:
    """Return the reward of each token that the policy wrote."""
    written = [
        logprob
        for segment in trajectory.segments
        for logprob, own in zip(segment.logprobs, segment.mask, strict=True)
        if own
    ]
    rewards = [-kl * (own - other) for own, other in zip(written, reference, strict=True)]
    if rewards:
        rewards[-1] += trajectory.reward
    return rewards


def estimate_advantages(
    rewards: Sequence[float], values: Sequence[float], *, gamma: float, lam: float
) -> list[float]:
    """Return GAE: A_t = d_t + gamma lambda A_{t+1} with d_t = r_t + gamma V_{t+1} - V_t (Schulman et al.,
    2016, equation 16). The value after the last token is 0."""
    advantages: list[float] = []
    after = following = 0.0
    for reward, value in zip(reversed(rewards), reversed(values), strict=True):
        after = reward + gamma * following - value + gamma * lam * after
        following = value
        advantages.append(after)
    return advantages[::-1]


def value_loss(
    values: Tensor, old_values: Tensor, returns: Tensor, weights: Tensor, clip: float = 0.5
) -> Tensor:
    """Return half the weighted sum of max((V - R)^2, (V' - R)^2), where V' is V clipped to within `clip` of
    the old value.

    A value that has moved further than `clip` towards its return gets no gradient; one that has moved away
    keeps it. All tensors have the shape (tokens,).
    """
    held = torch.clamp(values, old_values - clip, old_values + clip)
    return 0.5 * (weights * torch.maximum((values - returns) ** 2, (held - returns) ** 2)).sum()


def _cut(
    trajectory: Trajectory,
    advantages: Iterator[float],
    weight: float,
    values: Iterator[float],
    returns: Iterator[float],
) -> Iterator[Target]:
    """Yield the targets of a trajectory; the iterators are read in the order of its tokens."""
    for segment in trajectory.segments:
        yield Target(
            segment,
            spread_over_written(segment, advantages),
            tuple(weight * own for own in segment.mask),
            spread_over_written(segment, values),
            spread_over_written(segment, returns),
        )
