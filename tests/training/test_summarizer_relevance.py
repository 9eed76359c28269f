"""A summarizer's relevance, which RECON trains first, and its adapter as GGUF."""

from __future__ import annotations

import json
import math
import random
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gguf import GGUFReader
from safetensors.numpy import save_file
from torch import nn

from tests.training.stopping import run_until
from tests.training.test_summarizer import LESSONS
from tests.training.test_summarizer import SETTINGS as STAGE2
from training.causal import Adapter, add_adapter
from training.rl.engines.random_model import make_model, make_tokenizer
from training.run import Run, read_runs
from training.summarizer import relevance, train
from training.summarizer.card import render_card
from training.summarizer.export import make_parser, read_arguments
from training.summarizer.gguf import interleave_heads, write_gguf
from training.summarizer.package import Base
from training.summarizer.relevance import (
    Candidates,
    Choice,
    RelevanceSettings,
    encode_choice,
    make_choices,
    relevance_loss,
    score_passages,
    train_relevance,
)
from training.summarizer.train import Training

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("tiny_causal")]

SETTINGS = RelevanceSettings(
    Candidates({}),
    adapter=Adapter(rank=4, alpha=8, layers=2),
    training=Training(learning_rate=2e-2, batch=4, epochs=3, positions=600, heldout=6, save_every=3),
)


def make_choice_of_towns(number: int) -> Choice:
    """Make a choice in which the passage about hours is relevant. Every fifth one has no such passage."""
    draw = random.Random(number)
    passages = [f"The pier of town {draw.randrange(90)} is made of wood." for _ in range(4)]
    relevant = 4 if number % 5 == 4 else draw.randrange(4)
    if relevant < 4:
        passages[relevant] = f"Opens at {draw.randrange(6, 11)}, shuts at {draw.randrange(16, 23)}."
    return Choice("When is it open?", tuple(passages), relevant)


CHOICES = [make_choice_of_towns(n) for n in range(46)]


def run_once(folder: Path, settings: RelevanceSettings = SETTINGS, count: int = 46) -> dict[str, Any]:
    return train_relevance(settings, CHOICES[:count], Run(folder, identity=asdict(settings)))


@pytest.mark.parametrize(("rank", "file"), [(4, "adapter_model"), (0, "model")])
def test_stage_2_starts_from_what_stage_1_learned(tmp_path: Path, rank: int, file: str) -> None:
    adapter = replace(SETTINGS.adapter, rank=rank)
    facts = run_once(tmp_path / "one", replace(SETTINGS, adapter=adapter))
    before, after = facts["heldout_loss"]
    assert before == pytest.approx(math.log(5), abs=1e-3)  # all scores are 0
    assert after < 0.5 * before
    assert facts["heldout_right"] == 1.0
    final = tmp_path / "one/final"
    assert (final / f"{file}.safetensors").exists()
    assert not list(final.glob("*head*"))
    settings = replace(STAGE2, adapter=adapter, training=replace(STAGE2.training, epochs=1))
    start, fresh = (
        train.train(settings, LESSONS, Run(tmp_path / name), start_from=origin)["heldout_loss"][0]
        for name, origin in (("two", final), ("fresh", None))
    )
    assert start != fresh
    assert [run.get("stage") for run in read_runs(tmp_path / "two/final")] == [1, None]
    if rank:
        model = add_adapter(make_model(make_tokenizer()), Adapter(rank=2, alpha=8, layers=2))
        with pytest.raises(ValueError, match="has r 4, not 2"):
            train.load_weights(model, final)


def make_scorer() -> tuple[Any, Any, nn.Linear]:
    tokenizer = make_tokenizer()
    model = make_model(tokenizer)
    torch.manual_seed(1)
    return tokenizer, model, nn.Linear(model.config.hidden_size, 1)


def test_score_depends_only_on_the_question_and_its_passage() -> None:
    tokenizer, model, head = make_scorer()

    def score(question: str, *passages: str) -> list[float]:
        return score_passages(
            model, head, encode_choice(Choice(question, passages, 0), tokenizer, 900)
        ).tolist()

    passages = ("Short.", "A passage that is a good deal longer.", "Another one.")
    scores = score("Why?", *passages)
    assert scores == pytest.approx(score("Why?", *passages[::-1])[::-1], abs=1e-5)
    assert scores[:1] == pytest.approx(score("Why?", passages[0]), abs=1e-5)
    assert all(abs(a - b) > 1e-6 for a, b in zip(scores, score("Who?", *passages), strict=True))


@pytest.mark.parametrize("relevant", [0, 1, 2])
def test_loss_is_cross_entropy_with_a_class_for_no_passage(relevant: int) -> None:
    tokenizer, model, head = make_scorer()
    choice = encode_choice(Choice("Why?", ("One.", "Two of them."), relevant), tokenizer, 900)
    a, b = score_passages(model, head, choice).exp().tolist()
    expected = -math.log((a, b, 1.0)[relevant] / (a + b + 1))
    assert relevance_loss(model, head, choice).item() == pytest.approx(expected, abs=1e-5)


def test_choice_has_at_most_one_relevant_passage(data: Path) -> None:
    candidates = Candidates({"qed_nq": 6}, passages=4, unanswered=0.5)
    choices = make_choices(candidates, data)
    assert choices == make_choices(candidates, data)
    assert len(choices) >= 3
    assert all(len(choice.passages) == 4 == len(set(choice.passages)) for choice in choices)
    assert {choice.relevant == 4 for choice in choices} == {True, False}


def test_passages_share_the_tokens_of_an_input() -> None:
    choice = Choice("Why?", tuple("word " * 300 for _ in range(10)), 0)
    assert sum(map(len, encode_choice(choice, make_tokenizer(), 2048).rows)) <= 2048


def test_stopped_training_ends_like_an_unbroken_one(tmp_path: Path) -> None:
    settings = replace(SETTINGS, training=replace(SETTINGS.training, epochs=1))
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    run_once(whole, settings, 26)
    # Six held-out questions come first, and a checkpoint after three batches of four.
    run_until(relevance, "relevance_loss", 6 + 4 * 4 + 2, lambda: run_once(stopped, settings, 26))
    run_once(stopped, settings, 26)
    files = [folder / "final/adapter_model.safetensors" for folder in (whole, stopped)]
    assert files[0].read_bytes() == files[1].read_bytes()


def save_adapter(folder: Path, layer: str = "self_attn.q_proj") -> Path:
    key = f"base_model.model.model.layers.3.{layer}"
    weights = {
        f"{key}.lora_A.weight": np.ones((2, 6), np.float16),
        f"{key}.lora_B.weight": np.arange(16, dtype=np.float16).reshape(8, 2),
    }
    save_file(weights, folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text(json.dumps({"lora_alpha": 32, "r": 2}), "utf-8")
    return folder


def test_file_has_the_names_and_order_of_llama_cpp(tmp_path: Path) -> None:
    write_gguf(save_adapter(tmp_path), tmp_path / "adapter.gguf", heads=2, kv_heads=1)
    reader = GGUFReader(tmp_path / "adapter.gguf")
    tensors = {tensor.name: np.asarray(tensor.data) for tensor in reader.tensors}
    assert set(tensors) == {"blk.3.attn_q.weight.lora_a", "blk.3.attn_q.weight.lora_b"}
    assert tensors["blk.3.attn_q.weight.lora_a"].shape == (2, 6)
    # The halves of each of two heads are interleaved.
    assert tensors["blk.3.attn_q.weight.lora_b"][:, 0].tolist() == [0, 4, 2, 6, 8, 12, 10, 14]
    rows = np.arange(8, dtype=np.float32).reshape(8, 1)
    assert interleave_heads(rows, 1).ravel().tolist() == [0, 4, 1, 5, 2, 6, 3, 7]
    names = ("general.type", "adapter.type", "adapter.lora.alpha")
    assert [reader.fields[name].contents() for name in names] == ["adapter", "lora", 32]


def test_refuses_a_layer_without_a_name(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="which GGUF has no name for"):
        write_gguf(save_adapter(tmp_path, "mlp.router"), tmp_path / "a.gguf", heads=1, kv_heads=1)


@pytest.mark.parametrize(
    ("teachers", "named"), [([], "no teacher model"), (["large-model"], "teacher: large-model")]
)
def test_card_names_data_licences_and_teacher(teachers: list[str], named: str) -> None:
    facts = {
        "base_model": "owner/base",
        "training_command": "python -m training.summarizer",
        "data": {"qmsum": 3, "hotpotqa": 4},
        "teachers": teachers,
        "run": {"examples": 5, "tokens": 1234, "minutes": 6, "heldout_loss": [1.5, 0.5]},
        "parity": {"agreement": 0.99, "tokens": 100, "replies": 2},
        "adapter": {"rank": 16, "alpha": 32, "layers": 12},
        "blocks": 30,
    }
    card = render_card("my-model", facts)
    assert all(part in card for part in ("| qmsum | QMSum | MIT |", "CC BY-SA 4.0", "99.0 %", named))


@pytest.mark.parametrize(("given", "named"), [([], ""), (["--max-minutes", "47"], " --max-minutes 47")])
def test_export_names_the_command_that_trained_the_run(
    given: list[str], named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["export", "--run", "r", "--out", "o", *given])
    args = read_arguments("training.agent", make_parser("training.agent", None, "own.toml"))
    assert args.command == f"python -m training.agent --config own.toml --data DATA --out RUN{named}"
    assert args.base == Base()


def test_export_needs_the_base_model_for_both_libraries(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["export", "--run", "r", "--out", "o", "--base", "folder", "--base-name", "owner/base"]
    monkeypatch.setattr(sys, "argv", [*given, "--base-gguf", "base.gguf"])
    args = read_arguments("training.agent", make_parser("training.agent", None, "own.toml"))
    assert args.base == Base("owner/base", "folder", Path("base.gguf"))
    assert "--out RUN --base owner/base" in args.command
    monkeypatch.setattr(sys, "argv", given)
    with pytest.raises(SystemExit):
        read_arguments("training.agent", make_parser("training.agent", None, "own.toml"))
    assert "--base and --base-gguf belong together" in capsys.readouterr().err
