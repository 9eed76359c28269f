"""The choice, over documents and scores made by hand: threshold, limit, levels, documents, copies."""

from __future__ import annotations

import copy
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest

from tersely import Compressor
from tersely.options import CompressionOptions
from tersely.pack.choose import Choice, choose
from tersely.score import DocumentScores
from tersely.split.splitting import Scored, SplitDocuments
from tests.sdk.counters import count_words
from tests.sdk.fakes import FakeScorer
from tests.sdk.packing_cases import make_choice, make_level, make_scores, make_split

SCORES = [make_scores(0.9, 0.2, 0.5), make_scores(0.1, 0.8)]


def choose_from(
    split: SplitDocuments,
    scores: list[DocumentScores],
    *,
    threshold: float | None = None,
    length_price: float = 0.0,
    **options: Any,
) -> Choice:
    scored = Scored(split, scores, None)
    return choose(scored, CompressionOptions(**options), threshold, length_price, count_words)


def two_documents(limit: int | None = None) -> SplitDocuments:
    """Units of 3, 2 and 4 words, and of 1 and 5 words."""
    return make_split(["Aa bb cc.", "Dd ee.", "Ff gg hh ii."], ["Jj.", "Kk ll mm nn oo."], limit=limit)


def test_with_a_threshold_every_unit_that_reaches_it_is_kept() -> None:
    choice = choose_from(two_documents(), SCORES, threshold=0.5)
    assert choice.kept == choice.candidates == {(0, 0), (0, 2), (1, 1)}
    assert choice.threshold == 0.5


def test_nothing_is_kept_where_nothing_reaches_the_threshold() -> None:
    assert choose_from(two_documents(), SCORES, threshold=0.95).kept == frozenset()


@pytest.mark.parametrize(
    ("limit", "kept"),
    [
        (8, {(0, 0), (1, 1)}),  # 3 and 5 words
        (7, {(0, 0), (0, 2)}),  # 3 and 4 words
        (0, set()),
    ],
)
def test_under_a_limit_the_best_units_that_fit_are_kept(limit: int, kept: set[tuple[int, int]]) -> None:
    choice = choose_from(two_documents(limit), SCORES)
    assert choice.kept == kept
    assert len(choice.candidates) == 5


def test_a_threshold_rules_out_units_that_a_limit_has_room_for() -> None:
    assert choose_from(two_documents(9), SCORES, threshold=0.7).kept == {(0, 0), (1, 1)}
    assert choose_from(two_documents(9), SCORES).kept == {(0, 0), (1, 1), (1, 0)}


def test_packing_scores_rank_the_units_and_scores_are_held_against_the_threshold() -> None:
    scores = [make_scores(0.9, 0.2, 0.5, packing_scores=[0.9, 0.6, 0.3]), make_scores(0.1, 0.8)]
    assert choose_from(two_documents(5), scores).kept == {(0, 0), (0, 1)}
    assert choose_from(two_documents(7), scores, threshold=0.5).kept == {(0, 0), (0, 2)}


def test_a_length_price_prefers_short_units() -> None:
    scores = [make_scores(0.6, 0.4, 0.5), make_scores(0.3, 0.0)]
    assert choose_from(two_documents(7), scores).kept == {(0, 0), (0, 2)}
    assert choose_from(two_documents(7), scores, length_price=1.0).kept == {(1, 0), (0, 1), (0, 0)}


def test_without_max_docs_every_document_with_text_is_in_the_sequence() -> None:
    split = make_split(["Aa bb."], [], ["Cc dd."])
    scores = [make_scores(0.2), make_scores(), make_scores(0.9)]
    assert choose_from(split, scores).sequence == (0, 2)
    assert choose_from(split, scores, order="rerank").sequence == (2, 0)


def test_max_docs_leaves_the_most_relevant_documents() -> None:
    split = make_split(["Aa bb."], ["Cc dd."], ["Ee ff."])
    scores = [
        make_scores(0.9, relevance=0.1),
        make_scores(0.2, relevance=0.6),
        make_scores(0.3, relevance=0.8),
    ]
    choice = choose_from(split, scores, max_docs=2)
    assert choice.sequence == (1, 2)
    assert choice.kept == choice.candidates == {(1, 0), (2, 0)}
    assert choose_from(split, scores, max_docs=2, order="rerank").sequence == (2, 1)


def test_equally_relevant_documents_stay_in_their_order() -> None:
    split = make_split(["Aa bb."], ["Cc dd."], ["Ee ff."])
    scores = [make_scores(0.5)] * 3
    assert choose_from(split, scores, max_docs=2, order="rerank").sequence == (0, 1)


@pytest.mark.parametrize(
    ("lowest", "highest", "kept"),
    [
        (0, 9, {(0, 0)}),  # "Aa bb cc." has 9 characters
        (0, 22, {(0, 0), (0, 2)}),  # " Ff gg hh ii." adds 13
        (0, 100, {(0, 0), (0, 2)}),  # a unit below the threshold only fills up to the lower bound
        (23, 100, {(0, 0), (0, 1), (0, 2)}),
    ],
)
def test_a_level_keeps_what_it_has_room_for(lowest: int, highest: int, kept: set[tuple[int, int]]) -> None:
    split = make_split(["Aa bb cc.", "Dd ee.", "Ff gg hh ii."])
    scored = Scored(split, [make_scores(0.9, 0.2, 0.5)], [make_level(lowest, highest)])
    choice = choose(scored, CompressionOptions(), 0.5, 0.0, count_words)
    assert choice.kept == choice.candidates == kept


def test_every_document_has_its_own_level() -> None:
    levels = [make_level(0, 9), make_level(0, 100)]
    choice = choose(Scored(two_documents(), SCORES, levels), CompressionOptions(), None, 0.0, count_words)
    assert choice.kept == {(0, 0), (1, 0), (1, 1)}


SENTENCE = "The pier was built in 1871."


def test_a_sentence_of_another_document_is_kept_once() -> None:
    split = make_split(["Aa bb.", SENTENCE], [SENTENCE])
    choice = choose_from(split, [make_scores(0.1, 0.8), make_scores(0.9)])
    assert choice.kept == {(0, 0), (1, 0)}
    assert choice.duplicates == {(0, 1)}


def test_a_sentence_that_a_document_repeats_is_kept_once() -> None:
    choice = choose_from(make_split([SENTENCE] * 8), [make_scores(0.8, 0.9, *[0.7] * 6)])
    assert choice.kept == {(0, 1)}
    assert choice.duplicates == {(0, position) for position in range(8) if position != 1}


def test_repetition_leaves_room_for_another_sentence() -> None:
    other = "Aa bb cc dd."
    split = make_split([SENTENCE, SENTENCE, other], limit=len(SENTENCE.split()) + 4)
    choice = choose_from(split, [make_scores(0.9, 0.8, 0.1)])
    assert choice.kept == {(0, 0), (0, 2)}
    assert choice.duplicates == {(0, 1)}


def test_structure_is_never_a_copy() -> None:
    split = make_split([SENTENCE], [SENTENCE], structure=[(1, 0)])
    choice = choose_from(split, [make_scores(0.8), make_scores(0.9)])
    assert choice.kept == {(0, 0), (1, 0)}


def test_kept_units_are_listed_by_document_in_source_order() -> None:
    choice = make_choice((2, 3), (0, 1), (2, 0), sequence=(2, 0))
    assert choice.by_document(3) == [[1], [], [0, 3]]


def test_choosing_leaves_its_input_unchanged() -> None:
    scored = Scored(two_documents(8), copy.deepcopy(SCORES), None)
    before = copy.deepcopy(scored)
    first = choose(scored, CompressionOptions(), None, 0.5, count_words)
    assert scored == before
    assert choose(scored, CompressionOptions(), None, 0.5, count_words) == first


def test_a_choice_is_frozen() -> None:
    choice = make_choice((0, 0))
    with pytest.raises(FrozenInstanceError):
        choice.kept = frozenset()  # type: ignore[misc]


def test_shorter_units_do_not_displace_one_that_scored_more_than_all_of_them() -> None:
    # The second sentence scores less, and gains from its neighbour: with its length it would come first.
    scores = [make_scores(0.9, 0.4, 0.0, packing_scores=[0.9, 0.8, 0.0]), make_scores(0.0, 0.0)]
    choice = choose_from(two_documents(4), scores, length_price=1.0)
    assert (0, 0) in choice.kept
    assert choice.best_fits is True


@pytest.mark.parametrize(("limit", "best_fits"), [(2, False), (3, True), (8, True)])
def test_the_best_fits_if_it_is_no_longer_than_the_limit_by_itself(limit: int, best_fits: bool) -> None:
    # With this length price, shorter units go first.
    choice = choose_from(two_documents(limit), SCORES, length_price=1.0)
    assert choice.best_fits is best_fits


def test_the_best_fits_with_its_title_or_not_at_all() -> None:
    split = two_documents(3)
    titled = replace(split, documents=(replace(split.documents[0], title="T"), split.documents[1]))
    assert choose_from(titled, SCORES).best_fits is False
    assert choose_from(replace(titled, limit=4), SCORES).best_fits is True


def test_of_units_that_score_the_same_the_cheapest_has_to_fit() -> None:
    assert (
        choose_from(two_documents(2), [make_scores(0.9, 0.9, 0.9), make_scores(0.1, 0.9)]).best_fits is True
    )


def test_without_candidates_nothing_is_said_of_the_best() -> None:
    assert choose_from(two_documents(), SCORES, threshold=0.95).best_fits is None


SECTIONS = "# Lamps\n\nThe lamp burns.\n\n# Cranes of Maren\n\nThe old crane lifts stone. It creaks a lot."


@pytest.mark.parametrize(
    ("budget", "text"),
    [
        (5, "The old crane lifts stone."),
        (7, "The old crane lifts stone."),  # "# Lamps" would fit, and says nothing alone
        (9, "# Cranes of Maren\n\nThe old crane lifts stone."),
    ],
)
def test_a_heading_comes_along_where_there_is_room(budget: int, text: str) -> None:
    compressor = Compressor(FakeScorer(), token_counter=count_words)
    assert compressor.compress("old crane lifts stone", [SECTIONS], budget=budget).text == text


def test_a_heading_is_not_kept_for_a_unit_below_the_threshold() -> None:
    split = make_split(["Lamps", "They burn."], limit=2)
    heading = replace(split.units[0][0], unit=replace(split.units[0][0].unit, kind="heading"))
    split = replace(split, units=((heading, split.units[0][1]),))
    assert choose_from(split, [make_scores(0.5, 0.1, packing_scores=[0.1, 0.9])], threshold=0.3).kept == {
        (0, 0)
    }
