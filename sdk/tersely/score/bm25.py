"""Okapi BM25 in numpy: for searches, and for scores if there is no model or the model cannot help."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tersely.score.words import split_terms

_B = 0.75
"""Weight of the length of a text; this is the usual value."""


class BM25:
    """BM25 scores of a fixed list of texts, by default with the usual k1 = 1.2.

    `split` returns the terms of a text. If all terms of later queries are known, `only` is a text with these
    terms, which saves time and RAM.
    """

    def __init__(
        self,
        texts: Sequence[str],
        k1: float = 1.2,
        *,
        only: str | None = None,
        split: Callable[[str], list[str]] = split_terms,
    ) -> None:
        self._split = split
        known = None if only is None else set(split(only))
        sizes: list[int] = []
        postings: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for index, text in enumerate(texts):
            terms = split(text)
            sizes.append(len(terms))
            if known is not None:
                terms = [term for term in terms if term in known]
            for term, n in Counter(terms).items():
                postings[term].append((index, n))
        lengths = np.array(sizes, dtype=np.float64)
        norm = k1 * (1 - _B + _B * lengths / max(lengths.mean(), 1.0)) if texts else lengths
        self.size = len(texts)
        self._postings: dict[str, tuple[NDArray[np.intp], NDArray[np.float64]]] = {}
        for term, entries in postings.items():
            at = np.array([index for index, _ in entries], dtype=np.intp)
            n = np.array([n for _, n in entries], dtype=np.float64)
            idf = np.log1p((self.size - len(entries) + 0.5) / (len(entries) + 0.5))
            self._postings[term] = (at, idf * n * (k1 + 1) / (n + norm[at]))

    def scores(self, query: str) -> NDArray[np.float64]:
        """Return a score for each text, shape (texts,); 0 for a text that contains no term of the query."""
        total = np.zeros(self.size)
        for term in self._split(query):
            if term in self._postings:
                at, weight = self._postings[term]
                total[at] += weight
        return total

    def highest(self, query: str) -> float:
        """Return an upper bound of the scores of `query`: the sum of the highest score of each term."""
        best = (self._postings[t][1].max() for t in self._split(query) if t in self._postings)
        return float(sum(best))
