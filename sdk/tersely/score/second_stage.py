"""The second stage of fusion: the best sentences of a request see each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tersely.score.attention import MOST, SentenceAttention
from tersely.score.features import (
    BRIDGE_FEATURES,
    FIRST_FEATURES,
    Logits,
    Matches,
    best_sentences,
    bridge_features,
)
from tersely.score.matching import Floats
from tersely.score.paths import PATH_FEATURES, Hop, path_features
from tersely.score.relations import relate

SECOND_FEATURES = FIRST_FEATURES + BRIDGE_FEATURES + PATH_FEATURES


@dataclass(frozen=True, slots=True)
class SecondStage:
    """The sentences that see each other, and what is known of them without a second pass."""

    matches: Matches
    logits: Logits
    """Of the first pass."""
    first: Floats
    """The first stage's logits, (sentences,)."""
    chosen: NDArray[np.int64]
    """The sentences that take part, ascending."""
    features: Floats
    """Of the first stage and the bridges, (chosen, features)."""
    relations: NDArray[np.float32]
    """(chosen, chosen, len(RELATIONS))"""

    @classmethod
    def make(cls, matches: Matches, logits: Logits, features: Floats, first: Floats) -> SecondStage:
        """`features` are those of the first stage, (sentences, len(FIRST_FEATURES))."""
        chosen = np.sort(best_sentences(first, MOST))
        features = np.hstack([features, bridge_features(matches, first)])[chosen]
        return cls(matches, logits, first, chosen, features, relate(matches, chosen))

    def inputs(self, hops: Sequence[Hop]) -> Floats:
        """(chosen, len(SECOND_FEATURES)) with what a second pass read; without any hop, what was known before
        it."""
        paths = path_features(self.matches, self.logits, self.first, hops)
        return np.hstack([self.features, paths[self.chosen]])

    def attend(self, attention: SentenceAttention, hops: Sequence[Hop]) -> Floats:
        """(sentences,) what is added to the logits; 0 for a sentence that does not take part."""
        added = np.zeros(len(self.first))
        added[self.chosen] = attention(self.inputs(hops), self.relations)
        return added
