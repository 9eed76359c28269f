"""Validation of Phase I on held-out groups, and the score by which the best epoch is chosen."""

from __future__ import annotations

import math

import torch

from tersely.selector.layout import Window, batches
from training.run import show_progress
from training.selector_model.batching import Item, WindowBuilder, make_batch
from training.selector_model.groups import Group
from training.selector_model.model import SelectorModel, compute_logits
from training.selector_model.scores import GroupScores, Metrics, summarise


@torch.no_grad()
def validate(model: SelectorModel, builder: WindowBuilder, part_tokens: int) -> Metrics:
    """Metrics of all groups of `builder`, their sentences ranked by the keep logit alone."""
    model.eval()
    device = next(model.parameters()).device
    groups = show_progress("validation", builder.groups, unit="q")
    scored = [score_group(model, builder, group, part_tokens, device) for group in groups]
    model.train()
    return summarise(scored)


def compute_selection_score(metrics: Metrics) -> float:
    """What the best epoch is chosen by: the mean over all sets of the labelled sentences kept at a tenth of
    the text."""
    return sum(row["support@0.1"] for row in metrics.values()) / len(metrics)


def score_group(
    model: SelectorModel, builder: WindowBuilder, group: Group, part_tokens: int, device: torch.device
) -> GroupScores:
    """The keep logits of a group; a sentence in several windows gets its highest."""
    item = builder.build(group)
    batch = make_batch([item], builder.layout.config.pad_id, part_tokens)
    keep, _ = compute_logits(model, batch, device)
    places = [place for window in _sort_windows(item, part_tokens) for place in window.sentences]
    scores = [[-math.inf] * len(d.units) for d in group.documents]
    for (document, sentence), logit in zip(places, keep.tolist(), strict=True):
        scores[document][sentence] = max(scores[document][sentence], logit)
    return GroupScores(group, scores)


def _sort_windows(item: Item, part_tokens: int) -> list[Window]:
    """The windows in the order in which `make_batch` puts them."""
    lengths = [len(w.input_ids) for w in item.windows]
    return [item.windows[i] for part in batches(lengths, part_tokens) for i in part]
