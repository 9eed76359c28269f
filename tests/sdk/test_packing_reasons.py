"""Every reason for which a unit is kept or dropped, each by the smallest case that reaches it."""

from __future__ import annotations

from tersely.pack.choose import Choice
from tersely.pack.fill import Place
from tersely.pack.reasons import (
    breaks_promise,
    is_below_threshold,
    is_unread,
    reason_dropped,
    reason_kept,
)
from tersely.score import DocumentScores
from tests.sdk.packing_cases import make_choice, make_scores, make_split

SPLIT = make_split(["Aa bb.", "Cc dd.", "Ee ff."], parents={0: [0, 1, 1]})
"""One unit that is whole, and two pieces of one."""
WHOLE, FIRST_PIECE, SECOND_PIECE = SPLIT.units[0]
SCORES = make_scores(0.3, 0.9, 0.2)
ALL: list[Place] = [(0, 0), (0, 1), (0, 2)]


def reason_of(position: int, choice: Choice, scores: DocumentScores = SCORES) -> str:
    """The reason of a dropped unit of the one document."""
    kept = [SPLIT.units[0][kept_position] for _, kept_position in choice.kept]
    cut_and_kept = {(0, unit.parent) for unit in kept if unit.is_piece}
    return reason_dropped(0, position, SPLIT.units[0][position], scores, choice, cut_and_kept)


def test_a_whole_unit_is_kept_for_its_score() -> None:
    assert reason_kept(0, WHOLE, {(0, 1)}, "score") == "score"


def test_a_kept_piece_is_truncated() -> None:
    assert reason_kept(0, FIRST_PIECE, {(0, 1)}, "score") == "truncated"
    assert (
        reason_kept(1, FIRST_PIECE, {(0, 1)}, "score") == "score"
    )  # the pieces of document 0 say nothing about 1


def test_a_unit_of_a_document_behind_the_best_is_dropped_for_max_docs() -> None:
    assert reason_of(0, make_choice(sequence=())) == "max_docs"


def test_a_unit_that_the_model_has_not_read_is_unread() -> None:
    scores = make_scores(0.3, 0.9, 0.2, unread=[0])
    assert reason_of(0, make_choice(candidates=ALL), scores) == "unread"


def test_a_unit_that_scores_too_low_is_dropped_for_the_threshold() -> None:
    choice = make_choice((0, 1), threshold=0.5)
    assert reason_of(0, choice) == "threshold"
    assert reason_of(2, choice) == "threshold"  # a piece too, though another of its unit is kept


def test_a_unit_that_finds_no_room_in_its_level_is_dropped_for_the_level() -> None:
    assert reason_of(0, make_choice((0, 1))) == "level"
    assert reason_of(2, make_choice((0, 0))) == "level"


def test_a_repeated_sentence_is_dropped_as_a_duplicate() -> None:
    choice = make_choice((0, 1), candidates=ALL, duplicates=[(0, 0)])
    assert reason_of(0, choice) == "duplicate"


def test_a_candidate_that_does_not_fit_is_dropped_for_the_budget() -> None:
    assert reason_of(0, make_choice((0, 1), candidates=ALL)) == "budget"
    assert reason_of(2, make_choice((0, 0), candidates=ALL)) == "budget"


def test_the_rest_of_a_unit_that_was_cut_is_truncated() -> None:
    assert reason_of(2, make_choice((0, 1), candidates=ALL)) == "truncated"
    assert reason_of(2, make_choice((0, 1))) == "truncated"  # where its level had no room for it


def test_of_several_reasons_the_one_nearest_to_the_document_is_given() -> None:
    unread_and_low = make_scores(0.1, 0.1, 0.1, unread=[0])
    assert reason_of(0, make_choice(sequence=(), threshold=0.5), unread_and_low) == "max_docs"
    assert reason_of(0, make_choice(threshold=0.5), unread_and_low) == "unread"
    assert reason_of(1, make_choice(threshold=0.5), unread_and_low) == "threshold"


def test_a_model_that_does_not_say_what_it_read_has_read_everything() -> None:
    assert not is_unread(DocumentScores(0.5, [0.5]), 0)
    assert is_unread(make_scores(0.5, unread=[0]), 0)


def test_a_score_on_the_threshold_is_not_below_it() -> None:
    assert is_below_threshold(SCORES, 0, make_choice(threshold=0.31))
    assert not is_below_threshold(SCORES, 0, make_choice(threshold=0.3))
    assert not is_below_threshold(SCORES, 0, make_choice())


def test_dropping_a_unit_above_the_threshold_breaks_the_promise() -> None:
    choice = make_choice(threshold=0.25)
    assert breaks_promise(0, WHOLE, SCORES, choice, "budget")
    assert not breaks_promise(0, WHOLE, SCORES, make_choice(threshold=0.5), "threshold")


def test_dropping_a_copy_never_breaks_the_promise() -> None:
    assert not breaks_promise(0, WHOLE, SCORES, make_choice(threshold=0.25), "duplicate")


def test_a_low_score_excuses_only_whole_units_that_were_read() -> None:
    choice = make_choice(threshold=0.5)
    assert breaks_promise(2, SECOND_PIECE, SCORES, choice, "threshold")
    assert breaks_promise(0, WHOLE, make_scores(0.3, 0.9, 0.2, unread=[0]), choice, "unread")
