"""The summarizer's training: standalone sentences, examples, and teacher forcing of a tiny model."""

from __future__ import annotations

import gzip
import json
import random
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.shared.tasks.rows import read_rows
from tersely import Compressor
from tests.training.stopping import run_until
from training.causal import Adapter
from training.rl.engines.random_model import make_model, make_tokenizer
from training.run import Run
from training.summarizer import train as training
from training.summarizer.examples import Lesson, Recipe, make_lessons, read_lessons
from training.summarizer.standalone import Reference, clean_tokenized, make_standalone
from training.summarizer.train import Settings, Training, encode, make_batches, summary_loss

pytestmark = pytest.mark.filterwarnings("ignore")
"""peft, transformers and torch warn about parts of themselves."""


@pytest.mark.parametrize(
    ("sentence", "title", "expected"),
    [
        ("He wrote it in 1931.", "Arno Holt (writer)", "Arno Holt wrote it in 1931."),
        ("His first novel sold well.", "Arno Holt", "Arno Holt's first novel sold well."),
        ("The film stars Ada Penrose.", "Salt Wire (film)", "Salt Wire stars Ada Penrose."),
        ("In 1931 she moved to Orvelle.", "Ada Penrose", "In 1931 Ada Penrose moved to Orvelle."),
        ("It is not clear who built the pier.", "Tarnwick pier", "It is not clear who built the pier."),
        ("He met Arno Holt in Orvelle.", "Arno Holt", "He met Arno Holt in Orvelle."),
        ("It lists every mayor.", "List of mayors of Orvelle", "It lists every mayor."),
        ("He wrote it in 1931.", None, "He wrote it in 1931."),
    ],
)
def test_title_replaces_a_leading_mention(sentence: str, title: str | None, expected: str) -> None:
    assert make_standalone(sentence, 0, len(sentence), title) == expected


@pytest.mark.parametrize(
    ("mention", "sentence", "expected"),
    [
        (
            "the show",
            "Critics loved the show, and its cast won.",
            "Critics loved Salt Wire, and its cast won.",
        ),
        (
            "its",
            "Critics loved the show, and its cast won.",
            "Critics loved the show, and Salt Wire's cast won.",
        ),
        ("The film", 'Ada Penrose said: "The film took it all."', None),  # in a quotation
        ("Ada Penrose", 'Ada Penrose said: "The film took it all."', None),  # a name
    ],
)
def test_name_replaces_a_reference(mention: str, sentence: str, expected: str | None) -> None:
    text = f"Salt Wire ran for years. {sentence}"
    start = text.index(mention)
    reference = Reference(start, start + len(mention), "salt wire")
    rewritten = make_standalone(text, text.index(sentence), len(text), "Salt Wire", [reference])
    assert rewritten == (expected or sentence)


def test_restores_the_spaces_of_tokenised_text() -> None:
    tokenised = "He ( Holt ) won , and `` ruled '' Tarnwick 's port ."
    assert clean_tokenized(tokenised) == 'He (Holt) won, and "ruled" Tarnwick\'s port.'


RECIPE = Recipe({"hotpotqa": 3, "qed_nq": 3, "qmsum": 1}, smallest=60, largest=120)


def write_references(data: Path) -> None:
    with gzip.open(data / "train/qed_references.jsonl.gz", "wt", encoding="utf-8") as stream:
        row = next(iter(read_rows(data, "train", "qed_nq")))
        stream.write(json.dumps({"id": row["id"], "references": []}) + "\n")


def test_summaries_say_only_what_their_prompts_say(data: Path, tmp_path: Path) -> None:
    file, compressor = tmp_path / "lessons.jsonl", Compressor(threads=1)
    write_references(data)
    lessons = make_lessons(RECIPE, compressor, file, data)
    assert {"hotpotqa", "qed_nq"} <= {lesson.source for lesson in lessons}
    for lesson in lessons:
        prompt = lesson.messages[1]["content"].lower()
        words = {word.strip('.,"()').removesuffix("'s") for word in lesson.summary.lower().split()}
        assert sum(word in prompt for word in words) >= 0.9 * len(words)
    whole = file.read_text("utf-8")
    file.write_text(whole[: len(whole) // 2], "utf-8")  # as if the command had been killed
    assert make_lessons(RECIPE, compressor, file, data) == lessons == read_lessons(file)
    assert file.read_text("utf-8") == whole


def make_lesson(number: int) -> Lesson:
    aspect = "clarity" if number % 2 else "coverage"
    user = f"Who rules port {number}?" + " Arno Holt." * (number % 3)
    messages = [
        {"role": "system", "content": f"Summarize. What matters: {aspect}"},
        {"role": "user", "content": user},
    ]
    return Lesson(f"q{number}", "towns", messages, f"Arno Holt rules port {number}.")


LESSONS = [make_lesson(number) for number in range(14)]


def test_loss_is_that_of_the_summary_alone() -> None:
    tokenizer = make_tokenizer()
    model = make_model(tokenizer)
    batch = [encode(lesson, tokenizer) for lesson in LESSONS[1:7:2]]
    total = 0.0
    for example in batch:
        ids = torch.tensor([[*example.system, *example.prompt, *example.summary]])
        labels = ids.clone()
        labels[:, : -len(example.summary)] = -100
        total += model(input_ids=ids, labels=labels).loss.item() * len(example.summary)
    expected = total / sum(len(example.summary) for example in batch)
    assert summary_loss(model, batch).item() == pytest.approx(expected, rel=1e-4)


def test_tokens_are_those_of_the_whole_conversation() -> None:
    tokenizer = make_tokenizer()
    lesson = LESSONS[2]
    example = encode(lesson, tokenizer)
    text = tokenizer.apply_chat_template(lesson.messages, add_generation_prompt=True, tokenize=False)
    written = tokenizer.decode([*example.system, *example.prompt, *example.summary])
    assert written == text + lesson.summary + tokenizer.eos_token


def test_batches_share_a_system_message_and_lose_no_example() -> None:
    tokenizer = make_tokenizer()
    examples = [encode(lesson, tokenizer) for lesson in LESSONS]
    batches = make_batches(examples, 3, random.Random(1))
    assert all(len({e.system for e in batch}) == 1 for batch in batches)
    assert sorted(map(hash, (e for b in batches for e in b))) == sorted(map(hash, examples))


SETTINGS = Settings(
    RECIPE,
    adapter=Adapter(rank=2, alpha=4, layers=1),
    training=Training(learning_rate=1e-2, batch=2, epochs=3, heldout=2, save_every=2),
)


def run_once(folder: Path, settings: Settings = SETTINGS) -> dict[str, Any]:
    return training.train(settings, LESSONS, Run(folder, identity=asdict(settings)))


@pytest.mark.usefixtures("tiny_causal")
@pytest.mark.parametrize(("rank", "name"), [(2, "adapter_model"), (0, "model")])
def test_stopped_training_lowers_the_loss_like_an_unbroken_one(tmp_path: Path, rank: int, name: str) -> None:
    settings = Settings(RECIPE, adapter=Adapter(rank=rank, alpha=4, layers=1), training=SETTINGS.training)
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    facts = run_once(whole, settings)
    before, after = facts["heldout_loss"]
    assert after < before - 0.05
    assert facts["examples"] == 3 * 12
    run_until(training, "summary_loss", 2 + 9, lambda: run_once(stopped, settings))  # two are held out
    run_once(stopped, settings)
    files = [folder / "final" / f"{name}.safetensors" for folder in (whole, stopped)]
    assert files[0].read_bytes() == files[1].read_bytes()
    assert not (stopped / "checkpoint.pt").exists()
