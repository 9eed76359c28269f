"""The sieve and the second pass: which windows the encoder reads, and what sees what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.attacks.cases import make_cases
from tersely import Compressor
from tersely.score import DocumentScores, ScoredInput
from tersely.score import hops as hop_module
from tersely.score.encoder import BATCH_TOKENS
from tersely.score.features import STARTS, first_features, path_starts
from tersely.score.hops import PATH_WINDOWS, SecondStage
from tersely.score.selector import MORE_TOKENS
from tersely.score.sieve import EXTRA_WINDOWS, MIN_WINDOWS, WINDOW_SHARE
from tersely.score.vectors import pack, unpack
from tests.sdk.selector_cases import (
    DOCUMENTS,
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


BIRTH_QUESTION = "Where was the designer of the Brackmoor Lighthouse born?"


def test_the_second_pass_runs_only_where_the_gate_is_open() -> None:
    with_closed_gate, one_pass = recording_selector(gate_logit=GATE_CLOSED)
    first_scores = with_closed_gate.score(BIRTH_QUESTION, DOCUMENTS)
    assert len(one_pass.windows()) == len(DOCUMENTS)
    with_open_gate, two_passes = recording_selector(gate_logit=GATE_OPEN)
    second_scores = with_open_gate.score(BIRTH_QUESTION, DOCUMENTS)
    assert STARTS * (len(DOCUMENTS) - 1) > PATH_WINDOWS
    assert len(two_passes.windows()) == len(DOCUMENTS) + PATH_WINDOWS
    assert two_passes.windows()[: len(DOCUMENTS)] == one_pass.windows()
    pairs = zip(first_scores, second_scores, strict=True)
    assert any(not np.allclose(first.scores, second.scores) for first, second in pairs)


def test_other_documents_are_reread_after_the_best_sentences(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hop_module, "PATH_WINDOWS", 12)  # so many that the limit leaves out none
    selector, session = recording_selector()
    documents = DOCUMENTS[:3]
    first_pass = selector.first_pass(BIRTH_QUESTION, documents)
    matches = first_pass.matches
    features = first_features(matches, first_pass.logits, first_pass.near)
    first_logits = selector.fusion.first_layer(features)
    session.inputs.clear()
    second = SecondStage.make(matches, first_pass.logits, features, first_logits)
    hops = selector.second_pass(first_pass, second)
    config = selector.layout.config
    assert len(session.windows()) == STARTS * (len(documents) - 1)
    assert [hop.start for hop in hops] == path_starts(matches, first_logits)
    for hop in hops:
        home, logits = int(matches.document[hop.start]), hop.logits
        evidence = [*matches.title_ids[home], *matches.sentence_ids[hop.start]]
        prefix = [config.cls_id, *matches.query_ids, config.sep_id, *evidence, config.sep_id]
        windows = [window for window in session.windows() if window[: len(prefix)] == prefix]
        assert len(windows) == len(documents) - 1
        assert np.isnan(logits.keep).tolist() == (matches.document == home).tolist()
        assert np.isnan(logits.relevance).tolist() == [doc == home for doc in range(len(documents))]


CASE = make_cases("diluted", seed=5)[0].example
"""Ten documents of a few patterns, so that many windows have one length."""
ALIKE = [make_input(document.title, document.text) for document in CASE.documents]


@cache
def score_alike() -> Sequence[DocumentScores]:
    return bundled_selector().score(CASE.question, ALIKE)


@settings(max_examples=12)
@given(st.permutations(range(len(ALIKE))))
def test_the_order_of_documents_of_one_length_changes_no_score(order: Sequence[int]) -> None:
    """Their windows share batches, and a batch shares its scale."""
    by_order = bundled_selector().score(CASE.question, [ALIKE[number] for number in order])
    for number, own in zip(order, by_order, strict=True):
        np.testing.assert_allclose(own.scores, score_alike()[number].scores, atol=1e-6)


def test_sentences_beyond_the_best_keep_their_logits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hop_module, "MAX_SENTENCES", 3)
    selector, _ = recording_selector(gate_logit=GATE_OPEN)
    done = selector.first_pass(BIRTH_QUESTION, DOCUMENTS)
    features = first_features(done.matches, done.logits, done.near)
    first_logits = selector.fusion.first_layer(features)
    second = SecondStage.make(done.matches, done.logits, features, first_logits)
    added = selector.fusion.attend(second, selector.second_pass(done, second))
    best = np.argsort(-first_logits, kind="stable")[:3]
    assert np.flatnonzero(added).tolist() == sorted(best.tolist())


def test_for_a_single_document_the_second_pass_reads_nothing() -> None:
    selector, session = recording_selector(gate_logit=GATE_OPEN)
    scores = selector.score("Who designed the lighthouse?", DOCUMENTS[:1])
    assert len(session.inputs) == 1
    assert np.isfinite(scores[0].scores).all()


def test_the_second_pass_and_its_batches_are_limited() -> None:
    selector, session = recording_selector(gate_logit=GATE_OPEN)
    selector.score(NEEDLE_QUESTION, make_long_input(24, 13))
    assert len(session.windows()) <= 2 * (MIN_WINDOWS + EXTRA_WINDOWS) + PATH_WINDOWS
    for inputs in session.inputs:
        assert inputs["input_ids"].size <= BATCH_TOKENS or len(inputs["input_ids"]) == 1


LINK_QUESTION = "Where did the maker of the 417 silver spoons of the harbour master grow up?"
LONG_INPUT = make_long_input(120, 30)
LONG_INPUT[5] = make_input(None, "The 417 silver spoons of the harbour master were forged by Marla Quint.")
LONG_INPUT[33] = make_input(None, "Marla Quint learned to forge in Ashgrove.")


def test_with_a_closed_gate_no_more_of_a_long_input_is_read() -> None:
    selector, session = recording_selector(gate_logit=GATE_CLOSED, max_tokens=FEW_TOKENS)
    selector.first_pass(LINK_QUESTION, LONG_INPUT)
    first_windows = len(session.windows())
    selector.score(LINK_QUESTION, LONG_INPUT)
    assert len(session.windows()) == 2 * first_windows


def test_with_an_open_gate_more_of_a_long_input_is_read() -> None:
    selector, session = recording_selector(gate_logit=GATE_OPEN, max_tokens=FEW_TOKENS)
    first_pass = selector.first_pass(LINK_QUESTION, LONG_INPUT)
    first_windows = len(session.windows())
    first_logits = selector.fusion.first_layer(
        first_features(first_pass.matches, first_pass.logits, first_pass.near)
    )
    extended = selector.extend_first_pass(first_pass, first_logits)
    added_lengths = [len(window) for window in session.windows()[first_windows:]]
    assert MORE_TOKENS - max(added_lengths) < sum(added_lengths) <= MORE_TOKENS
    assert len(extended.unread) == 120 - first_windows - len(added_lengths)
    second_hop = int(extended.offsets[33])
    assert first_pass.logits.keep[second_hop] == first_pass.logits.keep.min()
    assert extended.logits.keep[second_hop] > extended.logits.keep.min()
    session.inputs.clear()
    selector.score(LINK_QUESTION, LONG_INPUT)
    assert len(session.windows()) == first_windows + len(added_lengths) + PATH_WINDOWS
