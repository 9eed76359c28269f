"""Exact matching: which rare query terms, numbers and names a sentence contains.

An encoder blurs names and numbers; matching does not. Terms are ids of the tokenizer, so nothing is tokenised
twice. The weight of a term is its squared inverse document frequency in the training corpus, so that function
words hardly count. Time is linear in the number of tokens.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MAX_PHRASES_IN_TURN = 32
"""Largest number of phrases that are searched one after the other. For more, a `PhraseFinder` is faster."""


class Presence:
    """A sparse matrix of the terms (columns) in texts (rows). RAM is linear in the tokens of the texts."""

    def __init__(self, rows: Integers, columns: Integers, shape: tuple[int, int]) -> None:
        keys = np.unique(rows * shape[1] + columns)
        self.rows, self.columns = np.divmod(keys, max(1, shape[1]))
        self.shape = shape

    def dense(self) -> NDArray[np.bool_]:
        """Return the dense matrix, shape (rows, terms)."""
        out = np.zeros(self.shape, dtype=np.bool_)
        out[self.rows, self.columns] = True
        return out

    def weigh(self, weights: Floats) -> Floats:
        """Return the weight of the terms that each row contains, shape (rows,). `weights`: shape (terms,)."""
        return self._sum(weights[self.columns])

    def _sum(self, values: Floats) -> Floats:
        """Return the sum of each row's values. `values` has one value for each entry of the matrix."""
        return np.bincount(self.rows, values, minlength=self.shape[0]).astype(np.float64, copy=False)

    def share(self, weights: Floats) -> Floats:
        """Return `weigh` as a share of all weight; 0 without any weight."""
        return self.weigh(weights) / _total(weights)

    def share_with(self, other: Presence, row: Integers, weights: Floats) -> Floats:
        """Return `share`, as if row i also contained the terms of row `row[i]` of `other`."""
        in_other = np.isin(
            row[self.rows] * self.shape[1] + self.columns, other.rows * self.shape[1] + other.columns
        )
        only_here = np.where(in_other, 0.0, weights[self.columns])
        return (other.weigh(weights)[row] + self._sum(only_here)) / _total(weights)

    def group(self, group: Integers, count: int) -> Presence:
        """Return the terms of each of `count` groups of rows. `group` is the group of each row."""
        return Presence(group[self.rows], self.columns, (count, self.shape[1]))

    def union(self, other: Presence) -> Presence:
        """Return the terms that either has. Both have the same shape."""
        rows = np.concatenate([self.rows, other.rows])
        return Presence(rows, np.concatenate([self.columns, other.columns]), self.shape)

    def count_rows(self) -> Integers:
        """Return the number of rows that contain each term, shape (terms,)."""
        return np.bincount(self.columns, minlength=self.shape[1])

    def any_of(self, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return, for each term, whether any of the chosen rows contains it; shape (terms,)."""
        out = np.zeros(self.shape[1], dtype=np.bool_)
        out[self.columns[chosen[self.rows]]] = True
        return out


class TermIndex:
    """Token ids of all sentences of a request, ready to be matched against sets of terms."""

    def __init__(self, sentences: Sequence[Sequence[int]], idf: NDArray[np.float32]) -> None:
        self.size = len(sentences)
        self.idf = idf
        lengths = np.fromiter((len(s) for s in sentences), dtype=np.int64, count=self.size)
        self.owner = np.repeat(np.arange(self.size), lengths)
        self.ids = np.fromiter((t for s in sentences for t in s), dtype=np.int64, count=int(lengths.sum()))

    def weights(self, terms: Integers) -> Floats:
        """Return the weight of each term, shape (terms,)."""
        return self.idf[terms].astype(np.float64) ** 2

    def presence(self, terms: Integers) -> Presence:
        """Return which sentence contains which term. `terms` are unique ids."""
        column = np.full(len(self.idf), -1, dtype=np.int64)
        column[terms] = np.arange(len(terms))
        columns = column[self.ids]
        is_term = columns >= 0
        return Presence(self.owner[is_term], columns[is_term], (self.size, len(terms)))

    def coverage(self, terms: Integers) -> Floats:
        """Return the share of the terms' weight that each sentence contains, shape (sentences,)."""
        return self.presence(terms).share(self.weights(terms))


def unique_ids(ids: Sequence[int]) -> Integers:
    """Return each id once, ascending."""
    return np.unique(np.asarray(ids, dtype=np.int64))


def weighted_share(chosen: NDArray[np.bool_], weights: Floats) -> float:
    """Return the share of the total weight that the chosen terms have; 0 without any weight.

    Both arrays have shape (terms,).
    """
    return float(chosen @ weights) / _total(weights)


def _total(weights: Floats) -> float:
    """Return the sum of weights of 0 or more; 1 if it is 0, so that a share of nothing is 0."""
    return float(weights.sum()) or 1.0


def best_beside(values: Floats, document: Integers, missing: float) -> Floats:
    """Return the higher value of each sentence's two neighbours in its document; `missing` without any.

    Both arrays have shape (sentences,).
    """
    padded = np.pad(values, 1, constant_values=missing)
    owner = np.pad(document, 1, constant_values=-1)
    before = np.where(owner[:-2] == document, padded[:-2], missing)
    after = np.where(owner[2:] == document, padded[2:], missing)
    return np.maximum(before, after)


def phrase_share(phrases: Sequence[str], texts: Sequence[str]) -> Floats:
    """Return the share of the phrases that occur in each (lower-cased) text; 0 without phrases."""
    if not phrases:
        return np.zeros(len(texts))
    if len(phrases) <= MAX_PHRASES_IN_TURN:
        return np.array([sum(p in t for p in phrases) / len(phrases) for t in texts])
    finder = PhraseFinder(phrases)
    return np.array([finder.count(t) / len(phrases) for t in texts])


class PhraseFinder:
    """A finder of any number of phrases, in time linear in the text, by the automaton of Aho and Corasick
    (1975).

    A state is the longest suffix of the text read so far that is a prefix of a phrase.
    """

    def __init__(self, phrases: Sequence[str]) -> None:
        self._next: list[dict[str, int]] = [{}]
        ends: set[int] = set()
        for phrase in phrases:
            ends.add(self._insert(phrase))
        self._shorter = [0] * len(self._next)
        """For each state, the next shorter suffix that is a prefix of a phrase."""
        self._phrase = [state if state in ends else 0 for state in range(len(self._next))]
        """For each state, the state of the longest phrase that the text ends with; 0 if it ends with none."""
        queue = deque(self._next[0].values())
        while queue:
            state = queue.popleft()
            self._phrase[state] = self._phrase[state] or self._phrase[self._shorter[state]]
            for character, following in self._next[state].items():
                self._shorter[following] = self._step(self._shorter[state], character)
                queue.append(following)
        # Each match is inside a run of characters that occur in phrases, so only these runs are searched.
        characters = sorted({character for phrase in phrases for character in phrase})
        self._runs = re.compile(f"[{''.join(map(re.escape, characters))}]+")

    def count(self, text: str) -> int:
        """Return the number of phrases that occur in a text."""
        found: set[int] = set()
        for run in set(self._runs.findall(text)):
            state = 0
            for character in run:
                state = self._step(state, character)
                phrase = self._phrase[state]
                while phrase and phrase not in found:
                    found.add(phrase)
                    phrase = self._phrase[self._shorter[phrase]]
        return len(found)

    def _insert(self, phrase: str) -> int:
        state = 0
        for character in phrase:
            following = self._next[state].get(character)
            if following is None:
                following = len(self._next)
                self._next.append({})
                self._next[state][character] = following
            state = following
        return state

    def _step(self, state: int, character: str) -> int:
        while state and character not in self._next[state]:
            state = self._shorter[state]
        return self._next[state].get(character, 0)
