"""The program that trains a tiny policy: it learns, continues after a kill, and names mistakes."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from training.rl import __main__ as program
from training.rl import loop
from training.rl.environments.families import Families
from training.rl.loop import train, write_cold_start
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
count = 8
tasks = 2
group = 4
evaluate_every = 3
evaluation_tasks = 8
entropy = 0.001
[algorithm]
name = "ppo"
kl = 0.001
"""


def test_killed_run_ends_like_an_unbroken_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process is killed before its fourth checkpoint, two updates after the third."""
    config, killed, whole = tmp_path / "small.toml", tmp_path / "killed", tmp_path / "whole"
    config.write_text(SMALL)
    arguments = ["training.rl", "--config", str(config), "--out", str(killed)]
    script = f"""
import sys, time
from training.rl import __main__, loop
loop.CHECKPOINT_EVERY = 2
save, calls = loop.save_checkpoint, []
def wait(*args):
    calls.append(args)
    if len(calls) == 4:
        print("waiting", flush=True)
        time.sleep(600)
    return save(*args)
loop.save_checkpoint = wait
sys.argv = {arguments!r}
__main__.main()
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        process.kill()
    assert not (killed / "final").exists()
    monkeypatch.setattr(sys, "argv", arguments)
    program.main()
    train(read_run_settings(config), Run(whole))
    assert (killed / "curve.png").stat().st_size > 1000
    history = Run(killed).history
    assert history == Run(whole).history
    assert all(entry["value_loss"] >= 0 for entry in history if entry["kind"] == "update")
    ours, theirs = (torch.load(folder / "final" / "policy.pt")["policy"] for folder in (killed, whole))
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert not torch.equal(ours["tokens.weight"], torch.load(whole / "cold_start.pt")["tokens.weight"])
    monkeypatch.setattr(sys, "argv", [*arguments, "--seed", "4"])
    with pytest.raises(SystemExit, match="2"):  # the folder belongs to another seed
        program.main()


def test_resumed_run_records_each_evaluation_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "small.toml"
    config.write_text(SMALL.replace("evaluate_every = 3", "evaluate_every = 2"))
    settings = read_run_settings(config)

    class StopError(Exception):
        pass

    def stop(*_: object) -> None:
        raise StopError

    with monkeypatch.context() as patch:
        patch.setattr(loop, "learn", stop)
        with pytest.raises(StopError):
            train(settings, Run(tmp_path))
    run = Run(tmp_path)
    train(settings, run)
    evaluations = [entry["update"] for entry in run.history if entry["kind"] == "evaluation"]
    assert evaluations == [0, 2, 4, 6, 8]


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> tuple[Settings, Path]:
    """Return the example of training/README.md with fewer cells and a smaller context, and the file of its
    cold start."""
    settings = read_run_settings(CONFIGS / "rl_supo_tiny.toml")
    settings = replace(
        settings,
        environment={**settings.environment, "cells": (2, 6), "context": 24, "guess": 0.25},
        updates=replace(settings.updates, count=40, evaluate_every=40),
    )
    file = tmp_path_factory.mktemp("example") / "cold_start.pt"
    write_cold_start(settings, file)
    return settings, file


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_example_learns_to_read_on_and_to_summarise(
    tmp_path: Path, example: tuple[Settings, Path], seed: int
) -> None:
    settings, file = example[0].with_seed(seed), example[1]
    run = Run(tmp_path)
    train(settings, run, cold_start=file)
    evaluations = [entry for entry in run.history if entry["kind"] == "evaluation"]
    assert evaluations[0]["reward"] < 0.6  # the cold start alone does not succeed
    assert program.find_failure(settings, evaluations) is None


@pytest.mark.parametrize(
    ("last", "failure"),
    [
        ({"reward": 0.9, "summarised": 0.7}, None),
        ({"reward": 0.39, "summarised": 0.7}, "the reward did not rise by 0.1"),
        ({"reward": 0.5, "summarised": 0.0}, "less than 0.1 of the rollouts summarise"),
    ],
)
def test_says_whether_the_policy_learned(last: dict[str, float], failure: str | None) -> None:
    evaluations = [{"reward": 0.3, "summarised": 0.4}, last]
    settings = Settings()
    assert program.find_failure(settings, evaluations) == failure
    described = program.describe(settings, evaluations, failure)
    assert described.startswith(f"seed 1: {f'FAILED, {failure}' if failure else 'learned'}; reward 0.30 -> ")


def test_seeds_get_a_folder_each_and_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "small.toml"
    config.write_text(SMALL.replace("count = 8", "count = 1").replace("steps = 10", "steps = 1"))
    out = tmp_path / "out"
    arguments = ["training.rl", "--config", str(config), "--out", str(out), "--seeds"]
    monkeypatch.setattr(sys, "argv", [*arguments, "3-4"])
    assert program.main() == program.NOT_LEARNED  # one update of a policy that cannot add
    first = capsys.readouterr().out.splitlines()
    assert [line[:5] for line in first[-5:]] == ["| see", "|---|", "| 3 |", "| 4 |", "0 of "]
    assert "seed 3: FAILED, the reward did not rise by 0.1" in first[1]
    assert program.main() == program.NOT_LEARNED  # finished runs are not repeated
    assert capsys.readouterr().out.splitlines() == first
    assert Run(out / "seed-4").history[0]["kind"] == "evaluation"
    for wrong in ("4-3", "x"):
        monkeypatch.setattr(sys, "argv", [*arguments, wrong])
        with pytest.raises(SystemExit, match="2"):
            program.main()


@pytest.mark.parametrize("file", sorted(CONFIGS.glob("rl_*.toml")), ids=lambda file: file.stem)
def test_configuration_parses(file: Path) -> None:
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
def test_refuses_a_wrong_configuration(tmp_path: Path, old: str, new: str, message: str) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text(SMALL.replace(old, new))
    with pytest.raises(ValueError, match=message):
        read_run_settings(file)


def test_seed_changes_the_run(tmp_path: Path) -> None:
    config = tmp_path / "small.toml"
    config.write_text(SMALL.replace("count = 8", "count = 1").replace("steps = 10", "steps = 1"))
    settings = read_run_settings(config)
    one, other = (train(replace(settings, seed=n), Run(tmp_path / str(n))).tokens.weight for n in (1, 2))
    assert not torch.equal(one, other)


def read_lessons(environment: Families) -> list[Any]:
    """Return the lessons without their origin, which restoring does not keep."""
    lessons = environment.state_dict()["lessons"]
    return [(lesson["id"], lesson["content"], lesson["uses"], lesson["wins"]) for lesson in lessons]


def test_finished_run_restores_policy_and_bank(tmp_path: Path) -> None:
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
    assert again.edition == first.edition
    assert read_lessons(again) == read_lessons(first)
    assert torch.equal(policy.tokens.weight, restored.tokens.weight)
