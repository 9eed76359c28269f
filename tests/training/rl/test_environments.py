"""Tiny environments: the expert solves each, and contexts, ends and rewards are as worked out by hand."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from training.rl.algorithms import evolving
from training.rl.cold_start import record_demonstration
from training.rl.environments import facts, families, gather
from training.rl.environments.facts import Facts
from training.rl.environments.families import Families, FamilyTask
from training.rl.environments.gather import EMPTY, Gather
from training.rl.environments.registers import Registers
from training.rl.rollout import Generation, run_episodes
from training.rl.trajectory import Trajectory

SEEDS = st.integers(0, 2**32)
ENVIRONMENTS = st.one_of(
    st.builds(Facts, summarise=st.booleans()),
    st.builds(Families, bank=st.sampled_from(["none", "static", "evolving"]), known=st.just(0.05)),
    st.builds(Gather, pages=st.integers(1, 8), fill=st.floats(0, 1), history=st.booleans()),
    st.integers(16, 80).map(lambda n: Registers(cells=(1, 30), context=n, resets=60, turns=200)),
)


@settings(max_examples=150)
@given(ENVIRONMENTS, SEEDS, st.floats(0, 1))
def test_expert_solves_every_task(environment: Any, seed: int, difficulty: float) -> None:
    draw = random.Random(seed)
    segments, reward = record_demonstration(environment, environment.sample(draw, difficulty), draw)
    assert reward == 1.0
    assert all(len(segment.tokens) <= environment.positions for segment in segments)
    turns = [(segment, turn) for segment in segments for turn in segment.turns]
    if isinstance(environment, Facts):
        for segment, turn in turns:  # the expert has read each entity that it writes
            entity = facts.WORDS.decode(segment.tokens[turn.start + 1 : turn.start + 2])
            assert entity in facts.WORDS.decode(segment.tokens[: turn.start]).replace(":", " ").split()
    if isinstance(environment, Gather):
        *qualities, last = (turn.quality for _, turn in turns)
        summaries = 0 if environment.history else environment.pages - 1
        assert (len(qualities), last) == (summaries, None)
        assert all(quality is not None and 0 <= quality <= 1 for quality in qualities)


# Facts

PEOPLE = ("bob", "gus", "fay", "eve", "ada", "hal", "dan", "cal")
BASE = dict(zip(facts.ENTITIES, PEOPLE, strict=True))


def ask_facts(**settings: Any) -> facts.FactEpisode:
    """Start an episode of two hops: ada, bob, gus."""
    return facts.FactTask("a", ("ada", "bob", "gus"), BASE, Facts(**settings)).start()


def step_facts(episode: facts.FactEpisode, reply: str) -> list[str]:
    """Take a step, and return the words of the next context."""
    episode.step(facts.WORDS.encode(reply))
    return facts.WORDS.decode(episode.context()).split()


@given(SEEDS, st.sampled_from(facts.ENTITIES))
def test_one_of_five_passages_is_relevant(seed: int, entity: str) -> None:
    task = Facts().sample(random.Random(seed), 1.0)
    passages = task.search(entity)
    assert len(set(passages)) == facts.PASSAGES
    assert [p for p in passages if p.startswith(f"{entity}:")] == [f"{entity}:{task.base[entity]}"]
    assert passages == task.search(entity)
    found = {passage.split(":")[0] for passage in task.search(task.chain[0])}
    assert found & set(task.chain) == {task.chain[0]}  # nothing about a later hop


def test_summarising_changes_only_what_is_read() -> None:
    raw, short = ask_facts(), ask_facts(summarise=True)
    assert len(step_facts(raw, "search ada .")) == 3 + 3 + 1 + facts.PASSAGES
    assert " ".join(step_facts(short, "search ada .")) == "ask two ada search ada . found ada:bob"
    for episode in (raw, short):
        step_facts(episode, "search bob .")
        step_facts(episode, "answer gus .")
        assert (episode.outcome, episode.reward) == ("answered", 1.0)


def test_small_window_cuts_passages_and_then_ends_the_episode() -> None:
    episode = ask_facts(window=18)
    assert len(step_facts(episode, "search ada .")) == 12
    # The next reply and this one need 3 tokens each, so no token is left for the passages that it finds.
    step_facts(episode, "search bob .")
    assert episode.outcome == "overlong"
    episode = ask_facts(window=14)
    assert len(step_facts(episode, "search ada .")) == 11
    assert episode.facts["cut"] == 1
    with pytest.raises(ValueError, match="at least 11"):
        Facts(window=10)


def test_wrong_actions_and_answers_earn_nothing() -> None:
    episode = ask_facts()
    assert step_facts(episode, "search search .")[-4:] == ["search", "search", ".", "again"]
    for _ in range(facts.ACTIONS - 1):
        step_facts(episode, "search ada .")
    assert (episode.outcome, episode.reward) == ("turns", 0.0)
    episode = ask_facts()
    step_facts(episode, "answer bob .")
    assert (episode.outcome, episode.reward) == ("answered", 0.0)


# Families


class Scripted:
    """A policy that uses the same tools in the rollouts of every task."""

    def __init__(self, *tools: int) -> None:
        self.tools = tools

    def generate(self, contexts: dict[int, Sequence[int]]) -> dict[int, Generation]:
        replies = {i: families.WORDS.encode(f"u{self.tools[i % len(self.tools)]} .") for i in contexts}
        return {i: Generation(reply, [-0.5] * len(reply)) for i, reply in replies.items()}


def sample(environment: Families, seed: int = 1) -> FamilyTask:
    return environment.sample(random.Random(seed), 0.5)


def roll_out(task: FamilyTask, *tools: int) -> list[Trajectory]:
    return run_episodes(Scripted(*tools), [task] * len(tools))


def test_lesson_of_the_colour_comes_before_the_task() -> None:
    task = sample(Families(bank="static", known=1.0))
    context = families.WORDS.decode(task.start().context())
    offset = (task.tool - task.shape) % families.TOOLS
    assert context.endswith(f"c{task.colour} plus o{offset} task c{task.colour} s{task.shape}")


def test_no_training_task_or_lesson_has_a_rule_of_the_test() -> None:
    environment, draw = Families(bank="static", known=1.0), random.Random(3)
    trained = {environment.sample(draw, 0.5).colour for _ in range(2000)}
    tested = [environment.sample_unseen(draw) for _ in range(500)]
    assert trained == set(range(families.COLOURS - families.UNSEEN))
    assert {task.colour for task in tested} == set(range(families.COLOURS)) - trained
    assert not any(f"c{task.colour} " in task.lessons for task in tested)


def test_bank_learns_a_new_rule_from_practice_without_the_answers() -> None:
    environment, draw = Families(known=0.0), random.Random(4)
    practice = environment.list_practice(draw)
    assert [task.colour for task in practice] == list(
        range(families.COLOURS - families.UNSEEN, families.COLOURS)
    )
    for task in practice:
        environment.learn(roll_out(task, task.tool))
    practised = {(task.colour, task.shape) for task in practice}
    for _ in range(200):
        task = environment.sample_unseen(draw)
        assert (task.colour, task.shape) not in practised
        offset = (task.tool - task.shape) % families.TOOLS
        assert f"c{task.colour} plus o{offset}" in task.lessons


def test_bank_learns_warnings_and_what_worked() -> None:
    environment = Families(known=0.0)
    task = sample(environment)
    wrong = (task.tool + 1) % 6
    environment.learn(roll_out(task, wrong, wrong))
    warned = (wrong - task.shape) % families.TOOLS
    assert sample(environment).lessons == f"c{task.colour} not o{warned}"
    environment.learn(roll_out(task, wrong, task.tool))
    assert sample(environment).lessons == f"c{task.colour} plus o{(task.tool - task.shape) % families.TOOLS}"
    environment.learn(roll_out(task, wrong, wrong))  # a later failure does not displace what worked
    worked = (task.tool - task.shape) % families.TOOLS
    assert f"c{task.colour} plus o{worked}" in sample(environment).lessons


def test_bank_learns_only_from_mixed_groups_if_asked() -> None:
    environment = Families(known=0.0, learn_from="mixed")
    task = sample(environment)
    wrong = (task.tool + 1) % 6
    environment.learn(roll_out(task, wrong, wrong))
    environment.learn(roll_out(task, task.tool, task.tool))
    assert sample(environment).lessons == ""
    environment.learn(roll_out(task, wrong, task.tool))
    assert sample(environment).lessons == f"c{task.colour} plus o{(task.tool - task.shape) % families.TOOLS}"


def test_bank_forgets_a_lesson_that_never_helped() -> None:
    environment = Families(known=0.0)
    task = sample(environment)
    wrong = (task.tool + 1) % 6
    environment.learn(roll_out(task, wrong))
    warned = sample(environment)
    assert warned.keys
    environment.learn(run_episodes(Scripted((wrong + 1) % 6), [warned] * 3))
    assert warned.keys[0] not in sample(environment).keys


def test_other_banks_do_not_learn() -> None:
    for bank in ("none", "static"):
        environment = Families(bank=bank, known=0.0)
        environment.learn(roll_out(task := sample(environment), task.tool))
        assert sample(environment).lessons == ""
    with pytest.raises(ValueError, match="is not one of none, static, evolving"):
        Families(bank="growing")


def test_checkpoint_restores_the_bank() -> None:
    environment, restored = Families(known=0.1), Families(known=0.0)
    task = sample(environment)
    environment.learn(roll_out(task, task.tool))
    environment.publish()
    restored.load_state_dict(environment.state_dict())
    assert restored.edition == 1
    assert [sample(restored, seed) for seed in range(20)] == [sample(environment, seed) for seed in range(20)]


def test_groups_of_one_outcome_teach_only_the_bank() -> None:
    environment = Families(known=0.0)
    failed, mixed = sample(environment, 1), sample(environment, 2)
    rollouts = roll_out(failed, (failed.tool + 1) % 6, (failed.tool + 2) % 6)
    rollouts += roll_out(mixed, mixed.tool, (mixed.tool + 1) % 6)
    targets = evolving.make_targets(rollouts)
    assert [target.segment.tokens[0] for target in targets] == [families.WORDS.encode("task")[0]] * 2
    # Two rollouts of two tokens each count, not four.
    assert {target.weights[-1] for target in targets} == {1 / 4}
    environment.learn(rollouts)
    assert len(environment.state_dict()["lessons"]) == 2


def test_texts_are_similar_if_they_share_words() -> None:
    one, same, half, other = families.WordEmbedder().embed(["c1 s1", "s1 c1", "c1 s2", "c3 s3"])
    assert one @ same == pytest.approx(1.0)
    assert 0.25 < one @ half < 0.75
    assert abs(one @ other) < 0.4


# Gather


def make_line(**known: str) -> gather.Line:
    return tuple(f"{key}:{known[key]}" if key in known else "-" for key in gather.KEYS)


def write(head: str, **known: str) -> list[int]:
    return gather.WORDS.encode(" ".join([head, *make_line(**known), "."]))


def find_facts(*, room: int = 4, without: str = "") -> gather.GatherEpisode:
    """Start an episode of two pages that asks for amber and cedar."""
    pages = (make_line(amber="river", birch="stone"), make_line(cedar="cloud"))
    asked = make_line(amber="river", cedar="cloud")
    return gather.GatherTask("a", asked, pages, Gather(pages=2, room=room, without=without)).start()


def test_gather_draws_the_number_of_pages() -> None:
    draw = random.Random(1)
    counts = {len(Gather(pages=3, fewest_pages=1).sample(draw, 0.5).pages) for _ in range(50)}
    assert counts == {1, 2, 3}
    assert {len(Gather(pages=3).sample(draw, 0.5).pages) for _ in range(50)} == {3}


def test_turn_reads_the_question_the_summary_and_the_page() -> None:
    episode = find_facts()
    first = gather.WORDS.decode(episode.context())
    assert first == "find amber - cedar - - - known - - - - - - page amber:river birch:stone - - - - more"
    episode.step(write("ultra-coarse", amber="river"))
    second = gather.WORDS.decode(episode.context())
    assert second == "find amber - cedar - - - known amber:river - - - - - page - - cedar:cloud - - - last"
    episode.step(write("answer", amber="river", cedar="cloud"))
    assert (episode.outcome, episode.reward) == ("answered", 1.0)


def test_only_the_summary_lasts() -> None:
    episode = find_facts()
    episode.step(write("ultra-coarse", birch="stone"))
    assert "amber:river" not in gather.WORDS.decode(episode.context()).split()
    assert episode.facts == {"asked": 2, "kept": 0}
    episode.step(write("answer", amber="river", birch="stone", cedar="cloud"))  # one fact too many
    assert (episode.outcome, episode.reward) == ("answered", 0.0)
    known = {"amber": "river", "birch": "stone", "daisy": "cloud", "ember": "cloud"}
    episode = find_facts(room=4)
    episode.step(write("coarse", **known, grape="cloud"))  # there is no room for the fifth
    assert episode.known == make_line(**known) != EMPTY
    with pytest.raises(ValueError, match="can ask for 3 facts"):
        Gather(room=3)


def test_quality_falls_with_a_lost_fact_or_a_wrong_level() -> None:
    kept = find_facts().step(write("ultra-coarse", amber="river"))
    lost = find_facts().step(write("ultra-coarse", birch="stone"))
    long = find_facts().step(write("medium", amber="river"))
    assert None not in (kept, lost, long)
    assert kept > max(lost, long)


@pytest.mark.parametrize(
    "reply",
    [
        ["more", *EMPTY, "."],
        ["answer", *EMPTY, "."],
        ["ultra-coarse", *EMPTY],
        ["ultra-coarse", *EMPTY[1:], "."],
        ["ultra-coarse", "-", "amber:river", *EMPTY[2:], "."],
        ["."],
    ],
)
def test_other_replies_than_summaries_are_malformed(reply: list[str]) -> None:
    episode = find_facts()
    assert episode.step(gather.WORDS.encode(" ".join(reply))) is None
    assert (episode.outcome, episode.reward) == ("malformed", 0.0)


def test_part_of_the_quality_can_be_left_out() -> None:
    def rate(without: str) -> float:
        rated = find_facts(without=without).step(write("ultra-coarse", amber="river"))
        assert rated is not None
        return rated

    lost = [rate("") - rate(part) for part in ("ratio", "level", "info", "sem")]
    assert all(loss > 0 for loss in lost)
    assert sum(lost) == pytest.approx(rate(""))  # Q_com is the sum of its weighted parts
