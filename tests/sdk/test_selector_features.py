"""The features of sentences and of a question, against values worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tersely.score.features import (
    BRIDGE_FEATURES,
    FIRST_FEATURES,
    QUERY_FEATURES,
    Logits,
    Nearness,
    best_sentences,
    bridge_features,
    bridge_weights,
    first_features,
    path_starts,
    query_features,
)
from tersely.score.hops import PATH_FEATURES, Hop, path_features
from tests.sdk.feature_cases import FIRST_LOGITS, LOGITS, MATCHES

FIRST_COLUMNS = {
    "keep": [2, 0.5, -1, 1],
    "relevance": [1, 1, -0.5, 0.25],
    "keep_best_in_document": [2, 2, -1, 1],
    "keep_below_best": [0, -1.5, -3, -1],
    "keep_neighbours": [0.5, 2, -1, -1],
    "relevance_below_best": [0, 0, -1.5, -0.75],
    "near": [0.2, 0.7, 0.4, -0.1],
    "near_below_best": [-0.5, 0, -0.3, -0.8],
    "near_best_in_document": [0.7, 0.7, 0.4, -0.1],
    "near_passage": [0.6, 0.6, 0.4, -0.1],
    "near_passage_below_best": [0, 0, -0.2, -0.7],
    "coverage": [1 / 14, 9 / 14, 1 / 14, 0],
    "coverage_with_title": [5 / 14, 13 / 14, 1 / 14, 0],
    "coverage_document": [1, 1, 1 / 14, 0],
    "coverage_rare": [0, 9 / 13, 0, 0],  # term 1 is in two of three documents
    "numbers": [0.5, 1, 0, 0],
    "names": [1, 0, 0, 1],
    "title_in_query": [0.8, 0.8, 0, 0],
    "opening": [1, 0, 1, 1],
    "position": [0, math.log(2), 0, 0],
    "length": [math.log(3), math.log(3), math.log(4), math.log(4)],
}
NEAR = Nearness(np.array([0.2, 0.7, 0.4, -0.1]), np.array([0.6, 0.6, 0.4, -0.1]))
QUERY_VALUES = {
    "query_length": math.log(5),
    "query_names": 1,
    "query_weight": math.sqrt(14),
    "covered_by_best": 5 / 14,
    "covered_by_best_document": 1,
    "best": 3,
    "lead_over_second_document": 0.5,
    "lead_over_third_document": 5,
    "best_relevance": 1,
}
# Trust in the second and the third best sentence, against one half for the best.
TRUST_IN_SECOND, TRUST_IN_THIRD = 1 / (1 + math.exp(0.5)), 1 / (1 + math.exp(2))
BRIDGE_COLUMNS = {
    "first": [3, 1, -2, 2.5],
    "first_below_best": [0, -2, -5, -0.5],
    "first_rank": [0, math.log(3), math.log(4), math.log(2)],
    # Sentence 0 holds 4/5 of the second title; sentence 3 holds 1/5 of the first and all of the second.
    "title_in_best": [0.2 * TRUST_IN_SECOND, 0.2 * TRUST_IN_SECOND, max(0.4, TRUST_IN_SECOND), 0],
    # Token 6, the part of the first title that the question does not hold, stands in sentence 3.
    "names_best_title": [0, 0, 0, 0.5],
    # Sentences 0 and 3 share token 5.
    "shares_terms": [TRUST_IN_SECOND * math.log(5), 0, 0, 0.5 * math.log(5)],
    "same_document_as_best": [0.5, 0.5, 0, TRUST_IN_SECOND],
}
# The path from sentence 3 costs half a logit: its own is that much below the best one.
PATH_COLUMNS = {
    "path": [2.5, 1.5, 1, -1],
    "path_below_best": [0, -1, -1.5, -3.5],
    "path_sum": [2.5, 1.5, math.log(math.exp(0.5) + math.exp(1)), -1],
    "path_keep": [3, 2, 1.5, -1],
    "path_gain": [1, 1.5, 2.5, -2],
    "path_relevance": [0.25, 0.25, 2, 0.5],
    "path_read": [1, 1, 1, 1],
    "leads_to": [0.5, 0, 0, 3],
    "leads": [1, 0, 0, 1],
}


def by_name(names: Sequence[str], features: Any) -> dict[str, list[float]]:
    """Return the columns of a feature table."""
    return dict(zip(names, features.T.tolist(), strict=True))


def approximately(columns: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    return {name: pytest.approx(column) for name, column in columns.items()}


def test_the_first_stage_sees_these_columns() -> None:
    features = first_features(MATCHES, LOGITS, NEAR)
    assert features.shape == (4, len(FIRST_FEATURES))
    assert by_name(FIRST_FEATURES, features) == approximately(FIRST_COLUMNS)


def test_a_neighbour_in_another_document_does_not_count() -> None:
    logits = replace(LOGITS, keep=np.array([0.0, 0.0, 9.0, -4.0]))
    column = first_features(MATCHES, logits, NEAR)[:, FIRST_FEATURES.index("keep_neighbours")]
    assert column.tolist() == [0, 0, -4, -4]


def test_the_gate_sees_these_values_of_a_question() -> None:
    values = query_features(MATCHES, LOGITS, FIRST_LOGITS)
    assert by_name(QUERY_FEATURES, values) == pytest.approx(QUERY_VALUES)


def test_lead_is_at_most_that_over_a_missing_document() -> None:
    first_logits = np.array([30.0, 1.0, -2.0, 25.0])
    two_documents = replace(MATCHES, title_ids=[[2, 6], []], document=np.array([0, 0, 1, 1]))
    two_logits = replace(LOGITS, relevance=np.ones(2))
    start = QUERY_FEATURES.index("lead_over_second_document")
    leads = slice(start, start + 2)
    assert query_features(MATCHES, LOGITS, first_logits)[leads].tolist() == [5, 10]
    assert query_features(two_documents, two_logits, first_logits)[leads].tolist() == [5, 10]


def test_best_sentences_are_ordered_and_ties_go_to_the_first() -> None:
    assert best_sentences(FIRST_LOGITS) == [0, 3, 1]
    assert best_sentences(np.array([1.0, 2.0, 2.0]), 2) == [1, 2]
    assert best_sentences(np.array([1.0])) == [0]


def test_the_second_stage_sees_these_columns_of_the_bridges() -> None:
    features = bridge_features(MATCHES, FIRST_LOGITS)
    assert features.shape == (4, len(BRIDGE_FEATURES))
    assert by_name(BRIDGE_FEATURES, features) == approximately(BRIDGE_COLUMNS)


def test_the_second_stage_sees_these_columns_of_the_second_pass() -> None:
    nan = math.nan
    hops = [
        Hop(0, Logits(np.array([nan, nan, 0.5, -1]), np.array([nan, 1.5, 0.5]))),
        Hop(3, Logits(np.array([3, 2, 1.5, nan]), np.array([0.25, 2, nan]))),
    ]
    features = path_features(MATCHES, LOGITS, FIRST_LOGITS, hops)
    assert by_name(PATH_FEATURES, features) == approximately(PATH_COLUMNS)
    assert path_features(MATCHES, LOGITS, FIRST_LOGITS, hops[::-1]).tolist() == features.tolist()


def test_what_was_not_read_again_has_no_path() -> None:
    nothing = Logits(np.full(4, math.nan), np.full(3, math.nan))
    some = Logits(np.array([math.nan, math.nan, 0.5, math.nan]), np.array([math.nan, 1.5, math.nan]))
    features = path_features(MATCHES, LOGITS, FIRST_LOGITS, [Hop(0, some), Hop(3, nothing)])
    assert not features[[1, 3]].any()
    assert features[2].tolist() == [0.5, 0, 0.5, 0.5, 1.5, 1.5, 1, 0, 0]
    assert not path_features(MATCHES, LOGITS, FIRST_LOGITS, []).any()


def test_paths_start_from_the_best_sentences_of_documents() -> None:
    assert path_starts(MATCHES, np.array([3.0, 4.0, -2.0, 2.5])) == [1, 3, 2]
    single_document = replace(MATCHES, document=np.zeros(4, np.int64))
    assert path_starts(single_document, FIRST_LOGITS) == [0]


def test_a_bridge_does_not_look_at_its_own_document() -> None:
    # The best sentence and its neighbour hold the whole title of their document.
    matches = replace(MATCHES, title_ids=[[7, 5], [], []], sentence_ids=[[7, 5], [7, 5], [0], [0]])
    columns = by_name(BRIDGE_FEATURES, bridge_features(matches, np.array([9.0, 1.0, -2.0, -3.0])))
    for name in ("title_in_best", "names_best_title", "shares_terms"):
        assert columns[name] == [0, 0, 0, 0]


def test_three_best_sentences_are_bridges() -> None:
    matches = replace(
        MATCHES,
        title_ids=[[], [], [], [], [4], [7]],
        sentence_ids=[[0], [0], [4], [7], [0], [0]],
        texts=[""] * 6,
        document=np.arange(6),
    )
    first_logits = np.array([3.0, 2.0, 1.0, 0.0, -1.0, -1.0])
    column = bridge_features(matches, first_logits)[:, BRIDGE_FEATURES.index("title_in_best")]
    assert column.tolist() == pytest.approx([0, 0, 0, 0, TRUST_IN_THIRD, 0])


def test_bridge_weights_count_terms_outside_the_question() -> None:
    # The best sentence, 0, brings token 5 (weight 4). The second, 3, brings 5, 6 and 7 (14). The third, 1,
    # brings 4 (1).
    expected = [0.5 * 4, TRUST_IN_THIRD * 1, 0, TRUST_IN_SECOND * 14]
    assert bridge_weights(MATCHES, FIRST_LOGITS).tolist() == pytest.approx(expected)
