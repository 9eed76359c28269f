"""The options of a compression: which are refused, what a limit is, and that every caller has all of them."""

from __future__ import annotations

import math
import threading
from typing import Any, get_args, get_type_hints

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tersely import CompressionOptions, Compressor, InvalidInputError
from tersely.options import OPTION_FIELDS, CompressionArguments, Detail, Marks, Order
from tersely.score.calibration import Calibration
from tests.sdk.calibration_cases import make_answerability
from tests.sdk.counters import count_words
from tests.sdk.fakes import FakeScorer

TOKENS = "Pass a whole number of tokens, 1 or more."
DOCUMENTS = "Pass a whole number of documents, 1 or more."
RATE = "Pass a share above 0 and at most 1."
RECALL = "Pass the share of questions that must keep their answer sentence, above 0 and below 1."
ABSTAIN = "Pass the share of answerable questions that must not be refused, above 0 and below 1."
LEVEL = "Pass a level of detail from 1 to 5."
TIMEOUT = f"Pass seconds above 0 and at most {int(threading.TIMEOUT_MAX)}, such as 60.0."
MARKS = "Pass 'structure' or 'all'."
ORDER = "Pass 'source' or 'rerank'."

BAD_OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"budget": 0}, f"budget is 0. {TOKENS}"),
    ({"budget": 2.5}, f"budget is a float. {TOKENS}"),
    ({"budget": True}, f"budget is True. {TOKENS}"),
    ({"budget": "9"}, f"budget is a str. {TOKENS}"),
    ({"rate": 0}, f"rate is 0.0. {RATE}"),
    ({"rate": 1.01}, f"rate is 1.01. {RATE}"),
    ({"rate": math.nan}, f"rate is nan. {RATE}"),
    ({"rate": True}, f"rate is True. {RATE}"),
    ({"rate": "0.5"}, f"rate is a str. {RATE}"),
    ({"budget": 5, "rate": 0.5}, "Both budget and rate are given. Pass one of them, or neither."),
    ({"recall": 0}, f"recall is 0.0. {RECALL}"),
    ({"recall": 1.2}, f"recall is 1.2. {RECALL}"),
    ({"recall": 1}, f"recall is 1.0, which no calibration can promise. {RECALL}"),
    ({"recall": math.nan}, f"recall is nan. {RECALL}"),
    ({"recall": [0.9]}, f"recall is a list. {RECALL}"),
    ({"abstain": 0}, f"abstain is 0.0. {ABSTAIN}"),
    ({"abstain": 1}, f"abstain is 1.0, which no calibration can promise. {ABSTAIN}"),
    ({"level": 0}, f"level is 0. {LEVEL}"),
    ({"level": 6}, f"level is 6. {LEVEL}"),
    ({"level": True}, f"level is True. {LEVEL}"),
    ({"level": 2.0}, f"level is 2.0. {LEVEL}"),
    ({"level": "3"}, f"level is '3'. {LEVEL}"),
    ({"level": "auto"}, f"level is 'auto'. {LEVEL}"),
    ({"max_docs": 0}, f"max_docs is 0. {DOCUMENTS}"),
    ({"max_docs": 1.0}, f"max_docs is a float. {DOCUMENTS}"),
    ({"order": "best"}, f"order is 'best'. {ORDER}"),
    ({"order": None}, f"order is None. {ORDER}"),
    ({"marks": "none"}, f"marks is 'none'. {MARKS}"),
    ({"min_tokens": 0}, f"min_tokens is 0. {TOKENS}"),
    ({"timeout": 0}, f"timeout is 0. {TIMEOUT}"),
    ({"timeout": math.nan}, f"timeout is nan. {TIMEOUT}"),
    ({"timeout": math.inf}, f"timeout is inf. {TIMEOUT}"),
    ({"timeout": 1e12}, f"timeout is 1000000000000.0. {TIMEOUT}"),
    ({"timeout": True}, "timeout is True. Pass seconds, such as 60.0."),
    ({"timeout": "2"}, "timeout is a str. Pass seconds, such as 60.0."),
]
GOOD_OPTIONS: dict[str, list[Any]] = {
    "budget": [None, 1, 10**9],
    "rate": [None, 1e-9, 0.5, 1.0],
    "recall": [None, 0.01, 0.9, 0.999],
    "abstain": [None, 0.01, 0.9, 0.999],
    "level": [None, *get_args(Detail)],
    "max_docs": [None, 1, 99],
    "order": [*get_args(Order)],
    "marks": [*get_args(Marks)],
    "min_tokens": [None, 1, 10**6],
    "timeout": [None, 0.001, 30.0],
}
"""Valid values of each option, by name. They stay as they are."""


@pytest.mark.parametrize(("options", "message"), BAD_OPTIONS, ids=str)
def test_a_bad_option_is_refused_with_cause_and_remedy(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        CompressionOptions(**options)
    assert str(error.value) == message
    assert isinstance(error.value, ValueError)


def test_numbers_of_numpy_become_numbers_of_python() -> None:
    options = CompressionOptions(budget=np.int64(12), level=np.int32(3), max_docs=np.int8(2), recall=0.9)
    assert options == CompressionOptions(budget=12, level=3, max_docs=2, recall=0.9)
    assert type(options.budget) is type(options.level) is type(options.max_docs) is int
    assert type(CompressionOptions(rate=np.float32(0.5)).rate) is float


@pytest.mark.parametrize(
    ("options", "is_limited"),
    [({"budget": 5}, True), ({"rate": 1.0}, True), ({"recall": 0.9, "level": 1, "max_docs": 1}, False)],
)
def test_only_budget_and_rate_set_a_limit(options: dict[str, Any], is_limited: bool) -> None:
    assert CompressionOptions(**options).is_limited is is_limited


@pytest.mark.parametrize(
    ("options", "tokens_before", "limit"),
    [
        ({}, 61, 61),
        ({"budget": 60}, 61, 60),
        ({"budget": 61}, 61, 61),
        ({"budget": 10**9}, 61, 61),  # never more than the input
        ({"budget": 5}, 0, 0),
        ({"rate": 0.5}, 61, 30),  # 30.5
        ({"rate": 0.29}, 100, 29),  # 0.29 * 100 is 28.999999999999996
        ({"rate": 0.07}, 100, 7),  # 0.07 * 100 is 7.000000000000001
        ({"rate": 0.01}, 61, 0),
        ({"rate": 1.0}, 61, 61),
        ({"rate": 1e-9}, 61, 0),
    ],
)
def test_the_limit_is_the_budget_or_the_share_of_the_input(
    options: dict[str, Any], tokens_before: int, limit: int
) -> None:
    assert CompressionOptions(**options).limit(tokens_before) == limit


@given(st.floats(0, 1, exclude_min=True), st.integers(0, 10**6))
def test_a_rate_never_allows_more_than_its_share(rate: float, tokens_before: int) -> None:
    limit = CompressionOptions(rate=rate).limit(tokens_before)
    assert 0 <= limit <= tokens_before
    assert limit <= rate * tokens_before + 1e-6
    assert limit > rate * tokens_before - 1


def test_keyword_arguments_match_the_options() -> None:
    names = [field.name for field in OPTION_FIELDS]
    types = get_type_hints(CompressionOptions)
    assert list(get_type_hints(CompressionArguments)) == names
    assert get_type_hints(CompressionArguments) == {name: types[name] for name in names}
    assert not CompressionArguments.__required_keys__


@pytest.mark.parametrize("name", [field.name for field in OPTION_FIELDS])
def test_a_compressor_takes_every_option(name: str) -> None:
    scorer = FakeScorer()
    scorer.calibration = Calibration(tuple(n / 1000 for n in range(1000)))
    scorer.answerability = make_answerability([n / 1000 for n in range(1000)], [0.5])
    compressor = Compressor(scorer, token_counter=count_words)
    for value in GOOD_OPTIONS[name]:
        result = compressor.compress("red light", ["A light. Not red.", "Bread."], **{name: value})
        assert result.status in ("compressed", "unchanged", "bypassed")


def test_the_cases_above_cover_every_option() -> None:
    names = {field.name for field in OPTION_FIELDS}
    assert set(GOOD_OPTIONS) == names
    assert {name for options, _ in BAD_OPTIONS for name in options} == names
