"""The register machine: the expert solves it, and the context is SUPO's."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.rl.cold_start import record_demonstration
from training.rl.environments.registers import WORDS, RegisterEpisode, Registers, RegisterTask
from training.rl.trajectory import Segment


def make_task(*cells: int, context: int = 56, resets: int = 4, turns: int = 24) -> RegisterTask:
    return RegisterTask("a", cells, Registers(context=context, resets=resets, turns=turns))


def step(episode: RegisterEpisode, reply: str) -> str:
    """The next context after `reply`."""
    episode.step(WORDS.encode(reply))
    return WORDS.decode(episode.context())


@given(
    st.integers(0, 2**32),
    st.floats(0, 1),
    st.integers(16, 80),
)
def test_the_expert_always_solves_it(seed: int, difficulty: float, context: int) -> None:
    environment = Registers(cells=(1, 30), context=context, resets=60, turns=200)
    draw = random.Random(seed)
    task = environment.sample(draw, difficulty)
    segments, reward = record_demonstration(environment, task, draw)
    assert reward == 1.0
    for segment in segments:
        assert len(segment.tokens) <= environment.positions


def test_a_task_in_one_context() -> None:
    episode = make_task(3, 4).start()
    assert step(episode, "t0 next .") == "sum begin t0 next . v3 more"
    assert step(episode, "t3 next .") == "sum begin t0 next . v3 more t3 next . v4 last"
    step(episode, "t2 answer .")
    assert (episode.outcome, episode.reward) == ("answered", 1.0)


def test_a_full_context_takes_the_last_turn_back_and_asks_for_a_summary() -> None:
    episode = make_task(3, 4, 1, context=12).start()
    assert step(episode, "t0 next .") == "sum begin t0 next . v3 more"
    assert not episode.dropped_turn
    # Twelve tokens with the next turn: it is undone, and its cell is read again after the summary.
    assert step(episode, "t3 next .") == "sum begin t0 next . v3 more summarise"
    assert episode.dropped_turn
    assert step(episode, "t3 .") == "sum begin t3 on"
    assert step(episode, "t3 next .") == "sum begin t3 on t3 next . v4 more"
    assert episode.facts == {"cells": 3, "resets": 1, "context": 9}


def test_the_segments_of_a_reset_hold_what_the_policy_read_and_wrote() -> None:
    environment = Registers(context=12)
    task = RegisterTask("a", (3, 4), environment)
    segments, reward = record_demonstration(environment, task, random.Random(0))
    assert reward == 1.0
    assert [show(segment) for segment in segments] == [
        "sum begin [t0 next .] v3 more summarise [t3 .]",
        "sum begin t3 on [t3 next .] v4 last [t2 answer .]",
        # The turn that was taken back is imitated, too.
        "sum begin t0 next . v3 more [t3 next .]",
    ]


def show(segment: Segment) -> str:
    """The words of a segment, with brackets around what the policy wrote."""
    words = [WORDS.decode([token]) for token in segment.tokens]
    for turn in segment.turns:
        words[turn.start] = f"[{words[turn.start]}"
        words[turn.end - 1] += "]"
    return " ".join(words)


@pytest.mark.parametrize(
    ("replies", "outcome"),
    [
        (["t0 look .", "t0 look ."], "turns"),
        (["next next next"], "malformed"),
        (["t0 next"], "malformed"),
        (["t1 answer ."], "answered"),
    ],
)
def test_every_end_has_its_name(replies: list[str], outcome: str) -> None:
    episode = make_task(3, 4, turns=2).start()
    for reply in replies:
        episode.step(WORDS.encode(reply))
    assert (episode.outcome, episode.reward) == (outcome, 0.0)


def test_a_full_context_without_a_summary_left_ends_the_episode() -> None:
    episode = make_task(3, 4, 1, context=12, resets=0).start()
    step(episode, "t0 next .")
    step(episode, "t3 next .")
    assert episode.outcome == "overlong"


def test_a_guess_is_right_once_in_five_times() -> None:
    draw = random.Random(5)
    environment = Registers()
    rewards: list[float] = []
    for _ in range(500):
        episode = environment.sample(draw, draw.random()).start()
        episode.step(WORDS.encode("t0 answer ."))
        rewards.append(episode.reward)
    assert 0.15 < sum(rewards) / len(rewards) < 0.25
