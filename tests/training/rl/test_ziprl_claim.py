"""ZipRL's claims: the control permutes only qualities among the turns of a rollout, and tests change only
what their names say."""

from __future__ import annotations

import random

import pytest

from tests.training.rl.examples import make_segment, make_trajectory
from training.rl.algorithms import grpo, hrr
from training.rl.environments.gather import NOTHING, WORDS, Gather, GatherTask
from training.rl.replications import ziprl_turns
from training.rl.replications.ziprl import ShuffledSettings, shuffle_qualities
from training.rl.trajectory import Trajectory


def make_rollout(reward: float) -> Trajectory:
    qualities = (0.1, 0.5, 0.9)
    turns = [make_segment(length, qualities=[q]) for length, q in zip((1, 2, 3), qualities, strict=True)]
    return make_trajectory(reward, *turns, make_segment(4))


def test_permutes_qualities_within_a_rollout() -> None:
    rollout = make_rollout(1.0)
    seen: set[tuple[float | None, ...]] = set()
    for seed in range(40):
        shuffled = shuffle_qualities(rollout, random.Random(seed))
        qualities = tuple(turn.quality for turn in shuffled.turns)
        assert qualities[3] is None
        assert sorted(qualities[:3], key=lambda q: q or 0) == [0.1, 0.5, 0.9]
        assert [segment.tokens for segment in shuffled.segments] == [s.tokens for s in rollout.segments]
        assert [(turn.start, turn.end) for turn in shuffled.turns] == [
            (t.start, t.end) for t in rollout.turns
        ]
        seen.add(qualities)
    assert len(seen) == 6


def test_control_shapes_as_much_as_hrr() -> None:
    rollouts = [make_rollout(1.0), make_rollout(0.0)]
    shuffled = ShuffledSettings().make_algorithm()
    plain = [t.advantages[1] for t in grpo.make_targets(rollouts)]

    def shaping(advantages: list[float]) -> list[float]:
        terms = [a - b for a, b in zip(advantages, plain, strict=True)]
        return sorted(terms[:4]) + sorted(terms[4:])

    ours = [t.advantages[1] for t in shuffled(rollouts)]
    theirs = [t.advantages[1] for t in hrr.make_targets(rollouts, w=0.2)]
    assert shaping(ours) == pytest.approx(shaping(theirs))
    assert ours == [t.advantages[1] for t in shuffled(rollouts)]


def make_task(history: bool = False) -> GatherTask:
    pages = [["amber:stone", NOTHING], [NOTHING, "birch:glass"], [NOTHING, NOTHING]]
    wanted, *lines = ((*page, *[NOTHING] * 4) for page in (["amber:stone", NOTHING], *pages))
    return GatherTask("a", wanted, tuple(lines), Gather(pages=3, history=history))


def test_noise_is_about_other_keys_and_keeps_the_pages() -> None:
    task = make_task()
    for seed in range(20):
        noisy = ziprl_turns.add_noise(task, 5, random.Random(seed))
        assert len(noisy.pages) == 8
        left = iter(noisy.pages)
        assert all(page in left for page in task.pages)
        assert [page[0] for page in noisy.pages].count(NOTHING) == 7


def test_deceived_pages_have_only_false_facts() -> None:
    task = make_task()
    values = {ziprl_turns.deceive(task, random.Random(seed)).pages[0][0] for seed in range(30)}
    assert values == {"amber:river", "amber:cloud", "amber:glass"}
    assert ziprl_turns.deceive(task, random.Random(1)).pages[1:] == task.pages[1:]


def test_long_tasks_are_the_same_for_any_number_of_turns() -> None:
    few, many = (ziprl_turns.make_long_tasks(Gather(), turns, 1) for turns in (4, 64))
    assert [task.pages for task in few] == [task.pages[:4] for task in many]
    for index, task in enumerate(many):
        depth = ziprl_turns.TURNS[index % 6]
        asked = [place for place, fact in enumerate(task.wanted) if fact != NOTHING]
        assert all(page[place] == NOTHING for page in task.pages[depth:] for place in asked)
        assert {task.wanted[place] for place in asked} <= {f for page in task.pages[:depth] for f in page}


def test_a_full_history_is_read_in_one_turn() -> None:
    episode = make_task(history=True).start()
    assert WORDS.decode(episode.context()) == (
        "find amber - - - - - page amber:stone - - - - - page - birch:glass - - - - page - - - - - - last"
    )
    assert len(episode.context()) + Gather.max_reply == Gather(pages=3, history=True).positions
    assert episode.step(WORDS.encode("answer amber:stone - - - - - .")) is None
    assert (episode.outcome, episode.reward) == ("answered", 1.0)
