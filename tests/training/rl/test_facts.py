"""The base of facts: the expert solves it raw and summarised, and the window cuts off."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.rl.cold_start import record_demonstration
from training.rl.environments.facts import ACTIONS, ENTITIES, PASSAGES, WORDS, FactEpisode, Facts, FactTask

BASE = dict(zip(ENTITIES, ("bob", "gus", "fay", "eve", "ada", "hal", "dan", "cal"), strict=True))


def make_task(**settings: int | bool) -> FactTask:
    """Two hops: ada, bob, gus."""
    return FactTask("a", ("ada", "bob", "gus"), BASE, Facts(**settings))


def step(episode: FactEpisode, reply: str) -> list[str]:
    """The words of the next context after `reply`."""
    episode.step(WORDS.encode(reply))
    return WORDS.decode(episode.context()).split()


@given(st.integers(0, 2**32), st.floats(0, 1), st.booleans())
def test_the_expert_always_solves_it(seed: int, difficulty: float, summarise: bool) -> None:
    environment = Facts(summarise=summarise)
    draw = random.Random(seed)
    task = environment.sample(draw, difficulty)
    segments, reward = record_demonstration(environment, task, draw)
    assert reward == 1.0
    (segment,) = segments
    assert len(segment.tokens) <= environment.positions
    # Each word of the expert stands in what it has read.
    for turn in segment.turns:
        entity = WORDS.decode(segment.tokens[turn.start + 1 : turn.start + 2])
        assert entity in WORDS.decode(segment.tokens[: turn.start]).replace(":", " ").split()


@given(st.integers(0, 2**32), st.sampled_from(ENTITIES))
def test_one_of_five_passages_is_relevant(seed: int, entity: str) -> None:
    task = Facts().sample(random.Random(seed), 1.0)
    passages = task.search(entity)
    assert len(set(passages)) == PASSAGES
    assert [p for p in passages if p.startswith(f"{entity}:")] == [f"{entity}:{task.base[entity]}"]
    assert passages == task.search(entity)


def test_no_passage_tells_of_a_later_hop() -> None:
    for seed in range(50):
        task = Facts().sample(random.Random(seed), 1.0)
        found = {passage.split(":")[0] for passage in task.search(task.chain[0])}
        assert found & set(task.chain) == {task.chain[0]}


def test_the_arms_differ_in_what_is_read_alone() -> None:
    raw, short = make_task().start(), make_task(summarise=True).start()
    assert len(step(raw, "search ada .")) == 3 + 3 + 1 + PASSAGES
    assert step(short, "search ada .") == ["ask", "two", "ada", "search", "ada", ".", "found", "ada:bob"]
    for episode in (raw, short):
        step(episode, "search bob .")
        step(episode, "answer gus .")
        assert (episode.outcome, episode.reward) == ("answered", 1.0)


def test_a_small_window_cuts_passages_off_and_then_ends_the_episode() -> None:
    episode = make_task(window=18).start()
    assert len(step(episode, "search ada .")) == 12
    # 3 tokens for the next reply, 3 for this one: none are left for what it finds.
    step(episode, "search bob .")
    assert episode.outcome == "overlong"
    episode = make_task(window=14).start()
    assert len(step(episode, "search ada .")) == 11
    assert episode.facts["cut"] == 1


def test_what_is_no_action_is_corrected_and_counted() -> None:
    episode = make_task().start()
    assert step(episode, "search search .")[-4:] == ["search", "search", ".", "again"]
    for _ in range(ACTIONS - 1):
        step(episode, "search ada .")
    assert (episode.outcome, episode.reward) == ("turns", 0.0)


def test_a_wrong_answer_earns_nothing() -> None:
    episode = make_task().start()
    step(episode, "answer bob .")
    assert (episode.outcome, episode.reward) == ("answered", 0.0)


def test_a_window_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 11"):
        Facts(window=10)
