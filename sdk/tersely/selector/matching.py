"""Exact matching: which rare query terms, numbers and names a sentence holds.

An encoder blurs names and numbers; matching does not. Terms are the tokenizer's own ids, so nothing is
tokenised twice. Their weight is the squared inverse document frequency in the training corpus, which makes
function words vanish. Time is linear in the number of tokens.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_NAME = re.compile(
    r"(?<!^)(?<![.!?]\s)\b[A-Z][\w'’.-]+(?:\s+(?:(?:of|the|and|de|von|van)\s+)?[A-Z][\w'’.-]+)*"
)


class TermIndex:
    """Token ids of all sentences of a request, ready to be matched against sets of terms."""

    def __init__(self, sentences: Sequence[Sequence[int]], idf: NDArray[np.float32]) -> None:
        self.size = len(sentences)
        self.idf = idf
        lengths = np.fromiter((len(s) for s in sentences), dtype=np.int64, count=self.size)
        self.owner = np.repeat(np.arange(self.size), lengths)
        self.ids = np.fromiter((t for s in sentences for t in s), dtype=np.int64, count=int(lengths.sum()))

    def weights(self, terms: NDArray[np.int64]) -> Floats:
        """(terms,)"""
        return self.idf[terms].astype(np.float64) ** 2

    def presence(self, terms: NDArray[np.int64]) -> NDArray[np.bool_]:
        """(sentences, terms): whether a sentence holds a term. `terms` are unique ids."""
        column = np.full(len(self.idf), -1, dtype=np.int64)
        column[terms] = np.arange(len(terms))
        columns = column[self.ids]
        is_term = columns >= 0
        out = np.zeros((self.size, len(terms)), dtype=np.bool_)
        out[self.owner[is_term], columns[is_term]] = True
        return out

    def coverage(self, terms: NDArray[np.int64]) -> Floats:
        """Share of the terms' weight that each sentence holds, shape (sentences,)."""
        return weighted_share(self.presence(terms), self.weights(terms))


def unique_ids(ids: Sequence[int]) -> NDArray[np.int64]:
    return np.unique(np.asarray(ids, dtype=np.int64))


def weighted_share(presence: NDArray[np.bool_], weights: Floats) -> Floats:
    """Weighted share of True along the last axis; 0 where there is no weight."""
    total = float(weights.sum())
    if total <= 0:
        return np.zeros(presence.shape[:-1])
    return presence @ weights / total


def any_per_document(
    presence: NDArray[np.bool_], document: NDArray[np.int64], documents: int
) -> NDArray[np.bool_]:
    """(documents, terms): whether any sentence of the document holds the term."""
    out = np.zeros((documents, presence.shape[1]), dtype=np.bool_)
    np.logical_or.at(out, document, presence)
    return out


def find_numbers(text: str) -> list[str]:
    """Numbers as written, "1,861" or "3.14" included, sorted."""
    return sorted(set(_NUMBER.findall(text)))


def find_names(text: str) -> list[str]:
    """Capitalised phrases that do not merely open a sentence, lower-cased and sorted."""
    return sorted({m.lower() for m in _NAME.findall(text)})


def phrase_share(phrases: Sequence[str], texts: Sequence[str]) -> Floats:
    """Share of the phrases that occur in each (lower-cased) text; 0 without phrases."""
    if not phrases:
        return np.zeros(len(texts))
    return np.array([sum(p in t for p in phrases) / len(phrases) for t in texts])
