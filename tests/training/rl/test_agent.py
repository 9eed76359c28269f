"""The program with which an agent learns from its own rollouts, with a random model of two layers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl")
pytest.importorskip("peft")
from tests.training.rl.examples import make_segment
from training.causal import Adapter, add_adapter
from training.rl import agent
from training.rl.agent import Settings, compare, describe
from training.rl.engines.random_model import make_model, make_tokenizer
from training.rl.trajectory import Trajectory
from training.run import Run
from training.settings import read_settings

pytestmark = pytest.mark.filterwarnings("ignore")
"""trl, peft, transformers and torch warn about parts of themselves."""

CONFIG = Path(__file__).parents[3] / "training/configs/agent_hrr_smollm2.toml"
SMALL = """
[questions]
max_turns = 2
max_reply = 6
positions = 9000
[updates]
algorithm = "hrr"
count = 2
tasks = 1
group = 2
evaluation_tasks = 1
evaluation_temperature = 0.0
micro_batch = 1
save_every = 1
"""


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, Path]:
    """A configuration, a model, and an adapter for it."""
    (tmp_path / "small.toml").write_text(SMALL)
    tokenizer = make_tokenizer()
    model = make_model(tokenizer, positions=9000)
    model.save_pretrained(tmp_path / "base")
    tokenizer.save_pretrained(tmp_path / "base")
    add_adapter(model, Adapter(rank=2, layers=1)).save_pretrained(str(tmp_path / "adapter"))
    return {"config": tmp_path / "small.toml", "base": tmp_path / "base", "adapter": tmp_path / "adapter"}


def run_program(
    monkeypatch: pytest.MonkeyPatch, folders: dict[str, Path], out: Path, *options: str
) -> list[dict[str, Any]]:
    named = [part for name, folder in folders.items() for part in (f"--{name}", str(folder))]
    monkeypatch.setattr("sys.argv", ["agent", *named, "--out", str(out), *options])
    agent.main()
    return Run(out).history


def test_a_run_ends_in_its_time_and_goes_on_when_it_gets_more(
    data: Path,
    folders: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out, own = tmp_path / "run", ("--data", str(data))
    history = run_program(monkeypatch, folders, out, *own, "--max-minutes", "0.0001")
    assert [entry["kind"] for entry in history] == ["evaluation"]
    assert "no time for an update" in capsys.readouterr().out
    history = run_program(monkeypatch, folders, out, *own)
    assert [(entry["kind"], entry["update"]) for entry in history] == [
        ("evaluation", 0),
        ("update", 1),
        ("update", 2),
        ("evaluation", 2),
    ]
    # Six letters are no turn: nothing is well-formed, and nothing earned.
    assert {(entry["well_formed"], entry["malformed"], entry["reward"]) for entry in history} == {(0, 1, 0)}
    assert (out / "final/adapter_model.safetensors").exists()
    assert "1 held-out questions, before and after 2 updates" in capsys.readouterr().out
    assert run_program(monkeypatch, folders, out, *own)[:3] == history[:3]


def test_a_run_is_refused_for_another_adapter(
    data: Path, folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    run_program(monkeypatch, folders, out, "--data", str(data), "--max-minutes", "0.0001")
    other = add_adapter(make_model(make_tokenizer(), positions=9000), Adapter(rank=4, layers=1))
    other.save_pretrained(str(folders["adapter"]))
    with pytest.raises(ValueError, match="name a new folder"):
        run_program(monkeypatch, folders, out, "--data", str(data))


def test_a_set_without_a_question_to_learn_from_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="hotpotqa has 0 questions, and 48 are held out"):
        agent.train(Settings(), [], Run(tmp_path), None, None)


def test_a_history_tells_shares_of_turns_and_of_tasks() -> None:
    def make(reward: float, quality: float | None, **facts: Any) -> Trajectory:
        segment = make_segment(1, qualities=[quality])
        return Trajectory(f"q{reward}", (segment,), reward, "answered", facts=facts)

    described = describe(
        [
            make(0.5, 0.5, replies=3, well_formed=3, summaries=2, inside=1, correct=True),
            make(0.0, None, replies=1, well_formed=0, summaries=0, inside=0, correct=False),
        ]
    )
    assert described == {
        "well_formed": 3 / 4,
        "inside": 1 / 2,
        "correct": 1 / 2,
        "quality": 0.5,
        "rewards": [0.5, 0.0],
    }


def test_what_changed_is_told_with_an_interval() -> None:
    shares = {"correct": 0.0, "answered": 1.0, "well_formed": 1.0, "inside": 1.0}
    before = {"reward": 0.25, "rewards": [0.0, 0.5] * 10, "update": 0, **shares}
    after = {"reward": 0.5, "rewards": [0.5, 0.5] * 10, "update": 7, **shares}
    said = compare(before, after)
    assert "20 held-out questions, before and after 7 updates" in said
    assert "reward       0.250 -> 0.500" in said
    assert "reward by +0.250 (95 %: +0.1" in said


def test_the_configuration_asks_for_hrr_as_the_agent_was_trained() -> None:
    settings = read_settings(Settings, CONFIG)
    assert settings.updates.algorithm == "hrr"
    artifact = CONFIG.parents[2] / "models/tersely-agent/config.json"
    assert settings.questions.search_tokens == json.loads(artifact.read_text())["search_tokens"]
