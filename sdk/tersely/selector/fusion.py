"""The fusion: a small learned layer that turns a sentence's features into one score.

Its first stage weighs what one pass over the documents gives: the encoder's logits and the exact matches.
That is enough for most questions. A gate recognises those that seem to need another hop: the question names
only the first document, and a sentence there names the second. For them the second stage adds how each
sentence relates to the best ones so far (the bridges). The few hundred weights ship in the artifact.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tersely.selector.features import FIRST_FEATURES, QUERY_FEATURES, SECOND_FEATURES
from tersely.selector.matching import Floats

Decision = Literal["fitted", "learned"]
"""What a model's own threshold decides by: the score of a fusion that was fitted on labels, or the keep logit
as it was trained, where the more likely action at `[SEN]` wins (EFFCOMP, equation 1)."""

LEARNED_THRESHOLD = 0.5

MIN_GATE = 0.1
"""Below this value the second stage hardly matters. It is skipped, with its pass of the encoder."""


@dataclass(frozen=True, slots=True)
class Perceptron:
    """One tanh layer and a linear path over standardised features: (n, features) to (n,) logits."""

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

    def gate_value(self, query_features: Floats) -> float:
        """How far the gate is open, in [0, 1]; 0 where the second stage is not worth its time.

        `query_features` has shape (len(QUERY_FEATURES),).
        """
        share = float(sigmoid(self.gate(query_features[None, :]))[0])
        return share if share >= MIN_GATE else 0.0

    @classmethod
    def keep_alone(cls) -> Fusion:
        """A fusion that gives the encoder's keep logit, with a gate that never opens."""

        def zeros(features: Sequence[str]) -> Perceptron:
            n = len(features)
            scales = np.full(n, 5.0)  # so that no logit of a confident model is clipped
            return Perceptron(
                np.zeros(n), scales, np.zeros((n, 0)), np.zeros(0), np.zeros(0), np.zeros(n), 0.0
            )

        keep = zeros(FIRST_FEATURES)
        keep.linear[FIRST_FEATURES.index("keep")] = 5.0
        return cls(keep, replace(zeros(QUERY_FEATURES), bias=-30.0), zeros(SECOND_FEATURES))

    @classmethod
    def load(cls, path: Path) -> Fusion:
        """Raises ValueError for a file that was fitted for other features."""
        values = json.loads(path.read_text(encoding="utf-8"))
        if {k: tuple(v) for k, v in values["features"].items()} != _FEATURES:
            raise ValueError("the fusion layer was fitted for other features; export the artifact again")
        return cls(**{k: Perceptron.from_dict(values[k]) for k in cls.__slots__})

    def save(self, path: Path) -> None:
        layers = {k: getattr(self, k).to_dict() for k in self.__slots__}
        path.write_text(json.dumps({"features": _FEATURES, **layers}), encoding="utf-8")


_FEATURES = {
    "first": FIRST_FEATURES,
    "gate": QUERY_FEATURES,
    "bridge": SECOND_FEATURES,
}


def sigmoid(logits: Floats) -> Floats:
    """Logits to probabilities, any shape."""
    return 1.0 / (1.0 + np.exp(-np.clip(logits, -30.0, 30.0)))
