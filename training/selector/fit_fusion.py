"""Fits the fusion layer on held-out questions, on exactly the evidence that the runtime computes.

The encoder never saw these questions, so its logits are as uncertain here as they will be in use. Every figure is
cross-fitted: a question is scored by a layer that was fitted without it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from tqdm import tqdm

from tersely.selector.fusion import (
    FIRST_FEATURES,
    SECOND_FEATURES,
    Fusion,
    Perceptron,
    first_features,
    second_features,
)
from tersely.selector.lexical import Floats
from tersely.selector.selector import Reading, ScoredInput, Selector
from tersely.text.sentences import Unit
from training.selector.data import Group
from training.selector.validate import GroupScores, summarise

FOLDS = 5
HIDDEN = 8
STEPS = 400
LEARNING_RATE = 0.02

SECOND_PASS_FEATURES = frozenset({"second_keep", "second_gain", "second_relevance", "second_read"})
BRIDGE_FEATURES = frozenset({"title_in_best", "names_best_title", "shares_terms", "same_document_as_best"})
ENCODER_FEATURES = frozenset(
    {
        "keep",
        "relevance",
        "keep_best_in_document",
        "keep_below_best",
        "keep_neighbours",
        "relevance_below_best",
    }
)


def background_idf(layout_ids: Iterable[Sequence[int]], vocabulary: int) -> NDArray[np.float32]:
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


def zero(features: int) -> Perceptron:
    """A layer that returns its first input, which both stages keep for the encoder's own verdict."""
    linear = np.zeros(features)
    linear[0] = 1.0
    return Perceptron(
        np.zeros(features),
        np.full(features, 1.0),
        np.zeros((features, 1)),
        np.zeros(1),
        np.zeros(1),
        linear,
        0.0,
    )


def unfitted() -> Fusion:
    return Fusion(zero(len(FIRST_FEATURES)), zero(len(SECOND_FEATURES)))


@dataclass(slots=True)
class Case:
    group: Group
    reading: Reading
    labels: NDArray[np.int64]
    first: Floats
    """(sentences, features) of the first stage."""


def collect(selector: Selector, groups: Sequence[Group]) -> list[Case]:
    cases: list[Case] = []
    for group in tqdm(groups, desc="first pass", mininterval=10):
        reading = selector.read(group.question, inputs(group))
        labels = np.array([y for d in group.documents for y in d.labels])
        cases.append(Case(group, reading, labels, first_features(reading.request, selector.idf)))
    return cases


def inputs(group: Group) -> list[ScoredInput]:
    return [
        ScoredInput(d.title, d.text, [Unit(a, b, "sentence", False) for a, b in d.units])
        for d in group.documents
    ]


def fit(
    selector: Selector, groups: Sequence[Group], seed: int
) -> tuple[Fusion, dict[str, Any], list[GroupScores]]:
    """The fitted fusion, an ablation table, and the cross-fitted final scores of every group."""
    torch.set_num_threads(1)  # the layer is tiny: threads would only wait for each other
    cases = collect(selector, groups)
    table: dict[str, Any] = {"encoder alone": _report(cases, [c.first[:, 0] for c in cases])}
    first_data = [c.first for c in cases]
    blind = [i for i, name in enumerate(FIRST_FEATURES) if name not in ENCODER_FEATURES]
    table["exact match alone"] = _report(cases, _cross_fit([d[:, blind] for d in first_data], cases, seed)[0])
    first_out, first = _cross_fit(first_data, cases, seed)
    table["+ exact match"] = _report(cases, first_out)

    hints = [
        second_features(c.reading.request, out, selector.idf, None)
        for c, out in zip(cases, first_out, strict=True)
    ]
    hint_out, hint_layer = _cross_fit(hints, cases, seed)
    table["+ bridges"] = _report(cases, hint_out)
    reader = Selector(selector.session, selector.layout, Fusion(first, hint_layer), selector.idf, 0.0)
    full: list[Floats] = []
    for case, out in zip(tqdm(cases, desc="second pass", mininterval=10), first_out, strict=True):
        second = reader.read_again(case.reading, out)
        full.append(second_features(case.reading.request, out, selector.idf, second))
    full_out, _ = _cross_fit(full, cases, seed)
    table["+ second pass"] = _report(cases, full_out)
    second_layer = fit_perceptron([*full, *hints], [*cases, *cases], seed)
    scored = [_shape(c, out) for c, out in zip(cases, full_out, strict=True)]
    return Fusion(first, second_layer), table, scored


def _cross_fit(
    features: Sequence[Floats], cases: Sequence[Case], seed: int
) -> tuple[list[Floats], Perceptron]:
    """Out-of-fold logits of every case, and a layer fitted on all."""
    fold = np.random.default_rng(seed).permutation(len(cases)) % FOLDS
    out: list[Floats] = [np.zeros(0)] * len(cases)
    for k in range(FOLDS):
        inside = [i for i in range(len(cases)) if fold[i] != k]
        layer = fit_perceptron([features[i] for i in inside], [cases[i] for i in inside], seed)
        for i in np.flatnonzero(fold == k):
            out[i] = layer(features[i])
    return out, fit_perceptron(features, cases, seed)


def fit_perceptron(features: Sequence[Floats], cases: Sequence[Case], seed: int) -> Perceptron:
    """Listwise loss for the order, plain cross-entropy for the calibration; every set weighs the same."""
    x = np.concatenate(features)
    mean, deviation = x.mean(0), np.maximum(x.std(0), 1e-3)
    z = torch.tensor(np.clip((x - mean) / deviation, -6, 6), dtype=torch.float32)
    y = torch.tensor(np.concatenate([c.labels for c in cases]), dtype=torch.float32)
    owner = torch.tensor(np.repeat(np.arange(len(cases)), [len(c.labels) for c in cases]))
    sets = Counter(c.group.source for c in cases)
    share = torch.tensor([1.0 / sets[c.group.source] / len(sets) for c in cases], dtype=torch.float32)
    sizes = torch.bincount(owner, minlength=len(cases)).float()
    positives = torch.zeros(len(cases)).index_add_(0, owner, y)
    torch.manual_seed(seed)
    width = x.shape[1]
    hidden, linear = nn.Linear(width, HIDDEN), nn.Linear(width, 1)
    out = nn.Linear(HIDDEN, 1, bias=False)
    nn.init.zeros_(out.weight)
    optimizer = torch.optim.AdamW(
        [*hidden.parameters(), *linear.parameters(), *out.parameters()], lr=LEARNING_RATE, weight_decay=0.05
    )
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    for _ in range(STEPS):
        logits = (out(torch.tanh(hidden(z))) + linear(z)).squeeze(-1)
        crowd = _log_sum_negatives(logits, y, owner, len(cases))
        order = y * nn.functional.softplus(crowd[owner] - logits) * (share / positives.clamp(min=1))[owner]
        entropy = nn.functional.binary_cross_entropy_with_logits(logits, y, reduction="none")
        loss = order.sum() + (entropy * (share / sizes)[owner]).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    weights = [hidden.weight.T, hidden.bias, out.weight[0], linear.weight[0]]
    arrays = [w.detach().double().numpy() for w in weights]
    return Perceptron(mean, deviation, *arrays, bias=float(linear.bias.detach()))


def _log_sum_negatives(logits: Tensor, y: Tensor, owner: Tensor, cases: int) -> Tensor:
    """log sum exp of each case's negatives, shape (cases,); very low where a case has none."""
    masked = torch.where(y > 0, torch.full_like(logits, -1e4), logits)
    top = torch.full((cases,), -1e4).scatter_reduce(0, owner, masked.detach(), "amax")
    total = torch.zeros(cases).index_add(0, owner, torch.exp(masked - top[owner]) * (y == 0))
    return torch.log(total.clamp(min=1e-30)) + top


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


def _shape(case: Case, logits: Floats) -> GroupScores:
    parts = np.split(logits, case.reading.offsets[1:-1])
    return GroupScores(case.group, [p.tolist() for p in parts])


def _report(cases: Sequence[Case], logits: Sequence[Floats]) -> dict[str, Any]:
    return summarise([_shape(c, x) for c, x in zip(cases, logits, strict=True)])
