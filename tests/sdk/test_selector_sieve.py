"""The sieve: which windows of prepared documents the encoder reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from tersely import Compressor
from tersely.score import DocumentScores, ScoredInput
from tersely.score.hops import PATH_WINDOWS
from tersely.score.selector import MORE_TOKENS
from tersely.score.sieve import FEWEST, SHARE
from tersely.score.vectors import pack, unpack
from tests.sdk.selector_cases import (
    FEW_TOKENS,
    GATE_CLOSED,
    GATE_OPEN,
    NEEDLE,
    NEEDLE_QUESTION,
    bundled_selector,
    make_input,
    make_long_input,
    rank_sentences,
    recording_selector,
)

COUNT, NEEDLE_AT = 24, 13
TWO_HOP_QUESTION = "Where did the maker of the 417 silver spoons of the harbour master grow up?"
SECOND_HOP = "Marla Quint learned to forge in Ashgrove."


def prepare(inputs: Sequence[ScoredInput]) -> list[ScoredInput]:
    prepared = bundled_selector().prepare(inputs)
    return [replace(own, preparation=p) for own, p in zip(inputs, prepared, strict=True)]


def was_read(scores: DocumentScores) -> bool:
    return scores.read is not None and all(scores.read)


def assert_equal(left: Sequence[DocumentScores], right: Sequence[DocumentScores]) -> None:
    for one, other in zip(left, right, strict=True):
        assert one.relevance == other.relevance
        assert list(one.scores) == list(other.scores)


def make_two_hops() -> list[ScoredInput]:
    """The last document answers; others share more with the question."""
    inputs = make_long_input(COUNT, NEEDLE_AT)
    inputs[:4] = [
        make_input(None, f"In year {number} the harbour master counted the silver spoons again.")
        for number in range(4)
    ]
    inputs[4] = make_input(None, "The 417 silver spoons of the harbour master were made by Marla Quint.")
    return [*inputs, make_input("Marla Quint", SECOND_HOP)]


def test_of_prepared_documents_only_the_promising_ones_are_read() -> None:
    selector, session = recording_selector(gate_logit=GATE_CLOSED)
    inputs = make_long_input(COUNT, NEEDLE_AT)
    scores = selector.score(NEEDLE_QUESTION, prepare(inputs))
    assert len(session.windows()) == sum(map(was_read, scores)) < COUNT / 2
    assert rank_sentences(inputs, scores)[0] == NEEDLE


def test_without_preparation_every_document_is_read() -> None:
    selector, session = recording_selector(gate_logit=GATE_CLOSED)
    scores = selector.score(NEEDLE_QUESTION, make_long_input(COUNT, NEEDLE_AT))
    assert len(session.windows()) == COUNT
    assert all(map(was_read, scores))


def test_documents_that_were_not_prepared_are_read_beside_others_that_were() -> None:
    selector, _ = recording_selector(gate_logit=GATE_CLOSED)
    inputs = make_long_input(COUNT, NEEDLE_AT)
    scores = selector.score(NEEDLE_QUESTION, [*prepare(inputs[:16]), *inputs[16:]])
    assert all(map(was_read, scores[16:]))
    assert FEWEST <= sum(map(was_read, scores[:16])) < 16


def test_few_documents_are_all_read_and_score_as_if_they_were_not_prepared() -> None:
    selector, _ = recording_selector()
    inputs = make_long_input(FEWEST, 1)
    assert_equal(selector.score(NEEDLE_QUESTION, prepare(inputs)), selector.score(NEEDLE_QUESTION, inputs))


def test_where_another_hop_is_needed_documents_near_the_best_sentences_are_read_too() -> None:
    closed, _ = recording_selector(gate_logit=GATE_CLOSED)
    opened, _ = recording_selector(gate_logit=GATE_OPEN)
    inputs = make_two_hops()
    assert not was_read(closed.score(TWO_HOP_QUESTION, prepare(inputs))[-1])
    scores = opened.score(TWO_HOP_QUESTION, prepare(inputs))
    assert was_read(scores[-1])
    assert SECOND_HOP in rank_sentences(inputs, scores)[:4]
    assert sum(map(was_read, scores)) < len(inputs)


def test_of_many_windows_a_share_is_read() -> None:
    selector, _ = recording_selector(gate_logit=GATE_CLOSED)
    scores = selector.score(NEEDLE_QUESTION, prepare(make_long_input(80, NEEDLE_AT)))
    assert 80 * SHARE <= sum(map(was_read, scores)) < 80 / 2


def test_a_sieved_input_is_also_read_up_to_the_limit_of_tokens() -> None:
    selector, session = recording_selector(gate_logit=GATE_CLOSED, max_tokens=FEW_TOKENS)
    selector.score(NEEDLE_QUESTION, prepare(make_long_input(80, NEEDLE_AT)))
    assert sum(map(len, session.windows())) <= FEW_TOKENS


def test_beside_a_prepared_document_others_are_also_read_up_to_the_limits_of_tokens() -> None:
    selector, session = recording_selector(gate_logit=GATE_OPEN, max_tokens=FEW_TOKENS)
    inputs = make_long_input(400, NEEDLE_AT)
    selector.score(NEEDLE_QUESTION, [*prepare(inputs[:1]), *inputs[1:]])
    read = [len(window) for window in session.windows()]
    assert sum(read) <= FEW_TOKENS + MORE_TOKENS + PATH_WINDOWS * max(read)


def test_a_question_in_another_script_rules_nothing_out() -> None:
    selector, _ = recording_selector()
    inputs = make_long_input(COUNT, NEEDLE_AT)
    question = "港の主の 417 本の銀のスプーンはどこ?"
    assert_equal(selector.score(question, prepare(inputs)), selector.score(question, inputs))


def test_the_receipt_names_what_was_not_read() -> None:
    compressor = Compressor(bundled_selector())
    texts = [own.text for own in make_long_input(COUNT, NEEDLE_AT)]
    result = compressor.compress(NEEDLE_QUESTION, compressor.prepare(texts), budget=30)
    assert NEEDLE in result.text
    unread = {span.doc for span in result.dropped if span.reason == "unread"}
    assert len(unread) > COUNT / 2
    assert NEEDLE_AT not in unread


def test_for_a_promised_recall_everything_is_read() -> None:
    compressor = Compressor(bundled_selector())
    texts = [own.text for own in make_long_input(COUNT, NEEDLE_AT)]
    result = compressor.compress(NEEDLE_QUESTION, compressor.prepare(texts), recall=0.9)
    assert result == compressor.compress(NEEDLE_QUESTION, texts, recall=0.9)
    assert result.recall_met


def test_vectors_keep_their_direction_in_four_bits_a_number() -> None:
    draw = np.random.default_rng(3).normal(size=(50, 192)).astype(np.float32)
    vectors = draw / np.linalg.norm(draw, axis=1, keepdims=True)
    packed = pack(vectors)
    assert len(packed) == vectors.size / 2
    assert (unpack(packed, 192) * vectors).sum(axis=1).min() > 0.98


def test_bytes_of_another_dimension_are_no_vectors() -> None:
    with pytest.raises(ValueError, match="reshape"):
        unpack(b"12345", 192)
