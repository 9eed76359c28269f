"""The second hop: find sentences to which the best sentences of the first pass lead in other documents.

search_paths   reads windows again, each with one of the best sentences of another document (the evidence) in
               front of it; a path goes from this sentence to a sentence of the window
SecondStage    compares the best sentences of a request with each other
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tersely.score.attention import MAX_SENTENCES, SentenceAttention
from tersely.score.encoder import Encoder, WindowLogits, merge_logits
from tersely.score.features import (
    BRIDGE_FEATURES,
    FIRST_FEATURES,
    Logits,
    Matches,
    best_sentences,
    bridge_features,
    max_per_document,
    path_starts,
)
from tersely.score.layout import EncodedDocument, Layout, Window
from tersely.score.matching import Floats, TermIndex, unique_ids
from tersely.score.sieve import best_values

PATH_WINDOWS = 4
"""Largest number of windows that are read again, over all starts."""

PATH_FEATURES = (
    "path",
    "path_below_best",
    "path_sum",
    "path_keep",
    "path_gain",
    "path_relevance",
    "path_read",
    "leads_to",
    "leads",
)


@dataclass(frozen=True, slots=True)
class Hop:
    """Logits of the windows that were read again after one sentence, the start of paths."""

    start: int
    """Index of the sentence."""
    logits: Logits


def search_paths(
    layout: Layout,
    encoder: Encoder,
    matches: Matches,
    encoded: Sequence[EncodedDocument],
    offsets: NDArray[np.int64],
    first_logits: Floats,
    estimates: Floats,
) -> list[Hop]:
    """Read the windows with the most promising paths again, each after a sentence of another document.

    Args:
        encoded: the documents.
        offsets: the first sentence of each document, (documents + 1,).
        first_logits: the first stage's logits, (sentences,).
        estimates: how likely each sentence seems to end a path, (sentences,).

    Returns:
        A hop for each start. Logits of sentences that were not read again are nan.
    """
    by_document = max_per_document(estimates, matches.document, len(encoded))
    ranked = [int(i) for i in np.argsort(-by_document, kind="stable")]
    starts = path_starts(matches, first_logits)
    paths: list[tuple[float, int, Window]] = []
    for start in starts:
        home = int(matches.document[start])
        others = set([i for i in ranked if i != home][:PATH_WINDOWS])
        windows = layout.windows(
            matches.query_ids,
            [e if i in others else EncodedDocument([], []) for i, e in enumerate(encoded)],
            evidence=[*matches.title_ids[home], *matches.sentence_ids[start]],
        )
        ends = best_values(windows, estimates, offsets)
        start_logit = float(first_logits[start])
        paths += [(start_logit + end, start, w) for w, end in zip(windows, ends, strict=True)]
    best = sorted(paths, key=lambda path: -path[0])[:PATH_WINDOWS]
    window_logits = encoder.encode([window for _, _, window in best])
    by_start: dict[int, list[WindowLogits]] = {start: [] for start in starts}
    for (_, start, _), logits in zip(best, window_logits, strict=False):  # fewer if the time is up
        by_start[start].append(logits)
    return [Hop(start, merge_logits(ws, offsets, len(encoded))) for start, ws in by_start.items()]


def path_features(m: Matches, logits: Logits, first_logits: Floats, hops: Sequence[Hop]) -> Floats:
    """Return (sentences, len(PATH_FEATURES)): how well each sentence continues from the starts of the hops.

    The value of a path is the sum of two numbers: the start's logit minus the best sentence's (at most 0),
    and the logit of the path's end, read after the start. A start gets the logit of its best end. The order
    of the hops does not matter. Rows of sentences that were not read again are 0, except that a start keeps
    what it leads to.
    """
    size = len(first_logits)
    columns = np.zeros((len(PATH_FEATURES), size))
    if not hops:
        return columns.T
    keep = np.stack([hop.logits.keep for hop in hops])
    relevance = np.stack([hop.logits.relevance for hop in hops])[:, m.document]
    trust = np.array([[first_logits[hop.start] - first_logits.max()] for hop in hops])
    was_read = ~np.isnan(keep)
    reached = was_read.any(axis=0)

    def best(values: Floats) -> Floats:
        return np.where(was_read, values, -np.inf).max(axis=0)[reached]

    paths = np.where(was_read, trust + keep, -np.inf)[:, reached]
    if reached.any():
        columns[0, reached] = paths.max(axis=0)
        columns[1, reached] = paths.max(axis=0) - paths.max()
        columns[2, reached] = np.logaddexp.reduce(paths, axis=0)
        columns[3, reached] = best(keep)
        columns[4, reached] = best(keep - logits.keep)
        columns[5, reached] = best(relevance)
        columns[6, reached] = 1.0
    for hop, row in zip(hops, keep, strict=True):
        if not np.isnan(row).all():
            columns[7, hop.start] = np.nanmax(row)
            columns[8, hop.start] = 1.0
    return columns.T


def relate(m: Matches, chosen: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return (chosen, chosen, len(RELATIONS)) for each pair of the chosen sentences, in ascending order.

    Terms of the question do not count, because every answering sentence has some of them. The five numbers
    for sentences i and j are the cosine of their terms, log(1 + the weight of the terms that they share), the
    share of the title of j's document that i contains, the same with i and j exchanged, and 1 if they are in
    one document. Both shares are 0 inside a document.
    """
    size = len(chosen)
    is_new = np.ones(len(m.idf), dtype=np.bool_)
    is_new[m.terms] = False
    rows: list[int] = chosen.tolist()
    index = TermIndex([m.sentence_ids[i] for i in rows], m.idf)
    terms = np.unique(index.ids)
    terms = terms[is_new[terms]]
    contains = index.presence(terms).dense().astype(np.float32)
    weights = m.index.weights(terms).astype(np.float32)
    shared = (contains * weights) @ contains.T
    norms = np.sqrt(np.maximum(shared.diagonal(), 1e-6))
    documents, home = np.unique(m.document[chosen], return_inverse=True)
    numbers: list[int] = documents.tolist()
    titles = np.zeros((size, len(numbers)), dtype=np.float32)
    for column, number in enumerate(numbers):
        title_terms = unique_ids(m.title_ids[number])
        title_terms = title_terms[is_new[title_terms]]
        total = float(m.index.weights(title_terms).sum())
        if total:
            titles[:, column] = contains @ np.where(np.isin(terms, title_terms), weights, 0.0) / total
    is_same = (home[:, None] == home[None, :]).astype(np.float32)
    names = titles[:, home] * (1.0 - is_same)
    pairs = [shared / np.outer(norms, norms), np.log1p(shared), names, names.T, is_same]
    return np.stack(pairs, axis=-1).astype(np.float32)


SECOND_FEATURES = FIRST_FEATURES + BRIDGE_FEATURES + PATH_FEATURES


@dataclass(frozen=True, slots=True)
class SecondStage:
    """The sentences that are compared with each other, and their features without a second pass."""

    matches: Matches
    logits: Logits
    """Logits of the first pass."""
    first_logits: Floats
    """The first stage's logits, (sentences,)."""
    chosen: NDArray[np.int64]
    """The sentences that take part, ascending."""
    features: Floats
    """Features of the first stage and the bridges, (chosen, features)."""
    relations: NDArray[np.float32]
    """(chosen, chosen, len(RELATIONS))"""

    @classmethod
    def make(cls, matches: Matches, logits: Logits, features: Floats, first_logits: Floats) -> SecondStage:
        """Relate the best sentences. `features` are the first stage's, (sentences, len(FIRST_FEATURES))."""
        chosen = np.sort(best_sentences(first_logits, MAX_SENTENCES))
        features = np.hstack([features, bridge_features(matches, first_logits)])[chosen]
        return cls(matches, logits, first_logits, chosen, features, relate(matches, chosen))

    def inputs(self, hops: Sequence[Hop]) -> Floats:
        """Return (chosen, len(SECOND_FEATURES)) with the logits of a second pass, if there are hops."""
        paths = path_features(self.matches, self.logits, self.first_logits, hops)
        return np.hstack([self.features, paths[self.chosen]])

    def attend(self, attention: SentenceAttention, hops: Sequence[Hop]) -> Floats:
        """Return the amounts to add to the logits, shape (sentences,); 0 for a sentence that does not take
        part."""
        added = np.zeros(len(self.first_logits))
        added[self.chosen] = attention(self.inputs(hops), self.relations)
        return added
