"""The parts of structure that a model reads, and their scores."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest

from tersely import Compressor
from tersely.options import make_options
from tersely.score import DocumentScores, ScoredInput
from tersely.score.dates import take_dates
from tersely.score.matching import Floats
from tersely.score.protocol import Scores
from tersely.score.structure import (
    MAX_READ,
    MAX_READ_IF_CERTAIN,
    Structure,
    choose_to_read,
    contains_term,
    find_terms,
)
from tersely.split.documents import split
from tersely.tokens import count_each, resolve_counter
from tersely.types import Document
from tersely.units import Link, Series, Unit
from tests.sdk.fakes import FakeScorer

ROWS = [
    {"name": f"lighthouse {n}", "built": 1700 + n, "keeper": "Ada", "note": "by the pier"} for n in range(300)
]
TEXT = json.dumps({"results": ROWS})


class Reader(FakeScorer):
    """Notes how many code points it was given."""

    def __init__(self) -> None:
        self.read = 0

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        self.read += sum(unit.end - unit.start for document in documents for unit in document.units)
        return super().score(query, documents)


@pytest.mark.parametrize(
    ("query", "least", "most"),
    [
        ("When was lighthouse 17 built?", 1, MAX_READ_IF_CERTAIN),
        ("Which keeper is by the pier?", MAX_READ_IF_CERTAIN, MAX_READ),
    ],
)
def test_few_complete_matches_limit_what_is_read(query: str, least: int, most: int) -> None:
    reader = Reader()
    result = Compressor(reader).compress(query, [TEXT], budget=120)
    assert least < reader.read <= most
    assert "17" not in query or ROWS[17] in json.loads(result.text)["results"]


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("When was Lighthouse 23 built?", "Name: Lighthouse 23\nBuilt: 1723\n"),
        ("Which lighthouse does person 23 keep?", "Name: Lighthouse 9\n.*\nKeeper: Person 23\n"),
        ("Built when: lighthouse #23?", "Name: Lighthouse 23\nBuilt: 1723\n"),
    ],
)
def test_a_number_counts_with_the_word_in_front_of_it(query: str, answer: str) -> None:
    records = [f"Name: Lighthouse {n}\nBuilt: {1700 + n}\nKeeper: Person {n * 7 % 40}" for n in range(40)]
    assert 9 * 7 % 40 == 23
    assert re.search(answer, Compressor().compress(query, ["\n\n".join(records)], budget=50).text)


def merge_with_model(query: str, by_model: float, read: bool = True) -> tuple[Floats, Floats]:
    """Return the matches of the parts of a JSON list, and their scores after a model gave each the same."""
    count = partial(count_each, resolve_counter(None))
    documents = split([Document(TEXT)], make_options({"budget": 120}), count)
    structure = Structure(query, documents)
    shape = len(documents.units)
    given = np.full(shape, by_model)
    scores = Scores(given, given, np.zeros(1), np.full(shape, read), np.zeros(shape, dtype=np.bool_))
    return structure.matches, structure.merge(scores, [0]).scores[structure.positions]


def test_a_match_raises_the_logit_of_the_models_score() -> None:
    matches, scores = merge_with_model("Who painted the boats of lighthouse 17 and its bridges?", 0.2)
    some = (matches > 0.0) & (matches < 0.9)
    assert some.any()
    # The odds of 0.2 are 1 / 4. A logit that rises by 2.2 * match multiplies them by exp(2.2 * match).
    odds = np.exp(2.2 * matches[some]) / 4
    assert scores[some] == pytest.approx(odds / (1 + odds))


def test_a_part_with_all_words_scores_its_match_whatever_the_model_says() -> None:
    matches, scores = merge_with_model("When was lighthouse 17 built?", 0.0)
    assert matches.max() >= 0.9
    assert scores[matches.argmax()] == matches.max()


def test_a_part_that_the_model_has_not_read_scores_its_match() -> None:
    matches, scores = merge_with_model(
        "Who painted the boats of lighthouse 17 and its bridges?", 0.0, read=False
    )
    assert matches.max() > 0.1
    assert (scores >= matches).all()
    assert scores[matches.argmax()] == pytest.approx(matches.max())


DAY = (
    "2026-03-11", "2026-03-11t14:20:08z", "2026/3/11", "11/mar/2026:08:04:20", "mar 11 08:04:20 host",
    "march 11th, 2026", "11. march" , "11 mar 2026", "11.03.2026", "03/11/2026", "11th of march 2026",
)  # fmt: skip
OTHERS = (
    "2026-03-12",
    "2026-11-03",
    "2026-03-110",
    "mar 12 08:04",
    "12011-03-2026",
    "march 110",
    "111 march",
)
OTHER_YEARS = ("2025-03-11", "march 11, 2025", "11 mar 2025")
MONTH = ("1997-05-01", "1997-05", "may 1997", "05/1997")


@pytest.mark.parametrize(
    ("question", "rest", "held", "not_held"),
    [
        ("What failed on 11 March?", "What failed on  ?", (*DAY, "2025-03-11"), OTHERS),
        ("What failed on March 11th?", "What failed on  ?", (*DAY, "2025-03-11"), OTHERS),
        ("2026-03-11: what failed", " : what failed", DAY, (*OTHERS, *OTHER_YEARS)),
        ("IBM in May 1997", "IBM in  ", MONTH, ("1997-06-01", "1998-05")),
        ("May I ask 5 of 40 for 1997?", "May I ask 5 of 40 for 1997?", (), ()),
        ("31 March 08:00 or 99 March", "  08:00 or 99 March", ("mar 31 08:00",), ("mar 99",)),
    ],
)  # fmt: skip
def test_a_date_has_many_forms(
    question: str, rest: str, held: tuple[str, ...], not_held: tuple[str, ...]
) -> None:
    left, patterns = take_dates(question)
    assert (left, len(patterns)) == (rest, int(bool(held)))
    for text in held:
        assert patterns[0].search(text), text
    for text in not_held:
        assert not any(pattern.search(text) for pattern in patterns), text


def test_a_record_of_the_date_is_kept() -> None:
    prices = [
        {"day": f"{year}-{month:02}-01", "price": 10 * year + month}
        for year in range(1990, 2010)
        for month in range(1, 13)
    ]
    text = Compressor().compress("What was the price in May 1997?", [json.dumps(prices)], budget=60).text
    assert prices[7 * 12 + 4] in json.loads(text)
    lines = [f"{day} Mar 2026 08:00 INFO backup of disk {day * 7 % 31} done" for day in range(1, 31)]
    assert lines[10] in Compressor().compress("Which disk, 2026-03-11?", ["\n".join(lines)], budget=40).text


def test_a_number_with_a_letter_counts_with_the_word_in_front_of_it() -> None:
    (pair,) = (term for term in find_terms("What is in room 3B?") if " " in term)
    assert contains_term(pair, "room: 3b")


def test_a_part_longer_than_the_limit_does_not_keep_the_others_unread() -> None:
    link = Link(Series(), 1, ())
    parts = [
        Unit(0, MAX_READ + 1, "json", True, link=link),
        Unit(MAX_READ + 1, MAX_READ + 9, "json", True, link=link),
    ]
    assert choose_to_read(parts, np.array([0.5, 0.1])).tolist() == [False, True]
