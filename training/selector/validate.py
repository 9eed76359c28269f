"""Held-out metrics: answers and supporting sentences kept at a share of the text, as the benchmark counts them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from training.data.negatives import normalise
from training.selector.data import Group

RATES = (0.05, 0.1, 0.25)


@dataclass(frozen=True, slots=True)
class GroupScores:
    group: Group
    scores: list[list[float]]
    """One score per sentence, shaped like the group's documents."""


def kept_at(scored: GroupScores, rate: float) -> list[list[int]]:
    """Sentence indices per document: best first, while they fit in `rate` of the characters."""
    documents = scored.group.documents
    budget = rate * sum(b - a for d in documents for a, b in d.units)
    ranked = sorted(
        ((s, i, j) for i, row in enumerate(scored.scores) for j, s in enumerate(row)),
        key=lambda x: (-x[0], x[1:]),
    )
    kept: list[list[int]] = [[] for _ in documents]
    for _, i, j in ranked:
        start, end = documents[i].units[j]
        if end - start <= budget:
            budget -= end - start
            kept[i].append(j)
    return kept


def summarise(scored: Sequence[GroupScores]) -> dict[str, Any]:
    """Per set: share of questions that keep an answer, and share of labelled sentences kept, at each rate."""
    answers: dict[tuple[str, float], list[float]] = defaultdict(list)
    support: dict[tuple[str, float], list[float]] = defaultdict(list)
    for item in scored:
        documents = item.group.documents
        wanted = [f" {a} " for a in map(normalise, item.group.answers) if a]
        everything = " | ".join(f" {normalise(d.text)} " for d in documents)
        reachable = [a for a in wanted if a in everything]
        for rate in RATES:
            kept = kept_at(item, rate)
            text = " | ".join(
                " " + " ".join(normalise(d.text[slice(*d.units[j])]) for j in sorted(row)) + " "
                for d, row in zip(documents, kept, strict=True)
            )
            if reachable:
                answers[item.group.source, rate].append(float(any(a in text for a in reachable)))
            for d, row in zip(documents, kept, strict=True):
                support[item.group.source, rate] += [float(j in row) for j, y in enumerate(d.labels) if y]
    return {
        source: {
            f"{kind}@{rate}": round(100 * sum(values[source, rate]) / len(values[source, rate]), 1)
            for kind, values in (("answers", answers), ("support", support))
            for rate in RATES
            if values[source, rate]
        }
        for source in sorted({s for s, _ in answers} | {s for s, _ in support})
    }
