"""A training that is stopped anywhere and started again ends like one that was never stopped."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.training.stopping import run_until
from tests.training.tiny import PHASE2, StringMatch, copy_groups, make_config, make_reader_config, read_all
from training.reader import train as reader_train
from training.reader.data import read_sources
from training.run import Run, read_runs
from training.selector import phase2, train
from training.selector.bandit import Phase2
from training.selector_model.trained import load_weights

TIMES = {"rl_seconds", "sl_seconds", "minutes"}
Command = Callable[[Path], dict[str, Any]]


@pytest.fixture(scope="module")
def commands(bert: Path, data: Path, phase1: Path) -> dict[Any, Command]:
    """Return training commands, by the owner of the functions at which they are stopped. Each returns its
    weights."""

    def train_phase1(folder: Path) -> dict[str, Any]:
        copy_groups(phase1, folder)
        train.train(make_config(bert), Run(folder))
        return load_weights(folder / "final")

    def train_phase2(folder: Path) -> dict[str, Any]:
        phase2.train_phase2(PHASE2, phase1, StringMatch(read_all(phase1)), folder)
        return load_weights(folder / "final")

    def train_reader(folder: Path) -> dict[str, Any]:
        config = make_reader_config(bert)
        torch.manual_seed(config.seed)
        rng = random.Random(config.seed)
        sources = read_sources(data, config.sources, set(), set(), rng)
        model, *_ = reader_train.train(config, sources, rng, Run(folder))
        return {**model.state_dict(), "the next random number": torch.tensor(rng.random())}

    return {train: train_phase1, Phase2: train_phase2, reader_train: train_reader}


@pytest.fixture(scope="module")
def unbroken(
    commands: dict[Any, Command], tmp_path_factory: pytest.TempPathFactory
) -> dict[Any, tuple[Path, dict[str, Any]]]:
    folders = {owner: tmp_path_factory.mktemp("unbroken") for owner in commands}
    return {owner: (folder, commands[owner](folder)) for owner, folder in folders.items()}


def read_texts(folder: Path) -> list[Any]:
    """Return the history, the runs that made the weights, and the validation, without times."""
    rows = [*Run(folder).history]
    if (folder / "final" / "runs.json").exists():
        rows += read_runs(folder / "final")
    metrics = folder / "final" / "validation.json"
    untimed = [{k: v for k, v in row.items() if k not in TIMES} for row in rows]
    return [*untimed, metrics.exists() and metrics.read_text()]


@pytest.mark.parametrize(
    ("owner", "place", "call"),
    [
        (train, "make_batch", 2),  # before the first checkpoint
        (train, "validate", 1),  # after an epoch, before its validation
        (train, "save_checkpoint", 3),
        (train, "make_batch", 8),  # between two checkpoints of the second epoch
        (train, "write_text", 1),  # before the results are written
        (Phase2, "collect", 2),
        (Phase2, "supervise", 2),
        (Phase2, "validate", 1),
        (Phase2, "validate", 3),
        (reader_train, "_step", 2),
        (reader_train, "make_batches", 5),
        (reader_train, "save_checkpoint", 4),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)).removeprefix("training."),
)
def test_stopped_training_ends_like_an_unbroken_one(
    owner: Any,
    place: str,
    call: int,
    commands: dict[Any, Command],
    unbroken: dict[Any, tuple[Path, dict[str, Any]]],
    tmp_path: Path,
) -> None:
    folder, expected = unbroken[owner]
    run_until(owner, place, call, lambda: commands[owner](tmp_path))
    weights = commands[owner](tmp_path)
    assert weights.keys() == expected.keys()
    assert all(torch.equal(weights[name], expected[name]) for name in weights)
    assert read_texts(tmp_path) == read_texts(folder)
