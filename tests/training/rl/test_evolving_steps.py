"""Checkpoints of one co-evolution, and the figures of its steps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from training.rl.environments.families import WordEmbedder, make_lesson
from training.rl.replications import evolving_steps
from training.rl.replications.evolving_steps import average_steps, describe_step
from training.rl.settings import ColdStart
from training.rl.tiny import TinyConfig


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
