"""Verdicts on claims, the program that runs one, and the arms of ZipRL's and Evolving Rollouts' claims."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.training.rl.examples import make_segment, make_trajectory
from training.rl import replicate
from training.rl.algorithms import grpo, hrr
from training.rl.environments.families import WordEmbedder, make_lesson
from training.rl.environments.gather import NOTHING, WORDS, Gather, GatherTask
from training.rl.replications import evolving_steps, ziprl_turns
from training.rl.replications.claim import Claim, Metrics, Prediction, Row, compare, judge
from training.rl.replications.evolving_steps import average_steps, describe_step
from training.rl.replications.results import Results, read_results, render_claim, write_results
from training.rl.replications.ziprl import ShuffledSettings, shuffle_qualities
from training.rl.settings import ColdStart
from training.rl.tiny import TinyConfig
from training.rl.trajectory import Trajectory

PREDICTION = Prediction("reward", "new", "old", margin=0.1)


def make_rows(new: list[float], old: list[float]) -> list[Row]:
    rows = [Row("new", seed, {"reward": value}, 1.0) for seed, value in enumerate(new)]
    return rows + [Row("old", seed, {"reward": value}, 1.0) for seed, value in enumerate(old)]


def spread(*values: float) -> list[float]:
    """Return ten seeds around the values."""
    return [value + 0.01 * number for number, value in enumerate([*values, *values])]


HALF = [0.5] * 10


@pytest.mark.parametrize(
    ("new", "old", "verdict"),
    [
        (spread(0.8, 0.9, 0.7, 0.8, 0.8), HALF, "replicated"),
        (spread(0.53, 0.54, 0.53, 0.54, 0.53), HALF, "null"),  # below the margin
        (spread(0.9, 0.1, 0.5, 0.9, 0.1), HALF, "null"),
        (spread(0.3, 0.2, 0.2, 0.3, 0.2), HALF, "reversed"),
        (spread(0.8, 0.9, 0.7, 0.8, 0.8)[:9], HALF, "too few seeds"),
        ([0.9], [0.5], "not measured"),
    ],
)
def test_verdict_follows_interval_and_sign_flips(new: list[float], old: list[float], verdict: str) -> None:
    assert judge(PREDICTION, make_rows(new, old)) == verdict


def test_compares_seeds_in_pairs() -> None:
    # Seeds differ far more than arms; within a seed the difference is always 0.2.
    found = compare(PREDICTION, make_rows([0.3, 0.6, 0.9], [0.1, 0.4, 0.7]))
    assert found is not None
    d = found.difference
    assert (d.value, d.low, d.high) == pytest.approx((0.2, 0.2, 0.2))
    assert found.p == 0.25  # 2 of the 8 ways to exchange the arms of three seeds


def test_p_by_hand() -> None:
    # Differences 3, 1, -1: of the 8 sums of +-3 +-1 +-1, six are at least 3 in size.
    found = compare(PREDICTION, make_rows([3.0, 1.0, 0.0], [0.0, 0.0, 1.0]))
    assert found is not None
    assert found.p == 0.75


def test_allowance_lets_a_small_loss_pass() -> None:
    # A loss of 0.02 in each seed: with an allowance of 0.03 the difference is 0.01.
    rows = make_rows([0.48] * 10, HALF)
    allowed = replace(PREDICTION, margin=0.0, allowance=0.03)
    found = compare(allowed, rows)
    assert found is not None
    assert found.difference.value == pytest.approx(0.01)
    assert judge(allowed, rows) == "replicated"
    assert judge(replace(allowed, allowance=0.01), rows) == "reversed"
    assert allowed.describe() == "`reward` + 0.03: new above old by at least 0"


def test_compares_deviations_over_seeds() -> None:
    prediction = Prediction("reward", "new", "old", margin=0.1, statistic="deviation")
    rows = make_rows([0.1, 0.5, 0.9, 0.1, 0.9] * 2, [0.5, 0.51, 0.49, 0.5, 0.5] * 2)
    found = compare(prediction, rows)
    assert found is not None
    assert found.difference.value == pytest.approx(0.3777 - 0.0067, abs=1e-3)
    assert judge(prediction, rows) == "replicated"


def test_no_seed_is_left_out() -> None:
    rows = make_rows([0.8, 0.9], [0.5, 0.5])
    rows += [Row("new", 2, {"reward": None}, 1.0), Row("old", 2, {"reward": 0.5}, 1.0)]
    assert compare(PREDICTION, rows) is None
    found = compare(replace(PREDICTION, missing=0.0), rows)
    assert found is not None
    assert found.difference.value == pytest.approx((0.3 + 0.4 - 0.5) / 3)


def test_what_a_control_shows_too_is_built_in() -> None:
    new = spread(0.8, 0.9, 0.7, 0.8, 0.8)
    rows = make_rows(new, HALF)
    rows += [Row("cold new", row.seed, row.metrics, 1.0) for row in rows if row.arm == "new"]
    rows += [Row("cold old", row.seed, row.metrics, 1.0) for row in rows if row.arm == "old"]
    shows, hides = ("cold new", "cold old"), ("cold old", "cold new")
    assert judge(replace(PREDICTION, controls=[hides, shows]), rows) == "built in"
    assert judge(replace(PREDICTION, controls=[hides]), rows) == "replicated"


@pytest.mark.parametrize(("start", "verdict"), [(0.3, "built in"), (0.05, "replicated")])
def test_what_cold_starts_differ_in_is_built_in(start: float, verdict: str) -> None:
    rows = [
        Row(arm, seed, {"reward": reward, "initial_reward": before}, 1.0)
        for seed in range(1, 11)
        for arm, reward, before in (("new", 0.8, 0.1 + start), ("old", 0.3, 0.1))
    ]
    assert judge(replace(PREDICTION, initial="initial_reward"), rows) == verdict


def run_fake(arm: str, seed: int, folder: Path) -> Metrics:
    folder.mkdir(parents=True)
    return {"reward": 0.5 + 0.3 * (arm == "new") + seed / 100, "initial": 0.2}


def test_claim_is_run_once_and_written_down(tmp_path: Path) -> None:
    claim = Claim(
        "fake", "It helps.", "Here it is tried.", ("new", "old"), 3, (PREDICTION,), "initial", run_fake
    )
    first = Results()
    for rows in replicate.run_missing(claim, Results(), tmp_path, seeds=2):
        first.rows += rows
    assert [(row.arm, row.seed) for row in first.rows] == [("new", 1), ("old", 1), ("new", 2), ("old", 2)]
    write_results(claim, first, tmp_path)
    second = read_results(claim, tmp_path)
    # A run that is done would fail: its folder is there.
    (added,) = replicate.run_missing(claim, second, tmp_path, seeds=3)
    second.rows += added
    text = render_claim(claim, second)
    assert (
        "| `reward`: new above old by at least 0.1 | +0.300 (+0.300 to +0.300) | 0.250 | too few seeds |"
        in text
    )
    assert "| new | 3 | 0.200 ± 0.000 | 0.820 ± 0.010 |" in text


def test_recorded_page_matches_recorded_results() -> None:
    assert replicate.DOCUMENT.read_text(encoding="utf-8") == replicate.render_document()


def test_every_claim_predicts_about_its_arms() -> None:
    for claim in replicate.CLAIMS.values():
        assert claim.seeds >= 10
        for prediction in claim.predictions:
            compared = [prediction, *prediction.list_controls()]
            assert {arm for p in compared for arm in (p.higher, p.lower)} <= set(claim.arms)


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


def test_figures_of_a_step_by_hand() -> None:
    old = [make_lesson(colour, 0, 0, True) for colour in range(4)]
    new = [make_lesson(1, 0, 3, True), make_lesson(9, 0, 2, True)]
    # The lesson about c1 is replaced, one about c9 is added: 2 changes of 4, and 2 of 5 lessons are new.
    found = describe_step(old, [old[0], *old[2:], *new], [lesson.id for lesson in old])
    one, two = WordEmbedder().embed(["c1 plus o3", "c9 plus o2"])
    assert (found["churn"], found["from_rollouts"]) == (2 / 4, 2 / 5)
    assert found["spread"] == pytest.approx(float(np.linalg.norm(one - two)) / 2)
    assert describe_step(old, [*old, new[0]], [])["spread"] is None


def test_means_over_steps_by_hand() -> None:
    steps = [
        {"churn": 0.1, "from_rollouts": 0.2, "spread": None},
        {"churn": 0.3, "from_rollouts": 0.4, "spread": 0.5},
    ]
    assert average_steps(steps) == pytest.approx({"churn": 0.2, "from_rollouts": 0.4, "spread": 0.5})


def test_longer_run_continues_a_shorter_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cold = replace(
        evolving_steps._COLD,
        policy=TinyConfig(layers=1, width=16, heads=2),
        cold_start=ColdStart(steps=1, tasks=2),
    )
    monkeypatch.setattr(evolving_steps, "_COLD", cold)
    (_, short, one), (_, long, two) = (evolving_steps._evolve(1, count, tmp_path) for count in (1, 3))
    assert len(short.steps) == 1
    assert long.steps[:1] == short.steps
    updates = [[e for e in run.history if e["kind"] == "update"] for run in (one, two)]
    assert updates[1][:1] == updates[0]
    # A finished run gives its figures back.
    assert evolving_steps._evolve(1, 3, tmp_path)[1].steps == long.steps
