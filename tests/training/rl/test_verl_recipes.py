"""Recipes of full-scale runs, and our advantages on batches in verl's form.

`training/rl/verl/contract.py` tests what needs verl itself."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from pyarrow.parquet import read_table

from tersely import Document
from tersely_agents.agent.transcript import ResetStrategy
from tersely_agents.experience import ExperienceBank
from training.rl import recipes
from training.rl.algorithms import grpo, hrr, supo
from training.rl.engines.random_model import make_tokenizer
from training.rl.environments.archive import make_archive
from training.rl.environments.families import WordEmbedder
from training.rl.environments.search import Question
from training.rl.recipes import Recipe, count_training, load_questions, make_algorithm, make_environment
from training.rl.targets import count_written
from training.rl.trajectory import Outcome, Segment, Trajectory, Turn
from training.rl.verl import __main__ as program
from training.rl.verl.advantages import compute_advantages, read_trajectories
from training.rl.verl.outputs import to_outputs
from training.rl.verl.overrides import list_overrides
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
    assert settings["trainer.v1.trainer_mode"] == "sync"  # verl compares with this name
    assert recipe.batch % recipe.mini_batch == 0
    assert 0 < recipe.gigabytes(8) < 80
    assert recipe.step_tokens > 10**5
    assert settings["data.train_files"] != settings["data.val_files"]
    assert int(settings["trainer.save_freq"]) > 0
    assert int(settings["trainer.test_freq"]) > 0
    steps = recipe.questions // recipe.batch * int(settings["trainer.total_epochs"])
    assert recipe.steps <= steps < recipe.steps + recipe.questions // recipe.batch
    assert int(settings["actor_rollout_ref.actor.ppo_max_token_len_per_gpu"]) >= recipe.context_tokens
    assert settings["actor_rollout_ref.rollout.max_model_len"] == str(recipe.context_tokens)
    assert settings["actor_rollout_ref.actor.use_kl_loss"] == str(recipe.paper == "ZipRL").lower()
    # verl clips at these two, for any clip_ratio.
    for side in ("low", "high"):
        assert settings[f"actor_rollout_ref.actor.clip_ratio_{side}"] == str(recipe.clip)
    # verl[vllm] comes without flash-attn, which verl asks for by default.
    for model in ["actor_rollout_ref.model"] + ["critic.model"] * (recipe.algorithm == "ppo"):
        assert settings[f"+{model}.override_config.attn_implementation"] == "sdpa"
        assert settings[f"{model}.use_remove_padding"] == "false"
    temperature = settings["actor_rollout_ref.rollout.val_kwargs.temperature"]
    assert temperature == ("0.8" if recipe.paper == "ZipRL" else "0.0")
    assert settings["actor_rollout_ref.rollout.val_kwargs.do_sample"] == str(recipe.paper == "ZipRL").lower()


def test_refuses_fewer_questions_than_a_batch(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [Question(str(number), "Who?", ("Ada",), ("d",)) for number in range(185)]
    monkeypatch.setattr(recipes, "load_task_set", lambda *_, **__: (found, {"d": Document("Ada.")}))
    command = ["training.rl.verl", "--questions", str(tmp_path / "all.parquet"), "--config"]
    one_set = tmp_path / "recon.toml"
    text = (RUNS / "recon.toml").read_text(encoding="utf-8")
    one_set.write_text(text.replace('["hotpotqa", "qed_nq_10"]', '["hotpotqa"]'), encoding="utf-8")
    monkeypatch.setattr(sys, "argv", [*command, str(one_set)])
    with pytest.raises(SystemExit, match="2"):
        program.main()
    assert "RECON takes 512 questions a step, and there are 167" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", [*command, str(RUNS / "evolving.toml")])
    program.main()
    printed = capsys.readouterr().out
    # Half of the questions are for the harvest. 100 steps, two in a pass over 83 of the 92 others.
    assert "trainer.total_epochs=50" in printed
    assert f"data.val_files={tmp_path / 'all.validation.parquet'}" in printed
    rows = [read_table(tmp_path / f"all{end}.parquet").to_pylist() for end in ("", ".validation")]
    assert [row["extra_info"]["index"] for part in rows for row in part] == list(range(92))


def test_questions_follow_the_recipes_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    recipe = tmp_path / "own.toml"
    text = (RUNS / "supo.toml").read_text(encoding="utf-8")
    recipe.write_text(text.replace('["hotpotqa"]', '["own.jsonl"]'), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    command = ["training.rl.verl", "--config", str(recipe), "--questions", "all.parquet"]
    monkeypatch.setattr(sys, "argv", command)
    for count in (80, 90):
        write_set(tmp_path / "own.jsonl", count)
        program.main()
        assert read_table("all.parquet").num_rows == count * 9 // 10


def write_set(file: Path, count: int, **changes: Any) -> str:
    texts = [f"The ferry of line {number} is called Orvelle {number}." for number in range(count)]
    rows = [
        {"question": f"Which ferry is on line {n}?", "answers": [f"Orvelle {n}"], "docs": [{"text": text}]}
        for n, text in enumerate(texts)
    ]
    file.write_text("".join(json.dumps({**row, **changes}) + "\n" for row in rows), encoding="utf-8")
    return str(file)


def test_questions_come_from_a_list_of_sets(tmp_path: Path) -> None:
    sets = [write_set(tmp_path / "one.jsonl", 5), write_set(tmp_path / "two.jsonl", 3)]
    recipe = replace(read_settings(Recipe, RUNS / "ziprl.toml"), data=sets, questions=4)
    questions, documents = load_questions(recipe)
    assert Counter(question.id.split("-")[0] for question in questions) == {"one": 4, "two": 3}
    assert all(question.documents for question in questions)
    assert all(documents[docid] for question in questions for docid in question.documents)


def test_harvest_takes_other_questions_than_the_run(tmp_path: Path) -> None:
    sets = [write_set(tmp_path / "one.jsonl", 30), write_set(tmp_path / "two.jsonl", 12)]
    recipe = replace(read_settings(Recipe, RUNS / "evolving.toml"), data=sets, questions=20, sft_questions=10)
    parts = [{q.id for q in load_questions(recipe, part=part)[0]} for part in ("rl", "sft")]
    assert [len(part) for part in parts] == [20 + 8, 10 + 4]  # a smaller set is shared in the same proportion
    assert not parts[0] & parts[1]
    same = replace(recipe, sft_questions=0)
    run, harvest = (load_questions(same, part=part)[0] for part in ("rl", "sft"))
    assert harvest == run[: count_training(len(run))]  # none that validates
    assert len(harvest) == 32 - 3


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"docs": [{"text": "Nothing."}]}, "no document holds an answer, and retriever is empty"),
        ({"docs": []}, "no document holds an answer, and retriever is empty"),
        ({"answers": None}, r'line 1: expected \{"question"'),
        ({"docs": [{"title": "No text"}]}, r'line 1: expected \{"question"'),
    ],
)
def test_names_what_its_questions_lack(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    sets = [write_set(tmp_path / "own.jsonl", 2, **changes)]
    recipe = replace(read_settings(Recipe, RUNS / "ziprl.toml"), data=sets)
    with pytest.raises(ValueError, match=rf"own\.jsonl.*{problem}"):
        load_questions(recipe)


def test_retriever_needs_no_documents(tmp_path: Path) -> None:
    sets = [write_set(tmp_path / "own.jsonl", 2, docs=[])]
    recipe = replace(read_settings(Recipe, RUNS / "recon.toml"), data=sets, summarizer="")
    questions, documents = load_questions(recipe)
    environment = make_environment(recipe, make_tokenizer(), questions, documents)
    assert (len(questions), documents) == (2, {})
    assert environment.make_task(questions[0], random.Random(0), 1.0).index is environment.retriever


def test_recipe_sets_limits_of_the_agent() -> None:
    recipe = read_settings(Recipe, RUNS / "supo.toml")
    recipe = replace(recipe, reset_tokens=900, resets=3, result_tokens=700)
    environment = make_environment(recipe, make_tokenizer(), *make_archive(4, 0))
    task = environment.sample(random.Random(0), 1.0)
    strategy = task.start().state.strategy
    assert isinstance(strategy, ResetStrategy)
    settings = strategy.journal.settings
    assert (settings.limit, settings.max_summaries, settings.compress_over) == (900, 3, 700)


@pytest.mark.parametrize("lessons", [None, 0])
def test_refuses_a_run_without_lessons(tmp_path: Path, lessons: int | None) -> None:
    bank = tmp_path / "bank.db"
    if lessons is not None:
        ExperienceBank(bank, WordEmbedder()).close()
    recipe = replace(read_settings(Recipe, RUNS / "evolving.toml"), bank=str(bank))
    with pytest.raises(ValueError, match="no experience bank" if lessons is None else "holds no lesson"):
        make_environment(recipe, make_tokenizer(), *make_archive(4, 0))


def run_script(tmp_path: Path, *, gpu: bool) -> tuple[list[str], str]:
    """Run scripts/verl where only it is real. Returns the packages that it installs, and what Python got."""
    (tmp_path / "scripts").mkdir(parents=True)
    shutil.copy(RUNS.parents[2] / "scripts/verl", tmp_path / "scripts/verl")
    (tmp_path / "python").write_text('#!/bin/bash\necho "[$HF_HUB_OFFLINE]" "$@"\n', encoding="utf-8")
    (tmp_path / "python").chmod(0o755)
    python = "mkdir -p .venv-verl/bin; cp python .venv-verl/bin/python"
    programs = {
        "scripts/venv": "exit 0",
        ".venv-test/bin/uv": f'echo "$@" >>uv.log\n{python}',
        **({"bin/nvidia-smi": "exit 0"} if gpu else {}),
    }
    for name, text in programs.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/bash\n{text}\n", encoding="utf-8")
        file.chmod(0o755)
    environment = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}
    printed = [
        subprocess.run(
            ["scripts/verl", "-m", "x"], cwd=tmp_path, env=environment, text=True, capture_output=True
        )
        for _ in range(2)
    ]
    assert [run.returncode for run in printed] == [0, 0], printed
    calls = (tmp_path / "uv.log").read_text(encoding="utf-8").splitlines()
    assert len(calls) == 2  # installed once
    return calls[1].split(), printed[1].stdout


def test_script_installs_vllm_and_allows_the_hub(tmp_path: Path) -> None:
    packages, printed = run_script(tmp_path / "gpu", gpu=True)
    assert "verl[vllm]==0.9.1" in packages
    assert printed == "[] -m x\n"  # HF_HUB_OFFLINE is not set: recipes name policies of the hub
    packages, _ = run_script(tmp_path / "cpu", gpu=False)
    assert "verl==0.9.1" in packages


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
    from training.rl.verl.dry_run import take_step

    said = take_step(read_settings(Recipe, RUNS / f"{name}.toml"))
    first, *more = said.splitlines()
    assert "answered (reward 1" in first
    assert float(first.split("by ")[-1].split()[0]) > 0
    figures = [line.split(" was ")[0] if " was 0." in line else line for line in more]
    assert (
        figures
        == {
            "evolving": ["the expert recalled 1 lessons", "edition 1 of the bank has 2 lessons"],
            "recon": ["the critic's loss", "the summarizer wrote 2 summaries"],
            "supo": ["the expert's context was reset 1 times"],
            "ziprl": ["the expert wrote 4 summaries"],
        }[name]
    )
