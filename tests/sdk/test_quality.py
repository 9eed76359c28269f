"""Metrics and the quality of a summary, against values computed by hand."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tersely import metrics
from tersely_agents.levels import LEVELS, Level, choose_level, choose_level_for
from tersely_agents.quality import (
    Quality,
    completeness_score,
    count_sentences,
    count_whole_sentences,
    count_words,
    find_keywords,
    info_score,
    level_score,
    quality,
    ratio_score,
)

ONE, TWO, THREE, FOUR, FIVE = LEVELS
BOUNDS = {0: 1, 0.19: 1, 0.2: 2, 0.39: 2, 0.4: 3, 0.5: 3, 0.6: 4, 0.8: 4, 0.81: 5, 1: 5}
"""Relevances and their levels: a bound belongs to the higher level, except the last one."""


@pytest.mark.parametrize(("relevance", "number"), BOUNDS.items())
def test_the_relevance_decides_the_level(relevance: float, number: int) -> None:
    assert choose_level(relevance).number == number
    assert choose_level_for([0.0, relevance]).number == number


def test_scores_that_are_not_probabilities_are_clipped() -> None:
    assert [choose_level_for(scores).number for scores in ([], [-3.0], [7.5])] == [1, 1, 5]


def test_levels_leave_no_gap_and_words_follow_characters() -> None:
    assert [level.number for level in LEVELS] == [1, 2, 3, 4, 5]
    for below, above in pairwise(LEVELS):
        assert below.characters[1] == above.characters[0]
        assert below.relevance < above.relevance
    for level in LEVELS:
        low, high = level.characters
        assert level.words == (max(20, low // 7), high // 5)
        assert level.sentences == high // 60


@pytest.mark.parametrize(
    ("length", "score"),
    [
        (0, 0.0),
        (500, 0.4),  # 0.8 * 500 / 1000
        (999, 0.7992),
        (1000, 1.0),
        (2000, 1.0),
        (2500, 0.85),  # 1 - 0.3 * 500 / 1000
        (3000, 0.7),
        (3001, 0.3 * 3000 / 3001),
        (6000, 0.15),  # 0.3 * 3000 / 6000
    ],
)
def test_ratio_score_follows_equation_7(length: int, score: float) -> None:
    assert ratio_score(length, THREE) == pytest.approx(score)


@pytest.mark.parametrize(
    ("words", "sentences", "score"),
    [
        (150, 10, 1.0),
        (400, 33, 1.0),
        (71, 10, 0.7 * 0.5 + 0.3),  # half of the 142 words
        (0, 0, 0.3),
        (401, 20, 0.7 * 0.7 + 0.3),
        (600, 20, 0.7 * 0.7 + 0.3),
        (601, 20, 0.7 * 0.3 + 0.3),
        (150, 66, 0.7 + 0.3 * 0.5),  # 33 / 66
        (150, 132, 0.7 + 0.3 * 0.3),  # 33 / 132, but at least 0.3
    ],
)
def test_level_score_follows_equations_12_to_14(words: int, sentences: int, score: float) -> None:
    assert level_score(words, sentences, THREE) == pytest.approx(score)


SENTENCE = "The ferry leaves the harbour at seven in the morning and at noon. "


@pytest.mark.parametrize(
    ("text", "level", "score"),
    [
        (SENTENCE * 2, THREE, 1.0),  # 26 words, two sentences
        (SENTENCE + "Tickets.", THREE, 0.7 * 0.5),  # one sentence of 13 words
        ("It rained. " * 2 + "Ada left.", THREE, 0.5),  # short, but whole
        (SENTENCE, ONE, 0.5),  # a single sentence is what level 1 wants
        (SENTENCE.strip()[:-1] + " while gulls circle above its deck", ONE, 0.5 * 0.8),  # no terminator
        ("Ferry " * 30 + ".", ONE, 0.3),  # no sentence
        ("harbour ferry", THREE, 0.3 * 0.5 * 0.8),
        ("", THREE, 0.3 * 0.5 * 0.8),
        (SENTENCE * 93, FIVE, 0.9),  # 1,209 words
    ],
)
def test_completeness_score_follows_equation_11(text: str, level: Level, score: float) -> None:
    assert completeness_score(text, level) == pytest.approx(score)


SOURCE = "The ferry leaves the harbour at seven. The museum opens in the afternoon."
"""Keywords: ferry, leaves, harbour, seven, museum, opens, afternoon. 73 characters."""


def test_keywords_are_long_words_without_stopwords() -> None:
    assert find_keywords(SOURCE) == {"ferry", "leaves", "harbour", "seven", "museum", "opens", "afternoon"}
    assert find_keywords("Where would THE Ferry-boat go?") == {"ferry-boat"}


def test_info_score_follows_equations_8_to_10() -> None:
    text = "The ferry leaves at seven."  # 26 characters; ferry, leaves, seven of the seven
    general = 0.6 * 3 / 7 + 0.4 * (2 * 26 / 73)
    # The query's keywords in the source are ferry, leaves and harbour; the text keeps two.
    query = "From which harbour leaves the ferry to Norderney?"
    assert info_score(text, SOURCE, query) == pytest.approx(0.7 * 2 / 3 + 0.3 * general)
    assert info_score(SOURCE, SOURCE, "Who won?") == pytest.approx(0.6 + 0.4)
    assert info_score("Nothing else.", SOURCE, "Who won the cup?") == pytest.approx(0.4 * 2 * 13 / 73)
    assert info_score("", "", "Who won?") == 0.0


def test_invented_and_repeated_keywords_earn_no_score() -> None:
    query = "When does the ferry to Norderney leave the harbour?"
    invented, honest = "The ferry, Norderney, seven", "The ferry leaves at seven."
    assert info_score(invented, SOURCE, query) <= info_score(honest, SOURCE, query)
    once, often = "ferry harbour" + " x" * 60, "ferry harbour" + " ferry" * 20
    assert len(once) == len(often)
    assert info_score(often, SOURCE, query) == info_score(once, SOURCE, query)


def test_the_total_is_equation_1() -> None:
    parts = Quality(ratio=1.0, level=0.5, info=0.25, sem=0.75)
    assert parts.total == pytest.approx(0.3 * 1.0 + 0.1 * 0.5 + 0.4 * 0.25 + 0.2 * 0.75)


def test_a_good_compression_has_full_scores_for_its_form() -> None:
    text = SENTENCE * 12  # 792 characters, 156 words, 12 sentences
    result = quality(text, SENTENCE * 40, "When does the ferry leave the harbour?", TWO)
    assert (result.ratio, result.level, result.sem) == (1.0, 1.0, 1.0)
    assert result.info == pytest.approx(0.7 + 0.3 * (0.6 + 0.4 * 2 * 12 / 40))


texts = st.one_of(
    st.text(), st.lists(st.sampled_from([SENTENCE, SOURCE, "harbour ", "。", "1. "])).map("".join)
)


@given(texts, texts, texts, st.sampled_from(LEVELS))
def test_every_part_is_between_0_and_1(text: str, source: str, query: str, level: Level) -> None:
    result = quality(text, source, query, level)
    for part in (result.ratio, result.level, result.info, result.sem, result.total):
        assert 0.0 <= part <= 1.0


WORDS = [f"word{i:03}" for i in range(200)]


@settings(max_examples=10)
@given(st.randoms(use_true_random=False), st.sampled_from(LEVELS), st.sampled_from(["", "."]), st.data())
def test_repeated_keywords_never_raise_the_quality(
    rng: Any, level: Level, end: str, data: st.DataObject
) -> None:
    """Appendix T: redundant query keywords score no more than the sentences that they replace."""
    query = rng.sample(WORDS, 3)
    source = [" ".join(["The", *rng.sample(WORDS, 10)]) + "." for _ in range(80)]
    source[:0] = [f"The {query[0]} of the {query[1]} is {query[2]} and {rng.choice(WORDS)}."]
    low, high = level.characters
    count = 1 + rng.randrange(low // len(source[1]) + 1, (high - 60) // len(source[1]))
    honest = " ".join(source[:count])
    stuffed = " ".join(source[: data.draw(st.integers(0, count - 1))])
    while len(stuffed) + 8 < len(honest):
        stuffed += " " + rng.choice(query)
    stuffed = stuffed[: len(honest) - 1] + end
    whole, asked = " ".join(source), " ".join(query)
    assert quality(stuffed, whole, asked, level).total <= quality(honest, whole, asked, level).total


def test_words_and_sentences_are_counted() -> None:
    assert count_words("It's 7 o'clock, well-known.") == 4
    assert count_sentences("The ferry leaves at seven. Yes. It comes back at nine.") == 3
    assert count_whole_sentences("The ferry leaves at seven. Yes. It comes back at nine.") == 2
    assert count_whole_sentences("Ada left. Bertil stayed.") == 2
    assert count_whole_sentences("red lamp") == 0


def test_items_of_a_list_are_sentences_of_the_level() -> None:
    """Equation 14: sixty fragments are not a few concise sentences."""
    text = "\n".join(f"- lamp {i}" for i in range(60))
    assert count_sentences(text) == 60
    score = quality(text, text, "Which lamp?", ONE)
    words = 0.7 * (1.0 if count_words(text) <= ONE.words[1] else 0.7)
    assert score.level == pytest.approx(words + 0.3 * 0.3)
    assert score.sem < 0.5, "and none of them is a sentence"


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
