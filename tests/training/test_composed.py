"""Composed questions: the name of the passage goes, and a sentence of another passage tells it."""

from __future__ import annotations

import random

import pytest

from tersely.split.sentences import split_units
from training.selector_model.composed import MENTIONS, PLACEHOLDER, Mention, Mentions
from training.selector_model.groups import Group, GroupDocument


def make_document(title: str | None, text: str, gold: int = 0) -> GroupDocument:
    units = [(u.start, u.end) for u in split_units(text)]
    return GroupDocument(title, text, units, [gold] * len(units), gold)


def make_group(question: str, *documents: GroupDocument) -> Group:
    return Group("1", "fixture", question, [], list(documents))


HARBOUR = make_document("Orvelle Harbour", "It was dug by hand. Barges still use it.", gold=1)
FERRY = make_document("Ferry", "The ferry sails at noon. It leaves from Orvelle Harbour. It is blue.")
GUIDE = make_document("Guide", "Of all quays, orvelle-harbour is the oldest.")


def compose(question: str, *others: GroupDocument, seed: int = 0) -> tuple[str, Mention] | None:
    own = make_group(question, HARBOUR)
    return Mentions([own, make_group("?", *others)]).compose(own, random.Random(seed))


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who dug Orvelle Harbour?", "Who dug it?"),
        ("Who dug ORVELLE harbour?", "Who dug it?"),
        ("Who dug Orvelle-Harbour's basin?", "Who dug it's basin?"),
        ("Is 'Orvelle (Harbour)' older than orvelle, harbour?", "Is 'it)' older than it?"),
    ],
)
def test_the_name_is_hidden_whatever_its_case_and_punctuation(question: str, expected: str) -> None:
    composed = compose(question, FERRY)
    assert composed is not None
    assert composed[0] == expected
    assert PLACEHOLDER in composed[0]


def test_the_mention_is_the_sentence_that_names_the_passage() -> None:
    composed = compose("Who dug Orvelle Harbour?", FERRY)
    assert composed is not None
    assert composed[1] == Mention(FERRY, "It leaves from Orvelle Harbour.")


def test_every_mention_can_be_drawn_whatever_its_case_and_punctuation() -> None:
    drawn = [compose("Who dug Orvelle Harbour?", FERRY, GUIDE, seed=seed) for seed in range(20)]
    assert {c[1].document.title for c in drawn if c} == {"Ferry", "Guide"}


def test_a_mention_never_comes_from_the_documents_of_the_group() -> None:
    own = make_group("Who dug Orvelle Harbour?", FERRY, HARBOUR)
    assert Mentions([own]).compose(own, random.Random(0)) is None
    mentions = Mentions([own, make_group("?", GUIDE)])
    composed = [mentions.compose(own, random.Random(seed)) for seed in range(20)]
    assert {c[1].document.title for c in composed if c} == {"Guide"}


def test_a_passage_of_the_same_title_does_not_count_as_a_mention() -> None:
    namesake = make_document("Orvelle harbour", "Orvelle Harbour has three cranes.")
    assert compose("Who dug Orvelle Harbour?", namesake) is None


@pytest.mark.parametrize(
    "question", ["Who dug it?", "Who dug the harbour of Orvelle?", "Who dug Orvelle Harbours?"]
)
def test_a_question_without_the_title_is_not_composed(question: str) -> None:
    assert compose(question, FERRY) is None


def test_a_title_that_no_passage_mentions_is_not_composed() -> None:
    market = make_document("Market", "Fish is sold in Orvelle. The harbour is far away.")
    assert compose("Who dug Orvelle Harbour?", market) is None


@pytest.mark.parametrize(
    ("title", "used"),
    [
        ("Ems", False),
        ("A Zoo", False),
        ("Ems 12", True),
        ("Of the Long Way Home", True),
        ("Of the Very Long Way Home", False),
        (None, False),
    ],
)
def test_titles_that_are_too_short_or_too_long_are_ignored(title: str | None, used: bool) -> None:
    own = make_group(f"Where does {title} end?", make_document(title, "It ends here.", gold=1))
    atlas = make_group("?", make_document("Atlas", f"Every map shows {title} in blue."))
    composed = Mentions([own, atlas]).compose(own, random.Random(0))
    assert (composed is not None) == used


def test_only_gold_passages_lose_their_name() -> None:
    own = make_group("Who dug Orvelle Harbour?", make_document(HARBOUR.title, HARBOUR.text, gold=0))
    assert Mentions([own, make_group("?", FERRY)]).compose(own, random.Random(0)) is None


def test_a_title_keeps_a_limited_number_of_mentions() -> None:
    own = make_group("Who dug Orvelle Harbour?", HARBOUR)
    crowd = [make_document(f"Note {i}", f"Note {i} is about Orvelle Harbour.") for i in range(3 * MENTIONS)]
    mentions = Mentions([own, make_group("?", *crowd)])
    drawn = [mentions.compose(own, random.Random(seed)) for seed in range(400)]
    assert {c[1].document.title for c in drawn if c} == {f"Note {i}" for i in range(MENTIONS)}
