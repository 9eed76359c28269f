"""The fusion and the attention between sentences: formulas by hand, files, and what they refuse."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tersely.score.attention import RELATIONS, SentenceAttention, shape_weights
from tersely.score.features import FIRST_FEATURES, QUERY_FEATURES
from tersely.score.fusion import ATTENTION_FILE, LAYERS_FILE, MIN_GATE, Fusion, LinearLayer
from tersely.score.hops import SECOND_FEATURES, relate
from tests.sdk.attention_cases import random_attention
from tests.sdk.feature_cases import MATCHES


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


def test_relations_match_values_worked_by_hand() -> None:
    pairs = relate(MATCHES, np.arange(4))
    assert pairs.shape == (4, 4, len(RELATIONS))
    columns = dict(zip(RELATIONS, np.moveaxis(pairs, -1, 0), strict=True))
    # Sentences 0 and 3 share one token that is not in the question: token 5, of weight 4.
    assert columns["shared_weight"][0, 3] == pytest.approx(math.log(5))
    assert columns["shared_weight"][0, 2] == 0
    assert columns["same_document"].tolist() == [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    # Token 6, the part of the first title that the question does not hold, stands in sentence 3.
    assert columns["names_title"][3, 0] == pytest.approx(1)
    assert columns["title_is_named"][0, 3] == pytest.approx(1)
    assert columns["names_title"][1, 0] == 0
    assert columns["shared_share"].diagonal().max() == pytest.approx(1)


def test_the_layer_matches_values_worked_by_hand() -> None:
    """One network that averages the values of sentences in the same document."""
    weights = {name: np.zeros(shape, np.float32) for name, shape in shape_weights(1, 4, 1).items()}
    weights["deviation"][:] = 1.0
    weights["input"][0, 0] = [2.0, 0.0, 0.0, 0.0]
    for name in ("attend", "up", "out"):
        weights[f"{name}_scale"][:] = 1.0
    weights["relation"][0, RELATIONS.index("same_document")] = 50.0  # nothing else is seen
    weights["attend"][0, 0, 8] = 1.0  # the value of the first head is the first normalised entry
    weights["mix"][0, 0, 1] = 1.0
    weights["out"][0, 1, 0] = 1.0
    weights["out_scale"][0, 0] = 1.0
    features = np.array([[1.0], [-1.0], [1.0]])
    relations = np.zeros((3, 3, len(RELATIONS)), np.float32)
    relations[:2, :2, RELATIONS.index("same_document")] = 1.0
    relations[2, 2, RELATIONS.index("same_document")] = 1.0
    # (2, 0, 0, 0) normalised begins with 1.5 / sqrt(0.75) = sqrt(3). The first two sentences average +sqrt(3)
    # and -sqrt(3) to 0; the third sees itself. Then its states are (2, sqrt(3), 0, 0), of mean m.
    third = math.sqrt(3)
    states = np.array([2.0, third, 0.0, 0.0])
    expected = (third - states.mean()) / states.std()
    out = SentenceAttention(weights)(features, relations)
    assert out[2] == pytest.approx(expected, rel=1e-3)
    assert out[0] == pytest.approx(-1 / math.sqrt(3), rel=1e-3)
    assert out[1] == pytest.approx(1 / math.sqrt(3), rel=1e-3)


def test_the_order_of_sentences_does_not_matter() -> None:
    attention = random_attention(3, seed=1)
    generator = np.random.default_rng(2)
    features = generator.normal(size=(6, 3))
    relations = generator.normal(size=(6, 6, len(RELATIONS))).astype(np.float32)
    order = generator.permutation(6)
    expected = attention(features, relations)[order]
    np.testing.assert_allclose(
        attention(features[order], relations[np.ix_(order, order)]), expected, rtol=1e-3, atol=1e-4
    )


def test_attention_survives_its_file(tmp_path: Path) -> None:
    attention = random_attention(3, seed=1)
    attention.save(tmp_path / "attention.npz")
    loaded = SentenceAttention.load(tmp_path / "attention.npz")
    features, relations = np.ones((4, 3)), np.ones((4, 4, len(RELATIONS)), np.float32)
    np.testing.assert_allclose(loaded(features, relations), attention(features, relations), atol=0.1)
