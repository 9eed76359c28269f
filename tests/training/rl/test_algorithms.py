"""Advantages, weights and PPO, checked against values worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.training.rl.examples import make_segment, make_trajectory
from training.rl.algorithms import grpo, hrr, ppo, supo
from training.rl.batches import make_batches
from training.rl.critic import Critic, read_logprobs, read_values
from training.rl.loop import teach
from training.rl.losses import surrogate_loss
from training.rl.settings import Updates
from training.rl.targets import Target, standardise
from training.rl.tiny import TinyConfig, TinyPolicy
from training.rl.trajectory import Segment, Trajectory, Turn

HALF = 1 / math.sqrt(2)
"""The standardised rewards 1 and 0 are +HALF and -HALF: mean 1/2, sample deviation sqrt(1/2)."""


def values_of_turns(target: Target, values: tuple[float, ...]) -> list[float]:
    return [values[turn.start] for turn in target.segment.turns]


def test_standardises_by_the_deviation_of_the_sample() -> None:
    assert standardise([1.0, 0.0]) == pytest.approx([HALF, -HALF])
    # Mean 1/4, sample variance (9 + 1 + 1 + 1) / 16 / 3 = 1/4. The population's would be 3/16.
    assert standardise([1.0, 0.0, 0.0, 0.0]) == pytest.approx([1.5, -0.5, -0.5, -0.5])
    assert standardise([1.0, 1.0]) == [0.0, 0.0]
    assert standardise([1.0]) == [0.0]


def test_grpo_averages_over_tokens_and_then_over_rollouts() -> None:
    short, long = grpo.make_targets(
        [make_trajectory(1.0, make_segment(2)), make_trajectory(0.0, make_segment(3, 1))]
    )
    assert short.advantages == pytest.approx((0.0, HALF, HALF, 0.0))
    assert short.weights == pytest.approx((0.0, 1 / 4, 1 / 4, 0.0))
    assert values_of_turns(long, long.advantages) == pytest.approx([-HALF, -HALF])
    assert values_of_turns(long, long.weights) == pytest.approx([1 / 8, 1 / 8])


def test_standardises_each_group() -> None:
    targets = grpo.make_targets(
        [make_trajectory(r, task=task) for task, r in [("a", 1), ("b", 1), ("a", 0), ("b", 1)]]
    )
    advantages = {(t.segment, t.advantages[1]) for t in targets}
    assert sorted(value for _, value in advantages) == pytest.approx([-HALF, 0.0, HALF])


def test_hrr_shifts_advantage_to_better_turns() -> None:
    good = make_trajectory(
        1.0, make_segment(2, qualities=[0.9]), make_segment(1, qualities=[0.5]), make_segment(3)
    )
    targets = hrr.make_targets([good, make_trajectory(0.0)], w=0.2)
    # Mean quality 0.7 over the two turns that have one; the third keeps GRPO's advantage.
    advantages = [target.advantages[1] for target in targets]
    assert advantages == pytest.approx([HALF + 0.04, HALF - 0.04, HALF, -HALF])


def test_hrr_divides_by_the_tokens_of_all_turns_of_a_rollout() -> None:
    rollout = make_trajectory(1.0, make_segment(2, qualities=[1.0]), make_segment(6, qualities=[0.0]))
    weights = [target.weights[1] for target in hrr.make_targets([rollout, make_trajectory(0.0)])]
    # Two rollouts: the first wrote 8 tokens in two segments, the second 2 in one.
    # One row for each turn would give 1/2 and 1/6 of the first.
    assert weights == pytest.approx([1 / 16, 1 / 16, 1 / 4])


def test_hrr_has_a_gradient_for_equal_rewards() -> None:
    rollout = make_trajectory(0.0, make_segment(1, 1, qualities=[1.0, 0.0]))
    (target, _) = hrr.make_targets([rollout, make_trajectory(0.0)], w=0.2)
    assert values_of_turns(target, target.advantages) == pytest.approx([0.1, -0.1])


@given(
    st.lists(st.tuples(st.integers(1, 9), st.floats(0, 1)), min_size=1, max_size=8),
    st.floats(0, 1),
)
def test_hrr_shaping_sums_to_zero_over_turns(turns: list[tuple[int, float]], w: float) -> None:
    segments = [make_segment(length, qualities=[quality]) for length, quality in turns]
    rollouts = [make_trajectory(1.0, *segments), make_trajectory(0.0)]
    plain = [t.advantages[1] for t in hrr.make_targets(rollouts, w=0.0)]
    shaped = [t.advantages[1] for t in hrr.make_targets(rollouts, w=w)]
    assert plain == pytest.approx([t.advantages[1] for t in grpo.make_targets(rollouts)])
    assert sum(shaped) == pytest.approx(sum(plain), abs=1e-9)


def test_supo_gives_all_segments_of_a_rollout_one_advantage() -> None:
    three = make_trajectory(1.0, make_segment(1), make_segment(2), make_segment(3))
    targets = supo.make_targets([three, make_trajectory(0.0, make_segment(4))])
    # Over rollouts: +HALF and -HALF. Over the four segments, three of them right, it would be +0.5 and -1.5.
    assert [t.advantages[1] for t in targets] == pytest.approx([HALF, HALF, HALF, -HALF])
    # The mean over all 10 tokens.
    assert {t.weights[1] for t in targets} == {0.1}


def test_supo_can_give_the_tokens_of_summaries_no_weight() -> None:
    # Turns of two and three tokens (the second is a summary), then answers of one and of four tokens.
    summarised = make_trajectory(1.0, make_segment(2, 3, qualities=[None, 0.0]), make_segment(1))
    rollouts = [summarised, make_trajectory(0.0, make_segment(4))]
    plain, ablated = (supo.make_targets(rollouts, reward_summaries=value) for value in (True, False))
    a = 1 / 10
    assert [list(target.weights) for target in plain] == [
        [0, a, a, 0, a, a, a, 0],
        [0, a, 0],
        [0, a, a, a, a, 0],
    ]
    assert [list(target.weights) for target in ablated] == [
        [0, a, a, 0, 0, 0, 0, 0],
        [0, a, 0],
        [0, a, a, a, a, 0],
    ]
    assert [t.advantages for t in ablated] == [t.advantages for t in plain]


@pytest.mark.parametrize("outcome", ["turns", "overlong"])
def test_supo_ignores_overlong_rollouts(outcome: Any) -> None:
    rollouts = [
        make_trajectory(1.0, make_segment(2)),
        make_trajectory(0.0, make_segment(2)),
        make_trajectory(0.0, make_segment(6), outcome=outcome),
    ]
    assert len(supo.make_targets([make_trajectory(1.0), make_trajectory(0.0, outcome="malformed")])) == 2
    masked = supo.make_targets(rollouts)
    assert [t.advantages[1] for t in masked] == pytest.approx([HALF, -HALF])
    assert {t.weights[1] for t in masked} == {1 / 4}
    unmasked = supo.make_targets(rollouts, mask_overlong=False)
    # Mean 1/3, sample deviation sqrt(1/3).
    assert [t.advantages[1] for t in unmasked] == pytest.approx(
        [2 / math.sqrt(3), -1 / math.sqrt(3), -1 / math.sqrt(3)]
    )
    assert {t.weights[1] for t in unmasked} == {1 / 10}


def test_surrogate_is_clipped_where_it_would_gain() -> None:
    old = torch.zeros(4)
    new = torch.log(torch.tensor([1.5, 0.5, 1.5, 0.5]))
    advantages = torch.tensor([1.0, 1.0, -1.0, -1.0])
    weights = torch.tensor([0.25] * 4)
    # min(1.5, 1.2) + min(0.5, 0.8) + min(-1.5, -1.2) + min(-0.5, -0.8) = 1.2 + 0.5 - 1.5 - 0.8
    assert surrogate_loss(new, old, advantages, weights).item() == pytest.approx(0.6 / 4)


def test_kl_estimate_is_never_negative() -> None:
    new, reference = torch.tensor([math.log(0.5)]), torch.tensor([math.log(0.25)])
    one = torch.ones(1)
    # d = log(0.5): exp(d) - d - 1 = 0.5 + 0.6931 - 1
    loss = surrogate_loss(new, new, one * 0, one, reference=reference, beta=2.0)
    assert loss.item() == pytest.approx(2 * (0.5 + math.log(2) - 1))


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
