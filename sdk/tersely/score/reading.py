"""The results of the encoder's passes and of the fusion's stages for one request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tersely.score.encoder import WindowLogits, merge_logits
from tersely.score.features import Logits, Matches, Nearness
from tersely.score.layout import EncodedDocument, Window
from tersely.score.matching import Floats
from tersely.score.sieve import Sieve


@dataclass(frozen=True, slots=True)
class FirstPass:
    """The encoder's logits, and the state that is needed to read more windows."""

    matches: Matches
    logits: Logits
    encoded: Sequence[EncodedDocument]
    offsets: NDArray[np.int64]
    """First sentence of each document in the flat arrays, shape (documents + 1,)."""
    read: NDArray[np.bool_]
    """True for each sentence that has a vector or was read with the question, shape (sentences,)."""
    window_logits: Sequence[WindowLogits]
    unread: Sequence[Window]
    sieve: Sieve | None

    @property
    def near(self) -> Nearness:
        return Nearness.zeros(len(self.read)) if self.sieve is None else self.sieve.near


@dataclass(frozen=True, slots=True)
class FirstStage:
    """Features and logits of fusion's first stage."""

    features: Floats
    logits: Floats
    """(sentences,)"""
    opening: float
    """Opening of the gate, in [0, 1]. It is higher if the question is more likely to need a hop."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The logits of a request after all passes that it needs."""

    first_pass: FirstPass
    first_logits: Floats
    """(sentences,) of fusion's first stage."""
    logits: Floats
    """(sentences,)"""
    neighbour_share: float
    """Share that a sentence gains from its better neighbour; see `NEIGHBOUR_SHARE` in `selector`."""


def merge_pass(
    matches: Matches,
    encoded: Sequence[EncodedDocument],
    offsets: NDArray[np.int64],
    window_logits: Sequence[WindowLogits],
    unread: Sequence[Window],
    sieve: Sieve | None,
) -> FirstPass:
    """Merge the logits of all windows that were read so far."""
    logits = merge_logits(window_logits, offsets, len(encoded))
    read = ~np.isnan(logits.keep)
    if sieve is not None:
        read |= sieve.has_vector
    logits = Logits(_fill(logits.keep), _fill(logits.relevance))
    return FirstPass(matches, logits, encoded, offsets, read, window_logits, unread, sieve)


def _fill(values: Floats) -> Floats:
    """Replace unread entries (nan) with a value below everything that was read."""
    read = ~np.isnan(values)
    floor = values[read].min() - 1.0 if read.any() else 0.0
    return np.where(read, values, floor)
