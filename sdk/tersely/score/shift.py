"""Measure how far a request is from the calibration's requests. Above 1.0, no promise holds for it.

Features describe how the documents and the question are written, and how high the model's logits are. Each
data set of the calibration has a centre. The distance is Mahalanobis' distance to the nearest centre, divided
by a measured bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tersely.score.features import Logits, Matches
from tersely.score.matching import Floats, weighted_share

SHIFT_FEATURES = (
    "rareness",
    "unseen",
    "characters_per_token",
    "letters",
    "digits",
    "capitals",
    "signs",
    "sentence_length",
    "document_length",
    "title_length",
    "query_rareness",
    "query_unseen",
    "query_length",
    "query_characters_per_token",
    "best",
    "relevance",
    "covered",
)

_CLASSES = np.array(
    [
        (c.isalpha(), c.isdigit(), c.isupper(), not (c.isalnum() or c.isspace()))
        for c in [*map(chr, range(256)), "a"]
    ],
    dtype=np.int64,
)
"""A row for each Latin-1 character, and a last row for all others. The columns are 1 or 0: whether it is a
letter, a digit, a capital, a sign."""

INSIDE_SHARE = 0.94
"""Share of the calibration's requests that lie inside the bound."""

UNSEEN_GAP = 2.0
"""A token counts as unseen if its inverse document frequency is within this distance of the highest one."""


def shift_features(m: Matches, logits: Logits, first_logits: Floats) -> Floats:
    """Return a request's features, shape (len(SHIFT_FEATURES),).

    `first_logits` are the logits of fusion's first stage.
    """
    text = " ".join(m.texts)
    classes = _count_characters(text)
    idf, query_idf = m.idf[m.index.ids], m.idf[np.asarray(m.query_ids, dtype=np.int64)]
    seen_idf = m.idf.max() - UNSEEN_GAP  # the highest value of a token that counts as seen
    return np.array(
        [
            _mean(idf),
            _mean(idf > seen_idf),
            len(text) / max(1, len(idf)),
            *(classes / max(1, len(text))),
            np.log1p(len(idf) / len(m.texts)),
            np.log1p(len(m.texts) / m.documents),
            np.log1p(_mean(np.array([len(ids) for ids in m.title_ids]))),
            _mean(query_idf),
            _mean(query_idf > seen_idf),
            np.log1p(len(query_idf)),
            len(m.query) / max(1, len(query_idf)),
            first_logits.max(),
            logits.relevance.max(),
            weighted_share(m.presence.any_of(m.document == m.document[first_logits.argmax()]), m.weights),
        ]
    )


@dataclass(frozen=True, slots=True)
class Reference:
    """The region of the calibration's requests in the space of features: centres, a scale and a bound."""

    centres: Floats
    """(data sets, features)"""
    whitening: Floats
    """(features, features) matrix that gives the features of one data set variance 1 and no correlation."""
    bound: float
    """Largest distance of a request for which promises hold."""

    def find_nearest(self, features: Floats) -> tuple[int, float]:
        """Return the number of the nearest centre, and its distance in units of the bound."""
        away = (features - self.centres) @ self.whitening
        squares = (away**2).sum(axis=1)
        return int(squares.argmin()), float(np.sqrt(squares.min()) / self.bound)

    def widen(self, distances: Sequence[float]) -> Reference:
        """Return the reference with a bound that most of the requests (`INSIDE_SHARE` of them) do not exceed.

        `distances` are in units of the present bound. The bound never shrinks.
        """
        farthest = float(np.quantile(distances, INSIDE_SHARE)) if distances else 0.0
        return replace(self, bound=self.bound * max(1.0, farthest))

    def to_dict(self) -> dict[str, Any]:
        return {
            "centres": self.centres.round(5).tolist(),
            "whitening": self.whitening.round(5).tolist(),
            "bound": round(self.bound, 5),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Reference:
        """Read an object from the values of `to_dict`. Raises KeyError, TypeError or ValueError for anything
        else."""
        size = len(SHIFT_FEATURES)
        centres = np.array(values["centres"], dtype=np.float64).reshape(-1, size)
        whitening = np.array(values["whitening"], dtype=np.float64).reshape(size, size)
        bound = float(values["bound"])
        if not len(centres) or not all(np.isfinite(x).all() for x in (centres, whitening)) or not bound > 0:
            raise ValueError("the reference of the calibration needs centres, numbers and a bound above 0")
        return cls(centres, whitening, bound)


def _count_characters(text: str) -> NDArray[np.int64]:
    """Return the numbers of letters, digits, capitals and signs. Characters beyond Latin-1 are letters."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    counts = np.bincount(np.minimum(codes, len(_CLASSES) - 1), minlength=len(_CLASSES))
    return counts @ _CLASSES


def _mean(values: NDArray[Any]) -> float:
    return float(values.mean()) if len(values) else 0.0
