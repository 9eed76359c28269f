"""Rollouts of a tiny policy: exact ids and log-probabilities in every batch."""

from __future__ import annotations

import random

import pytest
import torch

from training.rl.batches import make_batches
from training.rl.cold_start import imitate
from training.rl.environments.registers import Registers
from training.rl.loop import roll_out
from training.rl.rollout import Generation, Recorder
from training.rl.targets import Target, spread_over_turns
from training.rl.tiny import Sampler, TinyConfig, TinyPolicy
from training.rl.trajectory import Trajectory

ENVIRONMENT = Registers(context=24, turns=12)


@pytest.fixture(scope="module")
def policy() -> TinyPolicy:
    """Return a policy that has learned the form of a reply, so that its rollouts have several turns."""
    torch.manual_seed(3)
    policy = TinyPolicy(len(ENVIRONMENT.vocabulary), ENVIRONMENT.positions, TinyConfig(2, 32, 2))
    imitate(policy, ENVIRONMENT, random.Random(1), steps=60, tasks=8, learning_rate=5e-3)
    return policy


def roll_out_some(policy: TinyPolicy, count: int = 12) -> list[Trajectory]:
    draw = random.Random(1)
    tasks = [ENVIRONMENT.sample(draw, draw.random()) for _ in range(count)]
    return roll_out(policy, ENVIRONMENT, tasks, torch.Generator().manual_seed(1))


def make_targets(trajectories: list[Trajectory]) -> list[Target]:
    segments = [segment for trajectory in trajectories for segment in trajectory.segments]
    ones = [spread_over_turns(segment, [1.0] * len(segment.turns)) for segment in segments]
    return [Target(segment, values, values) for segment, values in zip(segments, ones, strict=True)]


def test_batches_repeat_the_recorded_logprobs_of_every_token(policy: TinyPolicy) -> None:
    trajectories = roll_out_some(policy)
    assert trajectories == roll_out_some(policy)  # the same for the same seed
    assert any(len(trajectory.turns) > 2 for trajectory in trajectories)
    batches = list(make_batches(make_targets(trajectories)))
    assert all(torch.allclose(batch.logprobs(policy), batch.old_logprobs, atol=1e-4) for batch in batches)
    written = sum(turn.end - turn.start for t in trajectories for turn in t.turns)
    assert sum(len(batch.weights) for batch in batches) == written
    (segment, *_) = trajectories[0].segments
    zeros = (0.0,) * len(segment.tokens)
    assert list(make_batches([Target(segment, zeros, zeros)])) == []  # it would move nothing


def test_config_sets_the_size_of_the_first_embeddings() -> None:
    for std in (0.02, 0.125):
        torch.manual_seed(1)
        policy = TinyPolicy(100, 12, TinyConfig(layers=1, width=64, embedding_std=std))
        assert policy.tokens.weight.std().item() == pytest.approx(std, rel=0.05)


def test_sampler_reads_changed_contexts_again(policy: TinyPolicy) -> None:
    def make_sampler() -> Sampler:
        return Sampler(policy, slots=2, stop=0, max_reply=3, random=None)

    kept = make_sampler()
    kept.generate({0: [1, 2, 3, 4, 5], 1: [1, 2]})
    for context in ([1, 2, 3, 9, 8, 7], [1, 2], [4]):
        again, fresh = kept.generate({0: context})[0], make_sampler().generate({0: context})[0]
        assert again.tokens == fresh.tokens
        assert again.logprobs == pytest.approx(fresh.logprobs, abs=1e-4)
    with pytest.raises(ValueError, match="more positions"):  # there is no room for a reply
        kept.generate({0: [1] * ENVIRONMENT.positions})


def test_changed_context_begins_a_new_segment() -> None:
    recorder = Recorder()
    recorder.read([1, 2])
    recorder.write(Generation([3], [-0.5]), None)
    recorder.read([1, 2, 3, 4])
    recorder.write(Generation([5], [-0.25]), 0.75)
    recorder.read([1, 9])
    recorder.write(Generation([6], [-1.0]), None)
    first, second = recorder.finish()
    assert first.tokens == (1, 2, 3, 4, 5)
    assert first.logprobs == (0.0, 0.0, -0.5, 0.0, -0.25)
    assert first.mask == (False, False, True, False, True)
    assert [turn.quality for turn in first.turns] == [None, 0.75]
    assert second.tokens == (1, 9, 6)


def test_dropped_turn_is_in_no_segment() -> None:
    recorder = Recorder()
    recorder.read([1])
    recorder.write(Generation([2], [-0.5]), None)
    recorder.read([1, 2, 3])
    recorder.write(Generation([4], [-0.5]), None)
    recorder.drop_turn()
    recorder.read([1, 2, 3, 9])
    recorder.write(Generation([5], [-0.5]), None)
    (segment,) = recorder.finish()
    assert segment.tokens == (1, 2, 3, 9, 5)
    assert segment.mask == (False, True, False, False, True)
