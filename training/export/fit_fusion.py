"""Fits the fusion layer on held-out questions, on exactly the features that the runtime computes.

The encoder never saw these questions, so its logits are as uncertain here as they will be in use. Every
figure is cross-fitted: a question is scored by a layer that was fitted without it. There are only some
hundred questions, so the layer is small, penalised, and fitted to convergence by L-BFGS.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tersely.selector import ScoredInput
from tersely.selector.features import (
    ENCODER_FEATURES,
    FIRST_FEATURES,
    Hop,
    bridge_features,
    first_features,
    path_features,
    query_features,
)
from tersely.selector.fusion import Fusion, Perceptron
from tersely.selector.matching import Floats
from tersely.selector.selector import Selector
from tersely.text.sentences import Unit
from training.run import show_progress
from training.selector_model.groups import MULTI_HOP, Group
from training.selector_model.scores import GroupScores, summarise

FOLDS = 5
HIDDEN = 4
ITERATIONS = 120
PENALTY = {"first": 1e-3, "gate": 1e-2, "bridge": 1e-2}
"""Weights of the squared parameters, on standardised features."""


def compute_idf(layout_ids: Iterable[Sequence[int]], vocabulary: int) -> NDArray[np.float32]:
    """log((n + 1) / (df + 1)) of every token id over the training passages, shape (vocabulary,)."""
    counts: Counter[int] = Counter()
    total = 0
    for ids in layout_ids:
        counts.update(set(ids))
        total += 1
    df = np.zeros(vocabulary)
    for token, count in counts.items():
        df[token] = count
    return np.log((total + 1) / (df + 1)).astype(np.float32)


@dataclass(slots=True)
class Case:
    """A held-out question, the labels of its sentences, and where each document begins among them."""

    group: Group
    labels: NDArray[np.int64]
    offsets: NDArray[np.int64]

    @classmethod
    def make(cls, group: Group) -> Case:
        offsets = np.cumsum([0, *(len(d.units) for d in group.documents)])
        return cls(group, np.array([y for d in group.documents for y in d.labels]), offsets)


def make_inputs(group: Group) -> list[ScoredInput]:
    return [
        ScoredInput(d.title, d.text, [Unit(a, b, "sentence", False) for a, b in d.units])
        for d in group.documents
    ]


def fit_fusion(
    selector: Selector, groups: Sequence[Group], seed: int
) -> tuple[Fusion, dict[str, Any], list[GroupScores]]:
    """The fitted fusion, an ablation table, and the cross-fitted final scores of every group."""
    torch.set_num_threads(1)  # the layer is tiny: threads would only wait for each other
    keep = FIRST_FEATURES.index("keep")
    progress = show_progress("first pass", groups)
    readings = [selector.first_pass(g.question, make_inputs(g)) for g in progress]
    cases = [Case.make(g) for g in groups]
    features = [first_features(r.matches, r.logits) for r in readings]
    table: dict[str, Any] = {"encoder alone": _summarise(cases, [f[:, keep] for f in features])}
    without = [f[:, len(ENCODER_FEATURES) :] for f in features]
    layers = cross_fit(cases, lambda part: fit_first(_take(without, part), _take(cases, part)))
    table["exact match alone"] = _summarise(cases, [a(f) for a, f in zip(layers, without, strict=True)])
    layers = cross_fit(cases, lambda part: fit_first(_take(features, part), _take(cases, part)))
    first = [layer(f) for layer, f in zip(layers, features, strict=True)]
    table["+ exact match"] = _summarise(cases, first)

    queries = [query_features(r.matches, r.logits, f) for r, f in zip(readings, first, strict=True)]
    sides = [
        np.hstack([f, bridge_features(r.matches, a)])
        for f, r, a in zip(features, readings, first, strict=True)
    ]

    def bridges(second: Sequence[Sequence[Hop]]) -> list[Floats]:
        rows = zip(sides, readings, first, second, strict=True)
        return [np.hstack([f, path_features(r.matches, r.logits, a, s)]) for f, r, a, s in rows]

    def fit_part(part: Sequence[int], *views: list[Floats]) -> Fit:
        rows = [row for view in views for row in _take(view, part)]
        rest = (_take(x, part) * len(views) for x in (queries, first, cases))
        return _fit_gated(rows, *rest, seed=seed)

    def scores(view: list[Floats], gated: Sequence[Fit]) -> list[Floats]:
        fusions = [Fusion(layer, *fit) for layer, fit in zip(layers, gated, strict=True)]
        rows = zip(first, fusions, queries, view, strict=True)
        return [f + fusion.gate_value(q) * fusion.bridge(b) for f, fusion, q, b in rows]

    everyone = range(len(cases))
    hints = bridges([()] * len(cases))
    out = scores(hints, cross_fit(cases, lambda part: fit_part(part, hints)))
    table["+ bridges"] = _summarise(cases, out)

    fusion = replace(Fusion.keep_alone(), bridge=fit_part(everyone, hints)[1])
    hinted = Selector(selector.encoder, selector.layout, fusion, selector.idf, 0.0)
    progress = show_progress("second pass", readings)
    full = bridges([hinted.second_pass(r, s, f) for r, s, f in zip(progress, sides, first, strict=True)])
    # The runtime also uses the bridge layer before the second pass, to choose the windows to read again.
    out = scores(full, cross_fit(cases, lambda part: fit_part(part, full, hints)))
    table["+ second pass"] = _summarise(cases, out)
    fusion = Fusion(fit_first(features, cases), *fit_part(everyone, full, hints))
    return fusion, table, [split_by_document(c, s) for c, s in zip(cases, out, strict=True)]


Fit = tuple[Perceptron, Perceptron]
T = TypeVar("T")


def _take(rows: Sequence[T], part: Sequence[int]) -> list[T]:
    return [rows[i] for i in part]


def cross_fit(cases: Sequence[Case], fit_part: Callable[[Sequence[int]], T]) -> list[T]:
    """For each case the result of `fit_part` on the other folds; folds are drawn by question id."""
    fold = [zlib.crc32(c.group.id.encode()) % FOLDS for c in cases]
    fitted = [fit_part([i for i in range(len(cases)) if fold[i] != k]) for k in range(FOLDS)]
    return [fitted[k] for k in fold]


class _Target:
    """The loss of sentence logits: listwise for the order, plain cross-entropy for the calibration.

    A question weighs by the inverse root of its set's size, so that small sets count and noise does not.
    """

    def __init__(self, cases: Sequence[Case]) -> None:
        sizes = torch.tensor([len(c.labels) for c in cases])
        sets = Counter(c.group.source for c in cases)
        share = torch.tensor([sets[c.group.source] ** -0.5 for c in cases])
        self.labels = torch.tensor(np.concatenate([c.labels for c in cases]), dtype=torch.float32)
        self.owner = torch.repeat_interleave(torch.arange(len(cases)), sizes)
        self.share = share / share.sum()
        positives = torch.zeros(len(cases)).index_add_(0, self.owner, self.labels)
        self.order_weight = self.labels * (self.share / positives.clamp(min=1))[self.owner]
        self.entropy_weight = (self.share / sizes)[self.owner]

    def loss(self, logits: Tensor) -> Tensor:
        rivals = self._log_sum_negatives(logits)
        order = nn.functional.softplus(rivals[self.owner] - logits)
        entropy = nn.functional.binary_cross_entropy_with_logits(logits, self.labels, reduction="none")
        return (order * self.order_weight).sum() + (entropy * self.entropy_weight).sum()

    def _log_sum_negatives(self, logits: Tensor) -> Tensor:
        """log sum exp of each case's negatives, shape (cases,); very low where a case has none."""
        count = len(self.share)
        masked = torch.where(self.labels > 0, torch.full_like(logits, -1e4), logits)
        top = torch.full((count,), -1e4).scatter_reduce(0, self.owner, masked.detach(), "amax")
        shifted = torch.exp(masked - top[self.owner]) * (self.labels == 0)
        return torch.log(torch.zeros(count).index_add(0, self.owner, shifted).clamp(min=1e-30)) + top


class _Layer:
    """A perceptron whose parameters torch can fit."""

    def __init__(self, rows: NDArray[np.float64], hidden: int = 0, seed: int = 0) -> None:
        self.mean, self.deviation = rows.mean(0), np.maximum(rows.std(0), 1e-3)
        z = np.clip((rows - self.mean) / self.deviation, -6, 6)
        self.inputs = torch.tensor(z, dtype=torch.float32)
        draw = torch.Generator().manual_seed(seed)
        width = rows.shape[1]
        self.hidden = torch.randn(width, hidden, generator=draw) * 0.3
        self.hidden_bias, self.out = torch.zeros(hidden), torch.zeros(hidden)
        self.linear, self.bias = torch.zeros(width), torch.zeros(())

    def parameters(self) -> list[Tensor]:
        return [self.hidden, self.hidden_bias, self.out, self.linear, self.bias]

    def __call__(self) -> Tensor:
        inner = torch.tanh(self.inputs @ self.hidden + self.hidden_bias) @ self.out
        return inner + self.inputs @ self.linear + self.bias

    def penalty(self) -> Tensor:
        return sum(((p**2).sum() for p in (self.hidden, self.out, self.linear)), torch.zeros(()))

    def numpy(self) -> Perceptron:
        hidden, hidden_bias, out, linear = (
            p.detach().double().numpy() for p in (self.hidden, self.hidden_bias, self.out, self.linear)
        )
        return Perceptron(
            self.mean, self.deviation, hidden, hidden_bias, out, linear, float(self.bias.detach())
        )


def _minimise(parameters: Sequence[Tensor], objective: Callable[[], Tensor]) -> None:
    for parameter in parameters:
        parameter.requires_grad_()
    optimizer = torch.optim.LBFGS(
        parameters, max_iter=ITERATIONS, history_size=10, line_search_fn="strong_wolfe"
    )

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = objective()
        loss.backward()
        return loss

    optimizer.step(closure)


def fit_first(features: Sequence[Floats], cases: Sequence[Case]) -> Perceptron:
    layer, target = _Layer(np.concatenate(features)), _Target(cases)
    _minimise(layer.parameters(), lambda: target.loss(layer()) + PENALTY["first"] * layer.penalty())
    return layer.numpy()


def _fit_gated(
    bridges: Sequence[Floats],
    queries: Sequence[Floats],
    first: Sequence[Floats],
    cases: Sequence[Case],
    *,
    seed: int,
) -> Fit:
    """Fit gate and bridge together, on top of a fixed first stage; the gate also learns which sets are
    multi-hop."""
    bridge = _Layer(np.concatenate(bridges), HIDDEN, seed)
    gate = _Layer(np.stack(queries))
    target = _Target(cases)
    base = torch.tensor(np.concatenate(first), dtype=torch.float32)
    multi_hop = torch.tensor([float(c.group.source in MULTI_HOP) for c in cases])

    def objective() -> Tensor:
        opening = gate()
        logits = base + torch.sigmoid(opening)[target.owner] * bridge()
        gate_loss = nn.functional.binary_cross_entropy_with_logits(
            opening, multi_hop, weight=target.share, reduction="sum"
        )
        penalty = PENALTY["gate"] * gate.penalty() + PENALTY["bridge"] * bridge.penalty()
        return target.loss(logits) + gate_loss + penalty

    _minimise([*gate.parameters(), *bridge.parameters()], objective)
    return gate.numpy(), bridge.numpy()


def choose_threshold(scored: Sequence[GroupScores], recall: float) -> float:
    """The highest score threshold at which questions keep `recall` of their labelled sentences on average.

    Questions without a labelled sentence do not count; every set weighs the same.
    """
    sizes = Counter(s.group.source for s in scored)
    points: list[tuple[float, float]] = []
    total = 0.0
    for item in scored:
        labelled = [
            score
            for d, row in zip(item.group.documents, item.scores, strict=True)
            for score, y in zip(row, d.labels, strict=True)
            if y
        ]
        if labelled:
            weight = 1.0 / sizes[item.group.source]
            total += weight
            points += [(score, weight / len(labelled)) for score in labelled]
    kept = 0.0
    for score, weight in sorted(points, reverse=True):
        kept += weight
        if kept >= recall * total:
            return 1.0 / (1.0 + math.exp(-score))
    raise ValueError("no held-out question has a labelled sentence; the threshold cannot be chosen")


def split_by_document(case: Case, logits: Floats) -> GroupScores:
    parts = np.split(logits, case.offsets[1:-1])
    return GroupScores(case.group, [p.tolist() for p in parts])


def _summarise(cases: Sequence[Case], logits: Sequence[Floats]) -> dict[str, Any]:
    return summarise([split_by_document(c, x) for c, x in zip(cases, logits, strict=True)])
