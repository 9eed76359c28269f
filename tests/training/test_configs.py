"""Every checked-in configuration parses, and a misspelt key is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from training.selector.__main__ import limit_training
from training.selector.bandit import Phase2Config
from training.selector_model.config import DataConfig, SelectorConfig
from training.settings import read_settings
from training.sources import SOURCES

FOLDER = Path(__file__).resolve().parents[2] / "training" / "configs"
CONFIGS = sorted(FOLDER.glob("selector_*.toml"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_each_selector_configuration_parses_and_names_known_sets(path: Path) -> None:
    config = read_settings(SelectorConfig, path)
    assert set(config.data.questions) <= set(SOURCES)
    assert set(config.data.heldout) <= set(config.data.questions)
    assert set(config.data.repeats) <= set(config.data.questions)

    assert set(config.data.lexical) <= set(config.data.questions)


def test_a_short_pass_reads_the_same_mixture_with_fewer_questions() -> None:
    data = DataConfig(questions={"a": 1000, "b": 50}, heldout={"a": 25}, repeats={"b": 20})
    short = data.limit(400, heldout=0.1)
    assert (short.questions, short.repeats) == ({"a": 200, "b": 50}, {"a": 1, "b": 4})
    assert short.heldout == {"a": 3}
    assert data.limit(2000) == data


def test_a_short_pass_leaves_out_a_set_of_no_questions() -> None:
    data = DataConfig(questions={"a": 100, "b": 0}, heldout={})
    assert data.limit(10).questions == {"a": 10}


@pytest.mark.parametrize(
    ("most", "spent", "stage", "minutes"),
    [(None, 5.0, None, None), (20.0, 4.0, None, 8.0), (20.0, 0.0, "train", 16.0), (3.0, 9.0, None, 0.15)],
)
def test_training_gets_a_part_of_the_commands_time(
    most: float | None, spent: float, stage: str | None, minutes: float | None
) -> None:
    assert limit_training(most, spent, stage) == pytest.approx(minutes)


def test_the_modernbert_recipe_is_that_of_the_paper() -> None:
    c = read_settings(SelectorConfig, FOLDER / "selector_modernbert.toml")
    assert (c.base_model, c.head) == ("answerdotai/ModernBERT-base", "sen")  # sections 3 and 4.1
    assert (c.data.labels, c.data.documents) == ("string", 30)  # section 3.1
    assert (c.data.longest, c.max_length) == (5120, 5120)  # section 3.1, appendix B.3
    assert c.docs_per_window >= 30  # all documents of a question in one input
    assert (c.train.learning_rate, c.train.epochs, c.train.weight_decay) == (2e-5, 2, 0.01)  # B.2
    assert c.train.batch_questions == 4  # B.2
    assert c.train.batch_tokens >= 4 * 5120  # which no batch of four exceeds
    assert (c.train.keep_weight, c.train.rank_weight, c.train.relevance_weight) == (1, 0, 0)  # one loss
    assert c.train.best == "loss"  # B.2
    assert (c.data.unanswerable, c.data.untitled, c.data.evidence, c.data.composed) == (0, 0, 0, 0)
    assert not c.data.repeats


def test_the_defaults_of_phase2_are_the_values_of_the_paper() -> None:
    c = read_settings(Phase2Config, FOLDER / "phase2_modernbert.toml")
    assert (c.alpha, c.group, c.epsilon, c.entropy_weight, c.epochs) == (0.95, 8, 0.2, 0.1, 3)
    assert (c.rollout_size, c.updates, c.batch, c.target_kl) == (128, 4, 8, 0.02)
    assert (c.max_grad_norm, c.learning_rate, c.trained_layers) == (0.5, 1e-6, None)


def test_phase2_configurations_parse_and_an_unknown_key_is_named(tmp_path: Path) -> None:
    text = (FOLDER / "phase2_mini.toml").read_text(encoding="utf-8")
    assert read_settings(Phase2Config, FOLDER / "phase2_mini.toml").questions >= 3000
    assert read_settings(Phase2Config, FOLDER / "phase2_mini_causal.toml").trained_layers == 1
    (tmp_path / "bad.toml").write_text(text.replace("epochs", "epoch"))
    with pytest.raises(ValueError, match="unknown key 'epoch'"):
        read_settings(Phase2Config, tmp_path / "bad.toml")
    (tmp_path / "bad.toml").write_text("questions = 3")
    with pytest.raises(ValueError, match="validation"):
        read_settings(Phase2Config, tmp_path / "bad.toml")


@pytest.mark.parametrize("key", ["learning_rat", "base_modle", "negative"])
def test_an_unknown_key_is_named(tmp_path: Path, key: str) -> None:
    text = CONFIGS[0].read_text(encoding="utf-8")
    right = {"learning_rat": "learning_rate", "base_modle": "base_model", "negative": "negatives"}[key]
    path = tmp_path / "bad.toml"
    path.write_text(text.replace(f"\n{right} =", f"\n{key} =", 1))
    with pytest.raises(ValueError, match=f"unknown key '{key}'"):
        read_settings(SelectorConfig, path)


@pytest.mark.parametrize(
    ("line", "wrong"), [('head = "sen"', "head"), ('labels = "string"', "labels"), ('best = "loss"', "best")]
)
def test_a_choice_that_does_not_exist_is_named(tmp_path: Path, line: str, wrong: str) -> None:
    text = (FOLDER / "selector_modernbert.toml").read_text(encoding="utf-8")
    (tmp_path / "bad.toml").write_text(text.replace(line, f'{wrong} = "other"'))
    with pytest.raises(ValueError, match=f"{wrong} is 'other', not one of"):
        read_settings(SelectorConfig, tmp_path / "bad.toml")


def test_a_missing_section_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text('name = "x"')
    with pytest.raises(ValueError, match=r"the file lacks .*data"):
        read_settings(SelectorConfig, path)
