"""PPO against values that were worked out by hand, and its critic."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.training.rl.examples import make_segment, make_trajectory
from training.rl import loop
from training.rl.algorithms import ppo
from training.rl.batches import make_batches
from training.rl.critic import Critic, read_logprobs, read_values
from training.rl.loop import teach, train
from training.rl.settings import ColdStart, Settings, Updates
from training.rl.targets import Target
from training.rl.tiny import TinyConfig, TinyPolicy
from training.rl.trajectory import Segment, Trajectory, Turn
from training.run import Run


def written(target: Target, values: tuple[float, ...] | None) -> list[float]:
    assert values is not None
    return [value for value, own in zip(values, target.segment.mask, strict=True) if own]


def test_generalised_advantages() -> None:
    rewards, values = [0.0, 0.0, 1.0], [0.5, 0.25, 0.75]
    # gamma = lambda = 1: what is left of the reward, minus the value.
    assert ppo.estimate_advantages(rewards, values, gamma=1, lam=1) == pytest.approx([0.5, 0.75, 0.25])
    # d = (0.5 x 0.25 - 0.5, 0.5 x 0.75 - 0.25, 1 - 0.75) = (-0.375, 0.125, 0.25); gamma lambda = 1/4:
    # A_2 = 0.125 + 0.25 / 4 = 0.1875, A_1 = -0.375 + 0.1875 / 4.
    assert ppo.estimate_advantages(rewards, values, gamma=0.5, lam=0.5) == pytest.approx(
        [-0.328125, 0.1875, 0.25]
    )


def test_the_kl_is_paid_by_each_token_and_the_reward_goes_to_the_last() -> None:
    segment = Segment((1, 2, 3, 4, 5), (0.0, -1.0, -2.0, 0.0, -3.0), (Turn(1, 3), Turn(4, 5)))
    trajectory = Trajectory("a", (segment,), 1.0, "answered")
    rewards = ppo.pay_tokens(trajectory, [-1.5, -2.0, -1.0], kl=0.1)
    assert rewards == pytest.approx([-0.05, 0.0, 1.2])


def test_observations_are_no_steps() -> None:
    # Two turns of two tokens, an observation between and after them: four steps.
    trajectory = make_trajectory(1.0, make_segment(2, 2))
    (target,) = ppo.make_targets([trajectory], [[0.1, 0.2, 0.4, 0.8]], [[0.0] * 4])
    assert written(target, target.returns) == pytest.approx([1.0] * 4)
    assert written(target, target.values) == pytest.approx([0.1, 0.2, 0.4, 0.8])
    assert target.advantages[0] == target.advantages[3] == target.weights[3] == 0.0


def test_advantages_are_standardised_over_all_tokens_by_the_deviation_of_the_sample() -> None:
    right, wrong = make_trajectory(1.0, make_segment(1)), make_trajectory(0.0, make_segment(3))
    targets = ppo.make_targets([right, wrong], [[0.0], [0.0] * 3], [[0.0], [0.0] * 3])
    # 1, 0, 0, 0: mean 1/4, sample deviation 1/2. Over trajectories it would be +-0.707.
    assert [written(t, t.advantages) for t in targets] == [[1.5], pytest.approx([-0.5] * 3)]
    assert [written(t, t.weights) for t in targets] == [[0.5], pytest.approx([1 / 6] * 3)]


def test_returns_are_not_standardised_and_run_over_segments() -> None:
    trajectory = make_trajectory(1.0, make_segment(1), make_segment(2))
    targets = ppo.make_targets([trajectory], [[0.25, 0.5, 0.5]], [[0.0] * 3], gamma=0.5)
    assert [written(t, t.returns) for t in targets] == [[0.25], pytest.approx([0.5, 1.0])]


def test_the_larger_of_both_value_errors_counts() -> None:
    old, returns = torch.zeros(3), torch.tensor([2.0, 2.0, 2.0])
    values = torch.tensor([1.0, -1.0, 0.25], requires_grad=True)
    # Held to [-0.5, 0.5]: errors 1 and 2.25, 9 and 6.25, 3.0625 twice.
    loss = ppo.value_loss(values, old, returns, torch.ones(3))
    assert loss.item() == pytest.approx((2.25 + 9 + 3.0625) / 2)
    loss.backward()
    # The first has moved far enough towards its return; the others are pulled on.
    assert values.grad is not None
    assert values.grad.tolist() == pytest.approx([0.0, -3.0, -1.75])


def make_policy() -> TinyPolicy:
    torch.manual_seed(0)
    return TinyPolicy(5, 12, TinyConfig(layers=1, width=8, heads=2))


def test_a_critic_says_nothing_at_first_and_reads_what_stands_before_a_token() -> None:
    critic = Critic(make_policy())
    short, long = (
        make_trajectory(1.0, make_segment(2)),
        make_trajectory(1.0, make_segment(1), make_segment(3, 1)),
    )
    assert read_values(critic, [long, short]) == [[0.0] * 5, [0.0] * 2]
    torch.nn.init.normal_(critic.head.weight)
    segment = long.segments[1]
    expected = critic(torch.tensor([segment.tokens]))[0]
    assert read_values(critic, [long])[0][1:] == pytest.approx([expected[i].item() for i in (0, 1, 2, 4)])


def test_reference_logprobs_are_those_of_the_batches() -> None:
    policy = make_policy()
    trajectory = make_trajectory(1.0, make_segment(2, 1))
    (logprobs,) = read_logprobs(policy, [trajectory])
    (batch,) = make_batches(ppo.make_targets([trajectory], [[0.0, 0.1, 0.2]], [logprobs]))
    assert logprobs == pytest.approx(batch.logprobs(policy).tolist(), abs=1e-5)
    assert batch.old_values is not None
    assert batch.old_values.tolist() == pytest.approx([0.0, 0.1, 0.2])


def test_the_entropy_of_a_uniform_policy() -> None:
    policy = make_policy()
    torch.nn.init.zeros_(policy.tokens.weight)
    (batch,) = make_batches(ppo.make_targets([make_trajectory(1.0)], [[0.0, 0.5]], [[0.0, 0.0]]))
    assert batch.entropy(policy).tolist() == pytest.approx([math.log(5)] * 2)


def make_settings() -> Settings:
    return Settings(
        environment={"name": "registers", "cells": (1, 3), "context": 30, "turns": 5},
        policy=TinyConfig(layers=1, width=16, heads=2),
        cold_start=ColdStart(steps=10, tasks=8),
        algorithm={"name": "ppo", "kl": 0.001},
        updates=Updates(count=4, tasks=2, group=4, epochs=2, entropy=0.001, evaluation_tasks=8),
    )


def test_a_run_that_was_stopped_ends_like_one_that_was_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "CHECKPOINT_EVERY", 2)
    whole = train(make_settings(), Run(tmp_path / "whole"))
    start = torch.load(tmp_path / "whole" / "cold_start.pt")
    assert not torch.equal(whole.tokens.weight, start["tokens.weight"])

    calls = 0

    def stop(*args: Any) -> float:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise KeyboardInterrupt
        return teach(*args)

    monkeypatch.setattr(loop, "teach", stop)
    with pytest.raises(KeyboardInterrupt):
        train(make_settings(), Run(tmp_path / "stopped"))
    # The fifth call and those after it go through.
    again = train(make_settings(), Run(tmp_path / "stopped"))
    assert torch.equal(again.tokens.weight, whole.tokens.weight)
    histories = [Run(tmp_path / name).history for name in ("stopped", "whole")]
    assert histories[0] == histories[1]
    assert all(entry["value_loss"] >= 0 for entry in histories[0] if entry["kind"] == "update")


def test_a_critic_learns_the_returns() -> None:
    critic = Critic(make_policy())
    optimizer = torch.optim.Adam(critic.parameters(), lr=0.01)
    right = make_trajectory(1.0, make_segment(3))
    wrong = make_trajectory(0.0, Segment((2, 2), (0.0, 0.0), (Turn(1, 2),)))
    for _ in range(60):
        values = read_values(critic, [right, wrong])
        targets = ppo.make_targets([right, wrong], values, [[0.0] * 3, [0.0]])
        teach(critic, targets, optimizer, Updates())
    first, second = read_values(critic, [right, wrong])
    assert first == pytest.approx([1.0] * 3, abs=0.1)
    assert second == pytest.approx([0.0], abs=0.1)
