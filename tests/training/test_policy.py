"""Equations of EFFCOMP section 3.2, checked against values worked by hand."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from training.selector.policy import (
    advantages,
    clipped_surrogate,
    divergence,
    entropy,
    log_likelihood,
    policy_loss,
    reward,
    sample,
)
from training.selector.replay import ReplayBuffer


def logit(p: float) -> float:
    return math.log(p / (1 - p))


LOGITS = torch.tensor([logit(0.8), logit(0.5), logit(0.2)])
KEEP_FIRST = torch.tensor([1.0, 0.0, 0.0])
KEEP_LAST = torch.tensor([0.0, 1.0, 1.0])


def test_reward_is_equation_2() -> None:
    assert reward(True, 0.2, 0.95) == pytest.approx(0.95 + 0.05 * 0.8)
    assert reward(False, 0.2, 0.95) == pytest.approx(-0.05 * 0.8)
    assert [reward(correct, 1.0, 0.95) for correct in (True, False)] == pytest.approx([0.95, 0.0])
    assert reward(True, 0.5, 0.65) == pytest.approx(0.65 + 0.35 * 0.5)


def test_advantages_are_z_scores_of_the_group() -> None:
    # mean 2, deviations -1 -1 0 2, population variance 6 / 4
    z = advantages(torch.tensor([1.0, 1.0, 2.0, 4.0]))
    assert z.tolist() == pytest.approx([x / math.sqrt(1.5) for x in (-1, -1, 0, 2)])
    assert advantages(torch.full((8,), 0.97)).tolist() == [0.0] * 8


def test_log_likelihood_is_the_geometric_mean_of_equation_3() -> None:
    likelihoods = log_likelihood(LOGITS, torch.stack([KEEP_FIRST, KEEP_LAST])).exp()
    assert likelihoods.tolist() == pytest.approx([(0.8 * 0.5 * 0.8) ** (1 / 3), (0.2 * 0.5 * 0.2) ** (1 / 3)])


def test_surrogate_is_equation_4() -> None:
    # A gain counts up to 1 + epsilon, a loss in full.
    cases = ((1.5, 2.0, 2.4), (1.1, 2.0, 2.2), (0.5, 2.0, 1.0), (0.5, -2.0, -1.6), (1.5, -2.0, -3.0))
    for ratio, z, expected in cases:
        old = torch.tensor([-1.0])
        loss = clipped_surrogate(old + math.log(ratio), old, torch.tensor([z]), 0.2)
        assert float(loss) == pytest.approx(-expected)


def test_entropy_is_equation_5() -> None:
    sides = [-(p * math.log(p) + (1 - p) * math.log(1 - p)) for p in (0.8, 0.5, 0.2)]
    assert float(entropy(LOGITS)) == pytest.approx(sum(sides) / 3)


def test_loss_is_equation_6() -> None:
    actions = torch.stack([KEEP_FIRST, KEEP_LAST])
    # Both actions were 1.1 times as likely under the policy that sampled them: the ratio is 1 / 1.1.
    old = log_likelihood(LOGITS, actions) + math.log(1.1)
    loss = policy_loss(LOGITS, actions, old, torch.tensor([1.0, -0.4]), epsilon=0.2, entropy_weight=0.1)
    surrogate = -(1.0 / 1.1 - 0.4 / 1.1) / 2
    assert float(loss) == pytest.approx(surrogate - 0.1 * float(entropy(LOGITS)))


def test_divergence_matches_values_worked_by_hand() -> None:
    old, new = torch.tensor([logit(0.8)]), torch.tensor([logit(0.5)])
    expected = 0.8 * math.log(0.8 / 0.5) + 0.2 * math.log(0.2 / 0.5)
    assert float(divergence(old, new)) == pytest.approx(expected)
    assert float(divergence(LOGITS, LOGITS)) == pytest.approx(0.0, abs=1e-7)


def test_samples_follow_the_policy_and_the_seed() -> None:
    def draw(seed: int) -> Tensor:
        return sample(LOGITS, 4000, torch.Generator().manual_seed(seed))

    assert draw(1).shape == (4000, 3)
    assert draw(1).mean(0).tolist() == pytest.approx([0.8, 0.5, 0.2], abs=0.03)
    assert bool((draw(1) == draw(1)).all())
    assert not bool((draw(1) == draw(2)).all())


def test_replay_buffer_returns_each_best_action_once() -> None:
    """Algorithm 2."""
    replay = ReplayBuffer()
    replay.update(3, [KEEP_FIRST], [-0.04])
    assert replay.take_new() == []  # a wrong answer teaches nothing
    replay.update(3, [KEEP_FIRST, KEEP_LAST], [0.97, 0.96])
    ((question, action),) = replay.take_new()
    assert (question, action.tolist()) == (3, KEEP_FIRST.tolist())
    assert replay.take_new() == []  # each action is used once
    replay.update(3, [KEEP_FIRST], [0.97])
    assert replay.take_new() == []  # the same one again is not new
    replay.update(3, [KEEP_LAST], [0.97])  # an equal reward replaces
    assert replay.take_new()[0][1].tolist() == KEEP_LAST.tolist()
