"""Choose the windows that the encoder reads.

If the input is too long, only the windows that share the most words with the query get vectors. Then vectors
and words together give an estimate of each sentence. It is high if the sentence's vector is near the query's
vector and its document contains the query's terms. The encoder reads the windows with the highest estimates.
If the question seems to need another hop, the encoder also reads windows near the best sentences so far, and
windows of documents whose titles these sentences mention.

The constants were fitted on held-out training questions (training/LOG.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tersely.score.features import (
    BRIDGE_FEATURES,
    EXACT_FEATURES,
    Matches,
    Nearness,
    bridge_features,
    path_starts,
)
from tersely.score.layout import EncodedDocument, Window
from tersely.score.matching import Floats
from tersely.score.protocol import ScoredInput
from tersely.score.vectors import Embedder, Vectors, unpack

COVERAGE_WEIGHT = 0.5
"""Weight of the share of the query's terms that a document contains. A cosine has the weight 1."""

MAX_LEAD = 0.25
"""A window is ruled out if the best window's value exceeds its value by more than this."""

MIN_WINDOWS = 4
"""Number of best windows that are always read, unless WINDOW_SHARE of all windows is more."""
WINDOW_SHARE = 1 / 8

EXTRA_WINDOWS = 6
"""Number of further windows that are read for another hop, unless WINDOW_SHARE of them is more."""

NEARNESS_WEIGHT = 0.5
"""Weight of the cosine to the best sentences so far, for these further windows."""

_COVERAGE = EXACT_FEATURES.index("coverage_document")
_TITLE_IN_BEST = BRIDGE_FEATURES.index("title_in_best")


@dataclass(frozen=True, slots=True)
class Sieve:
    """Vectors of the sentences of one request, and estimates of the sentences for choosing windows."""

    vectors: Vectors
    """(sentences, dimension); nan without a vector."""
    estimates: Floats
    """(sentences,) how likely each sentence seems to be needed; infinite for a sentence without a vector."""
    near: Nearness

    @classmethod
    def make(
        cls,
        vectors: Vectors,
        query: Vectors,
        windows: Sequence[Window],
        offsets: NDArray[np.int64],
        m: Matches,
    ) -> Sieve:
        """Return the sieve of a request. `query` is the vector of the query, shape (dimension,).

        A sentence without a vector gets the lowest nearness of all sentences.
        """
        near = (vectors @ query).astype(np.float64)
        estimates = near + COVERAGE_WEIGHT * m.exact[:, _COVERAGE]
        passage = _compare_windows(vectors, query, windows, offsets, m)
        return cls(
            vectors,
            np.where(np.isnan(estimates), np.inf, estimates),
            Nearness(_fill_with_lowest(near), _fill_with_lowest(passage)),
        )

    @property
    def has_vector(self) -> NDArray[np.bool_]:
        """True for each sentence with a vector, shape (sentences,)."""
        return ~np.isnan(self.vectors[:, 0])

    def divide(
        self, windows: Sequence[Window], offsets: NDArray[np.int64]
    ) -> tuple[list[Window], list[Window]]:
        """Return the windows to read, and those that are ruled out. Both keep their order."""
        values = np.array(best_values(windows, self.estimates, offsets))
        enough = float(values[np.isfinite(values)].max(initial=-np.inf)) - MAX_LEAD
        return _divide(windows, values, MIN_WINDOWS, enough)

    def divide_again(
        self, windows: Sequence[Window], offsets: NDArray[np.int64], m: Matches, first_logits: Floats
    ) -> tuple[list[Window], list[Window]]:
        """Divide the ruled-out windows a second time, by the best sentences of the first stage.

        `first_logits` are the logits of that stage, shape (sentences,).
        """
        near = np.nan_to_num(self.vectors @ self.vectors[path_starts(m, first_logits)].T).max(axis=1)
        title = bridge_features(m, first_logits)[:, _TITLE_IN_BEST]
        values = np.array(best_values(windows, self.estimates + NEARNESS_WEIGHT * near + title, offsets))
        return _divide(windows, values, EXTRA_WINDOWS, math.inf)


def read_vectors(documents: Sequence[ScoredInput], dimension: int) -> Vectors:
    """Return the prepared vectors, shape (units, dimension); nan for a unit without one."""
    return np.concatenate([_read_vectors(document, dimension) for document in documents])


def limit_windows(
    windows: Sequence[Window],
    estimates: Floats,
    offsets: NDArray[np.int64],
    tokens: int,
    vectors: Vectors,
) -> tuple[list[Window], list[Window]]:
    """Return the windows to consider, and those left out so that at most `tokens` tokens need new vectors."""
    missing = np.isnan(vectors[:, 0])
    new = [w for w in windows if any(missing[offsets[d] + s] for d, s in w.sentences)]
    _, beyond = divide_windows(new, estimates, offsets, tokens)
    left_out = set(map(id, beyond))
    return [w for w in windows if id(w) not in left_out], beyond


def complete_vectors(
    vectors: Vectors,
    embedder: Embedder,
    encoded: Sequence[EncodedDocument],
    windows: Sequence[Window],
    offsets: NDArray[np.int64],
) -> tuple[Vectors, bool]:
    """Compute the vectors that the windows' sentences still lack. Return all vectors, and whether there was
    time for all of them."""
    is_missing = np.zeros(len(vectors), np.bool_)
    is_missing[[offsets[d] + s for window in windows for d, s in window.sentences]] = True
    is_missing &= np.isnan(vectors[:, 0])
    to_embed = [
        EncodedDocument(document.title, list(compress(document.sentences, needs_vector)))
        for document, needs_vector in zip(encoded, np.split(is_missing, offsets[1:-1]), strict=True)
    ]
    new_vectors = np.concatenate(embedder.embed_sentences(to_embed))
    has_tokens = np.array([bool(ids) for document in to_embed for ids in document.sentences], np.bool_)
    out = vectors.copy()
    out[is_missing] = new_vectors
    return out, not (np.isnan(new_vectors[:, 0]) & has_tokens).any()


def _read_vectors(document: ScoredInput, dimension: int) -> Vectors:
    """Return a document's prepared vectors, shape (units, dimension); nan for a unit without one."""
    out = np.full((len(document.units), dimension), np.nan, np.float32)
    if document.preparation and document.preparation.vectors:
        known = unpack(document.preparation.vectors, dimension)
        for row, index in enumerate(document.preparation.locate(document.units)):
            if index is not None:
                out[row] = known[index]
    return out


def _compare_windows(
    vectors: Vectors, query: Vectors, windows: Sequence[Window], offsets: NDArray[np.int64], m: Matches
) -> Floats:
    """Return the cosine of the query with the mean of each sentence's window, shape (sentences,); nan for a
    window without vectors."""
    lengths = np.array([len(ids) for ids in m.sentence_ids], np.float32)
    weighted = np.nan_to_num(vectors) * lengths[:, None]
    out = np.full(len(lengths), np.nan)
    for window in windows:
        rows = [int(offsets[d]) + s for d, s in window.sentences]
        mean = weighted[rows].sum(axis=0)
        if mean.any():
            out[rows] = mean @ query / np.linalg.norm(mean)
    return out


def _fill_with_lowest(values: NDArray[Any]) -> Floats:
    """Replace nan by the lowest other value."""
    known = values[~np.isnan(values)]
    return np.where(np.isnan(values), known.min() if len(known) else 0.0, values).astype(np.float64)


def _divide(
    windows: Sequence[Window], values: Floats, min_count: int, enough: float
) -> tuple[list[Window], list[Window]]:
    """Return the windows to read, and the others.

    Windows with a value of at least `enough` are read, and so are at least `min_count` of those with a finite
    value.
    """
    may_be_ruled_out = np.isfinite(values)
    count = max(min_count, math.ceil(WINDOW_SHARE * may_be_ruled_out.sum()))
    best = np.argsort(np.where(may_be_ruled_out, -values, np.inf), kind="stable")[:count]
    read = values >= enough
    read[best] = True
    return _partition(windows, read)


def divide_windows(
    windows: Sequence[Window], values: Floats, offsets: NDArray[np.int64], tokens: int
) -> tuple[list[Window], list[Window]]:
    """Split windows into those with the best sentences, up to `tokens` tokens, and the others.

    Both keep their order.
    """
    best = np.array(best_values(windows, values, offsets))
    ranked: list[int] = np.argsort(-best, kind="stable").tolist()
    ends = np.cumsum([len(windows[i].input_ids) for i in ranked])
    is_best = np.zeros(len(windows), np.bool_)
    is_best[ranked[: int(np.searchsorted(ends, tokens, side="right"))]] = True
    return _partition(windows, is_best)


def _partition(windows: Sequence[Window], chosen: NDArray[np.bool_]) -> tuple[list[Window], list[Window]]:
    """Return the chosen windows, and the others."""
    return list(compress(windows, chosen)), list(compress(windows, ~chosen))


def best_values(windows: Sequence[Window], values: Floats, offsets: NDArray[np.int64]) -> list[float]:
    """Return the value of each window's best sentence."""
    return [max(float(values[offsets[d] + s]) for d, s in w.sentences) for w in windows]
