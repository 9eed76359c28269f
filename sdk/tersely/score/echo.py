"""Documents that echo the question: a trick to be ranked first, or a list of questions without answers.

A sentence of an honest text rarely contains nearly every word of a question; of 984 held-out training
questions none had a document with two sentences that do. If they are half of a document, only its best
sentence competes with other documents (training/LOG.md).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tersely.score.features import EXACT_FEATURES, Matches
from tersely.score.matching import Floats
from tersely.score.protocol import ScoredInput
from tersely.score.words import split_terms

ECHO = 0.9
"""Share of the weight of the question's terms that an echo contains."""

FEWEST_ECHOES = 3
FEWEST_TERMS = 5
"""Every sentence of a document may well contain all terms of a shorter question."""

HELD_BACK = 0.01
"""Share of a score that remains when it is held back."""

_COVERAGE = EXACT_FEATURES.index("coverage")


def find_held_back(m: Matches, logits: Floats, documents: Sequence[ScoredInput]) -> NDArray[np.bool_]:
    """Return which sentences belong to a document that echoes the question, except its best one.

    A document echoes the question if echoes are at least three and half of its sentences. Structure does not
    count: every line of a log may contain what is asked for.
    """
    if len(m.terms) < FEWEST_TERMS:
        return np.zeros(len(logits), dtype=np.bool_)
    return _find(m.exact[:, _COVERAGE] >= ECHO, logits, documents)


def find_held_back_by_words(
    query: str, texts: Sequence[str], logits: Floats, documents: Sequence[ScoredInput]
) -> NDArray[np.bool_]:
    """Return the same for a question in a script that the vocabulary does not know. Its words weigh the same.

    `texts` are the sentences of all documents.
    """
    terms = set(split_terms(query))
    if len(terms) < FEWEST_TERMS:
        return np.zeros(len(logits), dtype=np.bool_)
    held = np.array([len(terms.intersection(split_terms(text))) for text in texts])
    return _find(held >= ECHO * len(terms), logits, documents)


def _find(is_echo: NDArray[np.bool_], logits: Floats, documents: Sequence[ScoredInput]) -> NDArray[np.bool_]:
    held = np.zeros(len(logits), dtype=np.bool_)
    document = np.repeat(np.arange(len(documents)), [len(own.units) for own in documents])
    is_prose = np.array([not unit.atomic for own in documents for unit in own.units])
    echoes = np.bincount(document[is_prose & is_echo], minlength=len(documents))
    for number in np.flatnonzero(echoes >= FEWEST_ECHOES):
        own = np.flatnonzero(document == number)
        if 2 * echoes[number] >= len(own):
            held[own] = True
            held[own[np.argmax(logits[own])]] = False
    return held
