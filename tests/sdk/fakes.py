"""Scorers and an embedder without a model: fast, deterministic, and dependent on nothing but their input."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence

import numpy as np

from tersely.experience.types import Vectors
from tersely.selector import DocumentScores, ScoredInput


class FakeScorer:
    """Words shared with the query, and a little noise from the unit's own text so that ties are rare."""

    threshold = 0.4
    length_price = 0.0

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        wanted = _words(query)
        return [_score(wanted, document) for document in documents]


class BrokenScorer:
    """Fails the way it is told to."""

    threshold = 0.5
    length_price = 0.0

    def __init__(self, failure: BaseException | list[DocumentScores]) -> None:
        self.failure = failure

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        if isinstance(self.failure, BaseException):
            raise self.failure
        return self.failure


def _score(wanted: frozenset[str], document: ScoredInput) -> DocumentScores:
    texts = [document.text[unit.start : unit.end] for unit in document.units]
    scores = np.array([_share(wanted, text) for text in texts], dtype=np.float64)
    return DocumentScores(float(scores.max(initial=0.0)), scores.tolist())


def _share(wanted: frozenset[str], text: str) -> float:
    noise = zlib.crc32(text.encode("utf-8", "surrogatepass")) / 2**32
    return 0.6 * len(wanted & _words(text)) / max(1, len(wanted)) + 0.4 * noise * noise


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.lower()))


class Letters:
    """An embedder that counts letters: deterministic, and texts of the same letters get the same vector."""

    name = "letters"
    dimension = 26

    def __init__(self) -> None:
        self.embedded = 0

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.embedded += len(texts)
        rows = np.array([[t.lower().count(chr(97 + i)) for i in range(26)] for t in texts], dtype=np.float32)
        return (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)).astype(np.float32)
