"""How the sentences of a request relate to each other: what attention between them starts from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tersely.score.features import Matches
from tersely.score.matching import TermIndex, unique_ids

RELATIONS = ("shared_share", "shared_weight", "names_title", "title_is_named", "same_document")


def relate(m: Matches, chosen: NDArray[np.int64]) -> NDArray[np.float32]:
    """(chosen, chosen, len(RELATIONS)) for each pair of the chosen sentences, numbered in ascending order.

    Terms of the question count for nothing, because every sentence that answers has some of them. Row i and
    column j: the cosine of their terms; the weight of the terms that they share; how much of the title of
    j's document i holds, and the reverse, both 0 inside a document; whether they stand in one document.
    """
    size = len(chosen)
    is_new = np.ones(len(m.idf), dtype=np.bool_)
    is_new[m.terms] = False
    rows: list[int] = chosen.tolist()
    index = TermIndex([m.sentence_ids[i] for i in rows], m.idf)
    terms = np.unique(index.ids)
    terms = terms[is_new[terms]]
    held = index.presence(terms).dense().astype(np.float32)
    weights = m.index.weights(terms).astype(np.float32)
    shared = (held * weights) @ held.T
    norms = np.sqrt(np.maximum(shared.diagonal(), 1e-6))
    documents, home = np.unique(m.document[chosen], return_inverse=True)
    numbers: list[int] = documents.tolist()
    titles = np.zeros((size, len(numbers)), dtype=np.float32)
    for column, number in enumerate(numbers):
        own = unique_ids(m.title_ids[number])
        own = own[is_new[own]]
        total = float(m.index.weights(own).sum())
        if total:
            titles[:, column] = held @ np.where(np.isin(terms, own), weights, 0.0) / total
    is_same = (home[:, None] == home[None, :]).astype(np.float32)
    names = titles[:, home] * (1.0 - is_same)
    pairs = [shared / np.outer(norms, norms), np.log1p(shared), names, names.T, is_same]
    return np.stack(pairs, axis=-1).astype(np.float32)
