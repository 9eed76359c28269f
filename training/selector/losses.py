"""Losses of Phase I, as pure functions over flat tensors. `group` is the index of each entry's question."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from training.selector_model.batching import Batch
from training.selector_model.config import TrainConfig


def compute_parts(keep: Tensor, relevance: Tensor, batch: Batch) -> dict[str, Tensor]:
    """Return the losses of a batch by name, from its keep logits (sentences,) and relevance logits
    (documents,)."""
    device = keep.device
    keep_labels, keep_group = batch.keep_labels.to(device), batch.keep_group.to(device)
    doc_labels, doc_group = batch.doc_labels.to(device), batch.doc_group.to(device)
    return {
        "keep": balanced_bce(keep, keep_labels),
        "rank": listwise(keep, keep_labels, keep_group, batch.groups),
        "relevance": balanced_bce(relevance, doc_labels)
        + listwise(relevance, doc_labels, doc_group, batch.groups),
    }


def weigh(parts: dict[str, Tensor], config: TrainConfig) -> Tensor:
    """Return the weighted sum of the losses of `compute_parts`."""
    return (
        config.keep_weight * parts["keep"]
        + config.rank_weight * parts["rank"]
        + config.relevance_weight * parts["relevance"]
    )


def balanced_bce(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the cross-entropy with balanced class weights n / (2 n_c) (EFFCOMP section 3.1), over entries
    labelled 0 or 1.

    Shapes (n,); labels of -1 are ignored. A batch of one class falls back to plain cross-entropy.
    """
    labelled = labels >= 0
    logits, targets = logits[labelled], labels[labelled].float()
    positive = targets.sum()
    total = torch.tensor(float(targets.numel()), device=logits.device)
    if total == 0:
        return logits.sum() * 0.0
    if positive == 0 or positive == total:
        return nn.functional.binary_cross_entropy_with_logits(logits, targets)
    weights = torch.where(targets > 0, total / (2 * positive), total / (2 * (total - positive)))
    return nn.functional.binary_cross_entropy_with_logits(logits, targets, weight=weights)


def listwise(logits: Tensor, labels: Tensor, group: Tensor, groups: int) -> Tensor:
    """Return the mean of -log(e^p / (e^p + sum e^n)): each positive p against all negatives n of its
    question.

    Shapes (n,), group ids in [0, groups). Positives do not compete with each other. Questions without a
    positive or without a negative are skipped. Each question counts once in the mean.
    """
    losses: list[Tensor] = []
    for g in range(groups):
        mine = group == g
        positives, negatives = logits[mine & (labels == 1)], logits[mine & (labels == 0)]
        if len(positives) and len(negatives):
            losses.append(nn.functional.softplus(torch.logsumexp(negatives, 0) - positives).mean())
    return torch.stack(losses).mean() if losses else logits.sum() * 0.0


def centred_regression(logits: Tensor, targets: Tensor, group: Tensor, groups: int) -> Tensor:
    """Return the mean squared difference of logits and targets, after the mean of each question is subtracted
    from both.

    Shapes (n,), group ids in [0, groups). Each question counts once in the mean.
    """
    losses: list[Tensor] = []
    for g in range(groups):
        difference = (logits - targets)[group == g]
        if len(difference):
            losses.append((difference - difference.mean()).square().mean())
    return torch.stack(losses).mean() if losses else logits.sum() * 0.0
