"""The program that trains a tiny policy: it learns, it goes on after a kill, it says what is wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from training.rl.environments.families import Families
from training.rl.loop import train
from training.rl.settings import ColdStart, Settings, Updates, read_run_settings
from training.rl.tiny import TinyConfig
from training.run import Run

CONFIGS = Path(__file__).parents[3] / "training" / "configs"

SMALL = """
seed = 3
[environment]
name = "registers"
cells = [1, 4]
context = 24
turns = 8
[policy]
layers = 1
width = 16
heads = 2
[cold_start]
steps = 10
tasks = 8
[updates]
count = 24
tasks = 2
group = 4
evaluate_every = 12
evaluation_tasks = 8
"""


def start(config: Path, out: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "training.rl", "--config", str(config), "--out", str(out)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_update(process: subprocess.Popen[str], history: Path, update: int) -> None:
    for _ in range(2000):
        if history.exists() and f'"kind": "update", "update": {update},' in history.read_text():
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.03)
    raise AssertionError("the run came to no update")


def test_a_killed_run_goes_on_and_ends_like_one_that_was_not(tmp_path: Path) -> None:
    config = tmp_path / "small.toml"
    config.write_text(SMALL)
    killed = tmp_path / "killed"
    process = start(config, killed)
    wait_for_update(process, killed / "history.jsonl", 13)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    output, errors = start(config, killed).communicate()
    assert "reward" in output, errors

    whole = tmp_path / "whole"
    torch.set_num_threads(1)
    train(read_run_settings(config), Run(whole))
    assert (killed / "curve.png").stat().st_size > 1000
    assert [json.loads(line) for line in (killed / "history.jsonl").read_text().splitlines()] == [
        json.loads(line) for line in (whole / "history.jsonl").read_text().splitlines()
    ]
    ours, theirs = (torch.load(folder / "final" / "policy.pt")["policy"] for folder in (killed, whole))
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_a_policy_learns_a_small_task(tmp_path: Path) -> None:
    settings = Settings(
        environment={"name": "registers", "cells": (1, 3), "context": 30, "turns": 5, "waste": 0.5},
        policy=TinyConfig(layers=2, width=48, heads=4),
        cold_start=ColdStart(steps=150, tasks=16, learning_rate=3e-3),
        updates=Updates(count=25, evaluate_every=25, evaluation_tasks=200),
    )
    run = Run(tmp_path)
    train(settings, run)
    first, last = (entry["reward"] for entry in run.history if entry["kind"] == "evaluation")
    assert 0.1 < first < 0.8
    assert last > first + 0.1


@pytest.mark.parametrize("file", sorted(CONFIGS.glob("rl_*.toml")), ids=lambda file: file.stem)
def test_every_configuration_can_be_read(file: Path) -> None:
    assert read_run_settings(file).updates.count > 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("seed = 3", "sede = 3", "unknown key .sede. in the file"),
        ("steps = 10", "stepps = 10", r"unknown key .stepps. in \[cold_start\]"),
        ('name = "registers"', 'name = "register"', "no environment 'register'; use one of .*registers"),
        ("turns = 8", "turnz = 8", "turnz"),
        ("context = 24", "context = 5", "at least 12"),
    ],
)
def test_a_wrong_configuration_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text(SMALL.replace(old, new))
    with pytest.raises(ValueError, match=message):
        read_run_settings(file)


def test_a_folder_of_another_run_is_refused(tmp_path: Path) -> None:
    config = tmp_path / "small.toml"
    config.write_text(SMALL)
    Run(tmp_path / "run", identity={"seed": 2})
    process = start(config, tmp_path / "run")
    _, errors = process.communicate()
    assert process.returncode == 2
    assert "name a new folder" in errors


def test_a_seed_changes_the_run(tmp_path: Path) -> None:
    config = tmp_path / "small.toml"
    config.write_text(SMALL.replace("count = 24", "count = 1").replace("steps = 10", "steps = 1"))
    settings = read_run_settings(config)
    one, other = (
        train(replace(settings, seed=seed), Run(tmp_path / str(seed))).tokens.weight for seed in (1, 2)
    )
    assert not torch.equal(one, other)


def test_a_finished_run_gives_back_what_policy_and_bank_learned(tmp_path: Path) -> None:
    settings = Settings(
        environment={"name": "families", "known": 0.02},
        policy=TinyConfig(layers=1, width=16, heads=2),
        cold_start=ColdStart(steps=1, tasks=2),
        updates=Updates(count=3, tasks=4, group=2, evaluation_tasks=4),
        algorithm={"name": "evolving"},
    )
    first, again = Families(known=0.02), Families(known=0.02)
    policy = train(settings, Run(tmp_path), environment=first)
    assert first.edition == 3
    restored = train(settings, Run(tmp_path), environment=again)
    assert again.state_dict() == first.state_dict()
    assert torch.equal(policy.tokens.weight, restored.tokens.weight)
