"""Sentences that see each other: a transformer layer over all sentences of a request.

A sentence that is needed for a second hop often shares words with the sentence of the first hop, but not with
the question. Several small networks read the features of every sentence and its relations to the others. The
mean of their outputs is added to the sentence's logit. The order of the documents does not matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tersely.score.matching import Floats

RELATIONS = ("shared_share", "shared_weight", "names_title", "title_is_named", "same_document")
"""Relations between two sentences."""

HEADS = 4
MAX_SENTENCES = 256
"""Largest number of sentences that see each other: those with the highest logits. Time and RAM grow with the
square of this number."""

FEATURE_LIMIT = 6.0
"""Largest absolute value of a standardised feature."""

Array = NDArray[np.float32]


def shape_weights(networks: int, width: int, features: int) -> dict[str, tuple[int, ...]]:
    """Return the shape of each array of weights."""
    n, d = networks, width
    layers = {
        "input": (features, d),
        "relation": (len(RELATIONS), HEADS),
        "attend": (d, 3 * d),
        "mix": (d, d),
    }
    layers |= {"up": (d, 2 * d), "down": (2 * d, d), "out": (d, 1)}
    shapes: dict[str, tuple[int, ...]] = {"mean": (features,), "deviation": (features,)}
    for name, (rows, columns) in layers.items():
        shapes |= {name: (n, rows, columns), f"{name}_bias": (n, 1, columns)}
    for name in ("attend", "up", "out"):
        shapes |= {f"{name}_scale": (n, 1, d), f"{name}_shift": (n, 1, d)}
    return shapes


@dataclass(frozen=True, slots=True)
class SentenceAttention:
    """One layer of multi-head attention and a feed-forward layer, normalised in front of each (pre-norm)."""

    weights: Mapping[str, Array]
    """The arrays that `shape_weights` lists."""

    def __call__(self, features: Floats, relations: Array) -> Floats:
        """Return the amounts to add to the logits, shape (sentences,).

        Args:
            features: (sentences, features)
            relations: (sentences, sentences, len(RELATIONS))
        """
        w = self.weights
        x = np.clip((features - w["mean"]) / w["deviation"], -FEATURE_LIMIT, FEATURE_LIMIT).astype(np.float32)
        h = self._project(x[None], "input")
        h = h + self._project(self._attend(self._normalise(h, "attend"), relations), "mix")
        h = h + self._project(np.maximum(self._project(self._normalise(h, "up"), "up"), 0.0), "down")
        return self._project(self._normalise(h, "out"), "out")[:, :, 0].mean(axis=0).astype(np.float64)

    def _project(self, x: Array, name: str) -> Array:
        return x @ self.weights[name] + self.weights[f"{name}_bias"]

    def _normalise(self, x: Array, name: str) -> Array:
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)
        return scaled * self.weights[f"{name}_scale"] + self.weights[f"{name}_shift"]

    def _attend(self, x: Array, relations: Array) -> Array:
        networks, size, width = x.shape
        query, key, value = (
            self._project(x, "attend")
            .reshape(networks, size, 3, HEADS, width // HEADS)
            .transpose(2, 0, 3, 1, 4)
        )
        bias = relations @ self.weights["relation"][:, None] + self.weights["relation_bias"][:, None]
        logits = query @ key.swapaxes(-1, -2) / np.float32(np.sqrt(width // HEADS)) + bias.transpose(
            0, 3, 1, 2
        )
        shares = np.exp(logits - logits.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        return (shares @ value).swapaxes(1, 2).reshape(networks, size, width)

    @classmethod
    def load(cls, path: Path) -> SentenceAttention:
        """Read the weights. Raises ValueError if arrays are missing or do not fit together."""
        with np.load(path) as stored:
            weights = {name: stored[name].astype(np.float32) for name in stored.files}
        try:
            networks, features, width = weights["input"].shape
        except (KeyError, ValueError) as error:
            raise ValueError(f"{path.name} does not hold the weights of a layer of attention") from error
        if {name: array.shape for name, array in weights.items()} != shape_weights(networks, width, features):
            raise ValueError(f"{path.name} does not hold the weights of a layer of attention")
        return cls(weights)

    def save(self, path: Path) -> None:
        halves: dict[str, Any] = {name: array.astype(np.float16) for name, array in self.weights.items()}
        np.savez_compressed(path, **halves)
