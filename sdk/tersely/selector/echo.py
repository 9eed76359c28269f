"""Documents that echo the question: a trick to be ranked first, or a list of questions without answers.

A sentence of an honest text rarely holds nearly every word of a question; of 984 held-out training questions
none had a document with two such sentences. Where they are half of a document, only its best sentence
competes with other documents (training/LOG.md).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tersely.selector.features import EXACT_FEATURES, Matches
from tersely.selector.matching import Floats
from tersely.selector.protocol import ScoredInput

ECHO = 0.9
"""Share of the weight of the question's terms that an echo holds."""

FEWEST_ECHOES = 3
FEWEST_TERMS = 5
"""Of shorter questions every sentence of a document may well hold all."""

HELD_BACK = 0.01
"""What is left of a score that is held back."""

_COVERAGE = EXACT_FEATURES.index("coverage")


def find_held_back(m: Matches, logits: Floats, documents: Sequence[ScoredInput]) -> NDArray[np.bool_]:
    """(sentences,) those of documents that echo the question, without the best sentence of each.

    A document echoes the question if echoes are at least three and half of its sentences. Structure does not
    count: every line of a log may hold what is asked for.
    """
    held = np.zeros(len(logits), dtype=np.bool_)
    if len(m.terms) < FEWEST_TERMS:
        return held
    is_prose = np.array([not unit.atomic for document in documents for unit in document.units])
    is_echo = is_prose & (m.exact[:, _COVERAGE] >= ECHO)
    echoes = np.bincount(m.document[is_echo], minlength=m.documents)
    for number in np.flatnonzero(echoes >= FEWEST_ECHOES):
        own = np.flatnonzero(m.document == number)
        if 2 * echoes[number] >= len(own):
            held[own] = True
            held[own[np.argmax(logits[own])]] = False
    return held
