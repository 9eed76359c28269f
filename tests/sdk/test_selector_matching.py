"""Exact matching, against values worked out by hand."""

from __future__ import annotations

import random
import tracemalloc

import numpy as np
import pytest
from numpy.typing import NDArray

from tersely.score.features import Matches, bridge_weights
from tersely.score.matching import (
    PhraseFinder,
    Presence,
    TermIndex,
    phrase_share,
    unique_ids,
    weighted_share,
)
from tersely.score.words import find_names, find_numbers
from tests.sdk.feature_cases import IDF


def test_presence_finds_terms_and_coverage_weighs_them() -> None:
    index = TermIndex([[1, 3, 3], [], [2]], IDF)
    terms = unique_ids([3, 1, 2, 1])
    assert terms.tolist() == [1, 2, 3]
    assert index.presence(terms).dense().tolist() == [[True, False, True], [False] * 3, [False, True, False]]
    assert index.coverage(terms).tolist() == pytest.approx([10 / 14, 0, 4 / 14])


def test_terms_without_weight_cover_nothing() -> None:
    index = TermIndex([[0, 1]], IDF)
    assert index.coverage(unique_ids([0])).tolist() == [0.0]
    assert index.coverage(unique_ids([])).tolist() == [0.0]
    assert hold_all(2, 1).share(np.zeros(1)).tolist() == [0.0, 0.0]
    assert weighted_share(np.ones(1, dtype=np.bool_), np.zeros(1)) == 0.0


def hold_all(rows: int, terms: int) -> Presence:
    return Presence(np.repeat(np.arange(rows), terms), np.tile(np.arange(terms), rows), (rows, terms))


def make_presence(matrix: NDArray[np.bool_]) -> Presence:
    rows, columns = np.nonzero(matrix)
    return Presence(np.tile(rows, 2), np.tile(columns, 2), (matrix.shape[0], matrix.shape[1]))


def test_sums_over_pairs_and_products_of_matrices_agree() -> None:
    draw = np.random.default_rng(7)
    for _ in range(20):
        sentences, titles = draw.random((40, 9)) < 0.3, draw.random((5, 9)) < 0.3
        document, weights = np.sort(draw.integers(0, 5, 40)), draw.random(9)
        presence, title = make_presence(sentences), make_presence(titles)
        assert presence.weigh(weights) == pytest.approx(sentences @ weights)
        both = sentences | titles[document]
        assert presence.share_with(title, document, weights) == pytest.approx(both @ weights / weights.sum())
        by_document = presence.group(document, 5).union(title)
        expected = np.array([sentences[document == d].any(0) for d in range(5)]) | titles
        assert by_document.dense().tolist() == expected.tolist()
        assert by_document.count_rows().tolist() == expected.sum(0).tolist()
        assert presence.any_of(document == 2).tolist() == sentences[document == 2].any(0).tolist()


def test_ram_does_not_grow_with_sentences_times_terms() -> None:
    idf = np.ones(5_000, dtype=np.float32)
    sentences = [[n % 5_000, (n + 1) % 5_000] for n in range(20_000)]
    document = np.arange(20_000) // 4
    tracemalloc.start()
    try:
        matches = Matches(
            "", list(range(5_000)), [[1, 2]] * 5_000, sentences, [""] * 20_000, document=document, idf=idf
        )
        bridge_weights(matches, np.zeros(20_000))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert matches.presence.share(matches.weights).tolist() == [2 / 5_000] * 20_000
    assert peak < 60e6  # one byte for every pair would be 100 MB


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("In 1,950 and 40, then 40 again", ["1,950", "40"]),
        ("from 3:45 to 12/5, version 2.0.1.", ["12/5", "2.0.1", "3:45"]),
        ("none", []),
    ],
)
def test_numbers_are_found_as_they_are_written(text: str, numbers: list[str]) -> None:
    assert find_numbers(text) == numbers


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Where did Ada Moor meet the Duke of Orvelle?", ["ada moor", "duke of orvelle"]),
        ("Who is it? The boat left. Every boat left", []),
        ("She met Ada, then Ada, then Bertil", ["ada", "bertil"]),
        ("Summarise the career of Ada Moor.", ["ada moor"]),
        ("What was Ada Moor's first boat called?", ["ada moor"]),
        ("Who printed Ada Moor’s Atlas of Orvelle?", ["ada moor", "atlas of orvelle"]),
        ("Who owns the sailors' house of James'?", ["james"]),
        ("Did she leave the U.S. for St. Orvelle Ltd.", ["st. orvelle ltd", "u.s."]),
        ("Is it X's or the Erd- und Wasserkarte?", ["erd", "wasserkarte"]),
    ],
)
def test_names_are_capitalised_and_do_not_open_a_sentence(text: str, names: list[str]) -> None:
    assert find_names(text) == names


def test_the_finder_counts_the_phrases_of_every_text() -> None:
    draw = random.Random(3)
    for _ in range(300):
        phrases = sorted({"".join(draw.choices("ab. ", k=draw.randint(1, 5))) for _ in range(12)})
        text = "".join(draw.choices("ab. c", k=draw.randint(0, 40)))
        assert PhraseFinder(phrases).count(text) == sum(phrase in text for phrase in phrases)


def test_many_phrases_have_the_share_that_each_of_them_adds() -> None:
    phrases = [str(number) for number in range(0, 3_000, 7)]
    texts = [f"room {number}, built in 1,{number} for 7-{number}.5" for number in range(500)]
    expected = [sum(phrase in text for phrase in phrases) / len(phrases) for text in texts]
    assert phrase_share(phrases, texts).tolist() == expected


def test_work_does_not_grow_with_numbers_times_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = [str(number) for number in range(10_000, 12_000)]
    texts = [f"In the year {number} the harbour of Orvelle was rebuilt." for number in range(2_000)]
    steps, step = [], PhraseFinder._step
    monkeypatch.setattr(PhraseFinder, "_step", lambda *state: steps.append(1) or step(*state))
    assert phrase_share(numbers, texts).sum() == 0
    assert 0 < len(steps) <= sum(map(len, numbers)) + sum(map(len, texts))
