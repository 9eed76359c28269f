"""The parts of structure that a model reads."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import pytest

from tersely import Compressor
from tersely.score import DocumentScores, ScoredInput
from tersely.score.structure import READ, READ_BESIDE
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
