"""A training that is stopped anywhere ends like an unbroken one; Ctrl-C ends a command with one line."""

from __future__ import annotations

import argparse
import os
import random
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.training.stopping import run_until
from tests.training.tiny import PHASE2, StringMatch, copy_groups, make_config, make_reader_config, read_all
from training.checkpoint import resume
from training.reader import train as reader_train
from training.reader.data import read_sources
from training.rl.loop import CHECKPOINT_EVERY
from training.run import CONTINUE, INTERRUPTED, Run, read_runs, run_command
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


ROOT = Path(__file__).resolve().parents[2]
LONG_COMMANDS = (
    "adapt/__main__.py",
    "agent/__main__.py",
    "reader/__main__.py",
    "rl/__main__.py",
    "rl/agent.py",
    "rl/engines/__main__.py",
    "rl/replicate.py",
    "selector/__main__.py",
    "selector/ablations.py",
    "selector/phase2.py",
    "summarizer/__main__.py",
    "summarizer/relevance.py",
    "summarizer/teacher.py",
)

TINY = """seed = 1
environment = {name = "registers", cells = [3, 4], context = 40, resets = 1, turns = 4}
policy = {layers = 1, width = 16}
cold_start = {steps = 2, tasks = 2, learning_rate = 3e-3}
algorithm = {name = "supo", mask_overlong = true}
updates = {count = 100000, tasks = 2, group = 2, learning_rate = 3e-4, evaluate_every = 100000}
"""


@pytest.mark.parametrize("name", LONG_COMMANDS)
def test_ctrl_c_ends_a_command_with_one_line(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", stop)
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / "training" / name), run_name="__main__")
    assert ended.value.code == INTERRUPTED
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "same command" in line


@pytest.mark.parametrize("code", [None, 3])
def test_a_command_exits_with_its_own_code(code: int | None) -> None:
    with pytest.raises(SystemExit) as ended:
        run_command(lambda: code)
    assert ended.value.code == code


def interrupt(process: subprocess.Popen[str]) -> tuple[str, bool]:
    """Interrupt a process. Return its errors, and whether Python ignored the first interrupt.

    It does so if the interrupt comes while an object is deleted. A user then presses the keys again.
    """
    process.send_signal(signal.SIGINT)
    try:
        return process.communicate(timeout=30)[1], False
    except subprocess.TimeoutExpired as error:
        shown = error.stderr or b""
    assert b"Exception ignored" in shown, shown
    process.send_signal(signal.SIGINT)
    try:
        return process.communicate(timeout=30)[1], True
    finally:
        process.kill()


def test_interrupted_training_keeps_its_last_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(TINY, encoding="utf-8")
    run, history = tmp_path / "run", tmp_path / "run" / "history.jsonl"
    process = subprocess.Popen(
        [sys.executable, "-m", "training.rl", "--config", tmp_path / "tiny.toml", "--out", run],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(str(ROOT / p) for p in ("sdk", "integrations", ""))},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        # A shell ignores the signal in its background processes, and their children inherit that.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 240
    while not history.exists() or history.read_text().count("\n") < 2 * CHECKPOINT_EVERY:
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.05)
    errors, is_ignored = interrupt(process)
    assert (process.returncode, "Traceback" in errors) == (INTERRUPTED, is_ignored)
    assert errors.strip().splitlines()[-1] == f"Stopped. {CONTINUE}"
    position = resume(Run(run), {})
    assert position is not None
    assert position["updates"] >= CHECKPOINT_EVERY
