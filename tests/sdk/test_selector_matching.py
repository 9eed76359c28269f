"""Exact matches of rare words and numbers, and scores without a query."""

from __future__ import annotations

import math
import random
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tersely.score.coverage import UnitText, score_units
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


ONE_UNIT, TWO_UNITS = math.log(2) + 0.3, math.log(3) + 0.3
"""Return the worth of a word that so many units contain."""


def score(*texts: str, **facts: float | bool) -> list[float]:
    """Score units of one token each, the only ones of their documents."""
    return score_units([UnitText(text, position=0, cost=1.0, **facts) for text in texts], math.inf)


def test_a_word_is_worth_more_where_more_units_hold_it() -> None:
    scores = score("lamps glow", "lamps", "reefs")
    # "lamps" comes again in the second unit, and is worth 0.3 of its first value.
    first = TWO_UNITS + ONE_UNIT
    assert scores == pytest.approx([1.0, 0.3 * TWO_UNITS / first, ONE_UNIT / first])


def test_names_inside_a_unit_and_numbers_are_worth_double() -> None:
    assert score("see Ada", "see 1861", "see reefs") == pytest.approx(
        [
            1.0,
            (2 * ONE_UNIT + 0.3 * (math.log(4) + 0.3)) / (2 * ONE_UNIT + math.log(4) + 0.3),
            (ONE_UNIT + 0.09 * (math.log(4) + 0.3)) / (2 * ONE_UNIT + math.log(4) + 0.3),
        ]
    )


def test_a_capital_at_the_beginning_makes_no_name() -> None:
    assert score("Reefs", "lamps") == [1.0, 1.0]


def test_common_words_say_nothing() -> None:
    assert score("they were there", "reefs") == [0.0, 1.0]


def test_a_repetition_comes_last() -> None:
    scores = score("red lamp burns", "red lamp burns", "deep reef", "old crane")
    assert sorted(range(4), key=lambda at: -scores[at])[-1] == 1


def test_first_unit_counts_three_times_and_the_fifth_twice() -> None:
    units = [UnitText("lamp", 0, 1.0), UnitText("reef", 4, 1.0)]
    assert score_units(units, math.inf) == pytest.approx([1.0, 2 / 3])


def test_four_times_the_length_costs_four_to_the_three_quarters() -> None:
    units = [UnitText("lamp", 0, 1.0), UnitText("reef", 0, 16.0)]
    assert score_units(units, math.inf) == pytest.approx([1.0, 1 / 8])


def test_an_error_counts_nine_times() -> None:
    units = [UnitText("lamp", 0, 1.0), UnitText("reef", 0, 1.0, error=1.0)]
    assert score_units(units, math.inf) == pytest.approx([1 / 9, 1.0])


def test_numbers_of_an_event_say_nothing() -> None:
    assert score("12:30 0x7f lamp", "12:31 0x80 17 reef", is_event=True) == [1.0, 1.0]


def test_a_frame_has_no_score_of_its_own() -> None:
    assert score("lamp", is_content=False) == [0.0]


def test_scripts_without_spaces_are_compared_by_characters() -> None:
    scores = score("灯塔很红", "灯塔很红", "船很大")
    assert scores[1] < scores[2]


def test_what_lies_behind_enough_is_not_above_what_lies_before() -> None:
    texts = [f"word{n} word{n + 1} word{n * 7 % 11}" for n in range(40)]
    units = [UnitText(text, position, 3.0) for position, text in enumerate(texts)]
    early, full = score_units(units, 30.0), score_units(units, math.inf)
    best = sorted(range(40), key=lambda at: -full[at])[:10]
    assert [early[at] for at in best] == [full[at] for at in best]
    assert max(early[at] for at in range(40) if at not in best) <= early[best[-1]]


@given(st.lists(st.text(max_size=30), max_size=12))
def test_scores_are_shares_for_any_text(texts: list[str]) -> None:
    scores = score(*texts)
    assert len(scores) == len(texts)
    assert all(0.0 <= one <= 1.0 for one in scores)
