"""Exact matching, against values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tersely.selector.matching import (
    TermIndex,
    any_per_document,
    find_names,
    find_numbers,
    phrase_share,
    unique_ids,
    weighted_share,
)
from tests.sdk.feature_cases import IDF


def test_presence_tells_which_sentence_holds_a_term_and_coverage_weighs_it() -> None:
    index = TermIndex([[1, 3, 3], [], [2]], IDF)
    terms = unique_ids([3, 1, 2, 1])
    assert terms.tolist() == [1, 2, 3]
    assert index.presence(terms).tolist() == [[True, False, True], [False] * 3, [False, True, False]]
    assert index.coverage(terms).tolist() == pytest.approx([10 / 14, 0, 4 / 14])


def test_terms_without_weight_cover_nothing() -> None:
    index = TermIndex([[0, 1]], IDF)
    assert index.coverage(unique_ids([0])).tolist() == [0.0]
    assert index.coverage(unique_ids([])).tolist() == [0.0]
    assert weighted_share(np.ones((2, 1), dtype=np.bool_), np.zeros(1)).tolist() == [0.0, 0.0]


def test_a_document_holds_the_terms_of_all_its_sentences() -> None:
    presence = np.array([[True, False], [False, True], [False, False]])
    joined = any_per_document(presence, np.array([0, 0, 2]), 3)
    assert joined.tolist() == [[True, True], [False, False], [False, False]]


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
    ],
)
def test_names_are_capitalised_and_do_not_open_a_sentence(text: str, names: list[str]) -> None:
    assert find_names(text) == names


def test_a_text_holds_a_share_of_the_phrases() -> None:
    assert phrase_share(["ada moor", "40"], ["ada moor sold 40", "ada", "140 boats"]).tolist() == [1, 0, 0.5]
    assert phrase_share([], ["ada", "moor"]).tolist() == [0, 0]
