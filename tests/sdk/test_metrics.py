"""Hand-computed values of tersely.metrics."""

from __future__ import annotations

import pytest

from tersely import metrics


@pytest.mark.parametrize(
    ("text", "normalized"),
    [
        ("The Eiffel Tower!", "eiffel tower"),
        ("  a\tman,  an ox\n", "man ox"),
        ("Theatre", "theatre"),  # articles go only as whole words
        ("U.S.-based", "usbased"),
        ("the", ""),
        ("Straße 5", "straße 5"),
    ],
)
def test_normalization_drops_case_punctuation_and_articles(text: str, normalized: str) -> None:
    assert metrics.normalize_answer(text) == normalized


def test_exact_match_takes_any_answer() -> None:
    assert metrics.exact_match("the Red Fox.", ["wolf", "red fox"])
    assert not metrics.exact_match("red foxes", ["red fox"])
    assert metrics.exact_match("the", [""])


@pytest.mark.parametrize(
    ("prediction", "answers", "f1"),
    [
        ("the old red fox", ["red fox"], 0.8),  # precision 2/3, recall 1
        ("red red fox", ["red fox"], 0.8),  # a repeated word matches once
        ("grey wolf", ["red fox"], 0.0),
        ("grey wolf", ["red fox", "wolf"], 2 / 3),
        ("", [""], 1.0),
        ("fox", [""], 0.0),
    ],
)
def test_token_f1_is_that_of_the_best_answer(prediction: str, answers: list[str], f1: float) -> None:
    assert metrics.token_f1(prediction, answers) == pytest.approx(f1)


@pytest.mark.parametrize(
    ("text", "answers", "contained"),
    [
        ("It was built by Gustave Eiffel's firm.", ["gustave eiffel"], True),
        ("It was built by Gustave\nEiffel.", ["Gustave Eiffel"], True),
        ("Built by Gustave. Eiffel came later.", ["Gustave Eiffel"], True),  # punctuation does not separate
        ("Founded in 1998.", ["9"], False),
        ("It has 9 seasons.", ["9"], True),
        ("The 405-line system", ["405"], True),
        ("a cathedral", ["cat"], False),
        ("There is no doubt, yes.", ["no", "yes"], False),
        ("anything", [], False),
        ("面积为308平方公里", ["308"], True),
        ("它是最小子域。", ["最小子域"], True),
    ],
)
def test_an_answer_is_contained_as_whole_words(text: str, answers: list[str], contained: bool) -> None:
    assert metrics.contains_answer(text, answers) is contained


@pytest.mark.parametrize(
    ("prediction", "answers", "correct"),
    [
        ("It opened in 1998.", ["9"], True),  # a string is enough, also a short one inside a word
        ("a cathedral", ["cat"], True),
        ("The Red Fox!", ["red fox"], True),
        ("red", ["red fox"], False),
        ("Yes.", ["yes"], True),
        ("Yes, they are.", ["yes"], False),  # these three must be the whole answer
        ("nothing", ["no"], False),
        ("no", ["no", "none at all"], True),
        ("anything", ["the"], False),  # nothing is left of it
        ("", ["noanswer"], False),
        ("NoAnswer", ["noanswer"], True),
    ],
)
def test_acc_is_that_of_effcomp(prediction: str, answers: list[str], correct: bool) -> None:
    assert metrics.is_correct(prediction, answers) is correct


def test_coverage_counts_code_points() -> None:
    assert metrics.count_covered((10, 20), [(0, 12), (15, 17), (30, 40)]) == 4
    assert metrics.count_covered((10, 20), []) == 0


def test_a_span_is_kept_from_half_of_its_characters() -> None:
    assert metrics.is_kept((0, 10), [(5, 10)])
    assert not metrics.is_kept((0, 10), [(6, 10)])
    assert metrics.is_kept((0, 10), [(0, 2), (3, 6)])


def test_span_recall_is_the_share_of_kept_spans() -> None:
    assert metrics.span_recall([(0, 10), (10, 20), (20, 30)], [(0, 16)]) == pytest.approx(2 / 3)
    with pytest.raises(ValueError, match="at least one"):
        metrics.span_recall([], [(0, 1)])


def test_f1_and_match_need_an_answer() -> None:
    with pytest.raises(ValueError, match="at least one answer"):
        metrics.token_f1("fox", [])
