"""Exact-match matches and the fusion layer, against values worked by hand."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tersely.selector.features import (
    BRIDGE_FEATURES,
    FIRST_FEATURES,
    QUERY_FEATURES,
    REREAD_FEATURES,
    SECOND_FEATURES,
    Logits,
    Matches,
    best_sentences,
    bridge_features,
    first_features,
    hop_sentences,
    query_features,
    reread_features,
)
from tersely.selector.fusion import MIN_GATE, Fusion, Perceptron
from tersely.selector.matching import (
    TermIndex,
    any_per_document,
    find_names,
    find_numbers,
    phrase_share,
    unique_ids,
    weighted_share,
)

# Squared, the weights of the tokens 0 to 7 are 0, 1, 4, 9, 1, 4, 1 and 9.
IDF = np.array([0, 1, 2, 3, 1, 2, 1, 3], dtype=np.float32)

# Three documents; the question's terms 1, 2 and 3 weigh 14 together.
MATCHES = Matches(
    query="Did Ada Moor sell 40 boats in 1,950?",
    query_ids=[1, 2, 3, 3],
    title_ids=[[2, 6], [5, 6], []],
    sentence_ids=[[1, 5], [3, 4], [0, 1, 0], [7, 5, 6]],
    texts=["Ada Moor sold 40 boats.", "In 1,950 he sold 40.", "Nothing else.", "ADA MOOR again."],
    document=np.array([0, 0, 1, 2]),
    idf=IDF,
)
LOGITS = Logits(keep=np.array([2.0, 0.5, -1.0, 1.0]), relevance=np.array([1.0, -0.5, 0.25]))
FIRST = np.array([3.0, 1.0, -2.0, 2.5])


def test_presence_and_coverage() -> None:
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


def test_any_per_document_joins_the_sentences_of_a_document() -> None:
    presence = np.array([[True, False], [False, True], [False, False]])
    joined = any_per_document(presence, np.array([0, 0, 2]), 3)
    assert joined.tolist() == [[True, True], [False, False], [False, False]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("In 1,950 and 40, then 40 again", ["1,950", "40"]),
        ("from 3:45 to 12/5, version 2.0.1.", ["12/5", "2.0.1", "3:45"]),
        ("none", []),
    ],
)
def test_numbers(text: str, expected: list[str]) -> None:
    assert find_numbers(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Where did Ada Moor meet the Duke of Orvelle?", ["ada moor", "duke of orvelle"]),
        ("Who is it? The boat left. Every boat left", []),
        ("She met Ada, then Ada, then Bertil", ["ada", "bertil"]),
    ],
)
def test_names_are_capitalised_and_do_not_open_a_sentence(text: str, expected: list[str]) -> None:
    assert find_names(text) == expected


def test_phrase_share() -> None:
    assert phrase_share(["ada moor", "40"], ["ada moor sold 40", "ada", "140 boats"]).tolist() == [1, 0, 0.5]
    assert phrase_share([], ["ada", "moor"]).tolist() == [0, 0]


FIRST_COLUMNS = {
    "keep": [2, 0.5, -1, 1],
    "relevance": [1, 1, -0.5, 0.25],
    "keep_best_in_document": [2, 2, -1, 1],
    "keep_below_best": [0, -1.5, -3, -1],
    "keep_neighbours": [0.5, 2, -1, -1],
    "relevance_below_best": [0, 0, -1.5, -0.75],
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


def test_the_columns_of_the_first_stage() -> None:
    features = first_features(MATCHES, LOGITS)
    assert features.shape == (4, len(FIRST_FEATURES))
    assert dict(zip(FIRST_FEATURES, features.T.tolist(), strict=True)) == {
        name: pytest.approx(column) for name, column in FIRST_COLUMNS.items()
    }


def test_a_neighbour_in_another_document_does_not_count() -> None:
    logits = replace(LOGITS, keep=np.array([0.0, 0.0, 9.0, -4.0]))
    column = first_features(MATCHES, logits)[:, FIRST_FEATURES.index("keep_neighbours")]
    assert column.tolist() == [0, 0, -4, -4]


def test_the_features_of_a_question() -> None:
    expected = {
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
    values = query_features(MATCHES, LOGITS, FIRST)
    assert dict(zip(QUERY_FEATURES, values.tolist(), strict=True)) == pytest.approx(expected)


def test_a_lead_is_never_further_than_the_one_over_a_missing_document() -> None:
    first = np.array([30.0, 1.0, -2.0, 25.0])
    two = replace(MATCHES, title_ids=[[2, 6], []], document=np.array([0, 0, 1, 1]))
    place = QUERY_FEATURES.index("lead_over_second_document")
    assert query_features(MATCHES, LOGITS, first)[place : place + 2].tolist() == [5, 10]
    assert query_features(two, replace(LOGITS, relevance=np.ones(2)), first)[place : place + 2].tolist() == [
        5,
        10,
    ]


def test_best_sentences_come_in_order_and_ties_go_to_the_earlier() -> None:
    assert best_sentences(FIRST) == [0, 3, 1]
    assert best_sentences(np.array([1.0, 2.0, 2.0]), 2) == [1, 2]
    assert best_sentences(np.array([1.0])) == [0]


# How far the second and the third best are trusted, against one half for the best.
SECOND, THIRD = 1 / (1 + math.exp(0.5)), 1 / (1 + math.exp(2))
BRIDGE_COLUMNS = {
    "first": [3, 1, -2, 2.5],
    "first_below_best": [0, -2, -5, -0.5],
    "first_rank": [0, math.log(3), math.log(4), math.log(2)],
    # Sentence 0 holds 4/5 of the second title; sentence 3 holds 1/5 of the first and all of the second.
    "title_in_best": [0.2 * SECOND, 0.2 * SECOND, max(0.4, SECOND), 0],
    # Token 6, the part of the first title that the question does not hold, stands in sentence 3.
    "names_best_title": [0, 0, 0, 0.5],
    # Sentences 0 and 3 share token 5.
    "shares_terms": [SECOND * math.log(5), 0, 0, 0.5 * math.log(5)],
    "same_document_as_best": [0.5, 0.5, 0, SECOND],
}
READ_AGAIN = {
    "hop1_keep": [0, 0, 0.5, 0],
    "hop1_gain": [0, 0, 1.5, 0],
    "hop1_relevance": [0, 0, 1.5, 0],
    "hop1_read": [0, 0, 1, 0],
    "hop2_keep": [3, 2, 0, 0],
    "hop2_gain": [1, 1.5, 0, 0],
    "hop2_relevance": [0.25, 0.25, 0, 0],
    "hop2_read": [1, 1, 0, 0],
}


def test_the_columns_of_the_bridges() -> None:
    features = bridge_features(MATCHES, FIRST)
    assert features.shape == (4, len(BRIDGE_FEATURES))
    assert dict(zip(BRIDGE_FEATURES, features.T.tolist(), strict=True)) == {
        name: pytest.approx(column) for name, column in BRIDGE_COLUMNS.items()
    }


def test_the_columns_of_the_second_reading() -> None:
    nan = math.nan
    hops = [
        Logits(np.array([nan, nan, 0.5, nan]), np.array([nan, 1.5, nan])),
        Logits(np.array([3, 2, nan, nan]), np.array([0.25, nan, nan])),
    ]
    features = reread_features(MATCHES, LOGITS, hops)
    assert dict(zip(REREAD_FEATURES, features.T.tolist(), strict=True)) == READ_AGAIN
    first = reread_features(MATCHES, LOGITS, hops[:1])
    assert first.tolist() == np.hstack([features[:, :4], np.zeros((4, 4))]).tolist()
    assert not reread_features(MATCHES, LOGITS, []).any()


def test_the_second_pass_starts_from_the_best_sentence_of_each_of_the_best_documents() -> None:
    assert hop_sentences(MATCHES, np.array([3.0, 4.0, -2.0, 2.5])) == [1, 3]
    alone = replace(MATCHES, document=np.zeros(4, np.int64))
    assert hop_sentences(alone, FIRST) == [0]


def test_a_bridge_does_not_look_at_its_own_document() -> None:
    # The best sentence and its neighbour hold the whole title of their document.
    matches = replace(MATCHES, title_ids=[[7, 5], [], []], sentence_ids=[[7, 5], [7, 5], [0], [0]])
    features = bridge_features(matches, np.array([9.0, 1.0, -2.0, -3.0]))
    columns = dict(zip(BRIDGE_FEATURES, features.T.tolist(), strict=True))
    for name in ("title_in_best", "names_best_title", "shares_terms"):
        assert columns[name] == [0, 0, 0, 0]


def test_the_third_best_sentence_is_a_bridge_and_the_fourth_is_not() -> None:
    matches = replace(
        MATCHES, title_ids=[[], [], [], [], [4], [7]], sentence_ids=[[0], [0], [4], [7], [0], [0]],
        texts=[""] * 6, document=np.arange(6),
    )  # fmt: skip
    first = np.array([3.0, 2.0, 1.0, 0.0, -1.0, -1.0])
    column = bridge_features(matches, first)[:, BRIDGE_FEATURES.index("title_in_best")]
    assert column.tolist() == pytest.approx([0, 0, 0, 0, THIRD, 0])


def test_the_formula_of_a_perceptron() -> None:
    layer = Perceptron(
        mean=np.array([1.0, 2.0]),
        deviation=np.array([2.0, 0.5]),
        hidden=np.array([[0.5], [-1.0]]),
        hidden_bias=np.array([0.25]),
        out=np.array([2.0]),
        linear=np.array([0.1, -0.4]),
        bias=0.3,
    )
    # Standardised: (2, 0.5), and for the second row (500, 0), of which the first is clipped to 6.
    values = layer(np.array([[5.0, 2.25], [1001.0, 2.0]]))
    assert values.tolist() == pytest.approx([2 * math.tanh(0.75) + 0.3, 2 * math.tanh(3.25) + 0.6 + 0.3])


def drawn(width: int, hidden: int, seed: int) -> Perceptron:
    rng = np.random.default_rng(seed)
    return Perceptron(
        rng.normal(size=width),
        rng.uniform(0.5, 2, size=width),
        rng.normal(size=(width, hidden)),
        rng.normal(size=hidden),
        rng.normal(size=hidden),
        rng.normal(size=width),
        float(rng.normal()),
    )


def fusion() -> Fusion:
    first, query, second = len(FIRST_FEATURES), len(QUERY_FEATURES), len(SECOND_FEATURES)
    return Fusion(drawn(first, 0, 1), drawn(query, 0, 2), drawn(second, 4, 3))


def test_a_fusion_survives_its_file(tmp_path: Path) -> None:
    path = tmp_path / "fusion.json"
    saved = fusion()
    saved.save(path)
    loaded = Fusion.load(path)
    rng = np.random.default_rng(4)
    for name in ("first", "gate", "bridge"):
        before, after = getattr(saved, name), getattr(loaded, name)
        rows = rng.normal(size=(5, len(before.mean)))
        assert np.abs(before(rows)).max() > 0.1
        np.testing.assert_allclose(after(rows), before(rows), atol=1e-4)


@pytest.mark.parametrize("layer", ["first", "gate", "bridge"])
def test_a_fusion_for_other_features_is_refused(tmp_path: Path, layer: str) -> None:
    path = tmp_path / "fusion.json"
    fusion().save(path)
    values = json.loads(path.read_text())
    order = values["features"][layer]
    order[0], order[1] = order[1], order[0]
    path.write_text(json.dumps(values))
    with pytest.raises(ValueError, match="other features"):
        Fusion.load(path)


@pytest.mark.parametrize(
    ("opening", "expected"), [(0.9, 0.9), (MIN_GATE + 1e-6, MIN_GATE), (MIN_GATE - 1e-6, 0)]
)
def test_a_gate_that_is_hardly_open_is_shut(opening: float, expected: float) -> None:
    made = fusion()
    width = len(QUERY_FEATURES)
    still = replace(made.gate, linear=np.zeros(width), bias=math.log(opening / (1 - opening)))
    assert replace(made, gate=still).gate_value(np.ones(width)) == pytest.approx(expected, abs=1e-5)
