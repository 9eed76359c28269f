"""Chained questions: a description takes the place of a name that another question gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.towns import Row, write_rows
from training.selector_model.chains import Chainer, describe, get_name
from training.selector_model.config import DataConfig
from training.selector_model.groups import prepare_groups, read_groups
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


def test_a_prepared_chain_has_neighbours_of_both_its_hops(tmp_path: Path) -> None:
    people = [f"{a} {b}" for a in ("Ada", "Bertil", "Cleo") for b in ("Penrose", "Krans", "Holm", "Vik")]
    places = ["Orvelle", "Lindis", "Tarn", "Brack", "Aldis", "Maren"]
    places += ["Selde", "Corvin", "Dunsel", "Fenn", "Garth", "Hexley"]
    rows: list[Row] = []
    for person, place in zip(people, places, strict=True):
        home = f"{place}wick"
        founded = f"The {place} ferry sails at noon. It was founded by {person} in spring."
        born = f"{person} was an engineer. The town of birth was {home}, which lies far inland."
        rows += [
            make_row(f"Who founded the {place} ferry?", person, f"{place} ferry", founded),
            make_row(f"In which town was {person} born?", home, person, born),
        ]
    write_rows(tmp_path / "data/train/qed_nq.jsonl.gz", rows)
    config = DataConfig(
        questions={"qed_nq": 24, "chains2": 5},
        heldout={"qed_nq": 0, "chains2": 0},
        negatives=2,
        heldout_negatives=2,
        neighbours="bm25",
    )
    prepare_groups(tmp_path / "data", tmp_path / "run", config, seed=3)
    groups = [group for group in read_groups(tmp_path / "run", "train") if group.source == "chains2"]
    assert len(groups) == 5
    for group in groups:
        hops = {document.hop: document for document in group.documents if document.hop}
        assert sorted(hops) == [1, 2]
        assert any(label == 1 for document in hops.values() for label in document.labels)
        others = [document.text for document in group.documents if not document.hop]
        assert sum("ferry" in text for text in others) >= 1
        assert sum("engineer" in text for text in others) >= 1
        assert not any(answer in text for answer in group.answers for text in others)


def make_row(question: str, answer: str, title: str, text: str) -> Row:
    start = text.index(answer)
    sentences = [sentence.strip(".") + "." for sentence in text.split(". ")]
    (support,) = [i for i, sentence in enumerate(sentences) if answer in sentence][-1:]
    document = {"title": title, "text": text, "gold": True, "sentences": sentences, "support": [support]}
    return {
        "id": question,
        "question": question,
        "answers": [answer],
        "docs": [document | {"spans": [[start, start + len(answer)]]}],
        "split": "train",
        "source": "fixture",
        "meta": {},
    }
