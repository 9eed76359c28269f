"""Families of hidden rules: the expert solves them, and a real experience bank finds the rules out."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.rl.algorithms import evolving
from training.rl.cold_start import record_demonstration
from training.rl.environments.families import (
    SHAPES,
    UNSEEN_SHAPES,
    WORDS,
    Families,
    FamilyTask,
    WordEmbedder,
)
from training.rl.rollout import Generation, run_episodes
from training.rl.trajectory import Trajectory


class Scripted:
    """Writes the same tools for the rollouts of every task."""

    def __init__(self, *tools: int) -> None:
        self.tools = tools

    def generate(self, contexts: dict[int, Sequence[int]]) -> dict[int, Generation]:
        replies = {i: WORDS.encode(f"u{self.tools[i % len(self.tools)]} .") for i in contexts}
        return {i: Generation(reply, [-0.5] * len(reply)) for i, reply in replies.items()}


def sample(environment: Families, seed: int = 1) -> FamilyTask:
    return environment.sample(random.Random(seed), 0.5)


def roll_out(task: FamilyTask, *tools: int) -> list[Trajectory]:
    return run_episodes(Scripted(*tools), [task] * len(tools))


@given(st.integers(0, 2**32), st.sampled_from(["none", "static", "evolving"]))
def test_the_expert_always_solves_it(seed: int, bank: str) -> None:
    environment = Families(bank=bank, known=0.05)
    task = environment.sample(random.Random(seed), 0.5)
    segments, reward = record_demonstration(environment, task, random.Random(seed))
    assert reward == 1.0
    assert len(segments[0].tokens) <= environment.positions


def test_a_lesson_of_the_colour_is_recalled_and_stands_next_to_the_task() -> None:
    task = sample(Families(bank="static", known=1.0))
    context = WORDS.decode(task.start().context())
    assert context.endswith(f"c{task.colour} use u{task.tool} task c{task.colour} s{task.shape}")


def test_only_unseen_families_have_the_shapes_of_the_test() -> None:
    environment, draw = Families(known=0.02), random.Random(3)
    unseen = range(SHAPES - UNSEEN_SHAPES, SHAPES)
    assert not any(environment.sample(draw, 0.5).shape in unseen for _ in range(100))
    assert all(environment.sample_unseen(draw).shape in unseen for _ in range(100))


def test_a_group_that_failed_leaves_a_warning_and_a_success_replaces_nothing_else() -> None:
    environment = Families(known=0.0)
    task = sample(environment)
    wrong = (task.tool + 1) % 6
    environment.learn(roll_out(task, wrong, wrong))
    assert sample(environment).lessons == f"c{task.colour} not u{wrong}"
    environment.learn(roll_out(task, wrong, task.tool))
    assert sample(environment).lessons == f"c{task.colour} use u{task.tool}"
    # A later failure does not displace what worked.
    environment.learn(roll_out(task, wrong, wrong))
    assert f"c{task.colour} use u{task.tool}" in sample(environment).lessons


def test_lessons_come_from_mixed_groups_alone_where_asked() -> None:
    environment = Families(known=0.0, learn_from="mixed")
    task = sample(environment)
    wrong = (task.tool + 1) % 6
    environment.learn(roll_out(task, wrong, wrong))
    environment.learn(roll_out(task, task.tool, task.tool))
    assert sample(environment).lessons == ""
    environment.learn(roll_out(task, wrong, task.tool))
    assert sample(environment).lessons == f"c{task.colour} use u{task.tool}"


def test_a_lesson_that_never_helped_is_forgotten() -> None:
    environment = Families(known=0.0)
    task = sample(environment)
    wrong = (task.tool + 1) % 6
    environment.learn(roll_out(task, wrong))
    warned = sample(environment)
    assert warned.keys
    environment.learn(run_episodes(Scripted((wrong + 1) % 6), [warned] * 3))
    assert warned.keys[0] not in sample(environment).keys


@pytest.mark.parametrize("bank", ["none", "static"])
def test_other_banks_do_not_learn(bank: str) -> None:
    environment = Families(bank=bank, known=0.0)
    task = sample(environment)
    environment.learn(roll_out(task, task.tool))
    assert sample(environment).lessons == ""


def test_the_bank_survives_a_checkpoint() -> None:
    environment = Families(known=0.1)
    task = sample(environment)
    environment.learn(roll_out(task, task.tool))
    environment.publish()
    restored = Families(known=0.0)
    restored.load_state_dict(environment.state_dict())
    assert restored.edition == 1
    assert [sample(restored, seed) for seed in range(20)] == [sample(environment, seed) for seed in range(20)]


def test_groups_of_one_outcome_teach_the_bank_and_not_the_policy() -> None:
    environment = Families(known=0.0)
    failed, mixed = sample(environment, 1), sample(environment, 2)
    rollouts = roll_out(failed, (failed.tool + 1) % 6, (failed.tool + 2) % 6)
    rollouts += roll_out(mixed, mixed.tool, (mixed.tool + 1) % 6)
    targets = evolving.make_targets(rollouts)
    assert {target.segment.tokens[0] for target in targets} == {WORDS.encode("task")[0]}
    assert len(targets) == 2
    # Two rollouts of two tokens each count, not four.
    assert {target.weights[-1] for target in targets} == {1 / 4}
    environment.learn(rollouts)
    assert len(environment.state_dict()["lessons"]) == 2


def test_texts_are_alike_as_far_as_they_share_words() -> None:
    one, same, half, other = WordEmbedder().embed(["c1 s1", "s1 c1", "c1 s2", "c3 s3"])
    assert one @ same == pytest.approx(1.0)
    assert 0.25 < one @ half < 0.75
    assert abs(one @ other) < 0.4


def test_an_unknown_bank_is_refused() -> None:
    with pytest.raises(ValueError, match="none of none, static, evolving"):
        Families(bank="growing")  # pyright: ignore[reportArgumentType]
