"""A training that is stopped at any place and started again ends where an unbroken one ends."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.training.tiny import (
    PHASE2,
    StringMatch,
    make_config,
    make_reader_config,
    save_encoder,
    train_phase1,
)
from training.reader import train as reader_train
from training.reader.data import read_sources
from training.run import Run, read_runs
from training.selector import phase2
from training.selector import train as phase1
from training.selector.bandit import Phase2
from training.selector_model.groups import read_groups, write_groups
from training.selector_model.trained import load_weights


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bert")
    save_encoder("bert", folder)
    return folder


class Stopped(Exception):  # noqa: N818
    """Stands for a killed process."""


def stop_at(call: int, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, which ends the program at its n-th call."""
    calls = 0

    def run(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == call:
            raise Stopped
        return function(*args, **kwargs)

    return run


def read_history(folder: Path) -> list[dict[str, Any]]:
    """The entries without the times in them."""
    times = {"rl_seconds", "sl_seconds"}
    return [{k: v for k, v in entry.items() if k not in times} for entry in Run(folder).history]


def read_facts(folder: Path) -> list[dict[str, Any]]:
    """The runs behind the final weights without the time that they took."""
    return [{k: v for k, v in facts.items() if k != "minutes"} for facts in read_runs(folder / "final")]


def are_equal(left: dict[str, torch.Tensor], right: dict[str, torch.Tensor]) -> bool:
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


def run_until_stopped(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, call: int, command: Callable[[], Any]
) -> None:
    """Run `command`, which ends at the given call of `owner`'s function `name`."""
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, stop_at(call, getattr(owner, name)))
        with pytest.raises(Stopped):
            command()


@pytest.fixture(scope="module")
def whole_phase1(encoder: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("phase1")
    train_phase1(encoder, data, folder)
    return folder


@pytest.mark.parametrize(
    ("place", "call"),
    [
        ("make_batch", 2),  # before the first checkpoint
        ("make_batch", 4),  # between a checkpoint and the next
        ("validate", 1),  # after an epoch, before its validation
        ("make_batch", 8),
        ("save_checkpoint", 3),
        ("validate", 2),
        ("write_text", 1),  # before the results are written
    ],
)
def test_a_stopped_phase1_ends_where_an_unbroken_one_ends(
    place: str, call: int, encoder: Path, whole_phase1: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for part in ("train", "heldout"):
        write_groups(tmp_path, part, read_groups(whole_phase1, part))

    def train() -> None:
        phase1.train(make_config(encoder), Run(tmp_path))

    run_until_stopped(monkeypatch, phase1, place, call, train)
    train()
    assert read_history(tmp_path) == read_history(whole_phase1)
    assert are_equal(load_weights(tmp_path / "final"), load_weights(whole_phase1 / "final"))
    assert read_facts(tmp_path) == read_facts(whole_phase1)
    file = Path("final", "validation.json")
    assert (tmp_path / file).read_text() == (whole_phase1 / file).read_text()


def train_phase2(phase1_run: Path, out: Path) -> None:
    groups = [g for part in ("train", "heldout") for g in read_groups(phase1_run, part)]
    phase2.train_phase2(PHASE2, phase1_run, StringMatch(groups), out)


@pytest.fixture(scope="module")
def whole_phase2(whole_phase1: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("phase2")
    train_phase2(whole_phase1, folder)
    return folder


@pytest.mark.parametrize(
    ("place", "call"),
    [("train_epoch", 1), ("collect", 2), ("supervise", 2), ("validate", 1), ("validate", 2), ("validate", 3)],
)
def test_a_stopped_phase2_ends_where_an_unbroken_one_ends(
    place: str,
    call: int,
    whole_phase1: Path,
    whole_phase2: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run_until_stopped(monkeypatch, Phase2, place, call, lambda: train_phase2(whole_phase1, tmp_path))
    train_phase2(whole_phase1, tmp_path)
    assert read_history(tmp_path) == read_history(whole_phase2)
    assert are_equal(load_weights(tmp_path / "final"), load_weights(whole_phase2 / "final"))
    assert read_facts(tmp_path) == read_facts(whole_phase2)


def train_reader(encoder: Path, data: Path, folder: Path) -> tuple[dict[str, torch.Tensor], float]:
    """The weights, and the next random number of the generator that draws the contexts."""
    config = make_reader_config(encoder)
    torch.manual_seed(config.seed)
    rng = random.Random(config.seed)
    sources = read_sources(data, config.sources, set(), set(), rng)
    model, *_ = reader_train.train(config, sources, rng, Run(folder))
    return model.state_dict(), rng.random()


@pytest.fixture(scope="module")
def whole_reader(
    encoder: Path, data: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, torch.Tensor], float]:
    folder = tmp_path_factory.mktemp("reader")
    return (folder, *train_reader(encoder, data, folder))


@pytest.mark.parametrize(
    ("place", "call"),
    [("_step", 2), ("_step", 4), ("make_batches", 5), ("_step", 6), ("save_checkpoint", 4)],
)
def test_a_stopped_reader_ends_where_an_unbroken_one_ends(
    place: str,
    call: int,
    encoder: Path,
    data: Path,
    whole_reader: tuple[Path, dict[str, torch.Tensor], float],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder, expected, expected_number = whole_reader
    run_until_stopped(monkeypatch, reader_train, place, call, lambda: train_reader(encoder, data, tmp_path))
    weights, number = train_reader(encoder, data, tmp_path)
    assert are_equal(weights, expected)
    assert number == expected_number
    assert read_history(tmp_path) == read_history(folder)
