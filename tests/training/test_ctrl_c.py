"""Ctrl-C ends each long command with one line and exit code 130, and keeps the checkpoint."""

from __future__ import annotations

import argparse
import os
import runpy
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from training.checkpoint import resume
from training.rl.loop import CHECKPOINT_EVERY
from training.run import CONTINUE, INTERRUPTED, Run, run_command

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
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, "Traceback" in errors) == (INTERRUPTED, False)
    assert errors.strip().splitlines()[-1] == f"Stopped. {CONTINUE}"
    position = resume(Run(run), {})
    assert position is not None
    assert position["updates"] >= CHECKPOINT_EVERY
