"""Validate Phase I on held-out groups, and score its epochs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from tersely.score.layout import Window, batches
from training.run import show_progress
from training.selector.losses import balanced_bce
from training.selector_model.batching import Item, WindowBuilder, make_batch
from training.selector_model.config import Criterion
from training.selector_model.groups import Group
from training.selector_model.model import SelectorModel, compute_logits
from training.selector_model.scores import GroupScores, Metrics, summarise


@dataclass(frozen=True, slots=True)
class Validation:
    """Results of a model on held-out groups."""

    metrics: Metrics
    """Metrics of all groups, ranking sentences by the keep logit alone."""
    loss: float
    """Balanced cross-entropy, averaged over the groups that Phase I could learn from; nan if there are
    none."""


@torch.no_grad()
def validate(
    model: SelectorModel, builder: WindowBuilder, part_tokens: int, longest: int | None = None
) -> Validation:
    """Score all groups of `builder`. Groups of more than `longest` tokens do not count in the loss."""
    model.eval()
    device = next(model.parameters()).device
    scored: list[GroupScores] = []
    losses: list[float] = []
    for group in show_progress("validation", builder.groups, unit="q"):
        item = builder.build(group)
        batch = make_batch([item], builder.layout.config.pad_id, part_tokens)
        keep, _ = compute_logits(model, batch, device)
        scored.append(_gather(group, item, keep, part_tokens))
        if builder.teaches(group, longest):
            losses.append(float(balanced_bce(keep.cpu(), batch.keep_labels)))
    model.train()
    return Validation(summarise(scored), sum(losses) / len(losses) if losses else math.nan)


def compute_selection_score(validation: Validation, criterion: Criterion) -> float:
    """Return the score of an epoch, higher is better: the share of labelled sentences kept at a tenth of the
    text, averaged over the sets, or the negative loss."""
    if criterion == "loss":
        return -validation.loss
    metrics = validation.metrics
    return sum(row["support@0.1"] for row in metrics.values()) / len(metrics)


def _gather(group: Group, item: Item, keep: Tensor, part_tokens: int) -> GroupScores:
    """Return the keep logits of a group: for a sentence in several windows, the highest."""
    places = [place for window in _sort_windows(item, part_tokens) for place in window.sentences]
    scores = [[-math.inf] * len(d.units) for d in group.documents]
    for (document, sentence), logit in zip(places, keep.tolist(), strict=True):
        scores[document][sentence] = max(scores[document][sentence], logit)
    return GroupScores(group, scores)


def _sort_windows(item: Item, part_tokens: int) -> list[Window]:
    """Return the windows in the order in which `make_batch` puts them."""
    lengths = [len(w.input_ids) for w in item.windows]
    return [item.windows[i] for part in batches(lengths, part_tokens) for i in part]
