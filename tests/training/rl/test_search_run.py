"""The program that trains a language model to search, with a random model of two layers."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl")
pytest.importorskip("peft")
from training.causal import Adapter
from training.rl.engines import report, search_run, updates
from training.rl.engines.overhead import measure
from training.rl.engines.random_model import make_model, make_tokenizer
from training.rl.engines.search_run import Archive, ColdStart, Settings
from training.rl.engines.updates import Updates
from training.run import Run
from training.settings import read_settings

pytestmark = pytest.mark.filterwarnings("ignore")
"""trl, peft, transformers and torch warn about parts of themselves."""

CONFIG = Path(__file__).parents[3] / "training/configs/search_smollm2.toml"
SETTINGS = Settings(
    adapter=Adapter(rank=2, layers=1),
    archive=Archive(records=8, k=1, max_reply=6, positions=2000),
    cold_start=ColdStart(demonstrations=2),
    updates=Updates(count=2, tasks=1, group=2, evaluation_tasks=1, micro_batch=1, save_every=1),
)


def run_once(folder: Path, settings: Settings = SETTINGS) -> list[dict[str, Any]]:
    tokenizer = make_tokenizer()
    run = Run(folder, identity=asdict(settings))
    search_run.train(settings, run, make_model(tokenizer), tokenizer)
    return run.history


def test_a_run_that_was_stopped_ends_like_one_that_was_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run_once(tmp_path / "whole")
    assert [(e["kind"], e["update"]) for e in whole] == [
        ("evaluation", 0),
        ("update", 1),
        ("update", 2),
        ("evaluation", 2),
    ]
    assert (tmp_path / "whole/final/adapter_model.safetensors").exists()
    calls: list[int] = []
    plain = updates._Job.roll_out

    def stop_in_the_second_update(self: Any, model: Any, keys: Any, version: int, *more: Any) -> Any:
        calls.append(version)
        if len(calls) == 3:  # the first is the evaluation
            raise KeyboardInterrupt
        return plain(self, model, keys, version, *more)

    monkeypatch.setattr(updates._Job, "roll_out", stop_in_the_second_update)
    with pytest.raises(KeyboardInterrupt):
        run_once(tmp_path / "stopped")
    monkeypatch.setattr(updates._Job, "roll_out", plain)
    stopped = run_once(tmp_path / "stopped")
    timed = ("seconds", "clock", "peak_mb")
    rows = [[{k: v for k, v in e.items() if k not in timed} for e in part] for part in (whole, stopped)]
    assert rows[0] == rows[1]
    weights = [
        (tmp_path / name / "final/adapter_model.safetensors").read_bytes() for name in ("whole", "stopped")
    ]
    assert weights[0] == weights[1]


def test_the_configuration_is_read_and_checked(tmp_path: Path) -> None:
    settings = read_settings(search_run.Settings, CONFIG)
    assert (settings.seed, settings.updates.algorithm) == (0, "grpo")
    assert read_settings(search_run.Settings, CONFIG, seed=3) == replace(settings, seed=3)
    wrong = tmp_path / "wrong.toml"
    for text, complaint in (
        ("[updates]\nspeed = 1", "unknown key .speed."),
        ("speed = 1", "unknown key .speed."),
        ('[updates]\nalgorithm = "ppo"', "algorithm is 'ppo', not one of"),
    ):
        wrong.write_text(text)
        with pytest.raises(ValueError, match=complaint):
            read_settings(search_run.Settings, wrong)


def test_the_overhead_compares_rollouts_with_generation_alone() -> None:
    tokenizer = make_tokenizer()
    (row,) = measure(make_model(tokenizer), tokenizer, rounds=1, rollouts=4, seed=0)
    assert row["written"] > 4
    assert 0 < row["bare_s"] < 10 * row["rollouts_s"]


def test_runs_are_reported_with_an_interval(tmp_path: Path) -> None:
    def write(seed: int, rewards: list[float]) -> Any:
        run = Run(tmp_path / f"run {seed}")
        facts = {"tokens": 100, "written": 10, "seconds": 1.0, "peak_mb": 500 + seed, "length": 2.0}
        run.record(kind="evaluation", update=0, reward=0.25, clock=0.0, **facts)
        for number, reward in enumerate(rewards, 1):
            run.record(kind="update", update=number, reward=reward, clock=2.0 * number, **facts)
        run.record(kind="evaluation", update=len(rewards), reward=0.75, clock=2.0 * len(rewards), **facts)
        return run.history

    histories = [write(0, [0.0] * 10 + [1.0] * 10), write(1, [0.5] * 10 + [1.0] * 10)]
    curve = report.average(histories)
    assert list(curve) == [10, 20]
    assert curve[10].value == 0.25
    assert 0 < curve[10].low < 0.25 < curve[10].high < 0.5
    assert (curve[20].low, curve[20].high) == (1.0, 1.0)
    said = report.describe(histories[1])
    assert "20 updates; reward on new tasks 0.250 -> 0.750; 50.0 tokens trained a second" in said
    assert "10.0 written a second of rollouts; peak 501 MB" in said
    report.draw(curve, tmp_path / "curve.png", 2)
    assert (tmp_path / "curve.png").stat().st_size > 1000
