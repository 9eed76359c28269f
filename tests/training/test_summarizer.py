"""The summarizer's training: sentences that stand alone, examples, and teacher forcing of a tiny model."""

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
from training.causal import Adapter
from training.rl.engines.random_model import make_model, make_tokenizer
from training.run import Run
from training.settings import read_settings
from training.sources import SOURCES
from training.summarizer import train as training
from training.summarizer.examples import Lesson, Recipe, make_lessons, read_lessons
from training.summarizer.standalone import Reference, clean_tokenized, make_standalone
from training.summarizer.train import Settings, Training, encode, make_batches, summary_loss

pytestmark = pytest.mark.filterwarnings("ignore")
"""peft, transformers and torch warn about parts of themselves."""

CONFIG = Path(__file__).parents[2] / "training/configs/summarizer_smollm2.toml"


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
def test_a_leading_mention_is_replaced_by_the_title(sentence: str, title: str | None, expected: str) -> None:
    assert make_standalone(sentence, 0, len(sentence), title) == expected


def test_a_reference_is_replaced_where_it_stands() -> None:
    text = "Salt Wire ran for years. Critics loved the show, and its cast won prizes."
    references = [
        Reference(text.index("the show"), text.index("the show") + 8, "salt wire"),
        Reference(text.index("its"), text.index("its") + 3, "salt wire"),
    ]
    start = text.index("Critics")
    rewritten = make_standalone(text, start, len(text), "Salt Wire", references[:1])
    assert rewritten == "Critics loved Salt Wire, and its cast won prizes."
    rewritten = make_standalone(text, start, len(text), "Salt Wire", references[1:])
    assert rewritten == "Critics loved the show, and Salt Wire's cast won prizes."


def test_a_reference_that_is_a_name_or_stands_in_a_quotation_stays() -> None:
    text = 'Ada Penrose said: "The film took it all." It ended Holt.'
    quoted = Reference(text.index("The film"), text.index("The film") + 8, "salt wire")
    named = Reference(0, 11, "salt wire")
    assert make_standalone(text, 0, 41, "Salt Wire", [quoted, named]) == text[:41]


def test_text_of_tokens_gets_its_usual_spaces_back() -> None:
    assert clean_tokenized("He ( Holt ) won , and `` ruled '' Tarnwick 's port .") == (
        'He (Holt) won, and "ruled" Tarnwick\'s port.'
    )


@pytest.fixture(scope="module")
def lessons(data: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Lesson]:
    file = tmp_path_factory.mktemp("lessons") / "lessons.jsonl"
    write_references(data)
    return make_lessons(RECIPE, Compressor(threads=1), file, data)


RECIPE = Recipe({"hotpotqa": 6, "qed_nq": 6, "qmsum": 2}, smallest=60, largest=120)


def write_references(data: Path) -> None:
    with gzip.open(data / "train/qed_references.jsonl.gz", "wt", encoding="utf-8") as stream:
        row = next(iter(read_rows(data, "train", "qed_nq")))
        stream.write(json.dumps({"id": row["id"], "references": []}) + "\n")


def test_a_summary_says_only_what_its_prompt_says(lessons: list[Lesson]) -> None:
    assert {"hotpotqa", "qed_nq"} <= {lesson.source for lesson in lessons}
    for lesson in lessons:
        prompt = lesson.messages[1]["content"].lower()
        words = {word.strip('.,"()').removesuffix("'s") for word in lesson.summary.lower().split()}
        assert sum(word in prompt for word in words) >= 0.9 * len(words)


def test_examples_that_were_interrupted_go_on(lessons: list[Lesson], data: Path, tmp_path: Path) -> None:
    file = tmp_path / "lessons.jsonl"
    make_lessons(RECIPE, Compressor(threads=1), file, data)
    whole = file.read_text("utf-8")
    half = len(whole) // 2
    file.write_text(whole[:half], "utf-8")
    assert make_lessons(RECIPE, Compressor(threads=1), file, data) == lessons
    assert file.read_text("utf-8") == whole
    assert read_lessons(file) == lessons


def make_lesson(number: int, aspect: str = "clarity") -> Lesson:
    messages = [
        {"role": "system", "content": f"Summarize. What matters: {aspect}"},
        {"role": "user", "content": f"Who rules port {number}?" + " Arno Holt." * (number % 3)},
    ]
    return Lesson(f"q{number}", "towns", messages, f"Arno Holt rules port {number}.")


LESSONS = [make_lesson(n, "clarity" if n % 2 else "coverage") for n in range(14)]


def test_the_loss_is_that_of_the_summary_alone() -> None:
    tokenizer = make_tokenizer()
    model = make_model(tokenizer)
    batch = [encode(lesson, tokenizer) for lesson in LESSONS if lesson.messages[0] == LESSONS[1].messages[0]][
        :3
    ]
    plain: list[tuple[float, int]] = []
    for example in batch:
        ids = torch.tensor([[*example.system, *example.prompt, *example.summary]])
        labels = ids.clone()
        labels[:, : -len(example.summary)] = -100
        plain.append((model(input_ids=ids, labels=labels).loss.item(), len(example.summary)))
    expected = sum(loss * n for loss, n in plain) / sum(n for _, n in plain)
    assert summary_loss(model, batch).item() == pytest.approx(expected, rel=1e-4)


def test_the_tokens_are_those_of_the_whole_conversation() -> None:
    tokenizer = make_tokenizer()
    lesson = LESSONS[2]
    example = encode(lesson, tokenizer)
    text = tokenizer.apply_chat_template(lesson.messages, add_generation_prompt=True, tokenize=False)
    written = tokenizer.decode([*example.system, *example.prompt, *example.summary])
    assert written == text + lesson.summary + tokenizer.eos_token


def test_a_batch_has_one_system_message_and_no_example_is_lost() -> None:
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


def run_once(folder: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings = SETTINGS) -> dict[str, Any]:
    def load_tiny(base: Path | None) -> tuple[Any, Any]:
        tokenizer = make_tokenizer()
        return make_model(tokenizer), tokenizer

    monkeypatch.setattr(training, "load_causal", load_tiny)
    return training.train(settings, LESSONS, Run(folder, identity=asdict(settings)))


def test_training_lowers_the_loss_of_held_out_examples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = run_once(tmp_path, monkeypatch)
    before, after = facts["heldout_loss"]
    assert after < before - 0.05
    assert facts["examples"] == 3 * 12
    assert (tmp_path / "final/adapter_model.safetensors").exists()


def test_all_weights_can_be_trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(RECIPE, adapter=Adapter(rank=0), training=SETTINGS.training)
    before, after = run_once(tmp_path, monkeypatch, settings)["heldout_loss"]
    assert after < before - 0.05
    assert (tmp_path / "final/model.safetensors").exists()


def test_a_training_that_was_stopped_ends_like_one_that_was_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_once(tmp_path / "whole", monkeypatch)
    calls = 0

    def stop_in_the_middle(model: Any, batch: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2 + 9:  # two held-out examples come first
            raise KeyboardInterrupt
        return summary_loss(model, batch)

    monkeypatch.setattr(training, "summary_loss", stop_in_the_middle)
    with pytest.raises(KeyboardInterrupt):
        run_once(tmp_path / "stopped", monkeypatch)
    monkeypatch.setattr(training, "summary_loss", summary_loss)
    run_once(tmp_path / "stopped", monkeypatch)
    weights = [(tmp_path / n / "final/adapter_model.safetensors").read_bytes() for n in ("whole", "stopped")]
    assert weights[0] == weights[1]
    assert not (tmp_path / "stopped/checkpoint.pt").exists()


def test_the_configuration_is_read_and_checked(tmp_path: Path) -> None:
    settings = read_settings(Settings, CONFIG)
    assert settings.adapter.rank == 16
    assert set(settings.data.questions) <= set(SOURCES)
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("[data]\nquestions = {}\n[training]\nspeed = 1\n", "utf-8")
    with pytest.raises(ValueError, match=r"unknown key 'speed' in \[training\]"):
        read_settings(Settings, wrong)
