"""The sieve: which windows of prepared documents the encoder reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from tersely import Compressor
from tersely.score import DocumentScores, ScoredInput
from tersely.score.hops import PATH_WINDOWS
from tersely.score.selector import MORE_TOKENS
from tersely.score.sieve import MIN_WINDOWS, WINDOW_SHARE
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
Form = Callable[[Sequence[ScoredInput]], list[ScoredInput]]
"""Form of the inputs: as they are, or prepared."""
TWO_HOP_QUESTION = "Where did the maker of the 417 silver spoons of the harbour master grow up?"
SECOND_HOP = "Marla Quint learned to forge in Ashgrove."


def prepare(inputs: Sequence[ScoredInput]) -> list[ScoredInput]:
    prepared = bundled_selector().prepare(inputs)
    return [replace(own, preparation=p) for own, p in zip(inputs, prepared, strict=True)]


def assert_similar(left: Sequence[DocumentScores], right: Sequence[DocumentScores]) -> None:
    """Assert that the scores are close. Prepared vectors are rounded to four bits a number."""
    for one, other in zip(left, right, strict=True):
        assert one.relevance == pytest.approx(other.relevance, abs=0.05)
        assert list(one.scores) == pytest.approx(list(other.scores), abs=0.05)


def make_two_hops() -> list[ScoredInput]:
    """Return documents with the answer in the last one. Others share more words with the question."""
    inputs = make_long_input(COUNT, NEEDLE_AT)
    inputs[:4] = [
        make_input(None, f"In year {number} the harbour master counted the silver spoons again.")
        for number in range(4)
    ]
    inputs[4] = make_input(None, "The 417 silver spoons of the harbour master were made by Marla Quint.")
    return [*inputs, make_input("Marla Quint", SECOND_HOP)]


@pytest.mark.parametrize("form", [list, prepare])
def test_only_promising_windows_are_read_with_the_question(form: Form) -> None:
    selector, session = recording_selector(gate_logit=GATE_CLOSED)
    inputs = make_long_input(COUNT, NEEDLE_AT)
    scores = selector.score(NEEDLE_QUESTION, form(inputs))
    assert MIN_WINDOWS <= len(session.windows()) < COUNT / 2
    assert rank_sentences(inputs, scores)[0] == NEEDLE


def test_prepared_documents_score_as_others_do() -> None:
    selector, _ = recording_selector()
    inputs = make_long_input(COUNT, NEEDLE_AT)
    mixed = [*prepare(inputs[:16]), *inputs[16:]]
    expected = selector.score(NEEDLE_QUESTION, inputs)
    for form in (prepare(inputs), mixed):
        assert_similar(selector.score(NEEDLE_QUESTION, form), expected)


def test_few_documents_are_all_read() -> None:
    selector, session = recording_selector(gate_logit=GATE_CLOSED)
    selector.score(NEEDLE_QUESTION, make_long_input(MIN_WINDOWS, 1))
    assert len(session.windows()) == MIN_WINDOWS


@pytest.mark.parametrize("form", [list, prepare])
def test_hop_reads_documents_near_the_best_sentences(form: Form) -> None:
    closed, few = recording_selector(gate_logit=GATE_CLOSED)
    opened, more = recording_selector(gate_logit=GATE_OPEN)
    inputs = make_two_hops()
    closed.score(TWO_HOP_QUESTION, form(inputs))
    scores = opened.score(TWO_HOP_QUESTION, form(inputs))
    assert len(few.windows()) < len(more.windows()) - PATH_WINDOWS < len(inputs)
    assert SECOND_HOP in rank_sentences(inputs, scores)[:4]


def test_of_many_windows_a_share_is_read() -> None:
    selector, session = recording_selector(gate_logit=GATE_CLOSED)
    selector.score(NEEDLE_QUESTION, make_long_input(80, NEEDLE_AT))
    assert 80 * WINDOW_SHARE <= len(session.windows()) < 80 / 2


@pytest.mark.parametrize("form", [list, prepare])
def test_a_sieved_input_is_also_read_up_to_the_limit_of_tokens(form: Form) -> None:
    selector, session = recording_selector(gate_logit=GATE_CLOSED, max_tokens=FEW_TOKENS)
    selector.score(NEEDLE_QUESTION, form(make_long_input(80, NEEDLE_AT)))
    assert sum(map(len, session.windows())) <= FEW_TOKENS


def test_unprepared_documents_are_read_up_to_the_token_limits() -> None:
    selector, session = recording_selector(gate_logit=GATE_OPEN, max_tokens=FEW_TOKENS)
    inputs = make_long_input(400, NEEDLE_AT)
    selector.score(NEEDLE_QUESTION, [*prepare(inputs[:1]), *inputs[1:]])
    read = [len(window) for window in session.windows()]
    assert sum(read) <= FEW_TOKENS + MORE_TOKENS + PATH_WINDOWS * max(read)


def test_question_of_unknown_words_rules_nothing_out() -> None:
    selector, session = recording_selector(gate_logit=GATE_CLOSED)
    selector.score("Liman başkanının 417 gümüş kaşığı nerede?", make_long_input(COUNT, NEEDLE_AT))
    assert len(session.windows()) == COUNT


def test_ruled_out_sentence_counts_as_read() -> None:
    compressor = Compressor(bundled_selector())
    texts = [own.text for own in make_long_input(COUNT, NEEDLE_AT)]
    result = compressor.compress(NEEDLE_QUESTION, texts, budget=30)
    assert {span.reason for span in result.dropped} == {"budget", "duplicate"}


def test_prepared_documents_keep_a_promised_recall() -> None:
    compressor = Compressor(bundled_selector())
    texts = [own.text for own in make_long_input(COUNT, NEEDLE_AT)]
    result = compressor.compress(NEEDLE_QUESTION, compressor.prepare(texts), recall=0.9)
    assert result.recall_met
    assert NEEDLE in result.text


def test_vectors_keep_their_direction_in_two_bits_a_number() -> None:
    draw = np.random.default_rng(3).normal(size=(50, 384)).astype(np.float32)
    vectors = draw / np.linalg.norm(draw, axis=1, keepdims=True)
    packed = pack(vectors)
    assert len(packed) == vectors.size / 4
    assert (unpack(packed, 384) * vectors).sum(axis=1).min() > 0.92
    gaps = np.concatenate([vectors[:1], np.zeros((1, 384), np.float32), vectors[1:2]])
    assert np.isnan(unpack(pack(gaps), 384)).any(axis=1).tolist() == [False, True, False]


def test_bytes_of_another_dimension_are_no_vectors() -> None:
    with pytest.raises(ValueError, match="reshape"):
        unpack(b"12345", 192)
