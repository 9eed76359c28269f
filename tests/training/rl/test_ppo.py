"""PPO, checked against values worked out by hand, and its critic."""

from __future__ import annotations

import math

import pytest
import torch

from tests.training.rl.examples import make_segment, make_trajectory
from training.rl.algorithms import ppo
from training.rl.batches import make_batches
from training.rl.critic import Critic, read_logprobs, read_values
from training.rl.loop import teach
from training.rl.settings import Updates
from training.rl.targets import Target
from training.rl.tiny import TinyConfig, TinyPolicy
from training.rl.trajectory import Segment, Trajectory, Turn


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


def test_each_token_pays_kl_and_the_last_gets_the_reward() -> None:
    segment = Segment((1, 2, 3, 4, 5), (0.0, -1.0, -2.0, 0.0, -3.0), (Turn(1, 3), Turn(4, 5)))
    trajectory = Trajectory("a", (segment,), 1.0, "answered")
    rewards = ppo.pay_tokens(trajectory, [-1.5, -2.0, -1.0], kl=0.1)
    assert rewards == pytest.approx([-0.05, 0.0, 1.2])


def test_observations_are_not_steps() -> None:
    # Two turns of two tokens, an observation between and after them: four steps.
    trajectory = make_trajectory(1.0, make_segment(2, 2))
    (target,) = ppo.make_targets([trajectory], [[0.1, 0.2, 0.4, 0.8]], [[0.0] * 4])
    assert written(target, target.returns) == pytest.approx([1.0] * 4)
    assert written(target, target.values) == pytest.approx([0.1, 0.2, 0.4, 0.8])
    assert target.advantages[0] == target.advantages[3] == target.weights[3] == 0.0


def test_standardises_advantages_over_all_tokens() -> None:
    right, wrong = make_trajectory(1.0, make_segment(1)), make_trajectory(0.0, make_segment(3))
    targets = ppo.make_targets([right, wrong], [[0.0], [0.0] * 3], [[0.0], [0.0] * 3])
    # 1, 0, 0, 0: mean 1/4, sample deviation 1/2. Over trajectories it would be +-0.707.
    assert [written(t, t.advantages) for t in targets] == [[1.5], pytest.approx([-0.5] * 3)]
    assert [written(t, t.weights) for t in targets] == [[0.5], pytest.approx([1 / 6] * 3)]


def test_returns_run_over_segments() -> None:
    trajectory = make_trajectory(1.0, make_segment(1), make_segment(2))
    targets = ppo.make_targets([trajectory], [[0.25, 0.5, 0.5]], [[0.0] * 3], gamma=0.5)
    assert [written(t, t.returns) for t in targets] == [[0.25], pytest.approx([0.5, 1.0])]


def test_larger_value_error_counts() -> None:
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


def test_critic_starts_at_zero_and_reads_what_precedes_a_token() -> None:
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


def test_entropy_of_a_uniform_policy() -> None:
    policy = make_policy()
    torch.nn.init.zeros_(policy.tokens.weight)
    (batch,) = make_batches(ppo.make_targets([make_trajectory(1.0)], [[0.0, 0.5]], [[0.0, 0.0]]))
    assert batch.entropy(policy).tolist() == pytest.approx([math.log(5)] * 2)


def test_critic_learns_the_returns() -> None:
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
