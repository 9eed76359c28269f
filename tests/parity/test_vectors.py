"""Vectors of sentences from the bundled model's real graph."""

from __future__ import annotations

import numpy as np
import pytest

from tersely.runtime.artifacts import load_artifact
from tersely.runtime.cancellation import time_limit
from tersely.score.layout import EncodedDocument
from tersely.score.vectors import MAX_PASSAGE_TOKENS, Embedder

TITLE = "Mill Bridge"
SENTENCES = ("It was built in 1861 by Ada Wren.", "The river floods each spring.", "Tolls ended in 1902.")


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder(load_artifact(), threads=2)


def encode(embedder: Embedder, title: str, sentences: tuple[str, ...]) -> EncodedDocument:
    return EncodedDocument(*embedder.layout.tokenize([title]), embedder.layout.tokenize(sentences))


def test_passages_hold_every_token_of_every_sentence_once(embedder: Embedder) -> None:
    document = encode(embedder, "long title " * 30, (*SENTENCES, "word " * 700, "", *SENTENCES * 40))
    passages = embedder.divide(document)
    assert max(len(passage.ids) for passage in passages) <= MAX_PASSAGE_TOKENS
    found: list[list[int]] = [[] for _ in document.sentences]
    for passage in passages:
        for sentence, start, end in passage.spans:
            found[sentence] += passage.ids[start:end]
    assert found == list(document.sentences)


def test_a_sentence_is_read_after_its_title(embedder: Embedder) -> None:
    (titled,) = embedder.embed_sentences([encode(embedder, TITLE, SENTENCES)])
    (untitled,) = embedder.embed_sentences([encode(embedder, "", SENTENCES)])
    (question,) = embedder(embedder.layout.tokenize(["When was Mill Bridge built?"]))
    assert titled[0] @ question > untitled[0] @ question + 0.1
    assert np.argmax(titled @ question) == 0


def test_vectors_do_not_depend_on_other_documents(embedder: Embedder) -> None:
    document = encode(embedder, TITLE, SENTENCES)
    other = encode(embedder, "Granary", ("It holds barley.",) * 40)
    (alone,) = embedder.embed_sentences([document])
    _, beside = embedder.embed_sentences([other, document])
    assert np.array_equal(alone, beside)
    assert np.linalg.norm(alone, axis=1) == pytest.approx(np.ones(3), abs=1e-5)


def test_a_sentence_without_tokens_has_no_vector(embedder: Embedder) -> None:
    (vectors,) = embedder.embed_sentences([encode(embedder, TITLE, ("", SENTENCES[0]))])
    assert np.isnan(vectors[0]).all()
    assert not np.isnan(vectors[1]).any()


def test_sentences_for_which_there_is_no_time_have_no_vector(embedder: Embedder) -> None:
    document = encode(embedder, TITLE, SENTENCES)
    with time_limit(1e-6):
        (vectors,) = embedder.embed_sentences([document])
    assert np.isnan(vectors).all()
