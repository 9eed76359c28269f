"""Disguised questions: words get other letters; names, numbers and labels stay."""

from __future__ import annotations

import random

import numpy as np

from tests.training.tiny import make_document
from training.export.fit_broken_words import Disguised, disguise, disguise_text, measure
from training.selector_model.groups import Group, GroupDocument

TEXT = "The ferry of Orvelle sails at noon.  In 1871 Ada Penrose built its harbour."


def make_group() -> Group:
    document = make_document("Orvelle", TEXT.split("  "), [0, 1])
    return Group("1", "squad_train44", "When was the harbour built?", ["1871"], [document])


def test_changes_every_word_but_names_and_numbers() -> None:
    words = disguise_text(TEXT, 1.0, random.Random(0)).split()
    before = TEXT.split()
    assert [w for w in words if w in before] == ["Orvelle", "1871", "Ada", "Penrose"]
    assert words[0].istitle()
    assert len(words) == len(before)
    assert disguise_text(TEXT, 0.0, random.Random(0)) == TEXT


def test_disguises_a_word_alike_everywhere_and_keeps_labels() -> None:
    group = disguise(make_group(), 1.0)
    (document,) = group.documents
    question, sentence = group.question.rstrip("?").split(), document.text.rstrip(". ").split()
    assert question[3][:7] == sentence[-1][:7] != "harbour"
    assert question[2] == sentence[0].lower()
    assert (document.title, document.labels) == ("Orvelle", [0, 1])
    assert ["1871" in document.text[a:b] for a, b in document.units] == [False, True]


def test_weight_decides_which_order_counts() -> None:
    documents = [GroupDocument(None, "ab" * 10, [(i, i + 2) for i in range(0, 20, 2)], [0] * 9 + [1], 1)]
    group = Group("1", "qed_nq", "?", [], documents)
    right, wrong = np.arange(10.0), -np.arange(10.0)
    readings = [Disguised(group, 0.5, wrong, right)]
    kept = [measure(readings, weight) for weight in (0.0, 1.0)]
    assert kept[0] == 0.0
    assert kept[1] == 200 / 3  # a twentieth has no room for a sentence, a tenth and a quarter have
