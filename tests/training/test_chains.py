"""Chained questions: a description of one question replaces a name in another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.towns import Row, write_rows
from training.selector_model.chains import Chainer, describe, get_name
from training.selector_model.config import DataConfig
from training.selector_model.groups import prepare_groups, read_groups
from training.selector_model.questions import LabelledDocument, Question


def make_question(text: str, answer: str, title: str, passage: str) -> Question:
    start = passage.index(answer)
    document = LabelledDocument(title, passage, ((start, start + len(answer)),))
    return Question(title, text, (answer,), (document,))


WHO = "Who founded the Orvelle ferry?"
WHERE = "In which town was Ada Penrose born?"
SHE = "Ada Penrose"
SAILS = "The Orvelle ferry sails at noon. It was founded by Ada Penrose in spring."
FERRY = make_question(WHO, SHE, "Orvelle ferry", SAILS)
BORN = "Ada Penrose was an engineer. She was born in Tarnwick, which lies far inland."
PENROSE = make_question(WHERE, "Tarnwick", SHE, BORN)
TOWN = "Tarnwick is a market town. Most of its barley goes to the islands."
TARNWICK = make_question("What does Tarnwick export?", "barley", "Tarnwick", TOWN)


def chain(*questions: Question, hops: int = 2) -> list[str]:
    return [c.text for c in Chainer(questions, seed=0).chains(hops)]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (WHO, "the one who founded the Orvelle ferry"),
        ("Who did the guild elect?", "the one whom the guild elect"),
        ("who was the first mayor of Tarnwick", "the first mayor of Tarnwick"),
        ("Where did the flood begin?", "the place where the flood begin"),
        ("Where was the bell cast?", "the place where the bell cast was"),
        ("What river did the army cross?", "the river that the army cross"),
        ("which river crosses Orvelle", "the river that crosses Orvelle"),
        (WHERE, "the town where Ada Penrose born was"),
        ("What can have adverse effects?", None),
        ("Who was Ada Penrose?", None),
        ("When did the flood begin?", None),
    ],
)
def test_describes_what_a_question_asks_for(question: str, expected: str | None) -> None:
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
    assert get_name(make_question("Who is it?", answer, "T", f"It is {answer}")) == name


def test_description_replaces_the_name() -> None:
    (found,) = Chainer([FERRY, PENROSE], seed=0).chains(2)
    assert found.text == "In which town was the one who founded the Orvelle ferry born?"
    assert found.hops == (FERRY, PENROSE)
    assert found.answers == ("Tarnwick",)
    assert chain(FERRY, PENROSE, TARNWICK, hops=3) == [
        "What does the town where the one who founded the Orvelle ferry born was export?"
    ]
    assert len(chain(FERRY, PENROSE, TARNWICK)) == 2
    assert chain(FERRY, PENROSE, TARNWICK) == chain(FERRY, PENROSE, TARNWICK)  # the same for the same seed


STREET = "In which town is Ada Penrose Street?"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        # The first passage contains the last answer.
        ((WHO, SHE, "Ferry", "It was founded by Ada Penrose, who came from Tarnwick."), None),
        # One sentence answers the chain.
        (None, (WHERE, "Tarnwick", SHE, "Ada Penrose, who founded the Orvelle ferry, is of Tarnwick.")),
        # The name is a part of a longer one.
        (None, (STREET, "Tarnwick", "Ada Penrose Street", "Ada Penrose Street is in Tarnwick.")),
        # The second passage does not contain the name.
        (None, (WHERE, "Tarnwick", "Engineers", "She was born in Tarnwick.")),
    ],
)
def test_drops_chains_that_do_not_need_both_passages(first: Any, second: Any) -> None:
    one, two = (make_question(*first) if first else FERRY, make_question(*second) if second else PENROSE)
    assert chain(one, two) == []


def test_prepared_chain_has_neighbours_of_both_hops(tmp_path: Path) -> None:
    people = [f"{a} {b}" for a in ("Ada", "Bertil", "Cleo") for b in ("Penrose", "Krans", "Holm", "Vik")]
    places = [
        "Orvelle",
        "Lindis",
        "Tarn",
        "Brack",
        "Aldis",
        "Maren",
        "Selde",
        "Corvin",
        "Dunsel",
        "Fenn",
        "Garth",
        "Hexley",
    ]
    rows: list[Row] = []
    for person, place in zip(people, places, strict=True):
        founded = [f"The {place} ferry sails at noon.", f"It was founded by {person} in spring."]
        born = [f"{person} was an engineer.", f"The town of birth was {place}wick, which lies far inland."]
        rows += [
            make_row(f"Who founded the {place} ferry?", person, f"{place} ferry", founded),
            make_row(f"In which town was {person} born?", f"{place}wick", person, born),
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
        assert any("ferry" in text for text in others)
        assert any("engineer" in text for text in others)
        assert not any(answer in text for answer in group.answers for text in others)


def make_row(question: str, answer: str, title: str, sentences: list[str]) -> Row:
    text = " ".join(sentences)
    start = text.index(answer)
    document = {"title": title, "text": text, "gold": True, "sentences": sentences, "support": [1]}
    document["spans"] = [[start, start + len(answer)]]
    row = {"id": question, "question": question, "answers": [answer], "docs": [document]}
    return {**row, "split": "train", "source": "fixture", "meta": {}}
