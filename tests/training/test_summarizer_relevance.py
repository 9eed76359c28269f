"""RECON's stage 1: which passage is relevant, and stage 2 that starts from it."""

from __future__ import annotations

import random
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.training.test_summarizer import LESSONS
from tests.training.test_summarizer import SETTINGS as STAGE2
from training.causal import Adapter, add_adapter
from training.rl.engines.random_model import make_model, make_tokenizer
from training.run import Run, read_runs
from training.settings import read_settings
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
from training.summarizer.train import Settings, Training

pytestmark = pytest.mark.filterwarnings("ignore")

CONFIGS = Path(__file__).parents[2] / "training/configs"
SETTINGS = RelevanceSettings(
    Candidates({}),
    adapter=Adapter(rank=4, alpha=8, layers=2),
    training=Training(learning_rate=2e-2, batch=4, epochs=3, positions=600, heldout=6, save_every=3),
)


def make_choice_of_towns(number: int) -> Choice:
    """One passage of four is of use: the one that is about hours. Every fifth question has none."""
    draw = random.Random(number)
    passages = [f"The pier of town {draw.randrange(90)} is made of wood." for _ in range(4)]
    relevant = 4 if number % 5 == 4 else draw.randrange(4)
    if relevant < 4:
        passages[relevant] = f"Opens at {draw.randrange(6, 11)}, shuts at {draw.randrange(16, 23)}."
    return Choice("When is it open?", tuple(passages), relevant)


CHOICES = [make_choice_of_towns(n) for n in range(46)]


@pytest.fixture(autouse=True)
def tiny_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def load_tiny(base: Path | None) -> tuple[Any, Any]:
        tokenizer = make_tokenizer()
        return make_model(tokenizer), tokenizer

    monkeypatch.setattr(train, "load_causal", load_tiny)


def run_once(folder: Path, settings: RelevanceSettings = SETTINGS) -> dict[str, Any]:
    return train_relevance(settings, CHOICES, Run(folder, identity=asdict(settings)))


@pytest.mark.parametrize("rank", [4, 0])
def test_training_lowers_the_loss_and_ranks_relevant_passages_first(tmp_path: Path, rank: int) -> None:
    settings = replace(SETTINGS, adapter=replace(SETTINGS.adapter, rank=rank))
    facts = run_once(tmp_path, settings)
    before, after = facts["heldout_loss"]
    assert before == pytest.approx(torch.log(torch.tensor(5.0)).item(), abs=1e-3)  # all scores are 0
    assert after < 0.5 * before
    assert facts["heldout_right"] == 1.0
    weights = "adapter_model.safetensors" if rank else "model.safetensors"
    assert (tmp_path / "final" / weights).exists()
    assert not list((tmp_path / "final").glob("*head*"))


def test_a_score_depends_on_the_question_and_its_own_passage_alone() -> None:
    tokenizer = make_tokenizer()
    model = make_model(tokenizer)
    torch.manual_seed(1)
    head = nn.Linear(model.config.hidden_size, 1)
    passages = ("Short.", "A passage that is a good deal longer.", "Another one.")
    scores = score_passages(model, head, encode_choice(Choice("Why?", passages, 0), tokenizer, 900))
    turned = score_passages(model, head, encode_choice(Choice("Why?", passages[::-1], 0), tokenizer, 900))
    alone = score_passages(model, head, encode_choice(Choice("Why?", passages[:1], 0), tokenizer, 900))
    other = score_passages(model, head, encode_choice(Choice("Who?", passages, 0), tokenizer, 900))
    assert scores.tolist() == pytest.approx(turned.tolist()[::-1], abs=1e-5)
    assert alone.item() == pytest.approx(scores[0].item(), abs=1e-5)
    assert (scores - other).abs().min() > 1e-6


def test_the_loss_is_cross_entropy_with_a_class_for_none_of_them() -> None:
    tokenizer = make_tokenizer()
    model = make_model(tokenizer)
    torch.manual_seed(1)
    head = nn.Linear(model.config.hidden_size, 1)
    for relevant in (0, 1, 2):
        choice = encode_choice(Choice("Why?", ("One.", "Two of them."), relevant), tokenizer, 900)
        a, b = score_passages(model, head, choice).exp().tolist()
        chosen = (a, b, 1.0)[relevant]
        expected = -torch.log(torch.tensor(chosen / (a + b + 1))).item()
        assert relevance_loss(model, head, choice).item() == pytest.approx(expected, abs=1e-5)


def test_a_question_has_ten_passages_of_which_at_most_one_is_relevant(data: Path) -> None:
    candidates = Candidates({"qed_nq": 6}, passages=4, unanswered=0.5)
    choices = make_choices(candidates, data)
    assert choices == make_choices(candidates, data)
    assert len(choices) >= 3
    assert all(len(choice.passages) == 4 == len(set(choice.passages)) for choice in choices)
    assert {choice.relevant == 4 for choice in choices} == {True, False}


def test_passages_share_the_tokens_of_an_input() -> None:
    tokenizer = make_tokenizer()
    choice = Choice("Why?", tuple("word " * 300 for _ in range(10)), 0)
    assert sum(map(len, encode_choice(choice, tokenizer, 2048).rows)) <= 2048


def test_a_training_that_was_stopped_ends_like_one_that_was_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_once(tmp_path / "whole")
    calls = 0

    def stop_in_the_middle(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 6 + 4 * 7 + 2:  # six held-out questions come first
            raise KeyboardInterrupt
        return relevance_loss(*arguments)

    monkeypatch.setattr(relevance, "relevance_loss", stop_in_the_middle)
    with pytest.raises(KeyboardInterrupt):
        run_once(tmp_path / "stopped")
    monkeypatch.setattr(relevance, "relevance_loss", relevance_loss)
    run_once(tmp_path / "stopped")
    weights = [(tmp_path / n / "final/adapter_model.safetensors").read_bytes() for n in ("whole", "stopped")]
    assert weights[0] == weights[1]


@pytest.mark.parametrize("rank", [4, 0])
def test_stage_2_starts_from_what_stage_1_trained(tmp_path: Path, rank: int) -> None:
    adapter = replace(SETTINGS.adapter, rank=rank)
    run_once(tmp_path / "one", replace(SETTINGS, adapter=adapter))
    settings = replace(STAGE2, adapter=adapter)
    final = tmp_path / "one/final"
    facts = train.train(settings, LESSONS, Run(tmp_path / "two"), start_from=final)
    fresh = train.train(settings, LESSONS, Run(tmp_path / "fresh"))
    assert facts["heldout_loss"][0] != fresh["heldout_loss"][0]
    assert [run.get("stage") for run in read_runs(tmp_path / "two/final")] == [1, None]


def test_an_adapter_of_another_shape_is_refused(tmp_path: Path) -> None:
    run_once(tmp_path)
    model = add_adapter(make_model(make_tokenizer()), Adapter(rank=2, alpha=8, layers=2))
    with pytest.raises(ValueError, match="has r 4, not 2"):
        train.load_weights(model, tmp_path / "final")


def test_the_defaults_are_the_papers_and_the_configuration_fits_stage_2() -> None:
    paper = RelevanceSettings(Candidates({}))
    assert (paper.data.passages, paper.adapter.rank, paper.adapter.alpha) == (10, 8, 32)
    own = paper.training
    assert (own.learning_rate, own.warmup, own.epochs, own.batch, own.positions) == (1e-4, 0.05, 1, 16, 2048)
    ours = read_settings(RelevanceSettings, CONFIGS / "relevance_smollm2.toml")
    assert ours.adapter == read_settings(Settings, CONFIGS / "summarizer_smollm2.toml").adapter
