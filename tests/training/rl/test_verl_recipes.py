"""Recipes of full-scale runs, and our advantages on batches in verl's form.

`training/rl/verl/contract.py` tests what needs verl itself."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import pytest
import torch
from pyarrow.parquet import read_table

from training.rl.algorithms import grpo, hrr, supo
from training.rl.environments.search import Question
from training.rl.targets import count_written
from training.rl.trajectory import Outcome, Segment, Trajectory, Turn
from training.rl.verl import __main__ as program
from training.rl.verl import recipe as recipes
from training.rl.verl.advantages import compute_advantages, read_trajectories
from training.rl.verl.outputs import to_outputs
from training.rl.verl.recipe import Recipe, list_overrides, make_algorithm
from training.settings import read_settings

RUNS = Path(__file__).parents[3] / "training/runs/verl"
FILES = sorted(RUNS.glob("*.toml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_recipe_gives_settings(file: Path) -> None:
    recipe = read_settings(Recipe, file)
    files = Path("train.parquet"), Path("validation.parquet")
    lines = list_overrides(recipe, file, 2, *files, recipe.questions)
    settings = dict(line.split("=", 1) for line in lines)
    assert settings["trainer.nnodes"] == "2"
    assert settings["actor_rollout_ref.rollout.n"] == str(recipe.group)
    assert settings["trainer.v1.trainer_mode"] == ("sync" if recipe.paper == "RECON" else "tersely")
    assert recipe.batch % recipe.mini_batch == 0
    assert 0 < recipe.gigabytes(8) < 80
    assert recipe.step_tokens > 10**5
    assert settings["data.train_files"] != settings["data.val_files"]
    assert int(settings["trainer.save_freq"]) > 0
    assert int(settings["trainer.test_freq"]) > 0
    steps = recipe.questions // recipe.batch * int(settings["trainer.total_epochs"])
    assert recipe.steps <= steps < recipe.steps + recipe.questions // recipe.batch
    assert int(settings["actor_rollout_ref.actor.ppo_max_token_len_per_gpu"]) >= recipe.context_tokens


def test_refuses_fewer_questions_than_a_batch(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [Question(str(number), "Who?", ("Ada",), ()) for number in range(185)]
    monkeypatch.setattr(recipes, "load_task_set", lambda *_, **__: (found, {}))
    command = ["training.rl.verl", "--questions", str(tmp_path / "all.parquet"), "--config"]
    monkeypatch.setattr(sys, "argv", [*command, str(RUNS / "recon.toml")])
    with pytest.raises(SystemExit, match="2"):
        program.main()
    assert "RECON takes 512 questions a step, and there are 167" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", [*command, str(RUNS / "evolving.toml")])
    program.main()
    printed = capsys.readouterr().out
    assert "trainer.total_epochs=20" in printed  # 100 steps, five in a pass over 167 questions
    assert f"data.val_files={tmp_path / 'all.validation.parquet'}" in printed
    rows = [read_table(tmp_path / f"all{end}.parquet").to_pylist() for end in ("", ".validation")]
    assert [row["extra_info"]["index"] for part in rows for row in part] == list(range(185))


def test_refuses_a_wrong_recipe(tmp_path: Path) -> None:
    file = tmp_path / "odd.toml"
    file.write_text('paper = "X"\nspeed = 3\n')
    with pytest.raises(ValueError, match="unknown key 'speed'"):
        read_settings(Recipe, file)
    file.write_text('paper = "X"\n')
    with pytest.raises(ValueError, match="lacks"):
        read_settings(Recipe, file)
    with pytest.raises(ValueError, match="critic"):
        make_algorithm(read_settings(Recipe, RUNS / "recon.toml"))


def make_trajectory(key: str, number: int, segments: int, reward: float, outcome: Outcome) -> Trajectory:
    made = [
        Segment(
            tuple(range(12 + number)),
            tuple(-0.1 * (3 <= i < 6 or 8 <= i < 10 + part) for i in range(12 + number)),
            (Turn(3, 6, 0.5), Turn(8, 10 + part, 0.1 * number)),
        )
        for part in range(segments)
    ]
    return Trajectory(key, tuple(made), reward, outcome)


TRAJECTORIES = [
    make_trajectory("q1", 0, 2, 1.0, "answered"),
    make_trajectory("q1", 1, 1, 0.0, "answered"),
    make_trajectory("q1", 2, 3, 0.0, "overlong"),
    make_trajectory("q2", 3, 1, 1.0, "answered"),
    make_trajectory("q2", 4, 2, 1.0, "answered"),
]


@pytest.mark.parametrize(
    "make_targets", [grpo.make_targets, partial(hrr.make_targets, w=0.3), supo.make_targets]
)
def test_advantages_on_rows_are_those_of_the_targets(make_targets: object) -> None:
    rows = [(f"{t.task}_{i}", out) for i, t in enumerate(TRAJECTORIES) for out in to_outputs(t)]
    keys: list[str] = []
    for session, _ in rows:
        keys.append(f"{session}_{sum(key.rpartition('_')[0] == session for key in keys)}")
    order = [4, 1, 0, 8, 2, 3, 7, 5, 6]
    outputs = [rows[i][1] for i in order]
    mask = torch.nn.utils.rnn.pad_sequence(
        [torch.tensor(out["response_mask"]) for out in outputs], batch_first=True
    ).float()
    read = read_trajectories(
        [keys[i] for i in order],
        [len(out["response_ids"]) for out in outputs],
        [out["reward_score"] for out in outputs],
        [out["extra_fields"] for out in outputs],
    )
    found = compute_advantages(make_targets, read, mask)
    written = sum(count_written(t) for t in TRAJECTORIES)
    assert mask.sum() == written
    wanted = {id(t.segment): t for t in make_targets(TRAJECTORIES)}
    segments = [segment for t in TRAJECTORIES for segment in t.segments]
    for row, place in enumerate(order):
        segment, target = segments[place], wanted.get(id(segments[place]))
        start, end = segment.turns[0].start, segment.turns[-1].end
        gains = [0.0] * (end - start)
        if target is not None:
            both = zip(target.advantages[start:end], target.weights[start:end], strict=True)
            gains = [a * w * written for a, w in both]
        assert found[row, : end - start].tolist() == pytest.approx(gains, abs=1e-6)
        assert not found[row, end - start :].any()


def test_failed_rollout_leaves_its_group() -> None:
    for outcome in ("server", "environment"):
        assert to_outputs(make_trajectory("q1", 0, 2, 0.0, outcome)) == []


def test_outputs_have_the_exact_tokens() -> None:
    (output,) = to_outputs(TRAJECTORIES[1])
    (segment,) = TRAJECTORIES[1].segments
    assert output["prompt_ids"] + output["response_ids"] == list(segment.tokens[:10])
    assert output["response_mask"] == [1, 1, 1, 0, 0, 1, 1]
    assert output["response_logprobs"] == list(segment.logprobs[3:10])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["evolving", "recon", "supo", "ziprl"])
def test_dry_run_takes_a_step(name: str) -> None:
    pytest.importorskip("trl")
    from training.rl.verl.dry_run import take_step

    said = take_step(read_settings(Recipe, RUNS / f"{name}.toml"))
    assert "answered (reward 1" in said
    assert float(said.split("by ")[-1].split()[0]) > 0
    assert ("the critic's loss was" in said) == (name == "recon")
