"""Composed questions: the name of the passage goes, and a sentence of another passage tells it."""

from __future__ import annotations

import random

import pytest

from tests.training.tiny import make_document
from training.selector_model.composed import MENTIONS, Mention, Mentions
from training.selector_model.groups import Group, GroupDocument

WHO = "Who dug Orvelle Harbour?"
HARBOUR = make_document("Orvelle Harbour", ["It was dug by hand.", "Barges still use it."], [1, 1])
FERRY = make_document(
    "Ferry", ["The ferry sails at noon.", "It leaves from Orvelle Harbour.", "It is blue."], [0] * 3
)
GUIDE = make_document("Guide", ["Of all quays, orvelle-harbour is the oldest."], [0])


def make_group(question: str, *documents: GroupDocument) -> Group:
    return Group("1", "fixture", question, [], list(documents))


def compose(question: str, *others: GroupDocument, seed: int = 0) -> tuple[str, Mention] | None:
    own = make_group(question, HARBOUR)
    return Mentions([own, make_group("?", *others)]).compose(own, random.Random(seed))


def draw_titles(mentions: Mentions, own: Group, draws: int) -> set[str | None]:
    composed = [mentions.compose(own, random.Random(seed)) for seed in range(draws)]
    return {c[1].document.title for c in composed if c}


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (WHO, "Who dug it?"),
        ("Who dug ORVELLE harbour?", "Who dug it?"),
        ("Who dug Orvelle-Harbour's basin?", "Who dug it's basin?"),
        ("Is 'Orvelle (Harbour)' older than orvelle, harbour?", "Is 'it)' older than it?"),
    ],
)
def test_hides_the_name_whatever_its_case_and_punctuation(question: str, expected: str) -> None:
    assert compose(question, FERRY) == (expected, Mention(FERRY, "It leaves from Orvelle Harbour."))


def test_draws_every_mention_outside_the_group() -> None:
    own = make_group(WHO, HARBOUR)
    assert draw_titles(Mentions([own, make_group("?", FERRY, GUIDE)]), own, 20) == {"Ferry", "Guide"}
    own = make_group(WHO, FERRY, HARBOUR)
    assert draw_titles(Mentions([own]), own, 20) == set()
    assert draw_titles(Mentions([own, make_group("?", GUIDE)]), own, 20) == {"Guide"}


@pytest.mark.parametrize(
    ("question", "other"),
    [
        ("Who dug it?", FERRY),
        ("Who dug the harbour of Orvelle?", FERRY),
        ("Who dug Orvelle Harbours?", FERRY),
        (WHO, make_document("Orvelle harbour", ["Orvelle Harbour has three cranes."], [0])),  # a namesake
        (WHO, make_document("Market", ["Fish is sold in Orvelle.", "The harbour is far away."], [0, 0])),
    ],
)
def test_composes_nothing_without_name_and_mention(question: str, other: GroupDocument) -> None:
    assert compose(question, other) is None


@pytest.mark.parametrize(
    ("title", "gold", "used"),
    [
        ("Ems", 1, False),
        ("A Zoo", 1, False),
        ("Ems 12", 1, True),
        ("Ems 12", 0, False),
        ("Of the Long Way Home", 1, True),
        ("Of the Very Long Way Home", 1, False),
        (None, 1, False),
    ],
)
def test_hides_only_usable_titles_of_gold_passages(title: str | None, gold: int, used: bool) -> None:
    own = make_group(f"Where does {title} end?", make_document(title, ["It ends here."], [gold]))
    atlas = make_group("?", make_document("Atlas", [f"Every map shows {title} in blue."], [0]))
    assert (Mentions([own, atlas]).compose(own, random.Random(0)) is not None) == used


def test_keeps_a_limited_number_of_mentions() -> None:
    own = make_group(WHO, HARBOUR)
    crowd = [make_document(f"Note {i}", [f"Note {i}: Orvelle Harbour."], [0]) for i in range(3 * MENTIONS)]
    mentions = Mentions([own, make_group("?", *crowd)])
    assert draw_titles(mentions, own, 400) == {f"Note {i}" for i in range(MENTIONS)}
