"""Validation on held-out groups with the benchmarks' own scoring: answers and labelled sentences kept at a
share of the text."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from benchmarks.shared.tasks import Example, KeptSpan, SourceDocument, score_kept
from tersely.metrics import contains_answer
from tersely.selector.layout import Window, batches
from training.run import show_progress
from training.selector.batching import Item, WindowBuilder, make_batch
from training.selector.data import Group
from training.selector.model import SelectorModel, compute_logits

RATES = (0.05, 0.1, 0.25)
"""Shares of the text, in characters."""

Metrics = dict[str, dict[str, float]]
"""For each set, `answers@RATE` and `support@RATE` in percent."""


@dataclass(frozen=True, slots=True)
class GroupScores:
    group: Group
    scores: list[list[float]]
    """One score per sentence, shaped like the group's documents."""


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


def keep_best(scored: GroupScores, rate: float) -> list[KeptSpan]:
    """The best sentences that fit in `rate` of the characters, passing over those that do not."""
    documents = scored.group.documents
    room = rate * sum(b - a for d in documents for a, b in d.units)
    ranked = sorted((-s, i, j) for i, row in enumerate(scored.scores) for j, s in enumerate(row))
    kept: list[KeptSpan] = []
    for _, i, j in ranked:
        start, end = documents[i].units[j]
        if end - start <= room:
            room -= end - start
            kept.append((i, start, end))
    return kept


def summarise(scored: Sequence[GroupScores]) -> Metrics:
    """Per set and rate, in percent: questions that keep an answer, and labelled sentences kept."""
    answers: dict[tuple[str, float], list[bool]] = defaultdict(list)
    support: dict[tuple[str, float], list[tuple[float, int]]] = defaultdict(list)
    for item in scored:
        example = _make_example(item.group)
        for rate in RATES:
            score = score_kept(example, keep_best(item, rate))
            if score.answer_kept is not None:
                answers[item.group.source, rate].append(score.answer_kept)
            if score.support_kept is not None:
                support[item.group.source, rate].append((score.support_kept, score.supports))
    table: Metrics = {source: {} for source in sorted({s.group.source for s in scored})}
    for (source, rate), values in answers.items():
        table[source][f"answers@{rate}"] = round(100 * sum(values) / len(values), 1)
    for (source, rate), pairs in support.items():
        kept = sum(share * count for share, count in pairs)
        table[source][f"support@{rate}"] = round(100 * kept / sum(count for _, count in pairs), 1)
    return table


def _make_example(group: Group) -> Example:
    labelled = [
        (i, a, b)
        for i, d in enumerate(group.documents)
        for (a, b), y in zip(d.units, d.labels, strict=True)
        if y
    ]
    return Example(
        id=group.id,
        question=group.question,
        answers=tuple(group.answers),
        documents=tuple(SourceDocument(d.title, d.text, bool(d.gold)) for d in group.documents),
        support=tuple(labelled),
        answer_spans=None,
        findable=any(contains_answer(d.text, group.answers) for d in group.documents),
    )
