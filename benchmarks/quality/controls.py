"""The systems that tersely is measured against, as scorers of the very same sentence units.

Each has the selector's one method, so that splitting, packing and token counting are the compressor's own and
rates are equal. BM25 and MiniLM read a sentence behind its document's title, as the selector does.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from tersely.selector import DocumentScores, ScoredInput
from tersely.text.bm25 import BM25


class Scorer(Protocol):
    """Anything that scores the units of documents for a query, as `tersely.selector.selector.Selector`
    does."""

    threshold: float
    length_price: float

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]: ...


class _Ranking:
    """Scores that only rank: they are no probabilities to weigh against a length."""

    threshold = 0.5
    length_price = 0.0


class RandomScorer(_Ranking):
    """Units in random order, drawn from the query and the seed."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        digest = hashlib.sha256(query.encode("utf-8", "surrogatepass")).hexdigest()
        draw = random.Random(f"{self._seed}:{digest}")
        return [_scores(np.array([draw.random() for _ in d.units])) for d in documents]


class HeadScorer(_Ranking):
    """Units in the order of the input: what cutting off at the budget keeps."""

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        values = np.linspace(1.0, 0.0, max(1, sum(len(d.units) for d in documents)))
        return _split(documents, values)


class BM25Scorer(_Ranking):
    """Okapi BM25 of the query over the units, whose statistics are those of the documents given."""

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        return _split(documents, _unit_interval(BM25(unit_texts(documents)).scores(query)))


class MiniLMScorer(_Ranking):
    """Cosine of all-MiniLM-L6-v2 embeddings of the query and each unit."""

    def __init__(self, advance: Callable[[int], None] | None = None) -> None:
        self._advance = advance

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        from benchmarks.shared.minilm import cached_embeddings

        vectors = cached_embeddings([query, *unit_texts(documents)], self._advance)
        return _split(documents, (vectors[1:] @ vectors[0] + 1) / 2)


class MiniLMDocuments(_Ranking):
    """Cosine of all-MiniLM-L6-v2 embeddings of the query and each whole document, for its relevance."""

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        from benchmarks.shared.minilm import cached_embeddings

        vectors = cached_embeddings([query, *(_titled(d, d.text) for d in documents)])
        return [
            DocumentScores(float(own @ vectors[0] + 1) / 2, np.zeros(len(d.units)))
            for own, d in zip(vectors[1:], documents, strict=True)
        ]


class DocumentScorer(_Ranking):
    """A plain reranker: whole documents by the relevance that a scorer gives them, cut at the budget."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        relevance = [scored.relevance for scored in self._scorer.score(query, documents)]
        order = sorted(range(len(documents)), key=lambda i: (-relevance[i], i))
        total = max(1, sum(len(d.units) for d in documents))
        values: list[np.ndarray] = [np.zeros(0)] * len(documents)
        place = 0
        for i in order:
            count = len(documents[i].units)
            values[i] = 1.0 - np.arange(place, place + count) / total
            place += count
        return [_scores(v) for v in values]


def beside(ours: Scorer, *, minilm: bool, seed: int) -> dict[str, Scorer]:
    """tersely and its controls by the names that tables of readers and peers give them."""
    return {
        "tersely": ours,
        "tersely's whole documents": DocumentScorer(ours),
        **({"MiniLM documents": DocumentScorer(MiniLMDocuments())} if minilm else {}),
        **({"MiniLM sentences": MiniLMScorer()} if minilm else {}),
        "BM25 sentences": BM25Scorer(),
        "head": HeadScorer(),
        "random": RandomScorer(seed),
    }


def unit_texts(documents: Sequence[ScoredInput]) -> list[str]:
    """Every unit of every document, in order, each behind its document's title."""
    return [_titled(d, d.text[unit.start : unit.end]) for d in documents for unit in d.units]


def _titled(document: ScoredInput, text: str) -> str:
    return f"{document.title}. {text}" if document.title else text


def _split(documents: Sequence[ScoredInput], values: np.ndarray) -> list[DocumentScores]:
    ends = np.cumsum([len(d.units) for d in documents])
    return [_scores(part) for part in np.split(values, ends[:-1])] if len(ends) else []


def _scores(values: np.ndarray) -> DocumentScores:
    return DocumentScores(float(values.max()) if len(values) else 0.0, values.astype(np.float64))


def _unit_interval(values: np.ndarray) -> np.ndarray:
    top = values.max() if len(values) else 0.0
    return values / top if top > 0 else values
