"""The register machine: contexts, summaries and outcomes of its episodes."""

from __future__ import annotations

import random
from typing import Any

import pytest

from training.rl.cold_start import record_demonstration
from training.rl.environments import registers
from training.rl.environments.registers import Registers
from training.rl.trajectory import Segment

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
