"""Fill a limit with the best units. Pure functions, without a model and without text.

The best units go in first. One that does not fit is skipped for smaller ones after it. Costs are counted unit
by unit, but token counts are not additive, so `fit` measures every selection as a whole and corrects itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

_TRIES = 8
"""Most measurements. One or two are usual."""
_PRICED_TOKENS = 64
"""Up to this length, a longer unit has a lower priority. A table then costs no more than a long sentence."""
_SLACK = 100
"""The search ends when less than 1 / _SLACK of the limit is free."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A unit that may be kept."""

    position: int
    """Position of the unit among all units of the request."""
    doc: int
    priority: float
    cost: int
    """Cost of the unit alone, in tokens or code points."""
    words: tuple[str, ...] | None = None
    """Its words, to find repetitions; None for structure, in which every sign counts."""
    needs: tuple[tuple[int, int], ...] = ()
    """(position, cost) of the units without which it must not be kept."""

    @property
    def positions(self) -> set[int]:
        """Its own position, and those of the units that it needs."""
        return {self.position, *(position for position, _ in self.needs)}


def priority(score: float, tokens: float, length_price: float) -> float:
    """Return score / tokens ** length_price. Units of more than 64 tokens count as 64."""
    return score / min(max(tokens, 1), _PRICED_TOKENS) ** length_price


def sort_by_priority(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Sort best first. Ties go to the cheaper one, then to source order, so that the order is total."""
    return sorted(candidates, key=lambda c: (-c.priority, c.cost, c.position))


def pack(
    ranked: Sequence[Candidate], title_costs: Sequence[int] | Mapping[int, int], room: float
) -> tuple[frozenset[int], int]:
    """Take candidates in the order given as long as they fit into `room`.

    The first of a document pays for its title. A candidate also pays for what it needs, unless that is taken.
    One whose words a taken unit already has is skipped. Returns the positions taken and the sum of their
    costs.
    """
    taken: set[int] = set()
    titled: set[int] = set()
    seen: set[tuple[str, ...]] = set()
    used = 0
    for candidate in ranked:
        if candidate.words in seen or candidate.position in taken:
            continue
        cost = candidate.cost
        if candidate.doc not in titled:
            cost += title_costs[candidate.doc]
        cost += sum(need for position, need in candidate.needs if position not in taken)
        if used + cost <= room:
            used += cost
            taken |= candidate.positions
            titled.add(candidate.doc)
            if candidate.words:
                seen.add(candidate.words)
    return frozenset(taken), used


def fit(
    ranked: Sequence[Candidate],
    title_costs: Sequence[int] | Mapping[int, int],
    limit: int,
    measure: Callable[[frozenset[int]], int],
    *,
    scale: float = 1.0,
) -> frozenset[int]:
    """Return the fullest selection, of those tried, with a measured size within `limit`.

    Args:
        ranked: candidates, best first.
        title_costs: per document, tokens of its title counted alone.
        limit: tokens that `measure` may return at most.
        measure: returns the true size of a selection; 0 for the empty one. It need be neither additive nor
            monotone.
        scale: first guess of the costs per measured token. A good one saves measurements.
    """
    low, high = 0.0, math.inf
    room = limit * scale
    everything = len({position for candidate in ranked for position in candidate.positions})
    best: frozenset[int] = frozenset()
    overfull: frozenset[int] = frozenset()
    for _ in range(_TRIES):
        positions, used = pack(ranked, title_costs, room)
        if positions == best:
            if high == math.inf:
                break
            low, room = room, (room + high) / 2
            continue
        size = measure(positions)
        scale = used / size if used and size else scale
        if size <= limit:
            best, low = positions, room
            if len(positions) == everything or limit - size <= limit // _SLACK:
                break
            room += (limit - size) * scale
        else:
            overfull, high = positions, used
            room -= (size - limit) * scale
        if not low < room < high:
            room = (low + high) / 2
    if best or not overfull:
        return best
    return _shrink([c for c in ranked if c.position in overfull], limit, measure)


def fill_level(
    above: Sequence[Candidate],
    below: Sequence[Candidate],
    bounds: tuple[int, int],
    title_costs: Sequence[int] | Mapping[int, int],
    measure: Callable[[frozenset[int]], int],
) -> frozenset[int]:
    """Return units of one document with a measured size that keeps to `bounds`.

    Args:
        above: candidates, best first, that fill the upper bound as far as they go.
        below: others, best first, that fill up to the lower bound.
        bounds: inclusive. The lower one is missed if nothing more fits.
        title_costs: per document, the cost of its title.
    """
    low, high = bounds
    positions = fit(above, title_costs, high, measure)
    for candidate in below:
        if measure(positions) >= low:
            break
        more = positions | candidate.positions
        if measure(more) <= high:
            positions = more
    return positions


def _shrink(
    ranked: Sequence[Candidate], limit: int, measure: Callable[[frozenset[int]], int]
) -> frozenset[int]:
    """Return the longest prefix of `ranked`, by halving, that fits: for counters that behave oddly."""
    size = len(ranked) // 2
    while size:
        positions = frozenset(position for candidate in ranked[:size] for position in candidate.positions)
        if measure(positions) <= limit:
            return positions
        size //= 2
    return frozenset()
