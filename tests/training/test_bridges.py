"""Made two-hop questions: the name goes, and a sentence of a stranger's passage says what it was."""

from __future__ import annotations

import random

import pytest

from tersely.text.sentences import split_units
from training.selector.bridges import MENTIONS, PLACEHOLDER, Mention, Mentions
from training.selector.data import Group, GroupDocument


def document(title: str | None, text: str, gold: int = 0) -> GroupDocument:
    units = [(u.start, u.end) for u in split_units(text)]
    return GroupDocument(title, text, units, [gold] * len(units), gold)


def group(question: str, *documents: GroupDocument) -> Group:
    return Group("1", "made", question, [], list(documents))


HARBOUR = document("Orvelle Harbour", "It was dug by hand. Barges still use it.", gold=1)
FERRY = document("Ferry", "The ferry sails at noon. It leaves from Orvelle Harbour. It is blue.")
GUIDE = document("Guide", "Of all quays, orvelle-harbour is the oldest.")


def hide(question: str, *elsewhere: GroupDocument, seed: int = 0) -> tuple[str, Mention] | None:
    asked = group(question, HARBOUR)
    return Mentions([asked, group("?", *elsewhere)]).hide(asked, random.Random(seed))


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
    hidden = hide(question, FERRY)
    assert hidden is not None
    assert hidden[0] == expected
    assert PLACEHOLDER in hidden[0]


def test_the_evidence_is_the_sentence_that_names_the_passage() -> None:
    hidden = hide("Who dug Orvelle Harbour?", FERRY)
    assert hidden is not None
    assert hidden[1] == Mention(FERRY, "It leaves from Orvelle Harbour.")


def test_every_mention_may_be_drawn_whatever_its_case_and_punctuation() -> None:
    drawn = [hide("Who dug Orvelle Harbour?", FERRY, GUIDE, seed=seed) for seed in range(20)]
    assert {hidden[1].document.title for hidden in drawn if hidden} == {"Ferry", "Guide"}


def test_a_mention_never_comes_from_the_documents_of_the_group() -> None:
    asked = group("Who dug Orvelle Harbour?", FERRY, HARBOUR)
    assert Mentions([asked]).hide(asked, random.Random(0)) is None
    mentions = Mentions([asked, group("?", GUIDE)])
    hidden = [mentions.hide(asked, random.Random(seed)) for seed in range(20)]
    assert {h[1].document.title for h in hidden if h} == {"Guide"}


def test_a_passage_of_the_same_title_is_no_stranger() -> None:
    namesake = document("Orvelle harbour", "Orvelle Harbour has three cranes.")
    assert hide("Who dug Orvelle Harbour?", namesake) is None


@pytest.mark.parametrize(
    "question", ["Who dug it?", "Who dug the harbour of Orvelle?", "Who dug Orvelle Harbours?"]
)
def test_nothing_is_made_of_a_question_without_the_title(question: str) -> None:
    assert hide(question, FERRY) is None


def test_nothing_is_made_where_nobody_mentions_the_title() -> None:
    stranger = document("Market", "Fish is sold in Orvelle. The harbour is far away.")
    assert hide("Who dug Orvelle Harbour?", stranger) is None


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
    asked = group(f"Where does {title} end?", document(title, "It ends here.", gold=1))
    elsewhere = group("?", document("Atlas", f"Every map shows {title} in blue."))
    hidden = Mentions([asked, elsewhere]).hide(asked, random.Random(0))
    assert (hidden is not None) == used


def test_only_passages_that_hold_evidence_lose_their_name() -> None:
    asked = group("Who dug Orvelle Harbour?", document(HARBOUR.title, HARBOUR.text, gold=0))
    assert Mentions([asked, group("?", FERRY)]).hide(asked, random.Random(0)) is None


def test_a_title_is_remembered_with_a_limited_number_of_mentions() -> None:
    asked = group("Who dug Orvelle Harbour?", HARBOUR)
    crowd = [document(f"Note {i}", f"Note {i} is about Orvelle Harbour.") for i in range(3 * MENTIONS)]
    mentions = Mentions([asked, group("?", *crowd)])
    drawn = [mentions.hide(asked, random.Random(seed)) for seed in range(400)]
    assert {h[1].document.title for h in drawn if h} == {f"Note {i}" for i in range(MENTIONS)}
