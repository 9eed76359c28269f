"""Fitting the fusion layer: loss and threshold worked by hand, and fits with a known answer."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch

from tersely.score.features import FIRST_FEATURES, QUERY_FEATURES
from tersely.score.fusion import Fusion
from tersely.score.matching import Floats
from tests.training.tiny import make_document
from training.export.fit_fusion import (
    Case,
    _minimise,
    _Target,
    choose_threshold,
    compute_idf,
    cross_fit,
    fit_first,
    fit_gate,
)
from training.selector_model.groups import Group
from training.selector_model.scores import GroupScores


def make_group(*labels: Sequence[int], source: str = "squad_train44", name: str = "1") -> Group:
    """Make a question with one document for each row of labels."""
    documents = [make_document(None, ["."] * len(row), row, int(any(row))) for row in labels]
    return Group(name, source, "?", [], documents)


def make_case(labels: Sequence[int], source: str = "squad_train44", name: str = "1") -> Case:
    question = make_group(labels, source=source, name=name)
    return Case(question, np.array(labels), np.array([0, len(labels)]))


def log1pexp(x: float) -> float:
    return math.log1p(math.exp(x))


def compute_loss(cases: Sequence[Case], logits: Sequence[float]) -> float:
    return float(_Target(cases).loss(torch.tensor(logits)))


def test_loss_matches_values_worked_by_hand() -> None:
    cases = [make_case([1, 0, 0]), make_case([1, 0, 1], source="hotpotqa")]
    logits = [2.0, 0.0, 1.0, 0.5, -1.0, 3.0]
    order = log1pexp(math.log(1 + math.e) - 2.0), (log1pexp(-1.5) + log1pexp(-4.0)) / 2
    entropy = (
        (log1pexp(-2.0) + log1pexp(0.0) + log1pexp(1.0)) / 3,
        (log1pexp(-0.5) + log1pexp(-1.0) + log1pexp(-3.0)) / 3,
    )
    assert compute_loss(cases, logits) == pytest.approx((sum(order) + sum(entropy)) / 2, rel=1e-6)
    for labels, expected in (([1, 1], (-0.5, -2.0)), ([0, 0], (0.5, 2.0))):  # no order, only cross-entropy
        mean = sum(map(log1pexp, expected)) / 2
        assert compute_loss([make_case(labels)], [0.5, 2.0]) == pytest.approx(mean, rel=1e-5)


def test_question_weighs_the_inverse_root_of_its_set() -> None:
    shares = _Target([make_case([1, 0])] * 4 + [make_case([1, 0], source="qmsum")]).share
    # 4 ** -0.5 each for the first four and 1 for the last, over a sum of 3.
    assert shares.tolist() == pytest.approx([1 / 6] * 4 + [1 / 3])


def test_ignores_sentences_of_unknown_label() -> None:
    known = [make_case([1, 0, 0]), make_case([1, 0], source="hotpotqa")]
    partly = [make_case([1, -1, 0, 0]), make_case([-1, 1, 0, -1], source="hotpotqa")]
    expected = compute_loss(known, [2.0, 0.0, 1.0, 0.5, -1.0])
    assert compute_loss(partly, [2.0, 7.0, 0.0, 1.0, -7.0, 0.5, -1.0, 7.0]) == pytest.approx(expected)
    assert compute_loss([make_case([-1, -1])], [7.0, -7.0]) == 0


def test_loss_of_logits_far_apart_is_finite() -> None:
    logits = torch.tensor([-300.0, 300.0, 299.0], requires_grad=True)
    value = _Target([make_case([1, 0, 0])]).loss(logits)
    value.backward()
    assert value.item() == pytest.approx(600 + math.log1p(math.exp(-1)) + (300 + 300 + 299) / 3, rel=1e-5)
    assert logits.grad is not None
    assert bool(torch.isfinite(logits.grad).all())


def test_minimise_finds_the_lowest_point() -> None:
    x, y = torch.zeros(2), torch.zeros(())
    _minimise([x, y], lambda: ((x - torch.tensor([3.0, -1.0])) ** 2).sum() + (y - 2 * x[0]) ** 2)
    assert x.tolist() == pytest.approx([3, -1], abs=1e-3)
    assert y.item() == pytest.approx(6, abs=1e-3)


USEFUL = 1


def make_questions(count: int, seed: int) -> tuple[list[Floats], list[Case]]:
    """Make questions of six sentences and three features. One feature tells the answer."""
    rng = np.random.default_rng(seed)
    features: list[Floats] = []
    cases: list[Case] = []
    for number in range(count):
        labels = np.zeros(6, np.int64)
        labels[rng.integers(6)] = 1
        rows = rng.normal(size=(6, 3)) * [5.0, 0.1, 1.0] + [100.0, 0.0, 0.0]
        rows[:, USEFUL] += labels
        features.append(rows)
        cases.append(make_case(labels.tolist(), name=str(number)))
    return features, cases


def test_first_stage_recovers_the_useful_feature() -> None:
    layer = fit_first(*make_questions(60, seed=1))
    others = np.delete(np.abs(layer.weights), USEFUL)
    assert layer.weights[USEFUL] > 5 * others.max()
    features, cases = make_questions(60, seed=2)
    best = [int(np.argmax(layer(rows))) for rows in features]
    assert best == [int(np.argmax(c.labels)) for c in cases]


def test_gate_opens_for_the_sets_that_need_it() -> None:
    _, cases = make_questions(60, seed=3)
    queries = [np.zeros(2) for _ in cases]
    for number, case in enumerate(cases):
        if number % 2:
            case.group.source = "hotpotqa"
            queries[number][1] = 1.0
    gate = fit_gate(queries, cases)
    assert float(gate(np.array([[0.0, 1.0]]))[0]) > 1
    assert float(gate(np.array([[0.0, 0.0]]))[0]) < -1


def test_unfitted_fusion_follows_the_encoder() -> None:
    fusion = Fusion.from_keep_logit()
    rows = np.random.default_rng(0).normal(size=(4, len(FIRST_FEATURES)))
    assert fusion.first_layer(rows).tolist() == pytest.approx(rows[:, FIRST_FEATURES.index("keep")].tolist())
    assert fusion.compute_opening(np.full(len(QUERY_FEATURES), 6.0)) == 0


def test_cross_fit_scores_no_question_that_it_fits() -> None:
    cases = [make_case([1, 0], name=str(number)) for number in range(40)]
    parts = cross_fit(cases, set)
    assert all(number not in part for number, part in enumerate(parts))
    assert len({frozenset(part) for part in parts}) == 5
    assert all(len(part) > len(cases) / 2 for part in parts)


def test_idf_matches_values_worked_by_hand() -> None:
    idf = compute_idf([[0, 1, 1], [1]], vocabulary=4)
    assert idf.tolist() == pytest.approx([math.log(3 / 2), 0, math.log(3), math.log(3)], rel=1e-6)
    assert idf.dtype == np.float32


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


# Labelled logits: 3 and -1 in one question of a set of two, 1 in the other, 0 in a set of its own.
SCORED = [
    GroupScores(make_group([1, 0], [1]), [[3.0, 9.0], [-1.0]]),
    GroupScores(make_group([0, 1]), [[8.0, 1.0]]),
    GroupScores(make_group([1], source="qmsum"), [[0.0]]),
    GroupScores(make_group([0, 0], source="selqa"), [[5.0, 6.0]]),
]


def test_threshold_keeps_the_wanted_recall() -> None:
    # In order from the top: 3 brings 1/4 of 2, 1 brings 1/2, 0 brings 1, -1 the last 1/4.
    expected = {0.125: 3.0, 0.13: 1.0, 0.375: 1.0, 0.38: 0.0, 0.875: 0.0, 0.88: -1.0, 1.0: -1.0}
    for recall, logit in expected.items():
        assert choose_threshold(SCORED, recall) == pytest.approx(sigmoid(logit))
    unknown = GroupScores(make_group([-1, -1], [1, 0]), [[-9.0, -9.0], [2.0, 0.0]])
    assert choose_threshold([unknown], 1.0) == pytest.approx(sigmoid(2.0))
    with pytest.raises(ValueError, match="labelled"):
        choose_threshold(SCORED[3:], 0.9)
