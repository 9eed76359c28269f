"""What is known about every sentence of a request, as numbers that a small layer can weigh.

The exact matches cost nothing next to the encoder and are worked out once; the encoder's logits come in one
reading after the other. Every function is pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tersely.selector.matching import (
    Floats,
    TermIndex,
    any_per_document,
    names,
    numbers,
    phrase_share,
    share,
    unique,
)

ENCODER_FEATURES = (
    "keep",
    "relevance",
    "keep_best_in_document",
    "keep_below_best",
    "keep_neighbours",
    "relevance_below_best",
)
EXACT_FEATURES = (
    "coverage",
    "coverage_with_title",
    "coverage_document",
    "coverage_rare",
    "numbers",
    "names",
    "title_in_query",
    "opening",
    "position",
    "length",
)
FIRST_FEATURES = ENCODER_FEATURES + EXACT_FEATURES
BRIDGE_FEATURES = (
    "first",
    "first_below_best",
    "first_rank",
    "title_in_best",
    "names_best_title",
    "shares_terms",
    "same_document_as_best",
)
HOPS = 2
"""Documents from whose best sentence the second pass looks for another hop."""

REREAD_FEATURES = tuple(
    f"hop{hop + 1}_{name}" for hop in range(HOPS) for name in ("keep", "gain", "relevance", "read")
)
SECOND_FEATURES = FIRST_FEATURES + BRIDGE_FEATURES + REREAD_FEATURES
QUERY_FEATURES = (
    "query_length",
    "query_names",
    "query_weight",
    "covered_by_best",
    "covered_by_best_document",
    "best",
    "lead_over_second_document",
    "lead_over_third_document",
    "best_relevance",
)
BRIDGES = 3
"""Sentences of the first stage that the second stage looks out from."""

_FAR = 10.0
"""Lead over a document that does not exist."""


@dataclass(frozen=True, slots=True)
class Logits:
    """What one reading says: keep (sentences,) and relevance (documents,).

    A second pass has nan where it did not look.
    """

    keep: Floats
    relevance: Floats


@dataclass(slots=True)
class Evidence:
    """The sentences of one query, flat over documents in order, and what exact matching says of them."""

    query: str
    query_ids: Sequence[int]
    title_ids: Sequence[Sequence[int]]
    sentence_ids: Sequence[Sequence[int]]
    texts: Sequence[str]
    document: NDArray[np.int64]
    """(sentences,) number of each sentence's document."""
    idf: NDArray[np.float32]
    """(vocabulary,)"""
    index: TermIndex = field(init=False)
    terms: NDArray[np.int64] = field(init=False)
    """The query's unique token ids."""
    weights: Floats = field(init=False)
    """(terms,)"""
    presence: NDArray[np.bool_] = field(init=False)
    """(sentences, terms)"""
    exact: Floats = field(init=False)
    """(sentences, len(EXACT_FEATURES))"""

    def __post_init__(self) -> None:
        self.index = TermIndex(self.sentence_ids, self.idf)
        self.terms = unique(self.query_ids)
        self.weights = self.index.weights(self.terms)
        self.presence = self.index.presence(self.terms)
        self.exact = self._exact()

    @property
    def documents(self) -> int:
        return len(self.title_ids)

    def _exact(self) -> Floats:
        titles = TermIndex(self.title_ids, self.idf).presence(self.terms)
        in_document = any_per_document(self.presence, self.document, self.documents) | titles
        rare = self.weights * (in_document.sum(0) <= max(1, self.documents // 5))
        lowered = [t.lower() for t in self.texts]
        position = _position(self.document)
        columns = [
            share(self.presence, self.weights),
            share(self.presence | titles[self.document], self.weights),
            share(in_document, self.weights)[self.document],
            share(self.presence, rare),
            phrase_share(numbers(self.query), lowered),
            phrase_share(names(self.query), lowered),
            _title_share(self.title_ids, self.terms, self.idf)[self.document],
            (position == 0).astype(np.float64),
            np.log1p(position),
            np.log1p([len(s) for s in self.sentence_ids]),
        ]
        return np.stack(columns, axis=1)


def first_features(e: Evidence, logits: Logits) -> Floats:
    """(sentences, len(FIRST_FEATURES)) evidence of one reading."""
    keep, relevance = logits.keep, logits.relevance
    columns = [
        keep,
        relevance[e.document],
        per_document_max(keep, e.document, e.documents)[e.document],
        keep - keep.max(),
        _neighbours(keep, e.document),
        (relevance - relevance.max())[e.document],
    ]
    return np.hstack([np.stack(columns, axis=1), e.exact])


def query_features(e: Evidence, logits: Logits, first: Floats) -> Floats:
    """(len(QUERY_FEATURES),) what tells a question that one sentence answers from one that needs more."""
    best = best_sentences(first, 1)[0]
    home = int(e.document[best])
    title = np.isin(e.terms, unique(e.title_ids[home]))
    lead = first[best] - np.sort(per_document_max(first, e.document, e.documents))[::-1]
    lead = np.minimum(np.concatenate([lead, np.full(3, _FAR)]), _FAR)
    return np.array(
        [
            np.log1p(len(e.query_ids)),
            len(names(e.query)),
            np.sqrt(e.weights.sum()),
            share(e.presence[best] | title, e.weights),
            share(e.presence[e.document == home].any(0) | title, e.weights),
            first[best],
            lead[1],
            lead[2],
            logits.relevance[home],
        ]
    )


def best_sentences(first: Floats, count: int = BRIDGES) -> list[int]:
    """Indices of the highest first-stage logits, best first; ties go to the earlier sentence."""
    return [int(i) for i in np.argsort(-first, kind="stable")[:count]]


def hop_sentences(e: Evidence, first: Floats) -> list[int]:
    """Indices of the best sentences of the HOPS best documents, best first."""
    found: dict[int, int] = {}
    for i in best_sentences(first, len(first)):
        found.setdefault(int(e.document[i]), i)
        if len(found) == HOPS:
            break
    return list(found.values())


def bridge_features(e: Evidence, first: Floats) -> Floats:
    """(sentences, len(BRIDGE_FEATURES)) evidence relative to the first stage's best sentences."""
    size = len(first)
    best = best_sentences(first)
    title_in_best = np.zeros(e.documents)
    names_title = np.zeros(size)
    shares = np.zeros(size)
    same = np.zeros(size)
    for bridge in best:
        trust = _trust(first, best[0], bridge)
        home = int(e.document[bridge])
        elsewhere = e.document != home
        terms = unique(e.sentence_ids[bridge])
        mentioned = _title_share(e.title_ids, terms, e.idf)
        mentioned[home] = 0.0
        title_in_best = np.maximum(title_in_best, trust * mentioned)
        own_title = np.setdiff1d(unique(e.title_ids[home]), e.terms)
        names_title = np.maximum(names_title, trust * elsewhere * e.index.coverage(own_title))
        shares = np.maximum(shares, trust * elsewhere * np.log1p(_novel(e, terms)))
        same = np.maximum(same, trust * ~elsewhere)
    rank = np.empty(size)
    rank[np.argsort(-first, kind="stable")] = np.arange(size)
    columns = [
        first,
        first - first.max(),
        np.log1p(rank),
        title_in_best[e.document],
        names_title,
        shares,
        same,
    ]
    return np.stack(columns, axis=1)


def linked(e: Evidence, first: Floats) -> Floats:
    """(sentences,) weight of the terms that a sentence shares with one of the first stage's best sentences,
    and that the query lacks."""
    best = best_sentences(first)
    out = np.zeros(len(first))
    for bridge in best:
        held = _novel(e, unique(e.sentence_ids[bridge]))
        out = np.maximum(out, _trust(first, best[0], bridge) * held)
    return out


def _trust(first: Floats, best: int, bridge: int) -> float:
    """How far a sentence may be built on, beside the best one: at most a half, which the best one has."""
    return float(1.0 / (1.0 + np.exp(first[best] - first[bridge])))


def _novel(e: Evidence, terms: NDArray[np.int64]) -> Floats:
    """(sentences,) weight of those of `terms` that a sentence holds and the query lacks."""
    novel = np.setdiff1d(terms, e.terms)
    return e.index.presence(novel) @ e.index.weights(novel)


def reread_features(e: Evidence, logits: Logits, hops: Sequence[Logits]) -> Floats:
    """(sentences, len(REREAD_FEATURES)) what the second pass found from each hop; zeros where it did not
    look."""
    columns = np.zeros((len(REREAD_FEATURES), len(e.document)))
    for hop, second in enumerate(hops):
        was_read = ~np.isnan(second.keep)
        columns[4 * hop] = np.where(was_read, second.keep, 0.0)
        columns[4 * hop + 1] = np.where(was_read, second.keep - logits.keep, 0.0)
        columns[4 * hop + 2] = np.nan_to_num(second.relevance, nan=0.0)[e.document]
        columns[4 * hop + 3] = was_read
    return columns.T


def per_document_max(values: Floats, document: NDArray[np.int64], count: int) -> Floats:
    """(count,) the highest value of each document; -inf where it has none."""
    out = np.full(count, -np.inf)
    np.maximum.at(out, document, values)
    return out


def _title_share(
    titles: Sequence[Sequence[int]], terms: NDArray[np.int64], idf: NDArray[np.float32]
) -> Floats:
    """(documents,) weighted share of each title's own terms that occur among `terms`."""
    out = np.zeros(len(titles))
    for i, title in enumerate(titles):
        own = unique(title)
        if len(own):
            weights = idf[own].astype(np.float64) ** 2
            out[i] = share(np.isin(own, terms), weights)
    return out


def _position(document: NDArray[np.int64]) -> Floats:
    """Number of the sentence inside its document."""
    starts = np.searchsorted(document, document, side="left")
    return (np.arange(len(document)) - starts).astype(np.float64)


def _neighbours(values: Floats, document: NDArray[np.int64]) -> Floats:
    """The better of the sentences before and after, in the same document; the lowest value where there is
    none."""
    low = values.min()
    padded = np.concatenate([[low], values, [low]])
    owner = np.concatenate([[-1], document, [-1]])
    before = np.where(owner[:-2] == document, padded[:-2], low)
    after = np.where(owner[2:] == document, padded[2:], low)
    return np.maximum(before, after)
