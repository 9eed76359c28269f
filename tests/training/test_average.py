"""The mean of several trained selectors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from tests.training.tiny import make_config, save_encoder
from training.export.card import list_runs
from training.run import Run, read_runs
from training.selector import average
from training.selector_model.model import build_selector
from training.selector_model.trained import load_trained, load_weights, save_trained

EARLIER = {"seed": 1, "questions": 5, "minutes": 2, "learning_rate": 0.1}


def make_run(folder: Path, seed: int, *origins: dict[str, float]) -> Path:
    """Make a finished run of random weights that started from those of other runs."""
    torch.manual_seed(seed)
    save_encoder("bert", folder / "base")
    model, tokenizer, layout = build_selector(make_config(folder / "base"))
    run = Run(folder)
    save_trained(model, tokenizer, layout, run.final)
    run.origins = [*origins]
    run.finish({**EARLIER, "seed": seed})
    (folder / "prepared").mkdir()
    (folder / "prepared/settings.json").write_text(str(seed))
    return folder


def test_weights_are_the_mean_and_all_runs_are_named(tmp_path: Path) -> None:
    start = make_run(tmp_path / "start", 1)
    runs = [start, *(make_run(tmp_path / name, seed, EARLIER) for seed, name in enumerate("ab", 2))]
    average.average(runs, tmp_path / "mean")
    mean = load_weights(tmp_path / "mean/final")
    own = [load_weights(run / "final") for run in runs]
    for name, value in mean.items():
        torch.testing.assert_close(value, (own[0][name] + own[1][name] + own[2][name]) / 3)
    load_trained(tmp_path / "mean/final")
    assert (tmp_path / "mean/prepared/settings.json").read_text() == "3"
    named = read_runs(tmp_path / "mean/final")
    assert [run["seed"] for run in named] == [1, 2, 3]
    assert named[-1]["averaged"] == {"runs": 2, "start": True}
    said = list_runs(named)
    assert "(seed 1, learning rate 0.1); then, each of them from the last of these: 5 questions" in said
    assert said.endswith("the mean of those of the last 2 runs and of those that they started from")
    average.average(runs[1:], tmp_path / "without start")
    assert read_runs(tmp_path / "without start/final")[-1]["averaged"] == {"runs": 2, "start": False}


def test_refuses_what_has_no_mean(tmp_path: Path) -> None:
    one, other = (make_run(tmp_path / name, 2) for name in "ab")
    with pytest.raises(ValueError, match="two runs or more"):
        average.average([one], tmp_path / "mean")
    layout = other / "final/layout.json"
    layout.write_text(json.dumps({**json.loads(layout.read_text()), "max_length": 7}))
    with pytest.raises(ValueError, match="different layouts or shapes"):
        average.average([one, other], tmp_path / "mean")
    assert not (tmp_path / "mean").exists()
