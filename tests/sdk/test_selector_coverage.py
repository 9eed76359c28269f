"""The order of units where nothing is asked, against values computed by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tersely.score.coverage import UnitText, score_units

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
