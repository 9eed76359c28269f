"""Hard negatives: the passages of a pool nearest to a question that do not hold its answer.

Random negatives make retrieval trivial (the question's words then single out the gold passage), so the pool is
ranked by BM25 and, where vectors are given, by the base model's own similarity; the two lists are interleaved.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_WORD = re.compile(r"\w+")


def words(text: str) -> list[str]:
    return [w.lower() for w in _WORD.findall(text)]


class BM25:
    """Okapi BM25 over an inverted index; k1 and b as in Robertson and Zaragoza (2009)."""

    def __init__(self, texts: Sequence[str], k1: float = 1.2, b: float = 0.75) -> None:
        lengths = np.zeros(len(texts), dtype=np.float32)
        postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for index, text in enumerate(texts):
            counts = Counter(words(text))
            lengths[index] = sum(counts.values())
            for word, count in counts.items():
                postings[word].append((index, count))
        norm = k1 * (1 - b + b * lengths / max(float(lengths.mean()), 1.0))
        self.size = len(texts)
        self.postings: dict[str, tuple[NDArray[np.int64], NDArray[np.float32]]] = {}
        for word, pairs in postings.items():
            where = np.array([p[0] for p in pairs])
            tf = np.array([p[1] for p in pairs], dtype=np.float32)
            idf = np.log(1 + (self.size - len(pairs) + 0.5) / (len(pairs) + 0.5))
            self.postings[word] = (where, (idf * tf * (k1 + 1) / (tf + norm[where])).astype(np.float32))

    def scores(self, query: str) -> NDArray[np.float32]:
        """BM25 score of every text, shape (n,)."""
        out = np.zeros(self.size, dtype=np.float32)
        for word in set(words(query)):
            if word in self.postings:
                where, weight = self.postings[word]
                out[where] += weight
        return out


def normalise(text: str) -> str:
    return " ".join(words(text))


def hard_negatives(
    rankings: Sequence[NDArray[np.float32]],
    pool: Sequence[str],
    answers: Sequence[str],
    gold: set[int],
    count: int,
) -> list[int]:
    """The `count` nearest pool members, alternating between the rankings.

    `pool` holds normalised texts. Gold passages and passages that contain a normalised answer are left out.
    """
    banned = [a for a in map(normalise, answers) if a]
    orders = [np.argsort(-r, kind="stable")[: 8 * count + 20] for r in rankings]
    chosen: list[int] = []
    for candidates in zip(*orders, strict=True):
        for candidate in map(int, candidates):
            if len(chosen) == count:
                return chosen
            if candidate in gold or candidate in chosen:
                continue
            padded = f" {pool[candidate]} "
            if not any(f" {a} " in padded for a in banned):
                chosen.append(candidate)
    return chosen
