"""Every checked-in configuration parses and mistakes in one are named; every module can be imported."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from typing import Any

import pytest

import training
from training.agent.settings import Settings as Agent
from training.selector.__main__ import limit_training
from training.selector.bandit import Phase2Config
from training.selector_model.config import DataConfig, SelectorConfig
from training.settings import read_settings
from training.sources import SOURCES
from training.summarizer.relevance import RelevanceSettings
from training.summarizer.teacher import TeacherSettings
from training.summarizer.train import Settings

FOLDER = Path(__file__).resolve().parents[2] / "training" / "configs"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("selector_*.toml")), ids=lambda path: path.stem)
def test_selector_configuration_names_known_sets(path: Path) -> None:
    data = read_settings(SelectorConfig, path).data
    assert set(data.questions) <= set(SOURCES)
    assert {*data.heldout, *data.repeats, *data.lexical} <= set(data.questions)


@pytest.mark.parametrize("name", ["phase2_modernbert", "phase2_mini", "phase2_mini_causal"])
def test_phase2_configuration_parses(name: str) -> None:
    assert read_settings(Phase2Config, FOLDER / f"{name}.toml").questions > 0


def test_summarizer_and_agent_configurations_parse() -> None:
    settings = read_settings(Settings, FOLDER / "summarizer_smollm2.toml")
    assert set(settings.data.questions) <= set(SOURCES)
    # Stage 2 starts from the adapter of stage 1.
    assert read_settings(RelevanceSettings, FOLDER / "relevance_smollm2.toml").adapter == settings.adapter
    assert read_settings(TeacherSettings, FOLDER / "summarizer_teacher.toml").teacher.aspects
    for name in ("agent_smollm2", "agent_qwen"):
        agent = read_settings(Agent, FOLDER / f"{name}.toml")
        assert {*agent.data.passages, *agent.data.questions, "traj_fireact"} <= set(SOURCES)


@pytest.mark.parametrize(
    ("cls", "name", "old", "new", "message"),
    [
        (Phase2Config, "phase2_mini", "epochs", "epoch", "unknown key 'epoch'"),
        (Phase2Config, "phase2_mini", "validation", "# validation", "lacks .*validation"),
        (
            SelectorConfig,
            "selector_mini",
            "learning_rate",
            "learning_rat",
            "unknown key 'learning_rat' in .train",
        ),
        (SelectorConfig, "selector_modernbert", 'head = "sen"', 'head = "x"', "head is 'x', not one of"),
        (SelectorConfig, "selector_modernbert", 'best = "loss"', 'best = "x"', "best is 'x', not one of"),
        (SelectorConfig, "selector_modernbert", "[data]", "[dat]", "unknown key 'dat' in the file"),
        (SelectorConfig, "selector_modernbert", "[data]", "", "data"),
    ],
)
def test_refuses_a_wrong_configuration(
    tmp_path: Path, cls: Any, name: str, old: str, new: str, message: str
) -> None:
    text = (FOLDER / f"{name}.toml").read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "bad.toml").write_text(text.replace(old, new, 1))
    with pytest.raises(ValueError, match=message):
        read_settings(cls, tmp_path / "bad.toml")


def test_short_pass_reads_the_same_mixture() -> None:
    data = DataConfig(questions={"a": 1000, "b": 50, "c": 0}, heldout={"a": 25}, repeats={"b": 20})
    short = data.limit(400, heldout=0.1)
    assert (short.questions, short.repeats) == ({"a": 200, "b": 50}, {"a": 1, "b": 4})
    assert short.heldout == {"a": 3}
    assert data.limit(2000) == data


@pytest.mark.parametrize(
    ("limit", "spent", "stage", "minutes"),
    [(None, 5.0, None, None), (20.0, 4.0, None, 8.0), (20.0, 0.0, "train", 16.0), (3.0, 9.0, None, 0.15)],
)
def test_training_gets_a_share_of_the_time_limit(
    limit: float | None, spent: float, stage: str | None, minutes: float | None
) -> None:
    assert limit_training(limit, spent, stage) == pytest.approx(minutes)


NEEDS_VERL = "training.rl.verl."
MODULES = [m.name for m in pkgutil.walk_packages(training.__path__, "training.")]


@pytest.mark.parametrize("name", [name for name in MODULES if not name.startswith(NEEDS_VERL)])
def test_module_can_be_imported(name: str) -> None:
    importlib.import_module(name)
