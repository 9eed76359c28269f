"""Rollouts of a tiny policy with exact ids and log-probabilities; segments; the register machine."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
import torch

from training.rl.batches import make_batches
from training.rl.cold_start import imitate, record_demonstration
from training.rl.environments import registers
from training.rl.environments.registers import Registers
from training.rl.loop import roll_out
from training.rl.rollout import Generation, Recorder
from training.rl.targets import Target, spread_over_turns
from training.rl.tiny import Sampler, TinyConfig, TinyPolicy
from training.rl.trajectory import Segment, Trajectory, Turn

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


def make_segment() -> Segment:
    return Segment((5, 6, 7, 8, 9), (0.0, 0.0, -0.5, -0.25, 0.0), (Turn(2, 4, quality=0.75),))


def test_mask_covers_what_the_policy_wrote() -> None:
    assert make_segment().mask == (False, False, True, True, False)


def test_trajectory_survives_json() -> None:
    trajectory = Trajectory(
        "task 1", (make_segment(), make_segment()), 1.0, "answered", 3, 2, {"read": [1, 2]}
    )
    assert Trajectory.from_dict(json.loads(json.dumps(trajectory.to_dict()))) == trajectory
    assert trajectory.resets == 1
    assert len(trajectory.turns) == 2


@pytest.mark.parametrize(
    ("tokens", "logprobs", "turns"),
    [
        ((1, 2), (0.0,), ()),
        ((1, 2), (0.0, 0.0), (Turn(1, 3),)),
        ((1, 2), (0.0, 0.0), (Turn(1, 1),)),
        ((1, 2, 3), (0.0, 0.0, 0.0), (Turn(0, 2), Turn(1, 3))),
    ],
)
def test_refuses_a_segment_that_does_not_fit_together(
    tokens: tuple[int, ...], logprobs: tuple[float, ...], turns: tuple[Turn, ...]
) -> None:
    with pytest.raises(ValueError, match=r"segment|Turn"):
        Segment(tokens, logprobs, turns)


def test_refuses_an_unknown_outcome() -> None:
    values = Trajectory("task 1", (make_segment(),), 1.0, "answered").to_dict()
    with pytest.raises(ValueError, match="no outcome"):
        Trajectory.from_dict({**values, "outcome": "bored"})


# Registers


def add(*cells: int, **settings: Any) -> registers.RegisterEpisode:
    return registers.RegisterTask("a", cells, Registers(**settings)).start()


def step(episode: registers.RegisterEpisode, reply: str) -> str:
    """Take a step, and return the next context."""
    episode.step(registers.WORDS.encode(reply))
    return registers.WORDS.decode(episode.context())


def test_adds_cells_in_one_context() -> None:
    episode = add(3, 4)
    assert step(episode, "t0 next .") == "sum begin t0 next . v3 more"
    assert step(episode, "t3 next .") == "sum begin t0 next . v3 more t3 next . v4 last"
    step(episode, "t2 answer .")
    assert (episode.outcome, episode.reward) == ("answered", 1.0)


def test_full_context_drops_the_last_turn_for_a_summary() -> None:
    episode = add(3, 4, 1, context=12)
    assert step(episode, "t0 next .") == "sum begin t0 next . v3 more"
    assert not episode.dropped_turn
    # Twelve tokens with the next turn: it is undone, and its cell is read again after the summary.
    assert step(episode, "t3 next .") == "sum begin t0 next . v3 more summarise"
    assert episode.dropped_turn
    assert step(episode, "t3 .") == "sum begin t3 on"
    assert step(episode, "t3 next .") == "sum begin t3 on t3 next . v4 more"
    assert episode.facts == {"cells": 3, "resets": 1, "context": 9}
    episode = add(3, 4, 1, context=12, resets=0)
    step(episode, "t0 next .")
    step(episode, "t3 next .")
    assert episode.outcome == "overlong"


@pytest.mark.parametrize(("summary", "quality"), [("t3 .", 1.0), ("t2 .", 0.0), ("next .", 0.0)])
def test_quality_of_a_summary_says_whether_its_total_is_right(summary: str, quality: float) -> None:
    episode = add(3, 4, 1, context=12)
    for reply in ("t0 next .", "t3 next ."):
        assert episode.step(registers.WORDS.encode(reply)) is None
    assert episode.step(registers.WORDS.encode(summary)) == quality


def show(segment: Segment) -> str:
    """Return the words of a segment, with brackets around what the policy wrote."""
    words = [registers.WORDS.decode([token]) for token in segment.tokens]
    for turn in segment.turns:
        words[turn.start] = f"[{words[turn.start]}"
        words[turn.end - 1] += "]"
    return " ".join(words)


def test_segments_contain_what_the_policy_read_and_wrote() -> None:
    task = registers.RegisterTask("a", (3, 4), environment := Registers(context=12))
    segments, reward = record_demonstration(environment, task, random.Random(0))
    assert reward == 1.0
    assert [show(segment) for segment in segments] == [
        "sum begin [t0 next .] v3 more summarise [t3 .]",
        "sum begin t3 on [t3 next .] v4 last [t2 answer .]",
        "sum begin t0 next . v3 more [t3 next .]",  # the dropped turn is imitated, too
    ]


@pytest.mark.parametrize(
    ("replies", "outcome"),
    [
        (["t0 look .", "t0 look ."], "turns"),
        (["next next next"], "malformed"),
        (["t0 next"], "malformed"),
        (["t1 answer ."], "answered"),
    ],
)
def test_names_how_an_episode_ended(replies: list[str], outcome: str) -> None:
    episode = add(3, 4, turns=2)
    for reply in replies:
        episode.step(registers.WORDS.encode(reply))
    assert (episode.outcome, episode.reward) == (outcome, 0.0)


def test_guess_is_right_once_in_five_times() -> None:
    draw, environment, right = random.Random(5), Registers(), 0.0
    for _ in range(500):
        episode = environment.sample(draw, draw.random()).start()
        episode.step(registers.WORDS.encode("t0 answer ."))
        right += episode.reward
    assert 75 < right < 125
