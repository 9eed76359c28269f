"""Helpers of the replications with a tiny policy: shared cold starts, runs that are made once, and final
metrics."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import torch

from training.rl.cold_start import demonstrate
from training.rl.episode import Task
from training.rl.loop import describe, make_evaluation_tasks, roll_out, train
from training.rl.replications.claim import Metrics
from training.rl.settings import Settings, Updates
from training.rl.tiny import TinyPolicy
from training.run import Run

TEST_TASKS = 400
NO_UPDATES = Updates(count=0)
"""The policy of the cold start, for a control without reinforcement learning."""


def train_once(settings: Settings, folder: Path, start: Path | None = None) -> tuple[TinyPolicy, Run]:
    """Train in `folder` from the weights in `start`, or load the policy if it was trained before.

    Without `start`, runs in sibling folders share a cold start if seed, environment, policy and cold start
    are equal.
    """
    run = Run(folder)
    start = start or folder.parent / f"cold_start-{_digest(settings)}.pt"
    return train(settings, run, cold_start=start), run


def train_and_test(settings: Settings, folder: Path) -> Metrics:
    """Train in `folder`, and measure on tasks that the training does not use."""
    policy, run = train_once(settings, folder)
    return {**measure(settings, policy, make_test_tasks(settings)), **read_initial(run)}


def make_test_tasks(settings: Settings) -> list[Task]:
    """Make tasks that no training with these settings draws."""
    return make_evaluation_tasks(settings.make_environment(), 1000 + settings.seed, TEST_TASKS)


def measure(settings: Settings, policy: TinyPolicy, tasks: Sequence[Task]) -> Metrics:
    """Return `loop.describe` of one sampled rollout of each task."""
    environment = settings.make_environment()
    trajectories = roll_out(policy, environment, tasks, torch.Generator().manual_seed(settings.seed))
    return describe(trajectories)


def measure_expert(settings: Settings) -> Metrics:
    """Return `loop.describe` of one rollout of the flawless scripted expert for each test task."""
    environment = settings.make_environment()
    draw = random.Random(f"expert {settings.seed}")
    return describe([demonstrate(environment, task, draw) for task in make_test_tasks(settings)])


def read_initial(run: Run) -> Metrics:
    """Return the evaluation before the first update, with the prefix "initial_" in its names."""
    first = next(entry for entry in run.history if entry["kind"] == "evaluation")
    return {f"initial_{name}": value for name, value in first.items() if name not in ("kind", "update")}


def _digest(settings: Settings) -> str:
    parts = [
        settings.seed,
        dict(settings.environment),
        asdict(settings.policy),
        asdict(settings.cold_start),
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]
