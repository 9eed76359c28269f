"""Filling a limit, and sentences that several documents repeat."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tersely import Compressor, Document
from tersely.pack.choose import comparable_words, compute_priority
from tersely.pack.fill import Candidate, fit, pack, sort_by_priority
from tests.sdk.checks import check_all
from tests.sdk.counters import count_words
from tests.sdk.fakes import FakeScorer


def rank(*scores_and_costs: tuple[float, int]) -> list[Candidate]:
    """Return candidates of one document, best first."""
    return sort_by_priority(
        [Candidate(unit, 0, score, cost) for unit, (score, cost) in enumerate(scores_and_costs)]
    )


def additive_measure(candidates: list[Candidate], title_costs: list[int]) -> Callable[[frozenset[int]], int]:
    """Return a measure by which nothing is lost or gained by putting units together."""
    by_position = {c.position: c for c in candidates}

    def measure(positions: frozenset[int]) -> int:
        taken = [by_position[at] for at in positions]
        return sum(title_costs[doc] for doc in {c.doc for c in taken}) + sum(c.cost for c in taken)

    return measure


def test_ties_go_to_the_cheaper_then_to_the_earlier() -> None:
    assert [c.position for c in rank((0.5, 3), (0.5, 1), (0.5, 3), (0.9, 9))] == [3, 1, 0, 2]


def test_fit_goes_by_the_measured_size_and_not_by_the_sum() -> None:
    ranked = rank(*[(1 - n / 100, 10) for n in range(20)])
    with_one_more_token_each = fit(ranked, [0], 55, lambda positions: 11 * len(positions))
    assert sorted(with_one_more_token_each) == [0, 1, 2, 3, 4]
    with_half_the_tokens = fit(ranked, [0], 55, lambda positions: 5 * len(positions))
    assert len(with_half_the_tokens) == 11


def test_a_good_scale_makes_the_first_guess_right() -> None:
    ranked = rank(*[(1 - n / 1000, 10) for n in range(200)])
    measured_sizes: list[int] = []

    def measure(positions: frozenset[int]) -> int:
        measured_sizes.append(5 * len(positions))
        return measured_sizes[-1]

    assert len(fit(ranked, [0], 500, measure, scale=2.0)) == 100
    assert measured_sizes == [500]


def test_unit_larger_than_its_cost_is_replaced_by_a_smaller_one() -> None:
    ranked = rank((0.9, 9), (0.5, 4))
    sizes = {frozenset[int](): 0, frozenset({0}): 11, frozenset({1}): 4, frozenset({0, 1}): 15}
    assert sorted(fit(ranked, [0], 10, lambda positions: sizes[positions])) == [1]


@pytest.mark.parametrize(
    "measure",
    [
        lambda positions: len(positions) ** 3,
        lambda positions: 1000 if len(positions) % 2 else len(positions),
        lambda positions: 7,
    ],
    ids=["cubic", "jumping", "constant"],
)
def test_a_counter_that_behaves_oddly_never_breaks_the_limit(
    measure: Callable[[frozenset[int]], int],
) -> None:
    ranked = rank(*[(n / 100, 1 + n % 7) for n in range(100)])
    for limit in (1, 6, 7, 50, 99):
        positions = fit(ranked, [3], limit, measure)
        assert not positions or measure(positions) <= limit


docs_scores_and_costs = st.lists(
    st.tuples(st.integers(0, 2), st.floats(0, 1), st.integers(0, 30)), max_size=30
)


@given(docs_scores_and_costs, st.lists(st.integers(0, 10), min_size=3, max_size=3), st.integers(0, 200))
def test_every_unit_that_still_fits_is_taken(
    rows: list[tuple[int, float, int]], title_costs: list[int], limit: int
) -> None:
    ranked = sort_by_priority(
        [Candidate(unit, doc, score, cost) for unit, (doc, score, cost) in enumerate(rows)]
    )
    measure = additive_measure(ranked, title_costs)
    positions = fit(ranked, title_costs, limit, measure)
    assert measure(positions) <= limit
    for candidate in ranked:
        if candidate.position not in positions:
            assert measure(positions | {candidate.position}) > limit


def test_small_selection_has_half_of_the_best_possible_score() -> None:
    # Greedy is not the knapsack optimum, but must not be far off on costs like those of sentences.
    generator = random.Random(7)
    limit = 60
    for _ in range(40):
        rows = [(generator.random(), generator.randint(8, 30)) for _ in range(8)]
        kept_score = sum(rows[unit][0] for unit in pack(rank(*rows), [0], limit)[0])
        best_score = max(
            sum(rows[unit][0] for unit in group)
            for size in range(9)
            for group in combinations(range(8), size)
            if sum(rows[unit][1] for unit in group) <= limit
        )
        assert kept_score >= best_score / 2


def test_priority_falls_with_length_up_to_a_bound() -> None:
    assert compute_priority(0.8, 16, 0.5) == 0.2
    assert compute_priority(0.8, 64, 0.5) == compute_priority(0.8, 5000, 0.5) == 0.1
    assert compute_priority(0.8, 16, 0.0) == compute_priority(0.8, 0, 0.5) == 0.8


SENTENCE = "The harbour was dug in 1871 by Ada Norton."


@pytest.mark.parametrize(
    "copy",
    [
        "the HARBOUR was dug in 1871, by Ada Norton",
        "Harbour was dug in\n1871 by  Ada Norton.",
        "“The harbour was dug in 1871 by Ada Norton.”",
        "The harbour was dug in 1871[3] by Ada Norton.[12]",
    ],
)
def test_repeats_may_differ_in_case_quotes_commas_or_article(copy: str) -> None:
    assert comparable_words(copy) == comparable_words(SENTENCE) is not None


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("It rose by 5 % in that year.", "It rose by 5% in that year."),
        ("The well-known pilot left it.", "The well–known pilot left it."),
        ("The pilot — Ada Norton — left it.", "The pilot—Ada Norton—left it."),
        ("The pilot — Ada Norton — left it.", "The pilot – Ada Norton – left it."),
    ],
)
def test_repeats_may_differ_in_dashes_and_percent_spacing(left: str, right: str) -> None:
    assert comparable_words(left) == comparable_words(right) is not None


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (SENTENCE, "The harbour was not dug in 1871 by Ada Norton."),
        (SENTENCE, "The harbour was dug in 1872 by Ada Norton."),
        (SENTENCE, "The harbour was dug in 1871 by Ida Norton."),
        (SENTENCE, "The harbour was dug by 1871 in Ada Norton."),
        (SENTENCE, "The harbour was dug in 1871 by Ada Norton?"),
        ("It fell by -5 degrees in May.", "It fell by 5 degrees in May."),
        ("It fell by −5 degrees in May.", "It fell by 5 degrees in May."),
        ("It ended the year at (5) million.", "It ended the year at 5 million."),
        ("It fell from 7 – 5 in all.", "It fell from 7-5 in all."),
        ("It is open from 7–5 today.", "It is open from 75 today."),
        ("It costs $5 on every day.", "It costs €5 on every day."),
        ("It costs 5 $ on every day.", "It costs 5 € on every day."),
        ("It rose to 1.5 metres then.", "It rose to 15 metres then."),
        ("It rose by .5 metres then.", "It rose by 5 metres then."),
        ("It rose by 5 % in that year.", "It rose by 5 in that year."),
        ("It stops as soon as x < 5 holds.", "It stops as soon as x > 5 holds."),
        ("They are looking for someone who writes C++.", "They are looking for someone who writes C."),
        ("The last check of the build: ✅", "The last check of the build: ❌"),
        ("Everyone should take vitamin A daily.", "Everyone should take vitamin daily."),
        ("They can leave before it rains.", "They can't leave before it rains."),
        ("लड़का रोज़ पार्क में खेलता है", "लड़की रोज़ पार्क में खेलती है"),
        ("The area is 40 m² in all.", "The area is 40 m2 in all."),
        ("The call returns x[0] for an empty list.", "The call returns x[1] for an empty list."),
        ("The board is 5' long and painted.", 'The board is 5" long and painted.'),
        ("The lowest temperature was – 5 degrees.", "The lowest temperature was 5 degrees."),
        ("The final score was 3 — 2 today.", "The final score was 3 2 today."),
        ("Das Bier trinkt man bitte in Maßen.", "Das Bier trinkt man bitte in Massen."),
    ],
)
def test_whatever_may_carry_meaning_makes_a_difference(left: str, right: str) -> None:
    assert comparable_words(left) != comparable_words(right)


@pytest.mark.parametrize("sentence", ["Yes, it is.", "", "  ", "OK."])
def test_a_short_sentence_is_never_a_copy(sentence: str) -> None:
    assert comparable_words(sentence) is None


def test_a_level_is_filled_with_sentences_that_differ() -> None:
    sentence = "The oldest lighthouse that is still used is the Tower of Hercules in Spain."
    others = [f"Keeper number {n} looked after the lamp for {n + 3} winters." for n in range(60)]
    text = " ".join(f"{sentence} {other}" for other in others)
    question = "Which is the oldest lighthouse that is still used in Spain?"
    result = Compressor(FakeScorer()).compress(question, [text], level=1)
    assert result.text.count(sentence) == 1
    assert 100 <= len(result.text) <= 500


def test_a_repeated_stanza_is_kept_once() -> None:
    stanza = "Package: harbour\nVersion: 1.4\nSection: boats\nSummary: moors boats\n"
    others = [
        f"Package: pier-{n}\nVersion: 2.{n}\nSection: boats\nSummary: builds pier {n}\n" for n in range(8)
    ]
    text = "\n".join([stanza, *others[:4], stanza, *others[4:], stanza])
    result = Compressor().compress("Which package moors boats?", [text], budget=120)
    assert result.text.count("Package: harbour") == 1


def test_a_script_without_spaces_counts_by_characters() -> None:
    text = "港口于一八七一年由艾达诺顿主持开挖完成"
    assert comparable_words(text) == comparable_words(f"“{text}”") is not None


def test_the_limit_pays_once_for_what_is_repeated() -> None:
    words = ("harbour", "was", "dug", "in")
    ranked = [
        Candidate(2, 1, 0.9, 5, words),
        Candidate(0, 0, 0.8, 5, words),
        Candidate(3, 1, 0.7, 5, words),
        Candidate(1, 0, 0.6, 5),
    ]
    assert pack(ranked, [0, 0], 100)[0] == {2, 1}


def test_copy_that_fits_replaces_a_better_one_that_does_not() -> None:
    words = ("harbour", "was", "dug", "in")
    ranked = [Candidate(0, 0, 0.9, 5, words), Candidate(1, 1, 0.8, 5, words)]
    assert pack(ranked, [100, 0], 10)[0] == {1}


DOCS = [
    Document(f"{SENTENCE} Its crane still works.", title="Harbour"),
    Document(f"Bread is baked daily. {SENTENCE}", title="Town"),
    Document(f"```\n{SENTENCE}\n```"),
]


@pytest.mark.parametrize("budget", [30, None])
def test_repeated_sentence_is_kept_once_but_code_is_not_merged(budget: int | None) -> None:
    compressor = Compressor(FakeScorer(), token_counter=count_words)
    result = compressor.compress("Who dug the harbour in 1871?", DOCS, budget=budget)
    (duplicate,) = [span for span in result.dropped if span.reason == "duplicate"]
    assert duplicate.doc == 1
    assert DOCS[1].text[duplicate.start : duplicate.end] == SENTENCE
    assert result.text.count(SENTENCE) == 2  # once as a sentence, once in the code block
    check_all(result, DOCS, count_words, budget=budget)


ARRAY = json.dumps([SENTENCE] * 40, indent=1)


@pytest.mark.parametrize(
    ("text", "copies"),
    [
        pytest.param(ARRAY, 1, id="array"),
        pytest.param("\n".join(["time,note", *[f'10:00,"{SENTENCE}"'] * 40]), 1, id="rows"),
        pytest.param(f'{{"first": {ARRAY},\n"second": {ARRAY}}}', 2, id="two arrays"),
    ],
)
def test_record_of_a_series_is_kept_once(text: str, copies: int) -> None:
    compressor = Compressor(FakeScorer(), token_counter=count_words)
    result = compressor.compress("harbour", [text], rate=0.9)
    assert result.text.count(SENTENCE) == copies
    assert {span.reason for span in result.dropped} == {"duplicate"}
    check_all(result, [Document(text)], count_words, rate=0.9)


def test_statement_of_code_may_be_repeated() -> None:
    compressor = Compressor(FakeScorer(), token_counter=count_words)
    result = compressor.compress("harbour", [f"def dig():\n    print({SENTENCE!r})\n" * 40], rate=0.9)
    assert {span.reason for span in result.dropped} == {"truncated"}
