"""The program that trains an agent on its own rollouts, with a random model of two layers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.training.rl.examples import make_segment
from training.causal import Adapter, add_adapter
from training.rl import agent
from training.rl.agent import Settings, compare, describe
from training.rl.engines.random_model import make_model, make_tokenizer
from training.rl.trajectory import Trajectory
from training.run import Run, read_runs

pytestmark = pytest.mark.filterwarnings("ignore")
"""trl, peft, transformers and torch warn about parts of themselves."""

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
    """Return a configuration, a model and its adapter."""
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


def test_run_ends_in_its_time_and_continues_with_more(
    data: Path, folders: dict[str, Path], tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    out, own = tmp_path / "run", ("--data", str(data))
    history = run_program(monkeypatch, folders, out, *own, "--max-minutes", "0.0001")
    assert [entry["kind"] for entry in history] == ["evaluation"]
    assert "no time for an update" in capsys.readouterr().out
    history = run_program(monkeypatch, folders, out, *own)
    kinds = [(entry["kind"], entry["update"]) for entry in history]
    assert kinds == [("evaluation", 0), ("update", 1), ("update", 2), ("evaluation", 2)]
    # Six letters are not a turn: nothing is well-formed, and nothing earned.
    assert {(entry["well_formed"], entry["malformed"], entry["reward"]) for entry in history} == {(0, 1, 0)}
    assert (out / "final/adapter_model.safetensors").exists()
    assert "1 held-out questions, before and after 2 updates" in capsys.readouterr().out
    (facts,) = read_runs(out / "final")
    assert (facts["algorithm"], facts["updates"], facts["rollouts"], facts["heldout"]) == ("hrr", 2, 4, 1)
    assert (facts["sets"], facts["questions"], facts["reward"]) == (["hotpotqa"], 2, [0, 0])
    assert run_program(monkeypatch, folders, out, *own)[:3] == history[:3]
    other = add_adapter(make_model(make_tokenizer(), positions=9000), Adapter(rank=4, layers=1))
    other.save_pretrained(str(folders["adapter"]))
    with pytest.raises(ValueError, match="name a new folder"):  # for another adapter
        run_program(monkeypatch, folders, out, *own)


def test_refuses_a_set_without_training_questions(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="hotpotqa: 48 questions are held out, and there are 0"):
        agent.train(Settings(), [], Run(tmp_path), None, None)


def test_history_has_shares_of_turns_and_of_tasks() -> None:
    def make(reward: float, quality: float | None, **facts: Any) -> Trajectory:
        segment = make_segment(1, qualities=[quality])
        return Trajectory(f"q{reward}", (segment,), reward, "answered", facts=facts)

    right = make(0.5, 0.5, replies=3, well_formed=3, summaries=2, inside=1, correct=True)
    wrong = make(0.0, None, replies=1, well_formed=0, summaries=0, inside=0, correct=False)
    shares = {"well_formed": 3 / 4, "inside": 1 / 2, "correct": 1 / 2, "quality": 0.5}
    assert describe([right, wrong]) == {**shares, "rewards": [0.5, 0.0]}


def test_comparison_has_an_interval() -> None:
    shares = {"correct": 0.0, "answered": 1.0, "well_formed": 1.0, "inside": 1.0}
    before = {"reward": 0.25, "rewards": [0.0, 0.5] * 10, "update": 0, **shares}
    after = {"reward": 0.5, "rewards": [0.5, 0.5] * 10, "update": 7, **shares}
    said = compare(before, after)
    assert "20 held-out questions, before and after 7 updates" in said
    assert "reward       0.250 -> 0.500" in said
    assert "reward by +0.250 (95 %: +0.1" in said
