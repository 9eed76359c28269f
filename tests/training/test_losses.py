"""Losses of Phase I, checked against values worked by hand."""

from __future__ import annotations

import math

import pytest
import torch

from training.selector.losses import balanced_bce, centred_regression, listwise


def log1pexp(x: float) -> float:
    return math.log1p(math.exp(x))


def test_balanced_bce_weighs_both_classes_alike() -> None:
    logits = torch.tensor([1.0, -2.0, 0.5, 0.0])
    labels = torch.tensor([1, 0, 0, 0])
    # Weights n / (2 n_c): 4 / 2 = 2 for the positive, 4 / 6 for each negative; the mean is over four entries.
    expected = (2 * log1pexp(-1.0) + (4 / 6) * (log1pexp(-2.0) + log1pexp(0.5) + log1pexp(0.0))) / 4
    assert float(balanced_bce(logits, labels)) == pytest.approx(expected, rel=1e-6)


def test_balanced_bce_ignores_unlabelled_entries() -> None:
    logits = torch.tensor([1.0, -2.0, 9.0], requires_grad=True)
    labelled = balanced_bce(logits[:2], torch.tensor([1, 0]))
    assert balanced_bce(logits, torch.tensor([1, 0, -1])).item() == pytest.approx(labelled.item())
    balanced_bce(logits, torch.tensor([-1, -1, -1])).backward()
    assert logits.grad is not None
    assert logits.grad.tolist() == [0.0, 0.0, 0.0]


def test_balanced_bce_of_one_class_is_plain_cross_entropy() -> None:
    loss = balanced_bce(torch.tensor([0.0, 1.0]), torch.tensor([0, 0]))
    assert float(loss) == pytest.approx((math.log(2) + log1pexp(1.0)) / 2)


def test_listwise_compares_within_one_question() -> None:
    logits = torch.tensor([2.0, 1.0, 0.0, -1.0, 5.0])
    labels = torch.tensor([1, 1, 0, 0, 0])
    group = torch.tensor([0, 0, 0, 0, 1])  # the last sentence belongs to a question without a positive
    crowd = math.exp(0.0) + math.exp(-1.0)
    first = -math.log(math.exp(2.0) / (math.exp(2.0) + crowd))
    second = -math.log(math.exp(1.0) / (math.exp(1.0) + crowd))
    assert float(listwise(logits, labels, group, 2)) == pytest.approx((first + second) / 2, rel=1e-6)


def test_listwise_counts_each_question_once() -> None:
    logits = torch.tensor([0.0, 0.0, 0.0, 0.0, 1.0])
    labels = torch.tensor([1, 0, 0, 1, 0])
    group = torch.tensor([0, 0, 0, 1, 1])
    expected = (math.log(3) + log1pexp(1.0)) / 2
    assert float(listwise(logits, labels, group, 2)) == pytest.approx(expected, rel=1e-6)


def test_centred_regression_compares_within_one_question() -> None:
    logits = torch.tensor([1.0, 3.0, 10.0, 4.0, 4.0])
    targets = torch.tensor([0.0, 0.0, 0.0, 1.0, 3.0])
    group = torch.tensor([0, 0, 1, 2, 2])
    # Differences 1 and 3 around 2, no differences of a single sentence, and 3 and 1 around 2.
    assert float(centred_regression(logits, targets, group, 3)) == pytest.approx((1.0 + 0.0 + 1.0) / 3)
