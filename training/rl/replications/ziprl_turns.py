"""ZipRL's claims about one checkpoint at test time, on the gathering of facts: more turns than in training
(figure 3), and pages of noise (table 13)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import cast

import torch

from training.rl.cold_start import demonstrate
from training.rl.environments.gather import NOTHING, Gather, GatherTask, Line, draw_fact
from training.rl.episode import Environment, Task
from training.rl.loop import make_policy, roll_out, write_cold_start
from training.rl.replications.claim import Claim, Metrics, Prediction
from training.rl.replications.tiny import NO_UPDATES, read_initial, train_once
from training.rl.replications.ziprl import PILOT
from training.rl.settings import ColdStart, Settings, Updates
from training.rl.tiny import TinyConfig
from training.run import Run

TURNS = (2, 4, 8, 16, 32, 64)
TEST_TASKS = 240
CLEAN, FILL = 6, 0.3
"""Number of pages in training, and the probability that a page has a fact about a key that is not asked
for."""
_TRAINED = Settings(
    environment={"name": "gather", "pages": CLEAN, "fill": FILL, "drop": 0.05, "hoard": 0.05},
    policy=TinyConfig(layers=2, width=64),
    cold_start=ColdStart(steps=900, tasks=12, learning_rate=5e-3),
    algorithm={"name": "hrr", "w": 0.2},
    updates=Updates(count=40, evaluate_every=40),
)
_FOR_TURNS = replace(
    _TRAINED,
    environment={**_TRAINED.environment, "fewest_pages": 1},
    policy=TinyConfig(layers=2, width=64, embedding_std=0.125),
    cold_start=ColdStart(steps=800, tasks=8, learning_rate=5e-3),
)
"""For figure 3. With smaller embeddings, the arm with a full history does not learn to copy."""
LEVELS = {"clean": 0, "25 %": 2, "50 %": 6, "75 %": 18}
"""Numbers of pages of noise, besides the six clean pages."""
_HISTORY = {"history": True, "drop": 0.15, "hoard": 0.1}
"""Settings of a full history. It has one turn, in which the demonstrations forget about as much as in six."""
_TURNS_PER_TASK = (1 + CLEAN) / 2
"""Mean number of turns of a task with summaries. A full history has one, so its cold start has as many times
more tasks."""


def make_noise(task: GatherTask, draw: random.Random) -> Line:
    """Make a page with facts about keys that the question does not ask for."""
    return tuple(
        draw_fact(place, draw) if fact == NOTHING and draw.random() < FILL else NOTHING
        for place, fact in enumerate(task.wanted)
    )


def add_noise(task: GatherTask, count: int, draw: random.Random) -> GatherTask:
    """Put `count` pages of noise between those of the task."""
    pages = [*task.pages]
    for _ in range(count):
        pages.insert(draw.randint(0, len(pages)), make_noise(task, draw))
    return replace(task, pages=tuple(pages))


def deceive(task: GatherTask, draw: random.Random) -> GatherTask:
    """Give each fact that the question asks for another value, on all pages."""
    false = {
        fact: _draw_other(place, fact, draw) for place, fact in enumerate(task.wanted) if fact != NOTHING
    }
    return replace(task, pages=tuple(tuple(false.get(fact, fact) for fact in page) for page in task.pages))


def _draw_other(place: int, fact: str, draw: random.Random) -> str:
    while (other := draw_fact(place, draw)) == fact:
        pass
    return other


def make_long_tasks(settings: Gather, turns: int, seed: int) -> list[GatherTask]:
    """Make tasks with facts on the first 2, 4, and so on up to 64 pages, each equally often. The policy reads
    the first `turns` pages. The tasks are the same for any number of turns."""
    draw = random.Random(f"long {seed}")
    tasks: list[GatherTask] = []
    for index in range(TEST_TASKS):
        task = replace(settings, pages=TURNS[index % len(TURNS)]).sample(draw, draw.random())
        noise = [make_noise(task, draw) for _ in range(TURNS[-1] - len(task.pages))]
        tasks.append(replace(task, pages=(*task.pages, *noise)[:turns], settings=settings))
    return tasks


def make_noisy_tasks(settings: Gather, level: str, seed: int) -> list[GatherTask]:
    """Make tasks for a level of `LEVELS`, or "adversarial" ones without a page that is right."""
    draw = random.Random(f"noise {seed}")
    tasks = [settings.sample(draw, (index + 0.5) / TEST_TASKS) for index in range(TEST_TASKS)]
    if level == "adversarial":
        return [deceive(task, draw) for task in tasks]
    return [add_noise(task, LEVELS[level], draw) for task in tasks]


def _measure(
    settings: Settings, shared: Path, tasks: Sequence[GatherTask], *, updated: bool
) -> tuple[float, Run]:
    """Return the mean reward of a policy, with its updates or only its cold start, and its run."""
    kind = "history" if tasks[0].settings.history else "summary"
    start = shared / f"cold_start-{kind}.pt"
    if not start.exists():
        start.parent.mkdir(parents=True, exist_ok=True)
        write_cold_start(settings.with_seed(PILOT), start)
    if not updated:
        settings = replace(settings, updates=NO_UPDATES)
    folder = shared / f"seed-{settings.seed}" / f"{kind}-{settings.updates.count}"
    trained, run = train_once(settings, folder, start)
    # A longer history needs more positions. They have no weights.
    longer = replace(settings, environment={**settings.environment, "pages": TURNS[-1]})
    environment = longer.make_environment()
    policy = make_policy(longer, environment)
    policy.load_state_dict(trained.state_dict())
    sampling = torch.Generator().manual_seed(settings.seed)
    return fmean(t.reward for t in roll_out(policy, environment, cast(Sequence[Task], tasks), sampling)), run


def _run_turns(arm: str, seed: int, folder: Path) -> Metrics:
    *who, kind, limit = arm.split(", ")
    settings = replace(_FOR_TURNS, seed=seed)
    if kind == "history":
        count = round(_TURNS_PER_TASK * settings.cold_start.tasks)
        cold = replace(settings.cold_start, tasks=count)
        settings = replace(settings, environment={**settings.environment, **_HISTORY}, cold_start=cold)
    tasks = make_long_tasks(Gather(history=kind == "history"), int(limit.removesuffix(" turns")), seed)
    reward, run = _measure(settings, folder.parents[1], tasks, updated=not who)
    return {"reward": reward, **read_initial(run)}


_SUMMARY_LATE, _SUMMARY_MIDDLE = "summary, 64 turns", "summary, 16 turns"
_HISTORY_LATE, _HISTORY_MIDDLE = "history, 64 turns", "history, 16 turns"


def _predict(
    higher: str, lower: str, *, margin: float, allowance: float = 0.0, metric: str = "reward"
) -> Prediction:
    """Predict a difference, with the cold start as its control."""
    controls = [(f"no RL, {higher}", f"no RL, {lower}")]
    return Prediction(metric, higher, lower, margin=margin, allowance=allowance, controls=controls)


FIGURE3 = Claim(
    name="ziprl-turns",
    paper="Trained with at most 20 turns, ZipRL improves up to 256 turns, while a larger model with its full"
    " history saturates after 16 (ZipRL, figure 3).",
    setup=f"The pages of ziprl-parts, 1 to {CLEAN} in a task of the training, a cold start and 40 updates of"
    f" HRR. In {TEST_TASKS} test tasks, the facts asked for are on the first 2, 4, 8, 16, 32 or 64 pages,"
    " equally often, and the policy reads as many pages as it has turns. So a flawless policy is right in at"
    " least two thirds of the tasks at 16 turns, and in all at 64. The other arm reads all of its pages at"
    " once, as a full history would show them, with room for all. It has the same training, and a cold start"
    " of as many turns, but its demonstrations forget more in their only turn. Each arm has one cold start"
    " for all seeds, which is the control.",
    arms=(
        *(f"{kind}, {turns} turns" for kind in ("summary", "history") for turns in TURNS),
        *(f"no RL, {kind}, {turns} turns" for kind in ("summary", "history") for turns in (16, 64)),
    ),
    seeds=10,
    predictions=(
        _predict(_SUMMARY_LATE, _SUMMARY_MIDDLE, margin=0.02),
        _predict(_HISTORY_MIDDLE, _HISTORY_LATE, margin=0.0, allowance=0.02),
        _predict(_SUMMARY_LATE, _HISTORY_LATE, margin=0.05),
    ),
    initial="initial_reward",
    run=_run_turns,
    remarks="With the embeddings of the other claims (a standard deviation of 0.02 at first), the arm with a"
    " full history did not learn to copy. On a pilot seed it was right in 2 % of the tasks after its cold"
    " start, and in 3 % after the updates. Both arms now begin with 0.125. Then all tasks of the training had"
    f" {CLEAN} pages. A full history was right in 96 % of such tasks, but in almost none of the test's, even"
    " with two pages (one seed, not counted). So tasks of the training now differ in their number of pages."
    " Both changes are the same for both arms (training/LOG.md).",
)


def _run_noise(arm: str, seed: int, folder: Path) -> Metrics:
    *who, level = arm.split(", ")
    rewards: dict[str, float] = {}
    initial: Metrics = {"initial_reward": None}
    for each in dict.fromkeys(("clean", level)):
        tasks = make_noisy_tasks(Gather(pages=CLEAN, fill=FILL), each, seed)
        if who == ["expert"]:
            rewards[each] = _measure_expert(tasks, seed)
            continue
        rewards[each], run = _measure(replace(_TRAINED, seed=seed), folder.parents[1], tasks, updated=not who)
        initial = read_initial(run)
    kept = rewards[level] / rewards["clean"] if rewards["clean"] else None
    return {"reward": rewards[level], "kept": kept, **initial}


def _measure_expert(tasks: Sequence[GatherTask], seed: int) -> float:
    """Return the mean reward of the flawless expert."""
    environment, draw = cast(Environment, tasks[0].settings), random.Random(seed)
    return fmean(demonstrate(environment, cast(Task, task), draw).reward for task in tasks)


_COLLAPSE = _predict("75 %", "adversarial", margin=0.5, metric="kept")

TABLE13 = Claim(
    name="ziprl-noise",
    paper="With 75 % of noise in retrieval, 85 to 90 % of the clean performance is kept; with adversarial"
    " documents alone it collapses (0.330 to 0.002 on MusiQue; ZipRL, table 13).",
    setup="The pages, the cold start and the updates of ziprl-parts."
    f" Between the {CLEAN} pages of a task there are 0, 2, 6 or 18 pages of"
    " noise, which have facts about other keys only, so that at most 75 % of the pages are noise. Adversarial"
    " pages give each fact asked for another value. `kept` is the reward relative to that of the same policy"
    " on clean pages. The controls are the cold start and a flawless expert, which believes what it reads."
    " The paper's further turns are not tried, because the number of pages is fixed here.",
    arms=(
        *(*LEVELS, "adversarial"),
        *(f"no RL, {level}" for level in ("clean", "75 %", "adversarial")),
        *("expert, 75 %", "expert, adversarial"),
    ),
    seeds=10,
    predictions=(
        _predict("75 %", "clean", margin=0.0, allowance=0.15, metric="kept"),
        replace(_COLLAPSE, controls=[*_COLLAPSE.controls, ("expert, 75 %", "expert, adversarial")]),
    ),
    initial="initial_reward",
    run=_run_noise,
)
