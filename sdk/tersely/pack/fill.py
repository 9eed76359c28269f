"""Fill a limit with the best units. Pure functions, no model and no text.

The best units go in first. One that does not fit is skipped for smaller ones behind it. Costs are counted
unit by unit, but token counts are not additive, so `fit` measures every selection as a whole and corrects
itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_TRIES = 8
"""Most measurements. One or two are usual."""
_PRICED = 64
"""Tokens up to which length lowers a unit's priority. A table then costs no more than a long sentence."""
_SLACK = 100
"""The search ends when less than 1 / _SLACK of the limit is free."""


Place = tuple[int, int]
"""(document, position of the unit among those of its document)."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A unit that may be kept."""

    doc: int
    unit: int
    """Position among the units of its document."""
    priority: float
    cost: int
    """Of the unit alone, in tokens or code points."""
    words: tuple[str, ...] | None = None
    """What it says, to find repetitions; None for structure, in which every sign counts."""
    needs: tuple[tuple[int, int], ...] = ()
    """(position, cost) of the units of its document without which it must not be kept."""

    @property
    def places(self) -> set[Place]:
        """Its own place, and those of what it needs."""
        return {(self.doc, self.unit), *((self.doc, position) for position, _ in self.needs)}


def priority(score: float, tokens: float, length_price: float) -> float:
    """score / tokens ** length_price. Units of more than 64 tokens count as 64."""
    return score / min(max(tokens, 1), _PRICED) ** length_price


def sort_by_priority(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Best first. Ties go to the cheaper one, then to source order, so that the order is total."""
    return sorted(candidates, key=lambda c: (-c.priority, c.cost, c.doc, c.unit))


def pack(
    ranked: Sequence[Candidate], title_costs: Sequence[int], room: float
) -> tuple[frozenset[Place], int]:
    """Take candidates in the order given while they fit into `room`. The first of a document pays its title.

    A candidate also pays for what it needs, unless that is taken. One whose words a taken unit already has is
    skipped. Returns the places taken and the sum of their costs.
    """
    taken: set[Place] = set()
    titled: set[int] = set()
    seen: set[tuple[str, ...]] = set()
    used = 0
    for candidate in ranked:
        if candidate.words in seen or (candidate.doc, candidate.unit) in taken:
            continue
        cost = candidate.cost
        if candidate.doc not in titled:
            cost += title_costs[candidate.doc]
        cost += sum(need for position, need in candidate.needs if (candidate.doc, position) not in taken)
        if used + cost <= room:
            used += cost
            taken |= candidate.places
            titled.add(candidate.doc)
            if candidate.words:
                seen.add(candidate.words)
    return frozenset(taken), used


def fit(
    ranked: Sequence[Candidate],
    title_costs: Sequence[int],
    limit: int,
    measure: Callable[[frozenset[Place]], int],
    *,
    scale: float = 1.0,
) -> frozenset[Place]:
    """The fullest selection whose measured size is within `limit`, of those tried.

    Args:
        ranked: candidates, best first.
        title_costs: per document, tokens of its title counted alone.
        limit: tokens that `measure` may return at most.
        measure: true size of a selection; 0 for the empty one. It need be neither additive nor monotone.
        scale: first guess of the costs per measured token. A good one saves measurements.
    """
    low, high = 0.0, math.inf
    room = limit * scale
    everything = len({place for candidate in ranked for place in candidate.places})
    best: frozenset[Place] = frozenset()
    overfull: frozenset[Place] = frozenset()
    for _ in range(_TRIES):
        places, used = pack(ranked, title_costs, room)
        if places == best:
            if high == math.inf:
                break
            low, room = room, (room + high) / 2
            continue
        size = measure(places)
        scale = used / size if used and size else scale
        if size <= limit:
            best, low = places, room
            if len(places) == everything or limit - size <= limit // _SLACK:
                break
            room += (limit - size) * scale
        else:
            overfull, high = places, used
            room -= (size - limit) * scale
        if not low < room < high:
            room = (low + high) / 2
    if best or not overfull:
        return best
    return _shrink([c for c in ranked if (c.doc, c.unit) in overfull], limit, measure)


def fill_level(
    above: Sequence[Candidate],
    below: Sequence[Candidate],
    bounds: tuple[int, int],
    measure: Callable[[frozenset[Place]], int],
) -> frozenset[Place]:
    """Units of one document, number 0, whose measured size keeps to `bounds`.

    Args:
        above: candidates, best first, that fill the upper bound as far as they go.
        below: others, best first, that fill up to the lower bound.
        bounds: inclusive. The lower one is missed where nothing more fits.
    """
    low, high = bounds
    places = fit(above, [0], high, measure)
    for candidate in below:
        if measure(places) >= low:
            break
        more = places | candidate.places
        if measure(more) <= high:
            places = more
    return places


def _shrink(
    ranked: Sequence[Candidate], limit: int, measure: Callable[[frozenset[Place]], int]
) -> frozenset[Place]:
    """The longest prefix of `ranked`, by halving, that fits: for counters that behave oddly."""
    size = len(ranked) // 2
    while size:
        places = frozenset(place for candidate in ranked[:size] for place in candidate.places)
        if measure(places) <= limit:
            return places
        size //= 2
    return frozenset()
