"""Okapi BM25 in numpy: search over a folder, and the lexical control of the benchmarks."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_WORD = re.compile(r"[^\W_]+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")


def terms(text: str) -> list[str]:
    """Lower-case words; runs of Chinese or Japanese script as overlapping pairs of characters."""
    found: list[str] = []
    for word in _WORD.findall(text.lower()):
        at = 0
        for run in _CJK.finditer(word):
            found += [word[at : run.start()]] if run.start() > at else []
            found += [run[0][i : i + 2] for i in range(max(1, len(run[0]) - 1))]
            at = run.end()
        found += [word[at:]] if at < len(word) else []
    return found


class BM25:
    """Scores of a fixed list of texts. k1 and b are the usual 1.2 and 0.75."""

    def __init__(self, texts: Sequence[str], k1: float = 1.2, b: float = 0.75) -> None:
        counts = [Counter(terms(text)) for text in texts]
        lengths = np.array([c.total() for c in counts], dtype=np.float64)
        norm = k1 * (1 - b + b * lengths / max(lengths.mean(), 1.0)) if texts else lengths
        postings: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for index, counted in enumerate(counts):
            for term, n in counted.items():
                postings[term].append((index, n))
        self.size = len(texts)
        self._postings: dict[str, tuple[NDArray[np.intp], NDArray[np.float64]]] = {}
        for term, entries in postings.items():
            at = np.array([index for index, _ in entries], dtype=np.intp)
            n = np.array([n for _, n in entries], dtype=np.float64)
            idf = np.log1p((self.size - len(entries) + 0.5) / (len(entries) + 0.5))
            self._postings[term] = (at, idf * n * (k1 + 1) / (n + norm[at]))

    def scores(self, query: str) -> NDArray[np.float64]:
        """One score per text, zero where no term of the query occurs. Shape (texts,)."""
        total = np.zeros(self.size)
        for term in terms(query):
            if term in self._postings:
                at, weight = self._postings[term]
                total[at] += weight
        return total
