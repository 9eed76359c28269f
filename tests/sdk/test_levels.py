from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tersely.levels import LEVELS, choose_level


@pytest.mark.parametrize(
    ("relevance", "number"),
    [(0, 1), (0.19, 1), (0.2, 2), (0.39, 2), (0.4, 3), (0.5, 3), (0.6, 4), (0.79, 4), (0.8, 5), (1, 5)],
)
def test_bounds_belong_to_the_level_above(relevance: float, number: int) -> None:
    assert choose_level(relevance).number == number


@given(st.floats(0, 1), st.floats(0, 1))
def test_detail_rises_with_relevance(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert choose_level(low).characters[1] <= choose_level(high).characters[1]


@pytest.mark.parametrize("relevance", [-0.01, 1.01, float("nan")])
def test_what_is_no_share_is_refused(relevance: float) -> None:
    with pytest.raises(ValueError, match="pass a share"):
        choose_level(relevance)


def test_levels_leave_no_gap() -> None:
    assert [level.number for level in LEVELS] == [1, 2, 3, 4, 5]
    for below, above in pairwise(LEVELS):
        assert below.characters[1] == above.characters[0]
        assert below.relevance < above.relevance
        assert below.sentences < above.sentences


def test_words_follow_from_characters() -> None:
    for level in LEVELS:
        low, high = level.characters
        assert level.words == (max(20, low // 7), high // 5)
        assert level.sentences == high // 60
