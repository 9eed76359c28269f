"""The scores of the selector with the bundled model, and what it costs to get them."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tersely import Compressor, Document
from tersely.errors import ArtifactError
from tersely.runtime.artifacts import load_artifact
from tersely.score import ScoredInput
from tersely.score.features import first_features
from tersely.score.selector import NEIGHBOUR_SHARE, Selector
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
    sentences_of,
)

QUESTION = "Who designed the lighthouse?"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (
            "Who designed the Brackmoor Lighthouse?",
            "It was designed by the engineer Ida Penrose in 1871.",
        ),
        ("What is the main export of Tarnwick?", "Its main export is barley."),
        ("Where was Ida Penrose born?", "She was born in Lindisvale and studied in Tarnwick."),
        (
            "What must be kept wet while copper wire passes?",
            "The die must be kept wet while the wire passes.",
        ),
    ],
)
def test_an_obvious_answer_ranks_first(question: str, answer: str) -> None:
    scores = bundled_selector().score(question, DOCUMENTS)
    assert rank_sentences(DOCUMENTS, scores)[0] == answer
    best = max(range(len(DOCUMENTS)), key=lambda doc: scores[doc].relevance)
    assert answer in sentences_of(DOCUMENTS[best])


@pytest.mark.parametrize("gate_logit", [GATE_OPEN, GATE_CLOSED, None])
def test_scores_are_probabilities_shaped_like_the_documents(gate_logit: float | None) -> None:
    scores = recording_selector(gate_logit=gate_logit)[0].score(QUESTION, DOCUMENTS)
    assert [len(own.scores) for own in scores] == [len(document.units) for document in DOCUMENTS]
    for own in scores:
        assert 0 < min(own.scores) <= max(own.scores) == own.relevance < 1


@pytest.mark.parametrize("gate_logit", [GATE_OPEN, GATE_CLOSED])
def test_documents_without_units_score_nothing_and_cost_nothing(gate_logit: float) -> None:
    titled, untitled = ScoredInput("Empty", "", []), ScoredInput(None, " ", [])
    selector, session = recording_selector(gate_logit=gate_logit)
    without = selector.score(QUESTION, DOCUMENTS[:2])
    runs = len(session.inputs)
    among = selector.score(QUESTION, [titled, DOCUMENTS[0], untitled, DOCUMENTS[1]])
    assert len(session.inputs) == 2 * runs
    assert [(own.relevance, len(own.scores)) for own in (among[0], among[2])] == [(0.0, 0)] * 2
    for own_without, own_among in zip(without, (among[1], among[3]), strict=True):
        np.testing.assert_allclose(own_among.scores, own_without.scores, atol=1e-6)


def test_without_any_unit_the_encoder_does_not_run() -> None:
    selector, session = recording_selector()
    scores = selector.score("Who?", [ScoredInput("Empty", "", []), ScoredInput(None, "", [])])
    assert [(own.relevance, len(own.scores)) for own in scores] == [(0.0, 0)] * 2
    assert selector.score("Who?", []) == []
    assert session.inputs == []


def test_a_closed_gate_leaves_the_scores_of_the_first_stage() -> None:
    selector = recording_selector(gate_logit=GATE_CLOSED)[0]
    first_pass = selector.first_pass(QUESTION, DOCUMENTS)
    logits = selector.fusion.first_layer(
        first_features(first_pass.matches, first_pass.logits, first_pass.near)
    )
    scores = np.concatenate([own.scores for own in selector.score(QUESTION, DOCUMENTS)])
    np.testing.assert_allclose(np.log(scores / (1 - scores)), logits, atol=1e-6)


def test_neighbours_raise_a_sentence_unless_the_gate_is_open() -> None:
    for own in recording_selector(gate_logit=GATE_CLOSED)[0].score(QUESTION, DOCUMENTS):
        padded = [0.0, *own.scores, 0.0]
        expected = [
            score + NEIGHBOUR_SHARE * max(before, after) * (1 - score)
            for before, score, after in zip(padded, padded[1:], padded[2:], strict=False)
        ]
        assert own.packing_scores is not None
        assert own.packing_scores == pytest.approx(expected)
        assert own.relevance == max(padded)
    with_open_gate = recording_selector(gate_logit=GATE_OPEN)[0].score(QUESTION, DOCUMENTS)
    assert all(own.packing_scores == pytest.approx(own.scores) for own in with_open_gate)


@pytest.mark.parametrize("needle", [0, 13, 23])
def test_exact_match_is_found_in_a_too_long_input(needle: int) -> None:
    selector, session = recording_selector(gate_logit=GATE_CLOSED, max_tokens=FEW_TOKENS)
    documents = make_long_input(24, needle)
    scores = selector.score(NEEDLE_QUESTION, documents)
    assert 0 < sum(map(len, session.windows())) <= FEW_TOKENS
    assert rank_sentences(documents, scores)[0] == NEEDLE
    assert [len(own.scores) for own in scores] == [len(document.units) for document in documents]


def test_what_was_not_read_has_a_lower_logit_than_anything_read() -> None:
    selector = recording_selector(max_tokens=FEW_TOKENS)[0]
    first_pass = selector.first_pass("Where are the 417 silver spoons?", make_long_input(12, 7))
    keep, document = first_pass.logits.keep, first_pass.matches.document
    unread = set(document[keep == keep.min()].tolist())
    assert 0 < len(unread) < 12
    assert 7 not in unread
    was_read = np.array([doc not in unread for doc in document])
    assert keep[was_read].min() == pytest.approx(keep.min() + 1)
    assert first_pass.read[was_read].all()
    assert not first_pass.read.all()


def test_many_short_documents_are_all_read() -> None:
    """The tokens that are read have a limit, for any number of windows."""
    documents = [make_input(None, f"Room {number} is empty.") for number in range(200)]
    documents[150] = make_input(None, "Marie Curie discovered polonium.")
    selector, session = recording_selector(gate_logit=GATE_CLOSED)
    scores = selector.score("Which chemical element was found by a Polish physicist?", documents)
    assert 0 < len(session.windows()) < 200  # the others have vectors
    assert all(own.read is not None and all(own.read) for own in scores)
    assert max(range(200), key=lambda doc: scores[doc].relevance) == 150


def test_receipt_names_unread_units_and_denies_recall() -> None:
    selector, session = recording_selector(gate_logit=GATE_CLOSED, max_tokens=FEW_TOKENS)
    selector.calibration = bundled_selector().calibration
    docs = [Document(document.text, document.title) for document in make_long_input(24, 7)]
    result = Compressor(selector).compress(NEEDLE_QUESTION, docs, recall=0.9)
    assert NEEDLE in result.text
    unread = {span.doc for span in result.dropped if span.reason == "unread"}
    assert 0 < len(unread) <= 24 - len(session.windows())
    assert result.recall_met is False


def test_a_receipt_promises_a_recall_where_everything_was_read() -> None:
    docs = [Document(document.text, document.title) for document in make_long_input(24, 7)]
    result = Compressor(bundled_selector()).compress(NEEDLE_QUESTION, docs, recall=0.9)
    assert {span.reason for span in result.dropped} == {"threshold"}
    assert result.recall_met is True


def test_artifact_without_a_part_is_refused_with_a_remedy(tmp_path: Path) -> None:
    artifact = load_artifact()
    shutil.copy(artifact.tokenizer_path, tmp_path)
    broken = replace(artifact, path=tmp_path)
    with pytest.raises(ArtifactError, match=r"fusion\.json.*fetch or export the model again"):
        Selector.load(broken)
    (tmp_path / "fusion.json").write_text('{"features": {"first": ["keep"]}}')
    with pytest.raises(ArtifactError, match="fitted to other features"):
        Selector.load(broken)
