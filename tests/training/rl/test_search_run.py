"""The program that trains a language model to search, run with a random model of two layers."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from tests.training.stopping import run_until
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


def test_stopped_run_ends_like_an_unbroken_one(tmp_path: Path) -> None:
    whole = run_once(tmp_path / "whole")
    kinds = [(e["kind"], e["update"]) for e in whole]
    assert kinds == [("evaluation", 0), ("update", 1), ("update", 2), ("evaluation", 2)]
    # The first call is the evaluation, and the third the second update.
    run_until(updates._Job, "roll_out", 3, lambda: run_once(tmp_path / "stopped"))
    stopped = run_once(tmp_path / "stopped")
    timed = ("seconds", "clock", "peak_mb")
    rows = [[{k: v for k, v in e.items() if k not in timed} for e in part] for part in (whole, stopped)]
    assert rows[0] == rows[1]
    files = [tmp_path / name / "final/adapter_model.safetensors" for name in ("whole", "stopped")]
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[updates]\nspeed = 1", "unknown key .speed."),
        ('[updates]\nalgorithm = "ppo"', "algorithm is 'ppo', not one of"),
    ],
)
def test_refuses_a_wrong_configuration(tmp_path: Path, text: str, complaint: str) -> None:
    settings = read_settings(search_run.Settings, CONFIG)
    assert read_settings(search_run.Settings, CONFIG, seed=3) == replace(settings, seed=3)
    (tmp_path / "wrong.toml").write_text(text)
    with pytest.raises(ValueError, match=complaint):
        read_settings(search_run.Settings, tmp_path / "wrong.toml")


def test_overhead_compares_rollouts_with_generation() -> None:
    tokenizer = make_tokenizer()
    (row,) = measure(make_model(tokenizer), tokenizer, rounds=1, rollouts=4, seed=0)
    assert row["written"] > 4
    assert 0 < row["bare_s"] < 10 * row["rollouts_s"]


def test_report_has_an_interval(tmp_path: Path) -> None:
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
