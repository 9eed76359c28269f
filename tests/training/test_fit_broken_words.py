"""Disguised questions: words get other letters, names and numbers stay, labels stay with their sentences."""

from __future__ import annotations

import random

import numpy as np

from training.export.fit_broken_words import Disguised, disguise, disguise_text, measure
from training.selector_model.groups import Group, GroupDocument

TEXT = "The ferry of Orvelle sails at noon. In 1871 Ada Penrose built its harbour."


def make_group() -> Group:
    end = TEXT.index("In")
    documents = [GroupDocument("Orvelle", TEXT, [(0, end - 1), (end, len(TEXT))], [0, 1], 1)]
    return Group("1", "squad_train44", "When was the harbour built?", ["1871"], documents)


def test_names_and_numbers_stay_and_every_other_word_changes() -> None:
    words = disguise_text(TEXT, 1.0, random.Random(0)).split()
    before = TEXT.split()
    assert [w for w in words if w in before] == ["Orvelle", "1871", "Ada", "Penrose"]
    assert words[0].istitle()
    assert len(words) == len(before)


def test_nothing_changes_at_a_share_of_nothing() -> None:
    assert disguise_text(TEXT, 0.0, random.Random(0)) == TEXT


def test_a_word_has_the_same_letters_wherever_it_stands_but_for_its_ending() -> None:
    group = disguise(make_group(), 1.0)
    (document,) = group.documents
    question, sentence = group.question.rstrip("?").split(), document.text.rstrip(". ").split()
    assert question[3][:7] == sentence[-1][:7] != "harbour"
    assert question[2] == sentence[0].lower()


def test_sentences_keep_their_labels_and_titles_their_letters() -> None:
    (document,) = disguise(make_group(), 1.0).documents
    assert document.title == "Orvelle"
    assert document.labels == [0, 1]
    assert "1871" in document.text[slice(*document.units[1])]
    assert "1871" not in document.text[slice(*document.units[0])]


def test_the_weight_decides_whose_order_counts() -> None:
    documents = [GroupDocument(None, "ab" * 10, [(i, i + 2) for i in range(0, 20, 2)], [0] * 9 + [1], 1)]
    group = Group("1", "qed_nq", "?", [], documents)
    right, wrong = np.arange(10.0), -np.arange(10.0)
    readings = [Disguised(group, 0.5, wrong, right)]
    kept = [measure(readings, weight) for weight in (0.0, 1.0)]
    assert kept[0] == 0.0
    assert kept[1] == 200 / 3  # a twentieth has no room for a sentence, a tenth and a quarter have
