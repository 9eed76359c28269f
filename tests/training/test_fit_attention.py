"""Fitting attention between sentences: its loss, its batches, and a task that needs it."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from tersely.score.attention import RELATIONS
from training.export import fit_attention as fitting
from training.export.fit_attention import AttentionNetwork, Example, compute_losses, fit_attention

SHARED = RELATIONS.index("shared_share")


def make_examples(count: int, seed: int) -> list[Example]:
    """Make questions of eight sentences. The one that shares terms with the marked one is needed."""
    generator = np.random.default_rng(seed)
    examples: list[Example] = []
    for _ in range(count):
        marked, needed = generator.choice(8, size=2, replace=False)
        features = generator.normal(size=(8, 2)) * 0.1
        features[marked, 0] = 1.0
        relations = np.zeros((8, 8, len(RELATIONS)), np.float32)
        relations[marked, needed, SHARED] = relations[needed, marked, SHARED] = 1.0
        labels = np.zeros(8, np.int64)
        labels[needed] = 1
        examples.append(Example(features, relations, np.zeros(8), 1.0, labels, 1.0))
    return examples


def test_torch_and_the_runtime_compute_the_same() -> None:
    generator = np.random.default_rng(0)
    features = generator.normal(size=(7, 3))
    relations = generator.normal(size=(7, 7, len(RELATIONS))).astype(np.float32)
    padded = np.pad(features, [(0, 2), (0, 0)], constant_values=5.0)
    padded_relations = np.pad(relations, [(0, 2), (0, 2), (0, 0)], constant_values=5.0)
    network = AttentionNetwork(features, seed=1).eval()
    torch.nn.init.normal_(network.layers["out"])
    with torch.inference_mode():
        inputs = torch.tensor(padded, dtype=torch.float32)[None], torch.tensor(padded_relations)[None]
        expected = network(*inputs, torch.arange(9)[None] < 7)[0, :, :7].mean(0)
    np.testing.assert_allclose(network.numpy()(features, relations), expected.numpy(), rtol=1e-4, atol=1e-5)


def test_loss_matches_values_worked_by_hand() -> None:
    logits = torch.tensor([[[2.0, 0.0, 1.0, 9.0], [0.0, 0.0, 0.0, 9.0]]] * 3)
    labels = torch.tensor([[1, 0, 0, -1], [0, 0, 0, -1], [1, 1, 1, 1]])

    def softplus(x: float) -> float:
        return math.log1p(math.exp(x))

    first = (softplus(-2) + softplus(0) + softplus(1)) / 3 + softplus(math.log(1 + math.e) - 2)
    second = softplus(0) + softplus(math.log(2))
    losses = compute_losses(logits, labels)
    assert losses[0].item() == pytest.approx(first + second, rel=1e-5)
    without_positives = (softplus(2) + softplus(0) + softplus(1)) / 3 + softplus(0)
    assert losses[1].item() == pytest.approx(without_positives, rel=1e-5)
    without_negatives = sum(softplus(-x) for x in (2, 0, 1, 9)) / 4 + (3 * softplus(0) + softplus(-9)) / 4
    assert losses[2].item() == pytest.approx(without_negatives, rel=1e-5)


def test_padding_changes_no_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "EPOCHS", 1)
    monkeypatch.setattr(fitting, "DROPOUT", 0.0)
    examples = make_examples(20, seed=1)
    for i in range(0, 20, 2):
        whole = examples[i]
        examples[i] = Example(
            whole.features[:5], whole.relations[:5, :5], whole.base[:5], 0.5, whole.labels[:5], 2.0
        )
    together = fit_attention(examples, seed=3)
    monkeypatch.setattr(fitting, "PART_SENTENCES", 1)
    alone = fit_attention(examples, seed=3)
    for name, weights in alone.weights.items():
        np.testing.assert_allclose(together.weights[name], weights, rtol=1e-3, atol=1e-5)


def test_learns_which_sentence_shares_terms_with_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "EPOCHS", 20)
    attention = fit_attention(make_examples(120, seed=1), seed=0)
    right = [
        np.argmax(attention(e.features, e.relations)) == np.argmax(e.labels)
        for e in make_examples(50, seed=2)
    ]
    assert sum(right) >= 45


def test_same_seed_gives_the_same_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "EPOCHS", 1)
    one, two = (fit_attention(make_examples(20, seed=1), seed=3).weights for _ in range(2))
    assert all(np.array_equal(one[name], two[name]) for name in one)
