"""Hostile documents in training: they echo the question, and nothing of them is to keep."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from benchmarks.attacks.cases import ATTACKS
from tersely.score.layout import Layout, LayoutConfig
from tersely.split.sentences import split_units
from tests.training.tiny import DATA, SPECIAL, save_tokenizer
from training.selector_model.batching import Item, WindowBuilder
from training.selector_model.groups import Group, GroupDocument
from training.selector_model.hostile import FORMS, write_echoes

QUESTION = "Who founded the town?"
HOSTILE = replace(DATA, hostile=1.0, untitled=0.0, unanswerable=0.0, composed=0.0)


@pytest.fixture
def builder(tmp_path: Path) -> WindowBuilder:
    save_tokenizer(tmp_path)
    tokenizer = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    layout = Layout(tokenizer, LayoutConfig(2, 3, 0, len(SPECIAL) - 2, len(SPECIAL) - 1, 64, query_length=8))
    return WindowBuilder(layout, [make_group("1", "Bertil Krans"), make_group("2", "Ada Penrose")])


def make_group(number: str, answer: str) -> Group:
    texts = (f"The town was founded by {answer}. Visitors praise the market.", "Barley is the export.")
    documents: list[GroupDocument] = []
    for gold, text in zip((1, 0), texts, strict=True):
        units = [(u.start, u.end) for u in split_units(text)]
        documents.append(GroupDocument("Orvelle", text, units, [gold, 0][: len(units)], gold))
    return Group(number, "qed_nq", QUESTION, [answer], documents)


def augment(builder: WindowBuilder, seed: int) -> Item:
    return builder.augment(builder.groups[0], HOSTILE, random.Random(seed))


def test_every_group_gets_an_echo_and_keeps_what_is_needed(builder: WindowBuilder) -> None:
    hostile = honest = 0
    for seed in range(40):
        item = augment(builder, seed)
        needed = item.labels[item.gold.index(1)]
        assert sum(needed) == 1
        if len(item.gold) == 3:
            hostile += 1
            assert sum(map(sum, item.labels)) == 1
            assert sum(item.gold) == 1
        else:
            honest += 1
            assert needed == [0, 1, 0]
        read = {place for window in item.windows for place in window.sentences}
        assert read == {(d, s) for d, row in enumerate(item.labels) for s in range(len(row))}
    assert min(hostile, honest) > 10


def test_the_hostile_document_stands_anywhere(builder: WindowBuilder) -> None:
    items = [item for seed in range(60) if len((item := augment(builder, seed)).gold) == 3]
    assert {item.gold.index(1) for item in items} == {0, 1}
    assert {max(range(3), key=lambda i: len(item.labels[i])) for item in items} == {0, 1, 2}


def test_an_honest_page_that_states_the_question_keeps_its_answer(builder: WindowBuilder) -> None:
    question = builder.tokenize(QUESTION)
    item = next(item for seed in range(40) if len((item := augment(builder, seed)).gold) == 2)
    window = item.windows[item.gold.index(1)]
    first = " ".join(map(str, question))
    assert " ".join(map(str, window.input_ids)).count(first) == 2


def test_a_statement_holds_the_words_of_the_question_and_a_lie() -> None:
    for seed in range(50):
        text = write_echoes(QUESTION, ["Bertil Krans", "Ada Penrose"], random.Random(seed))
        for word in ("Who", "founded", "town"):
            assert text.count(word) >= 3
        assert "Krans" in text or "Penrose" in text


def test_no_kind_of_attack_that_is_measured_is_trained_on() -> None:
    claim = "founded the library of Ostrey"
    question = f"Who {claim}?"
    for write in ATTACKS.values():
        for text in write(question, "founded the library", "Ostrey", "Leo Strand"):
            for form in FORMS:
                assert form.format(question=question, words=claim, lie="Leo Strand") not in text
