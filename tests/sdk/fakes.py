"""A scorer with no model behind it: fast, deterministic, and indifferent to everything but its input."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence

import numpy as np

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
