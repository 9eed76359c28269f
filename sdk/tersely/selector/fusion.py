"""The small learned layer that turns all evidence about a sentence into one calibrated score.

Its first stage weighs what one pass over the documents gives: the encoder's logits and exact matches. Most
questions are done then. A gate tells those that seem to need another hop, where the question names only
the first and the sentence found there names the second; for them the second stage adds how each sentence
relates to the best ones so far. A few hundred weights in all, which ship in the artifact.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tersely.selector.lexical import (
    Floats,
    TermIndex,
    any_per_document,
    names,
    numbers,
    phrase_share,
    share,
    unique,
)

FIRST_FEATURES = (
    "keep",
    "relevance",
    "keep_best_in_document",
    "keep_below_best",
    "keep_neighbours",
    "relevance_below_best",
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
SECOND_FEATURES = (
    "first",
    "first_below_best",
    "first_rank",
    "title_in_best",
    "names_best_title",
    "shares_terms",
    "same_document_as_best",
    "second_keep",
    "second_gain",
    "second_relevance",
    "second_read",
)
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

MIN_GATE = 0.1
"""Below this share the second stage could hardly matter and is left out, with its pass of the encoder."""

_FAR = 10.0
"""Lead over a document that does not exist."""


@dataclass(frozen=True, slots=True)
class Request:
    """Everything known about the sentences of one query, flat over documents in order.

    Arrays are (sentences,) unless said otherwise.
    """

    query: str
    query_ids: Sequence[int]
    title_ids: Sequence[Sequence[int]]
    sentence_ids: Sequence[Sequence[int]]
    texts: Sequence[str]
    document: NDArray[np.int64]
    keep: Floats
    relevance: Floats
    """(documents,) logits."""


@dataclass(frozen=True, slots=True)
class SecondPass:
    """Logits of the pass that read the question together with the first stage's best sentence; nan where
    unread."""

    keep: Floats
    relevance: Floats


@dataclass(frozen=True, slots=True)
class Perceptron:
    """Standardise, one tanh layer, plus a linear path: (n, features) to (n,) logits."""

    mean: Floats
    deviation: Floats
    hidden: Floats
    hidden_bias: Floats
    out: Floats
    linear: Floats
    bias: float

    def __call__(self, features: Floats) -> Floats:
        x = np.clip((features - self.mean) / self.deviation, -6.0, 6.0)
        return np.tanh(x @ self.hidden + self.hidden_bias) @ self.out + x @ self.linear + self.bias

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Perceptron:
        arrays = {k: np.array(values[k], dtype=np.float64) for k in cls.__slots__ if k != "bias"}
        return cls(**arrays, bias=float(values["bias"]))

    def to_dict(self) -> dict[str, Any]:
        return {k: np.asarray(getattr(self, k)).round(6).tolist() for k in self.__slots__}


@dataclass(frozen=True, slots=True)
class Fusion:
    """score = first(sentence) + gate(query) * bridge(sentence), as logits."""

    first: Perceptron
    gate: Perceptron
    bridge: Perceptron

    def openness(self, query_features: Floats) -> float:
        """How far the gate is open, in [0, 1]; 0 where the second stage is not worth its time."""
        share = float(sigmoid(self.gate(query_features[None, :]))[0])
        return share if share >= MIN_GATE else 0.0

    @classmethod
    def load(cls, path: Path) -> Fusion:
        values = json.loads(path.read_text(encoding="utf-8"))
        if {k: tuple(v) for k, v in values["features"].items()} != _FEATURES:
            raise ValueError("the fusion layer was fitted for other features; export the artifact again")
        return cls(**{k: Perceptron.from_dict(values[k]) for k in cls.__slots__})

    def save(self, path: Path) -> None:
        layers = {k: getattr(self, k).to_dict() for k in self.__slots__}
        path.write_text(json.dumps({"features": _FEATURES, **layers}), encoding="utf-8")


_FEATURES = {"first": FIRST_FEATURES, "gate": QUERY_FEATURES, "bridge": FIRST_FEATURES + SECOND_FEATURES}


def first_features(r: Request, idf: NDArray[np.float32]) -> Floats:
    """(sentences, len(FIRST_FEATURES)) evidence of one pass."""
    index = TermIndex(r.sentence_ids, idf)
    count = len(r.title_ids)
    terms = unique(r.query_ids)
    weights = index.weights(terms)
    presence = index.presence(terms)
    titles = TermIndex(r.title_ids, idf).presence(terms)
    in_document = any_per_document(presence, r.document, count) | titles
    rare = weights * (in_document.sum(0) <= max(1, count // 5))
    lowered = [t.lower() for t in r.texts]
    position = _position(r.document)
    best_keep = _per_document_max(r.keep, r.document, count)
    columns = [
        r.keep,
        r.relevance[r.document],
        best_keep[r.document],
        r.keep - r.keep.max(),
        _neighbours(r.keep, r.document),
        (r.relevance - r.relevance.max())[r.document],
        share(presence, weights),
        share(presence | titles[r.document], weights),
        share(in_document, weights)[r.document],
        share(presence, rare),
        phrase_share(numbers(r.query), lowered),
        phrase_share(names(r.query), lowered),
        _title_share(r.title_ids, terms, idf)[r.document],
        (position == 0).astype(np.float64),
        np.log1p(position),
        np.log1p([len(s) for s in r.sentence_ids]),
    ]
    return np.stack(columns, axis=1)


def query_features(r: Request, first: Floats, idf: NDArray[np.float32]) -> Floats:
    """(len(QUERY_FEATURES),) what tells a question that one sentence answers from one that needs more."""
    count = len(r.title_ids)
    terms = unique(r.query_ids)
    index = TermIndex(r.sentence_ids, idf)
    weights = index.weights(terms)
    presence = index.presence(terms)
    best = best_sentences(first, 1)[0]
    home = int(r.document[best])
    title = np.isin(terms, unique(r.title_ids[home]))
    lead = first[best] - np.sort(_per_document_max(first, r.document, count))[::-1]
    lead = np.minimum(np.concatenate([lead, np.full(3, _FAR)]), _FAR)
    return np.array(
        [
            np.log1p(len(r.query_ids)),
            len(names(r.query)),
            np.sqrt(weights.sum()),
            share(presence[best] | title, weights),
            share(presence[r.document == home].any(0) | title, weights),
            first[best],
            lead[1],
            lead[2],
            r.relevance[home],
        ]
    )


def sigmoid(logits: Floats) -> Floats:
    """Logits to probabilities, any shape."""
    return 1.0 / (1.0 + np.exp(-np.clip(logits, -30.0, 30.0)))


def best_sentences(first: Floats, count: int = BRIDGES) -> list[int]:
    """Indices of the highest first-stage logits, best first; ties go to the earlier sentence."""
    return [int(i) for i in np.argsort(-first, kind="stable")[:count]]


def second_features(r: Request, first: Floats, idf: NDArray[np.float32], second: SecondPass | None) -> Floats:
    """(sentences, len(SECOND_FEATURES)) evidence relative to the first stage's best sentences."""
    index = TermIndex(r.sentence_ids, idf)
    size, count = len(first), len(r.title_ids)
    best = best_sentences(first)
    title_in_best = np.zeros(count)
    names_title = np.zeros(size)
    shares = np.zeros(size)
    same = np.zeros(size)
    query = unique(r.query_ids)
    for bridge in best:
        trust = 1.0 / (1.0 + np.exp(first[best[0]] - first[bridge]))
        home = int(r.document[bridge])
        elsewhere = r.document != home
        terms = unique(r.sentence_ids[bridge])
        mentioned = _title_share(r.title_ids, terms, idf)
        mentioned[home] = 0.0
        title_in_best = np.maximum(title_in_best, trust * mentioned)
        own_title = np.setdiff1d(unique(r.title_ids[home]), query)
        names_title = np.maximum(names_title, trust * elsewhere * index.coverage(own_title))
        novel = np.setdiff1d(terms, query)
        held = index.presence(novel) @ index.weights(novel)
        shares = np.maximum(shares, trust * elsewhere * np.log1p(held))
        same = np.maximum(same, trust * ~elsewhere)
    rank = np.empty(size)
    rank[np.argsort(-first, kind="stable")] = np.arange(size)
    if second is None:
        again, gain = first * 0.0, first * 0.0
        relevance, was_read = first * 0.0, first * 0.0
    else:
        was_read = (~np.isnan(second.keep)).astype(np.float64)
        again = np.nan_to_num(second.keep, nan=0.0)
        gain = np.where(was_read > 0, again - r.keep, 0.0)
        relevance = np.nan_to_num(second.relevance, nan=0.0)[r.document]
    columns = [
        first,
        first - first.max(),
        np.log1p(rank),
        title_in_best[r.document],
        names_title,
        shares,
        same,
        again,
        gain,
        relevance,
        was_read,
    ]
    return np.stack(columns, axis=1)


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


def _per_document_max(values: Floats, document: NDArray[np.int64], count: int) -> Floats:
    out = np.full(count, -np.inf)
    np.maximum.at(out, document, values)
    return out


def _neighbours(values: Floats, document: NDArray[np.int64]) -> Floats:
    """The better of the sentences before and after, in the same document; the lowest value where there is
    none."""
    low = values.min()
    padded = np.concatenate([[low], values, [low]])
    owner = np.concatenate([[-1], document, [-1]])
    before = np.where(owner[:-2] == document, padded[:-2], low)
    after = np.where(owner[2:] == document, padded[2:], low)
    return np.maximum(before, after)
