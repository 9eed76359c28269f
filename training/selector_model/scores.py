"""Score held-out groups as the benchmarks do: which answers and labelled sentences survive if a share of the
text is kept."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.shared.tasks import Example, KeptSpan, SourceDocument, score_kept
from tersely.metrics import contains_answer
from training.selector_model.groups import Group

RATES = (0.05, 0.1, 0.25)
"""Shares of the text, in characters."""

Metrics = dict[str, dict[str, float]]
"""`answers@RATE` and `support@RATE` of each set, in percent."""


@dataclass(frozen=True, slots=True)
class GroupScores:
    group: Group
    scores: list[list[float]]
    """One score per sentence, in the shape of the group's documents."""


def keep_best(scored: GroupScores, rate: float) -> list[KeptSpan]:
    """Return the best sentences that fit in `rate` of the characters, skipping those that do not fit."""
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
    """Return the percentages of questions that keep an answer and of labelled sentences kept, per set and
    rate."""
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


def count_support(scored: GroupScores, rate: float) -> tuple[float, int]:
    """Return the number of labelled sentences of a question that are kept at a rate, and of all of them."""
    score = score_kept(_make_example(scored.group), keep_best(scored, rate))
    return (score.support_kept or 0.0) * score.supports, score.supports


def _make_example(group: Group) -> Example:
    labelled = [
        (i, a, b)
        for i, d in enumerate(group.documents)
        for (a, b), y in zip(d.units, d.labels, strict=True)
        if y == 1
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
