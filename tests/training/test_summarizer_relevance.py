"""RECON's stage 1, which learns which passage is relevant, and stage 2 that starts from it."""

from __future__ import annotations

import math
import random
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.training.stopping import run_until
from tests.training.test_summarizer import LESSONS
from tests.training.test_summarizer import SETTINGS as STAGE2
from training.causal import Adapter, add_adapter
from training.rl.engines.random_model import make_model, make_tokenizer
from training.run import Run, read_runs
from training.summarizer import relevance, train
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
