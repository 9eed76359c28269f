"""Ways to compress without a question: tersely and its controls.

All but the last choose among the same units and are packed by the same compressor. The last one drops words.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from benchmarks.quality.controls import HeadScorer, RandomScorer, Ranking, split_scores
from benchmarks.shared.statistics import Floats
from tersely import Compressor, Document
from tersely.score import DocumentScores, ScoredInput, Scorer
from tersely.score.words import split_terms

OURS = "tersely"
Method = Callable[[Sequence[Document], int], str]
"""(documents, most tokens) to a text."""

_DAMPING, _SIMILAR = 0.85, 0.1
_TRIES = 12


class EachHeadScorer(Ranking):
    """The first units of every document, in turn."""

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        return [
            DocumentScores(1.0, [1.0 / (1 + place) for place in range(len(document.units))])
            for document in documents
        ]


class LexRankScorer(Ranking):
    """Centrality of units by LexRank (Erkan and Radev, 2004): PageRank over units that are linked if their
    tf-idf vectors have a cosine of at least 0.1."""

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        texts = [document.text[u.start : u.end] for document in documents for u in document.units]
        return split_scores(documents, rank_by_centrality(texts))


def rank_by_centrality(texts: Sequence[str]) -> Floats:
    """Return the LexRank of each text, the highest as 1."""
    counts = [Counter(split_terms(text)) for text in texts]
    columns = {
        term: number for number, term in enumerate(dict.fromkeys(t for count in counts for t in count))
    }
    frequency = Counter(term for count in counts for term in count)
    vectors = np.zeros((len(texts), len(columns)), dtype=np.float32)
    for row, count in enumerate(counts):
        for term, times in count.items():
            vectors[row, columns[term]] = times * math.log(len(texts) / frequency[term])
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    links = (vectors @ vectors.T >= _SIMILAR).astype(np.float32)
    links /= np.maximum(links.sum(axis=1, keepdims=True), 1.0)
    ranks = np.full(len(texts), 1.0 / max(1, len(texts)), dtype=np.float32)
    for _ in range(50):
        ranks = (1 - _DAMPING) / max(1, len(texts)) + _DAMPING * (links.T @ ranks)
    return (ranks / max(float(ranks.max(initial=0.0)), 1e-9)).clip(0, 1).astype(float)


class WordDropper:
    """A filter that keeps the words with most self-information, in order.

    It replaces LLMLingua-2 and Selective Context, whose weights are not available here: -log p of a word
    comes from the frequencies of words in all documents of the set, theirs from a trained model.
    """

    def __init__(self, texts: Iterable[str], count: Callable[[str], int]) -> None:
        self._frequency = Counter(word for text in texts for word in map(_normalize, text.split()))
        self._total = self._frequency.total()
        self._count = count

    def __call__(self, documents: Sequence[Document], budget: int) -> str:
        """Return the words of the documents that tell most, within the budget."""
        words = [word for document in documents for word in document.text.split()]
        told = np.array([math.log(self._total / max(1, self._frequency[_normalize(w)])) for w in words])
        order: list[int] = np.argsort(-told, kind="stable").tolist()
        low, high, best = 0, len(words), ""
        for _ in range(_TRIES):
            middle = (low + high + 1) // 2
            text = " ".join(words[at] for at in sorted(order[:middle]))
            if self._count(text) <= budget:
                low, best = middle, text
            else:
                high = middle - 1
        return best


def _normalize(word: str) -> str:
    return re.sub(r"^\W+|\W+$", "", word.lower())


def make_methods(texts: Iterable[str], seed: int) -> dict[str, Method]:
    """Return the methods by name. `texts` are those of all documents of the set."""
    compressor = Compressor(HeadScorer())

    def run_scorer(scorer: Scorer) -> Method:
        packer = Compressor(scorer)
        return lambda documents, budget: (
            packer.compress(documents[0].text[:40], documents, budget=budget).text
        )

    return {
        OURS: lambda documents, budget: compressor.compress(None, documents, budget=budget).text,
        "lead": run_scorer(HeadScorer()),
        "lead of each": run_scorer(EachHeadScorer()),
        "LexRank": run_scorer(LexRankScorer()),
        "random": run_scorer(RandomScorer(seed)),
        "dropped words": WordDropper(texts, compressor.count_tokens),
    }
