"""Fit the fusion layer to held-out questions, with exactly the features that the runtime computes.

The encoder never saw these questions, so its logits are as uncertain here as in use. Every number is
cross-fitted: a question is scored by a layer that was fitted without it. There are only a few hundred
questions, so the layers are linear, penalised, and fitted to convergence with L-BFGS.
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
from torch.nn.utils.rnn import pad_sequence

from tersely.score import ScoredInput
from tersely.score.attention import FEATURE_LIMIT, SentenceAttention
from tersely.score.features import (
    ENCODER_FEATURES,
    FIRST_FEATURES,
    NEAR_FEATURES,
    first_features,
    query_features,
)
from tersely.score.fusion import Fusion, LinearLayer, compute_opening
from tersely.score.hops import Hop, SecondStage
from tersely.score.matching import Floats
from tersely.score.selector import Selector
from tersely.units import Unit
from training.export.fit_attention import PADDING, Example, compute_losses, fit_attention
from training.run import show_progress
from training.selector_model.groups import MULTI_HOP, Group
from training.selector_model.scores import GroupScores, summarise

FOLDS = 5
ITERATIONS = 120
PENALTY = {"first": 1e-3, "gate": 1e-2, "adapted": 1e-2}
"""Weights of the squared parameters, on standardised features. For an adapted layer it is the weight of the
squared distance to the layer that it starts from."""


def compute_idf(layout_ids: Iterable[Sequence[int]], vocabulary: int) -> NDArray[np.float32]:
    """Return log((n + 1) / (df + 1)) of each token id over the training passages, shape (vocabulary,)."""
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
    """A held-out question, the labels of its sentences, and the index of each document's first sentence."""

    group: Group
    labels: NDArray[np.int64]
    """1, 0, or -1 if unknown."""
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
    """Fit the fusion; return it with an ablation table and the cross-fitted final scores of each group."""
    torch.set_num_threads(1)  # threads make so small a layer slower
    keep = FIRST_FEATURES.index("keep")
    progress = show_progress("first pass", groups)
    readings = [selector.first_pass(g.question, make_inputs(g)) for g in progress]
    cases = [Case.make(g) for g in groups]
    features = [first_features(r.matches, r.logits, r.near) for r in readings]
    table: dict[str, Any] = {"encoder alone": _summarise(cases, [f[:, keep] for f in features])}
    without = [f[:, len(ENCODER_FEATURES) + len(NEAR_FEATURES) :] for f in features]
    layers = cross_fit(cases, lambda part: fit_first(_take(without, part), _take(cases, part)), "exact match")
    table["exact match alone"] = _summarise(cases, [a(f) for a, f in zip(layers, without, strict=True)])
    layers = cross_fit(cases, lambda part: fit_first(_take(features, part), _take(cases, part)), "first")
    first = [layer(f) for layer, f in zip(layers, features, strict=True)]
    table["+ exact match"] = _summarise(cases, first)

    queries = [query_features(r.matches, r.logits, f) for r, f in zip(readings, first, strict=True)]
    layers = cross_fit(cases, lambda part: fit_gate(_take(queries, part), _take(cases, part)), "gate")
    gates = [compute_opening(layer, q) for layer, q in zip(layers, queries, strict=True)]
    rows = zip(readings, features, first, strict=True)
    stages = [SecondStage.make(r.matches, r.logits, f, a) for r, f, a in rows]
    weights = (_weigh_questions(cases) * len(cases)).tolist()

    def examples(part: Sequence[int], *views: Sequence[Sequence[Hop]]) -> list[Example]:
        """Return the questions of a part whose gate is open, once for each view of the second pass."""
        open_part = [i for i in part if gates[i]]
        return [
            _make_example(stages[i], view[i], gates[i], cases[i], weights[i])
            for view in views
            for i in open_part
        ]

    def scores(view: Sequence[Sequence[Hop]], networks: Sequence[SentenceAttention]) -> list[Floats]:
        rows = zip(stages, view, gates, networks, strict=True)
        return [s.first_logits + g * s.attend(n, hops) if g else s.first_logits for s, hops, g, n in rows]

    nothing: list[Sequence[Hop]] = [()] * len(cases)
    networks = cross_fit(cases, lambda part: fit_attention(examples(part, nothing), seed), "attention")
    table["+ attention"] = _summarise(cases, scores(nothing, networks))

    hinting = fit_attention(examples(range(len(cases)), nothing), seed, "attention, all folds")
    progress = show_progress("second pass", range(len(cases)))
    fusion = replace(Fusion.from_keep_logit(), attention=hinting)
    hinted = Selector(selector.encoder, selector.layout, fusion, selector.idf, 0.0)
    hops = [hinted.second_pass(readings[i], stages[i]) if gates[i] else () for i in progress]
    # The runtime also applies the attention before the second pass, to choose the windows.
    networks = cross_fit(cases, lambda part: fit_attention(examples(part, hops, nothing), seed), "paths")
    out = scores(hops, networks)
    table["+ second pass"] = _summarise(cases, out)
    attention = fit_attention(examples(range(len(cases)), hops, nothing), seed, "paths, all folds")
    fusion = Fusion(fit_first(features, cases), fit_gate(queries, cases), attention)
    return fusion, table, [split_by_document(c, s) for c, s in zip(cases, out, strict=True)]


def _make_example(stage: SecondStage, hops: Sequence[Hop], gate: float, case: Case, weight: float) -> Example:
    chosen = stage.chosen
    labels = case.labels[chosen]
    return Example(stage.inputs(hops), stage.relations, stage.first_logits[chosen], gate, labels, weight)


T = TypeVar("T")


def _take(rows: Sequence[T], part: Sequence[int]) -> list[T]:
    return [rows[i] for i in part]


def cross_fit(
    cases: Sequence[Case], fit_part: Callable[[Sequence[int]], T], name: str | None = None
) -> list[T]:
    """Return the result of `fit_part` on the other folds for each case; the fold depends on the question id.

    With a name, it shows its progress.
    """
    fold = [zlib.crc32(c.group.id.encode()) % FOLDS for c in cases]
    folds = range(FOLDS) if name is None else show_progress(name, range(FOLDS), unit="fold")
    fitted = [fit_part([i for i in range(len(cases)) if fold[i] != k]) for k in folds]
    return [fitted[k] for k in fold]


def _weigh_questions(cases: Sequence[Case]) -> Tensor:
    """Return weights (cases,) with sum 1. The weight of a question is the inverse root of its set's size, so
    that small sets count but noise does not."""
    sets = Counter(c.group.source for c in cases)
    share = torch.tensor([sets[c.group.source] ** -0.5 for c in cases])
    return share / share.sum()


class _Target:
    """The attention's loss over the sentence logits of all cases, weighted by question."""

    def __init__(self, cases: Sequence[Case]) -> None:
        self.share = _weigh_questions(cases)
        labels = [torch.from_numpy(case.labels) for case in cases]
        self.labels = pad_sequence(labels, batch_first=True, padding_value=PADDING)

    def loss(self, logits: Tensor) -> Tensor:
        """Return the loss of all cases. `logits` has shape (sentences,)."""
        padded = torch.zeros(self.labels.shape).masked_scatter(self.labels != PADDING, logits)
        return (compute_losses(padded[:, None], self.labels) * self.share).sum()


class _Layer:
    """A linear layer that torch can fit."""

    def __init__(self, rows: NDArray[np.float64]) -> None:
        self.mean, self.deviation = rows.mean(0), np.maximum(rows.std(0), 1e-3)
        z = np.clip((rows - self.mean) / self.deviation, -FEATURE_LIMIT, FEATURE_LIMIT)
        self.inputs = torch.tensor(z, dtype=torch.float32)
        self.weights, self.bias = torch.zeros(rows.shape[1]), torch.zeros(())

    def parameters(self) -> list[Tensor]:
        return [self.weights, self.bias]

    def __call__(self) -> Tensor:
        return self.inputs @ self.weights + self.bias

    def penalty(self) -> Tensor:
        return (self.weights**2).sum()

    def numpy(self) -> LinearLayer:
        weights = self.weights.detach().double().numpy()
        return LinearLayer(self.mean, self.deviation, weights, float(self.bias.detach()))


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


def fit_first(features: Sequence[Floats], cases: Sequence[Case]) -> LinearLayer:
    """Fit the first stage to the features of each question's sentences."""
    layer, target = _Layer(np.concatenate(features)), _Target(cases)
    _minimise(layer.parameters(), lambda: target.loss(layer()) + PENALTY["first"] * layer.penalty())
    return layer.numpy()


def fit_towards(prior: LinearLayer, features: Sequence[Floats], cases: Sequence[Case]) -> LinearLayer:
    """Fit the first stage as `fit_first` does, but keep it near the layer `prior`."""
    rows = np.clip((np.concatenate(features) - prior.mean) / prior.deviation, -FEATURE_LIMIT, FEATURE_LIMIT)
    inputs, target = torch.tensor(rows, dtype=torch.float32), _Target(cases)
    start = torch.tensor(prior.weights, dtype=torch.float32)
    weights, bias = start.clone(), torch.tensor(prior.bias, dtype=torch.float32)

    def objective() -> Tensor:
        distance = (weights - start).square().sum()
        return target.loss(inputs @ weights + bias) + PENALTY["adapted"] * distance

    _minimise([weights, bias], objective)
    return replace(prior, weights=weights.detach().double().numpy(), bias=float(bias.detach()))


def fit_gate(queries: Sequence[Floats], cases: Sequence[Case]) -> LinearLayer:
    """Fit the gate to each question's features: it learns which sets are multi-hop."""
    layer, weights = _Layer(np.stack(queries)), _weigh_questions(cases)
    multi_hop = torch.tensor([float(c.group.source in MULTI_HOP) for c in cases])

    def objective() -> Tensor:
        loss = nn.functional.binary_cross_entropy_with_logits(
            layer(), multi_hop, weight=weights, reduction="sum"
        )
        return loss + PENALTY["gate"] * layer.penalty()

    _minimise(layer.parameters(), objective)
    return layer.numpy()


def choose_threshold(scored: Sequence[GroupScores], recall: float) -> float:
    """Return the highest score threshold at which questions keep `recall` of their labelled sentences on
    average.

    Questions without a labelled sentence do not count; all sets have the same weight.
    """
    sizes = Counter(s.group.source for s in scored)
    points: list[tuple[float, float]] = []
    total = 0.0
    for item in scored:
        labelled = [
            score
            for d, row in zip(item.group.documents, item.scores, strict=True)
            for score, y in zip(row, d.labels, strict=True)
            if y > 0
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
