"""Attention with weights that are drawn, not learned."""

from __future__ import annotations

import numpy as np

from tersely.score.attention import SentenceAttention, shape_weights


def random_attention(features: int, seed: int, networks: int = 2, width: int = 8) -> SentenceAttention:
    generator = np.random.default_rng(seed)
    weights = {
        name: generator.normal(size=shape).astype(np.float32)
        for name, shape in shape_weights(networks, width, features).items()
    }
    return SentenceAttention(weights | {"deviation": np.ones(features, np.float32)})
