"""Features of every sentence of a request: numbers that the fusion weighs.

Exact matches are computed once, in a negligible part of the encoder's time. Every function is pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tersely.score.matching import (
    Floats,
    Presence,
    TermIndex,
    best_beside,
    phrase_share,
    unique_ids,
    weighted_share,
)
from tersely.score.words import find_names, find_numbers

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
NEAR_FEATURES = (
    "near",
    "near_below_best",
    "near_best_in_document",
    "near_passage",
    "near_passage_below_best",
)
FIRST_FEATURES = ENCODER_FEATURES + NEAR_FEATURES + EXACT_FEATURES
BRIDGE_FEATURES = (
    "first",
    "first_below_best",
    "first_rank",
    "title_in_best",
    "names_best_title",
    "shares_terms",
    "same_document_as_best",
)
STARTS = 3
"""Number of best documents. A path can start from the best sentence of each."""

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
"""Number of the first stage's best sentences that bridge features start from."""

_FAR = 10.0
"""Lead of the best document if there is no second or third one."""


@dataclass(frozen=True, slots=True)
class Logits:
    """The encoder's logits in one pass: keep (sentences,) and relevance (documents,).

    nan for those that the pass did not read.
    """

    keep: Floats
    relevance: Floats


@dataclass(frozen=True, slots=True)
class Nearness:
    """Cosines of the query with the vectors of sentences and passages, (sentences,) each."""

    sentence: Floats
    passage: Floats
    """Cosines of the query with the mean of the sentences in the same window."""

    @classmethod
    def zeros(cls, sentences: int) -> Nearness:
        """Return the nearness for a model without vectors."""
        return cls(np.zeros(sentences), np.zeros(sentences))


@dataclass(slots=True)
class Matches:
    """The sentences of one request, flat over its documents, and their exact matches with the query."""

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
    presence: Presence = field(init=False)
    """A matrix of the terms in the sentences."""
    exact: Floats = field(init=False)
    """(sentences, len(EXACT_FEATURES))"""

    def __post_init__(self) -> None:
        self.index = TermIndex(self.sentence_ids, self.idf)
        self.terms = unique_ids(self.query_ids)
        self.weights = self.index.weights(self.terms)
        self.presence = self.index.presence(self.terms)
        self.exact = self._exact()

    @property
    def documents(self) -> int:
        return len(self.title_ids)

    def _exact(self) -> Floats:
        titles = TermIndex(self.title_ids, self.idf).presence(self.terms)
        in_document = self.presence.group(self.document, self.documents).union(titles)
        rare = self.weights * (in_document.count_rows() <= max(1, self.documents // 5))
        lowered = [t.lower() for t in self.texts]
        position = _number_in_document(self.document)
        columns = [
            self.presence.share(self.weights),
            self.presence.share_with(titles, self.document, self.weights),
            in_document.share(self.weights)[self.document],
            self.presence.share(rare),
            phrase_share(find_numbers(self.query), lowered),
            phrase_share(find_names(self.query), lowered),
            _title_share(self.title_ids, self.terms, self.idf)[self.document],
            (position == 0).astype(np.float64),
            np.log1p(position),
            np.log1p([len(s) for s in self.sentence_ids]),
        ]
        return np.stack(columns, axis=1)


def first_features(m: Matches, logits: Logits, near: Nearness) -> Floats:
    """Return the features of the first stage: logits of the first pass, nearness of vectors, exact matches.

    The shape is (sentences, len(FIRST_FEATURES)).
    """
    keep, relevance = logits.keep, logits.relevance
    columns = [
        keep,
        relevance[m.document],
        max_per_document(keep, m.document, m.documents)[m.document],
        keep - keep.max(),
        best_beside(keep, m.document, keep.min()),
        (relevance - relevance.max())[m.document],
        near.sentence,
        near.sentence - near.sentence.max(),
        max_per_document(near.sentence, m.document, m.documents)[m.document],
        near.passage,
        near.passage - near.passage.max(),
    ]
    return np.hstack([np.stack(columns, axis=1), m.exact])


def query_features(m: Matches, logits: Logits, first_logits: Floats) -> Floats:
    """Return the features from which the gate tells whether a question needs another hop, shape
    (len(QUERY_FEATURES),)."""
    best = best_sentences(first_logits, 1)[0]
    home = int(m.document[best])
    title = np.isin(m.terms, unique_ids(m.title_ids[home]))
    lead = first_logits[best] - np.sort(max_per_document(first_logits, m.document, m.documents))[::-1]
    lead = np.minimum(np.concatenate([lead, np.full(3, _FAR)]), _FAR)
    return np.array(
        [
            np.log1p(len(m.query_ids)),
            len(find_names(m.query)),
            np.sqrt(m.weights.sum()),
            weighted_share(m.presence.any_of(np.arange(len(first_logits)) == best) | title, m.weights),
            weighted_share(m.presence.any_of(m.document == home) | title, m.weights),
            first_logits[best],
            lead[1],
            lead[2],
            logits.relevance[home],
        ]
    )


def best_sentences(first_logits: Floats, count: int = BRIDGES) -> list[int]:
    """Return the indices of the highest first-stage logits, best first; ties go to the earlier sentence."""
    return [int(i) for i in np.argsort(-first_logits, kind="stable")[:count]]


def path_starts(m: Matches, first_logits: Floats) -> list[int]:
    """Return the indices of the best sentences of the STARTS best documents, best first."""
    best_by_document: dict[int, int] = {}
    for i in best_sentences(first_logits, len(first_logits)):
        best_by_document.setdefault(int(m.document[i]), i)
        if len(best_by_document) == STARTS:
            break
    return list(best_by_document.values())


def bridge_features(m: Matches, first_logits: Floats) -> Floats:
    """Return features that relate each sentence to the first stage's best ones, shape (sentences,
    len(BRIDGE_FEATURES))."""
    size = len(first_logits)
    best = best_sentences(first_logits)
    title_in_best = np.zeros(m.documents)
    names_title = np.zeros(size)
    shares = np.zeros(size)
    same = np.zeros(size)
    for bridge in best:
        trust = _trust(first_logits, best[0], bridge)
        home = int(m.document[bridge])
        elsewhere = m.document != home
        terms = unique_ids(m.sentence_ids[bridge])
        mentioned = _title_share(m.title_ids, terms, m.idf)
        mentioned[home] = 0.0
        title_in_best = np.maximum(title_in_best, trust * mentioned)
        title_terms = np.setdiff1d(unique_ids(m.title_ids[home]), m.terms)
        names_title = np.maximum(names_title, trust * elsewhere * m.index.coverage(title_terms))
        shares = np.maximum(shares, trust * elsewhere * np.log1p(_new_term_weights(m, terms)))
        same = np.maximum(same, trust * ~elsewhere)
    rank = np.empty(size)
    rank[np.argsort(-first_logits, kind="stable")] = np.arange(size)
    columns = [
        first_logits,
        first_logits - first_logits.max(),
        np.log1p(rank),
        title_in_best[m.document],
        names_title,
        shares,
        same,
    ]
    return np.stack(columns, axis=1)


def bridge_weights(m: Matches, first_logits: Floats) -> Floats:
    """Return the weight of the terms that each sentence shares with one of the first stage's best sentences,
    but not with the query, shape (sentences,)."""
    best = best_sentences(first_logits)
    out = np.zeros(len(first_logits))
    for bridge in best:
        shared = _new_term_weights(m, unique_ids(m.sentence_ids[bridge]))
        out = np.maximum(out, _trust(first_logits, best[0], bridge) * shared)
    return out


def _trust(first_logits: Floats, best: int, bridge: int) -> float:
    """Return the weight of a bridge sentence, in (0, 0.5]; the best one has 0.5."""
    return float(1.0 / (1.0 + np.exp(first_logits[best] - first_logits[bridge])))


def _new_term_weights(m: Matches, terms: NDArray[np.int64]) -> Floats:
    """Return the weight of the `terms` that each sentence contains and the query does not, shape
    (sentences,)."""
    novel = np.setdiff1d(terms, m.terms)
    return m.index.presence(novel).weigh(m.index.weights(novel))


def max_per_document(values: Floats, document: NDArray[np.int64], count: int) -> Floats:
    """Return the highest value of each document, shape (count,); -inf for a document without values."""
    out = np.full(count, -np.inf)
    np.maximum.at(out, document, values)
    return out


def _title_share(
    titles: Sequence[Sequence[int]], terms: NDArray[np.int64], idf: NDArray[np.float32]
) -> Floats:
    """Return the share of each title's weight that its terms among `terms` have, shape (documents,)."""
    is_term = np.zeros(len(idf), dtype=np.bool_)
    is_term[terms] = True
    out = np.zeros(len(titles))
    for i, title in enumerate(titles):
        title_terms = unique_ids(title)
        if len(title_terms):
            weights = idf[title_terms].astype(np.float64) ** 2
            out[i] = weighted_share(is_term[title_terms], weights)
    return out


def _number_in_document(document: NDArray[np.int64]) -> Floats:
    """Return the number of each sentence inside its document, from 0, shape (sentences,)."""
    starts = np.searchsorted(document, document, side="left")
    return (np.arange(len(document)) - starts).astype(np.float64)
