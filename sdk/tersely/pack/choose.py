"""The third step of a compression: which units to keep.

With a threshold, those that reach it. Under a limit, the best that fit. With levels of detail, what each
document's level has room for. Never the same words twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from tersely.options import CompressionOptions
from tersely.pack.fill import Candidate, Place, fill_level, fit, priority, sort_by_priority
from tersely.pack.omissions import keep_short_runs
from tersely.pack.redundancy import Words, comparable_words
from tersely.pack.render import render_document, render_documents
from tersely.score.protocol import DocumentScores
from tersely.split.splitting import CHARACTERS_PER_TOKEN, Scored, SplitDocuments
from tersely.split.units import CostedUnit

MARK_TOKENS = 8
"""Tokens of a mark, about."""
_HEADING = 0.5
"""Priority of a heading, as a share of that of the best unit below it."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What a compression keeps, and what its receipt needs to know of the rest."""

    kept: frozenset[Place]
    sequence: tuple[int, ...]
    """Documents that may be in the text, in its order. Others are behind the best `max_docs`."""
    candidates: frozenset[Place]
    """Units that competed for the limit."""
    duplicates: frozenset[Place]
    """Candidates left out because a kept unit says the same."""
    threshold: float | None
    """Score from which units were candidates; None where a limit alone decided."""
    best_fits: bool | None = None
    """Whether the limit has room for the candidate that scored highest."""

    def by_document(self, documents: int) -> list[list[int]]:
        """Positions of the kept units, per document, ascending."""
        return _group_by_document(self.kept, documents)


def choose(
    scored: Scored,
    options: CompressionOptions,
    threshold: float | None,
    length_price: float,
    count: Callable[[str], int],
) -> Choice:
    """The units to keep.

    Args:
        scored: the documents as units, with scores. Units below the threshold may fill a level.
        options: `max_docs` and `order` count here.
        threshold: score from which a unit is a candidate; None for any score.
        length_price: see `Scorer.length_price`.
        count: tokens of a text.
    """
    split, scores, bounds = scored.split, scored.scores, scored.bounds
    sequence = _sequence(split, scores, options)
    candidates = _candidates(split, scores, sequence, length_price)
    if bounds is None:
        candidates = [c for c in candidates if threshold is None or scores[c.doc].scores[c.unit] >= threshold]
    else:
        candidates = [
            candidate
            for doc, own in groupby(candidates, key=lambda c: c.doc)
            for candidate in _fill_level(split, list(own), bounds, scores[doc].scores, threshold)
        ]
    candidates = _raise_headings(split, candidates)
    costs = sum(unit.cost for own in split.units for unit in own) + sum(split.title_costs)

    def measure(places: frozenset[Place]) -> int:
        grouped = _group_by_document(_complete(split, places), len(split.documents))
        return count(render_documents(split.documents, split.units, grouped, sequence).text)

    def fill(ranked: Sequence[Candidate]) -> frozenset[Place]:
        scale = costs / max(1, split.tokens_before)
        return _complete(split, fit(ranked, split.title_costs, split.limit, measure, scale=scale))

    def add_up(places: frozenset[Place]) -> float:
        return math.fsum(scores[doc].scores[position] for doc, position in places)

    ranked = sort_by_priority(candidates)
    kept = fill(ranked)
    best = _find_best(candidates, scores, kept)
    best_fits = None if best is None else best.places <= kept
    if best is not None and not best_fits and measure(frozenset(best.places)) <= split.limit:
        best_fits = True
        # Shorter units came first and left no room for it. Greedy filling alone can miss nearly everything;
        # the better of it and the best unit cannot (Lin and Bilmes, 2010).
        others = [fill([best, *ranked]), _complete(split, frozenset(best.places))]
        kept = max((kept, *others), key=add_up)
    return Choice(
        kept=kept,
        sequence=sequence,
        candidates=frozenset(place for candidate in candidates for place in candidate.places),
        duplicates=_duplicates(candidates, kept),
        threshold=threshold,
        best_fits=best_fits,
    )


def choose_documents(relevance: Sequence[float], among: Iterable[int], count: int | None) -> list[int]:
    """The `count` most relevant of the documents `among`, best first; all of them for None. Of equals the
    first comes first (EFFCOMP, step 1)."""
    return sorted(among, key=lambda doc: (-relevance[doc], doc))[:count]


def _find_best(
    candidates: Sequence[Candidate], scores: Sequence[DocumentScores], kept: frozenset[Place]
) -> Candidate | None:
    """The candidate that scored highest: of equal ones a kept one, or else the cheapest. None without any."""

    def rank(c: Candidate) -> tuple[float, bool, int, int, int]:
        return scores[c.doc].scores[c.unit], (c.doc, c.unit) in kept, -c.cost, -c.doc, -c.unit

    return max(candidates, key=rank, default=None)


def _sequence(
    split: SplitDocuments, scores: Sequence[DocumentScores], options: CompressionOptions
) -> tuple[int, ...]:
    """The best `max_docs` documents with text, in the order of the result."""
    with_text = [doc for doc, own in enumerate(split.units) if own]
    ranked = choose_documents([own.relevance for own in scores], with_text, options.max_docs)
    return tuple(ranked if options.order == "rerank" else sorted(ranked))


def _candidates(
    split: SplitDocuments, scores: Sequence[DocumentScores], sequence: Sequence[int], length_price: float
) -> list[Candidate]:
    """Every unit of the documents in `sequence` that says something by itself, with its priority."""
    cost_of_a_token = 1 if split.costs_in_tokens else CHARACTERS_PER_TOKEN
    return [
        Candidate(
            doc,
            position,
            priority(packing_score, unit.cost / cost_of_a_token, length_price),
            unit.cost + (MARK_TOKENS * cost_of_a_token if _is_marked(unit) else 0),
            _words(split, doc, position),
            _needs(split.units[doc], unit),
        )
        for doc in sequence
        for position, (unit, packing_score) in enumerate(
            zip(split.units[doc], scores[doc].packing_scores or (), strict=True)
        )
        if unit.is_content
    ]


def _raise_headings(split: SplitDocuments, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates, with headings that come along with the best unit below them, where there is room, and
    never without it: a heading alone says nothing."""
    raised: list[Candidate] = []
    best: Candidate | None = None
    """Between a heading and the next one."""
    for candidate in reversed(candidates):
        if best is not None and best.doc != candidate.doc:
            best = None
        if split.units[candidate.doc][candidate.unit].unit.kind != "heading":
            if best is None or candidate.priority > best.priority:
                best = candidate
        elif best is not None:
            priority = max(candidate.priority, _HEADING * best.priority)
            candidate = replace(candidate, priority=priority, needs=((best.unit, best.cost), *best.needs))
            best = None
        raised.append(candidate)
    return raised[::-1]


def _is_marked(unit: CostedUnit) -> bool:
    """Whether a mark is likely beside the unit, if it is kept."""
    return unit.link is not None and unit.link.series is not None


def _needs(units: Sequence[CostedUnit], unit: CostedUnit) -> tuple[tuple[int, int], ...]:
    needs = () if unit.link is None else unit.link.needs
    return tuple((position, units[position].cost) for position in needs)


def _complete(split: SplitDocuments, places: frozenset[Place]) -> frozenset[Place]:
    """The places, and what is shorter than the mark that would stand for it."""
    grouped = _group_by_document(places, len(split.documents))
    return frozenset(
        (doc, position)
        for doc, (units, kept) in enumerate(zip(split.units, grouped, strict=True))
        for position in keep_short_runs(units, kept)
    )


def _words(split: SplitDocuments, doc: int, position: int) -> Words | None:
    """What a sentence says; None for structure, in which every sign counts."""
    unit = split.units[doc][position].unit
    return None if unit.atomic else comparable_words(split.documents[doc].text[unit.start : unit.end])


def _fill_level(
    split: SplitDocuments,
    candidates: Sequence[Candidate],
    bounds: tuple[int, int],
    scores: Sequence[float],
    threshold: float | None,
) -> list[Candidate]:
    """Those of one document's candidates that its level has room for: the ones that reach the threshold as
    far as they fit, then the best others until the level's lower bound is reached."""
    doc = candidates[0].doc
    text, units = split.documents[doc].text, split.units[doc]

    def measure(places: frozenset[Place]) -> int:
        return len(render_document(text, units, keep_short_runs(units, [u for _, u in sorted(places)])).text)

    ranked = sort_by_priority([_in_code_points(candidate, units) for candidate in candidates])
    above = [c for c in ranked if threshold is None or scores[c.unit] >= threshold]
    below = [c for c in ranked if threshold is not None and scores[c.unit] < threshold]
    kept = fill_level(above, below, bounds, measure)
    return [candidate for candidate in candidates if (0, candidate.unit) in kept]


def _in_code_points(candidate: Candidate, units: Sequence[CostedUnit]) -> Candidate:
    """The candidate as one of document 0, with costs in code points."""

    def length(position: int) -> int:
        return units[position].end - units[position].start

    needs = tuple((position, length(position)) for position, _ in candidate.needs)
    return Candidate(0, candidate.unit, candidate.priority, length(candidate.unit), needs=needs)


def _duplicates(candidates: Sequence[Candidate], kept: frozenset[Place]) -> frozenset[Place]:
    """Candidates whose words a kept unit has."""
    kept_words = {c.words for c in candidates if c.words and (c.doc, c.unit) in kept}
    return frozenset(
        (c.doc, c.unit) for c in candidates if c.words in kept_words and (c.doc, c.unit) not in kept
    )


def _group_by_document(places: frozenset[Place], documents: int) -> list[list[int]]:
    """Positions of the units at `places`, per document, ascending."""
    grouped: list[list[int]] = [[] for _ in range(documents)]
    for doc, unit in sorted(places):
        grouped[doc].append(unit)
    return grouped
