"""The bundled model's sentence embeddings, through its real graph."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tersely.embedding import SentenceEmbedder
from tersely_agents.experience import Experience, ExperienceBank

LESSONS = (
    ("Search by the object's name", "When a question asks who built something."),
    ("Check the unit of a number", "When two tables give amounts in different currencies."),
    ("Refund before cancelling", "When a customer wants money back for a booked flight."),
    ("Read the log from its end", "When a build has failed and the reason is not clear."),
    ("Ask for the date of birth", "When a caller's identity has to be confirmed."),
)
QUERIES = (
    "Which architect constructed the old lighthouse?",
    "The totals are in euros here and in dollars there.",
    "I would like to be reimbursed for my plane ticket.",
    "Compilation broke and I do not know why.",
    "How do I make sure that this person is who they say?",
)


@pytest.fixture(scope="module")
def embedder() -> SentenceEmbedder:
    return SentenceEmbedder(threads=2)


def test_vectors_have_length_one_in_any_batch(embedder: SentenceEmbedder) -> None:
    texts = [*QUERIES, "", "word " * 1000, "Ärger mit \ud800 Zeichen 漢字"]
    vectors = embedder.embed(texts)
    assert vectors.shape == (len(texts), embedder.dimension)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(texts)), abs=1e-5)
    for text, vector in zip(texts, vectors, strict=True):
        assert np.array_equal(embedder.embed([text])[0], vector)
    assert embedder.embed([]).shape == (0, embedder.dimension)


def test_texts_of_the_same_meaning_are_near(embedder: SentenceEmbedder) -> None:
    lessons = embedder.embed([f"{title}. {when}" for title, when in LESSONS])
    nearest = (embedder.embed(QUERIES) @ lessons.T).argmax(axis=1)
    assert (nearest == np.arange(len(QUERIES))).sum() >= len(QUERIES) - 1


def test_a_bank_needs_no_embedder_of_its_own(tmp_path: Path) -> None:
    bank = ExperienceBank(tmp_path / "bank.db")
    bank.add_all([Experience(title, when, "Do so.", "Some task.", success=True) for title, when in LESSONS])
    assert bank.recall(QUERIES[2], k=1)[0].experience.title == "Refund before cancelling"
