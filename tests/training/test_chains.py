"""Chained questions: a description takes the place of a name that another question gives."""

from __future__ import annotations

import pytest

from training.selector_model.chains import Chainer, describe, get_name
from training.selector_model.questions import LabelledDocument, Question


def make_question(number: int, text: str, answer: str, title: str, passage: str) -> Question:
    start = passage.index(answer)
    document = LabelledDocument(title, passage, ((start, start + len(answer)),))
    return Question(str(number), text, (answer,), (document,))


FERRY = make_question(
    1,
    "Who founded the Orvelle ferry?",
    "Ada Penrose",
    "Orvelle ferry",
    "The Orvelle ferry sails at noon. It was founded by Ada Penrose in spring.",
)
PENROSE = make_question(
    2,
    "In which town was Ada Penrose born?",
    "Tarnwick",
    "Ada Penrose",
    "Ada Penrose was an engineer. She was born in Tarnwick, which lies far inland.",
)
TARNWICK = make_question(
    3,
    "What does Tarnwick export?",
    "barley",
    "Tarnwick",
    "Tarnwick is a market town. Most of its barley goes to the islands.",
)


def chain(*questions: Question, hops: int = 2) -> list[str]:
    return [c.text for c in Chainer(questions, seed=0).chains(hops)]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who founded the Orvelle ferry?", "the one who founded the Orvelle ferry"),
        ("Who did the guild elect?", "the one whom the guild elect"),
        ("who was the first mayor of Tarnwick", "the first mayor of Tarnwick"),
        ("Where did the flood begin?", "the place where the flood begin"),
        ("Where was the bell cast?", "the place where the bell cast was"),
        ("What river did the army cross?", "the river that the army cross"),
        ("which river crosses Orvelle", "the river that crosses Orvelle"),
        ("In which town was Ada Penrose born?", "the town where Ada Penrose born was"),
        ("What can have adverse effects?", None),
        ("Who was Ada Penrose?", None),
        ("When did the flood begin?", None),
    ],
)
def test_a_question_becomes_a_noun_phrase(question: str, expected: str | None) -> None:
    assert describe(question) == expected


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        ("Ada Penrose", "Ada Penrose"),
        ("the Orvelle Canal.", "Orvelle Canal"),
        ("in 1871", None),
        ("Club 54", None),
        ("barley", None),
        ("Ems", None),
        ("French", "French"),
        ("Swedish", None),
        ("One of the Very Many Old Towns", None),
    ],
)
def test_only_names_are_chained(answer: str, name: str | None) -> None:
    passage = f"It is {answer}"
    assert get_name(make_question(1, "Who is it?", answer, "T", passage)) == name


def test_the_description_takes_the_place_of_the_name() -> None:
    (found,) = Chainer([FERRY, PENROSE], seed=0).chains(2)
    assert found.text == "In which town was the one who founded the Orvelle ferry born?"
    assert found.hops == (FERRY, PENROSE)
    assert found.answers == ("Tarnwick",)


def test_three_questions_make_a_chain_of_three() -> None:
    assert chain(FERRY, PENROSE, TARNWICK, hops=3) == [
        "What does the town where the one who founded the Orvelle ferry born was export?"
    ]


def test_no_chain_whose_first_passage_holds_the_answer() -> None:
    told = make_question(
        1, FERRY.text, "Ada Penrose", "Ferry", "It was founded by Ada Penrose, who came from Tarnwick."
    )
    assert chain(told, PENROSE) == []


def test_no_chain_where_one_sentence_tells_it_all() -> None:
    told = make_question(
        2,
        PENROSE.text,
        "Tarnwick",
        "Ada Penrose",
        "Ada Penrose, who founded the Orvelle ferry, is of Tarnwick.",
    )
    assert chain(FERRY, told) == []


def test_no_chain_over_a_part_of_a_longer_name() -> None:
    street = make_question(
        2,
        "In which town is Ada Penrose Street?",
        "Tarnwick",
        "Ada Penrose Street",
        "Ada Penrose Street is the longest street of Tarnwick.",
    )
    assert chain(FERRY, street) == []


def test_no_chain_whose_second_passage_does_not_hold_the_name() -> None:
    unnamed = make_question(2, PENROSE.text, "Tarnwick", "Engineers", "She was born in Tarnwick.")
    assert chain(FERRY, unnamed) == []


def test_the_same_seed_gives_the_same_chains() -> None:
    questions = [FERRY, PENROSE, TARNWICK]
    assert chain(*questions) == chain(*questions)
    assert len(chain(*questions)) == 2
