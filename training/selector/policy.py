"""The sentence selector as a policy: the equations of EFFCOMP section 3.2, as pure functions.

An observation has m sentences; an action keeps (1) or drops (0) each of them. Logits have shape (m,), a group
of actions (g, m). Each sentence has one keep logit: a Bernoulli variable, the two-way categorical of eq. 1.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid


def reward(correct: bool, rate: float, alpha: float) -> float:
    """Return the reward (eq. 2). `rate` is tau, tokens kept over tokens given, in [0, 1]; `alpha` weighs a
    correct answer against compression."""
    saved = (1 - alpha) * (1 - rate)
    return alpha + saved if correct else -saved


def sample(logits: Tensor, group: int, generator: torch.Generator) -> Tensor:
    """Sample `group` independent actions (eq. 1), shape (group, m), 0.0 or 1.0."""
    return torch.bernoulli(torch.sigmoid(logits).expand(group, -1), generator=generator)


def advantages(rewards: Tensor) -> Tensor:
    """Return the z-normalised rewards of one group (section 3.2.1), with the population's standard deviation.

    All are zero if the rewards are equal, because no action is better then.
    """
    centred = rewards - rewards.mean()
    deviation = rewards.std(correction=0)
    # Equal rewards differ from their mean by rounding, which must not count as a preference.
    return centred / deviation if deviation > 1e-6 else torch.zeros_like(rewards)


def log_likelihood(logits: Tensor, actions: Tensor) -> Tensor:
    """Return log pi(A | sigma) of eq. 3, the geometric mean over the sentences; shape (g,)."""
    return (actions * logsigmoid(logits) + (1 - actions) * logsigmoid(-logits)).mean(-1)


def clipped_surrogate(new: Tensor, old: Tensor, z: Tensor, epsilon: float) -> Tensor:
    """Return eq. 4 as a loss to minimise, from log-likelihoods and advantages of shape (g,)."""
    ratio = torch.exp(new - old)
    return -torch.minimum(ratio * z, ratio.clamp(1 - epsilon, 1 + epsilon) * z).mean()


def entropy(logits: Tensor) -> Tensor:
    """Return eq. 5 for one observation: the mean entropy of its sentences, in nats."""
    keep = torch.sigmoid(logits)
    return -(keep * logsigmoid(logits) + (1 - keep) * logsigmoid(-logits)).mean()


def policy_loss(
    logits: Tensor, actions: Tensor, old: Tensor, z: Tensor, *, epsilon: float, entropy_weight: float
) -> Tensor:
    """Return eq. 6 for one observation: the clipped surrogate minus `entropy_weight` (lambda) times the
    entropy."""
    surrogate = clipped_surrogate(log_likelihood(logits, actions), old, z, epsilon)
    return surrogate - entropy_weight * entropy(logits)


def divergence(old: Tensor, new: Tensor) -> Tensor:
    """Return KL(old || new) from logits, averaged over the sentences of one observation; `target_kl` bounds
    it."""
    keep = torch.sigmoid(old)
    return (
        keep * (logsigmoid(old) - logsigmoid(new)) + (1 - keep) * (logsigmoid(-old) - logsigmoid(-new))
    ).mean()
