"""The fusion: small layers, fitted on labels, that turn a sentence's features into one score.

The first stage weighs the encoder's logits, the nearness of vectors and the exact matches. That is enough for
most questions. A gate recognises questions that seem to need another hop, which name only one document, while
a sentence of that document names the second one. For such questions the second stage compares the best
sentences of all documents with each other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tersely.score.attention import FEATURE_LIMIT, RELATIONS, SentenceAttention
from tersely.score.features import FIRST_FEATURES, QUERY_FEATURES
from tersely.score.hops import SECOND_FEATURES, Hop, SecondStage
from tersely.score.matching import Floats

LAYERS_FILE, ATTENTION_FILE = "fusion.json", "attention.npz"
"""Files of the fusion in an artifact."""

Decision = Literal["fitted", "learned"]
"""Ways in which a model decides what to keep.

"fitted": by the score of a fusion, whose layers and threshold were fitted on labels. "learned": by the keep
logit of the encoder alone, so a sentence is kept if keeping is more likely than dropping (EFFCOMP, equation
1). Manifests hold these names."""

LEARNED_THRESHOLD = 0.5

MIN_GATE = 0.1
"""Smallest opening of the gate. With a smaller one, the second stage hardly matters and is skipped."""


@dataclass(frozen=True, slots=True)
class LinearLayer:
    """A weighted sum of standardised features: (n, features) to (n,) logits."""

    mean: Floats
    deviation: Floats
    weights: Floats
    bias: float

    def __call__(self, features: Floats) -> Floats:
        standardised = np.clip((features - self.mean) / self.deviation, -FEATURE_LIMIT, FEATURE_LIMIT)
        return standardised @ self.weights + self.bias

    def check(self, features: int, file: str) -> None:
        """Raise ValueError unless the layer takes this number of features and its weights can be used.

        `file` is the name of its file, for the message.
        """
        arrays = (self.mean, self.deviation, self.weights)
        if any(array.shape != (features,) for array in arrays):
            raise ValueError(f"{file} holds weights of the wrong shape")
        if not all(np.isfinite(array).all() for array in (*arrays, self.bias)) or self.deviation.min() <= 0:
            raise ValueError(f"{file} holds weights that are not numbers, or deviations of 0")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> LinearLayer:
        arrays = {k: np.array(values[k], dtype=np.float64) for k in ("mean", "deviation", "weights")}
        return cls(**arrays, bias=float(values["bias"]))

    def to_dict(self) -> dict[str, Any]:
        return {k: np.asarray(getattr(self, k)).round(6).tolist() for k in self.__slots__}


def compute_opening(gate: LinearLayer, query_features: Floats) -> float:
    """Return the opening of the gate, in [0, 1]; 0 below MIN_GATE.

    `query_features` has shape (len(QUERY_FEATURES),).
    """
    share = float(sigmoid(gate(query_features[None, :]))[0])
    return share if share >= MIN_GATE else 0.0


@dataclass(frozen=True, slots=True)
class Fusion:
    """logit(score) = first_layer(sentence) + gate(query) * attention(sentence, all sentences)."""

    first_layer: LinearLayer
    gate: LinearLayer
    attention: SentenceAttention | None
    """The second stage; None if the gate never opens."""

    def compute_opening(self, query_features: Floats) -> float:
        """Return the opening of the gate, in [0, 1]; 0 if the second stage is missing or not worth its time.

        `query_features` has shape (len(QUERY_FEATURES),).
        """
        return 0.0 if self.attention is None else compute_opening(self.gate, query_features)

    def attend(self, second: SecondStage, hops: Sequence[Hop]) -> Floats:
        """Return the amounts that the second stage adds to the logits with a fully open gate, shape
        (sentences,)."""
        if self.attention is None:
            return np.zeros(len(second.first_logits))
        return second.attend(self.attention, hops)

    @classmethod
    def from_keep_logit(cls) -> Fusion:
        """Return a fusion without a second stage that uses the encoder's keep logit as its score."""

        def zeros(features: Sequence[str]) -> LinearLayer:
            n = len(features)
            scales = np.full(n, 5.0)  # so that logits up to 30 are not clipped
            return LinearLayer(np.zeros(n), scales, np.zeros(n), 0.0)

        keep = zeros(FIRST_FEATURES)
        keep.weights[FIRST_FEATURES.index("keep")] = 5.0
        return cls(keep, zeros(QUERY_FEATURES), None)

    @classmethod
    def load(cls, layers: Path, attention: Path | None) -> Fusion:
        """Load a fusion from the files that `save` wrote.

        Raises ValueError for a fusion that was fitted to other features.
        """
        values = json.loads(layers.read_text(encoding="utf-8"))
        if {k: tuple(v) for k, v in values["features"].items()} != _FEATURES:
            raise ValueError("the fusion was fitted to other features; export the artifact again")
        return cls(
            LinearLayer.from_dict(values["first"]),
            LinearLayer.from_dict(values["gate"]),
            None if attention is None else SentenceAttention.load(attention),
        )

    def save(self, folder: Path) -> None:
        """Write the file with the layers and, if there is a second stage, the file of its attention."""
        values = {"features": _FEATURES, "first": self.first_layer.to_dict(), "gate": self.gate.to_dict()}
        (folder / LAYERS_FILE).write_text(json.dumps(values), encoding="utf-8")
        if self.attention is not None:
            self.attention.save(folder / ATTENTION_FILE)


_FEATURES = {
    "first": FIRST_FEATURES,
    "gate": QUERY_FEATURES,
    "attention": SECOND_FEATURES,
    "relations": RELATIONS,
}


def sigmoid(logits: Floats) -> Floats:
    """Turn logits into probabilities, of any shape."""
    return 1.0 / (1.0 + np.exp(-np.clip(logits, -30.0, 30.0)))
