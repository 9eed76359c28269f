"""Hostile documents in training. They echo the question, and no part of them should be kept."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.attacks.cases import ATTACKS
from tests.training.tiny import DATA, make_document, make_layout
from training.selector_model.batching import Item, WindowBuilder
from training.selector_model.groups import Group
from training.selector_model.hostile import FORMS, write_echoes

QUESTION = "Who founded the town?"
HOSTILE = replace(DATA, hostile=1.0, untitled=0.0, unanswerable=0.0, composed=0.0)


def make_group(number: str, answer: str) -> Group:
    founded = [f"The town was founded by {answer}.", "Visitors praise the market."]
    documents = [make_document("Orvelle", founded, [1, 0])]
    documents.append(make_document("Orvelle", ["Barley is the export."], [0]))
    return Group(number, "qed_nq", QUESTION, [answer], documents)


@pytest.fixture
def builder(tmp_path: Path) -> WindowBuilder:
    groups = [make_group("1", "Bertil Krans"), make_group("2", "Ada Penrose")]
    return WindowBuilder(make_layout(tmp_path), groups)


@pytest.fixture
def items(builder: WindowBuilder) -> list[Item]:
    return [builder.augment(builder.groups[0], HOSTILE, random.Random(seed)) for seed in range(60)]


def test_every_group_gets_an_echo_and_keeps_what_is_needed(items: list[Item]) -> None:
    for item in items:
        needed = item.labels[item.gold.index(1)]
        assert (sum(item.gold), sum(map(sum, item.labels)), sum(needed)) == (1, 1, 1)
        assert len(item.gold) == 3 or needed == [0, 1, 0]
        read = {place for window in item.windows for place in window.sentences}
        assert read == {(d, s) for d, row in enumerate(item.labels) for s in range(len(row))}
    assert 10 < sum(len(item.gold) == 3 for item in items) < 50


def test_hostile_document_can_be_at_any_place(items: list[Item]) -> None:
    hostile = [item for item in items if len(item.gold) == 3]
    assert {item.gold.index(1) for item in hostile} == {0, 1}
    assert {max(range(3), key=lambda i: len(item.labels[i])) for item in hostile} == {0, 1, 2}


def test_honest_page_begins_with_the_question(builder: WindowBuilder, items: list[Item]) -> None:
    item = next(item for item in items if len(item.gold) == 2)
    question, ids = (
        " ".join(map(str, part))
        for part in (builder.tokenize(QUESTION), item.windows[item.gold.index(1)].input_ids)
    )
    assert ids.count(question) == 2


def test_statements_repeat_the_question_with_a_lie() -> None:
    for seed in range(50):
        text = write_echoes(QUESTION, ["Bertil Krans", "Ada Penrose"], random.Random(seed))
        assert all(text.count(word) >= 3 for word in ("Who", "founded", "town"))
        assert "Krans" in text or "Penrose" in text


def test_training_uses_no_attack_of_the_benchmark() -> None:
    claim = "founded the library of Ostrey"
    question = f"Who {claim}?"
    forms = [form.format(question=question, words=claim, lie="Leo Strand") for form in FORMS]
    for write in ATTACKS.values():
        for text in write(question, "founded the library", "Ostrey", "Leo Strand"):
            assert not any(form in text for form in forms)
