"""The fusion: its formula by hand, its file, and its gate."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tersely.score.features import FIRST_FEATURES, QUERY_FEATURES
from tersely.score.fusion import ATTENTION_FILE, LAYERS_FILE, MIN_GATE, Fusion, LinearLayer
from tersely.score.hops import SECOND_FEATURES
from tests.sdk.attention_cases import random_attention


def random_layer(width: int, seed: int) -> LinearLayer:
    generator = np.random.default_rng(seed)
    return LinearLayer(
        generator.normal(size=width),
        generator.uniform(0.5, 2, size=width),
        generator.normal(size=width),
        float(generator.normal()),
    )


def random_fusion() -> Fusion:
    return Fusion(
        first_layer=random_layer(len(FIRST_FEATURES), seed=1),
        gate=random_layer(len(QUERY_FEATURES), seed=2),
        attention=random_attention(len(SECOND_FEATURES), seed=3),
    )


def test_a_layer_is_a_weighted_sum_of_standardised_features() -> None:
    layer = LinearLayer(
        mean=np.array([1.0, 2.0]), deviation=np.array([2.0, 0.5]), weights=np.array([0.1, -0.4]), bias=0.3
    )
    # Standardised: (2, 0.5), and for the second row (500, 0), whose first number is clipped to 6.
    logits = layer(np.array([[5.0, 2.25], [1001.0, 2.0]]))
    assert logits.tolist() == pytest.approx([0.3, 0.9])


@pytest.mark.parametrize("layer", ["first_layer", "gate"])
def test_a_fusion_survives_its_file(tmp_path: Path, layer: str) -> None:
    random_fusion().save(tmp_path)
    saved, loaded = getattr(random_fusion(), layer), getattr(load(tmp_path), layer)
    features = np.random.default_rng(4).normal(size=(5, len(saved.mean)))
    assert np.abs(saved(features)).max() > 0.1
    np.testing.assert_allclose(loaded(features), saved(features), atol=1e-4)


def load(folder: Path) -> Fusion:
    return Fusion.load(folder / LAYERS_FILE, folder / ATTENTION_FILE)


@pytest.mark.parametrize("layer", ["first", "gate", "attention", "relations"])
def test_a_fusion_for_other_features_is_refused(tmp_path: Path, layer: str) -> None:
    path = tmp_path / LAYERS_FILE
    random_fusion().save(tmp_path)
    values = json.loads(path.read_text())
    names = values["features"][layer]
    names[0], names[1] = names[1], names[0]
    path.write_text(json.dumps(values))
    with pytest.raises(ValueError, match="other features"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("share", "opening"), [(0.9, 0.9), (MIN_GATE + 1e-6, MIN_GATE), (MIN_GATE - 1e-6, 0)]
)
def test_a_gate_that_is_hardly_open_is_closed(share: float, opening: float) -> None:
    fusion = random_fusion()
    width = len(QUERY_FEATURES)
    constant_gate = replace(fusion.gate, weights=np.zeros(width), bias=math.log(share / (1 - share)))
    fusion = replace(fusion, gate=constant_gate)
    assert fusion.compute_opening(np.ones(width)) == pytest.approx(opening, abs=1e-5)
