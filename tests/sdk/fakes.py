"""Scorers and an embedder without a model: fast, deterministic, and dependent on nothing but their input."""

from __future__ import annotations

import re
import threading
import zlib
from collections.abc import Sequence

import numpy as np

from tersely.score import DocumentScores, ScoredInput
from tersely_agents.experience.vectors import Vectors


class FakeScorer:
    """A scorer by the words that a unit shares with the query, plus noise from its text against ties."""

    threshold = 0.4
    length_price = 0.0

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        words = _find_words(query)
        return [_score_document(words, document) for document in documents]


class BrokenScorer:
    """A scorer that raises an exception, or returns prepared scores."""

    threshold = 0.5
    length_price = 0.0

    def __init__(self, failure: BaseException | list[DocumentScores]) -> None:
        self.failure = failure

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        if isinstance(self.failure, BaseException):
            raise self.failure
        return self.failure


class HeldScorer(FakeScorer):
    """A scorer that waits until it may go on. `waiting` holds the questions of the calls that wait."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.waiting: list[str] = []

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        self.waiting.append(query)
        went_on = self.go_on.wait(60)
        self.waiting.remove(query)
        assert went_on
        return super().score(query, documents)


class Letters:
    """An embedder that counts letters: texts with the same letters get the same vector.

    `embedded` is the number of texts so far.
    """

    name = "letters"
    dimension = 26

    def __init__(self) -> None:
        self.embedded = 0

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.embedded += len(texts)
        rows = np.array([[t.lower().count(chr(97 + i)) for i in range(26)] for t in texts], dtype=np.float32)
        return (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)).astype(np.float32)


def _score_document(query: frozenset[str], document: ScoredInput) -> DocumentScores:
    texts = [document.text[unit.start : unit.end] for unit in document.units]
    scores = np.array([_score_text(query, text) for text in texts], dtype=np.float64)
    return DocumentScores(float(scores.max(initial=0.0)), scores.tolist())


def _score_text(query: frozenset[str], text: str) -> float:
    noise = zlib.crc32(text.encode("utf-8", "surrogatepass")) / 2**32
    return 0.6 * len(query & _find_words(text)) / max(1, len(query)) + 0.4 * noise * noise


def _find_words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.lower()))
