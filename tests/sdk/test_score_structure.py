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
from tersely.score.protocol import Scores
from tersely.score.structure import READ, READ_BESIDE, Floats, Structure
from tersely.split.documents import split
from tersely.tokens import count_tokens, resolve_counter
from tersely.types import Document
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
        ("When was lighthouse 17 built?", 1, READ_BESIDE),
        ("Which keeper is by the pier?", READ_BESIDE, READ),
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
    count = partial(count_tokens, resolve_counter(None))
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
