"""Fill a limit with the best units. All functions are pure, and use neither a model nor texts.

The best units go in first. If a unit does not fit, it is skipped, and smaller ones after it are tried. Costs
are counted unit by unit. But the tokens of a text are not the sum of the tokens of its parts. So `fit`
measures every selection as a whole and corrects its guess.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

_TRIES = 8
"""Largest number of selections that `fit` measures. One or two are usual."""
_FREE_DIVISOR = 100
"""The search ends when at most 1 / _FREE_DIVISOR of the limit is free."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A unit that may be kept."""

    position: int
    """Position of the unit among all units of the request."""
    doc: int
    priority: float
    cost: int
    """Cost of the unit alone, in tokens or code points."""
    key: tuple[str, ...] | None = None
    """Key that repetitions share: the words of a sentence, or the text and heads of a record. None for a unit
    that may be repeated."""
    needs: tuple[tuple[int, int], ...] = ()
    """(position, cost) of each unit that must be kept with it."""

    @property
    def positions(self) -> set[int]:
        """Positions of the unit and of those that it needs."""
        return {self.position, *(position for position, _ in self.needs)}


def list_positions(candidates: Sequence[Candidate]) -> frozenset[int]:
    """Return the positions of all candidates and of the units that they need."""
    return frozenset(position for candidate in candidates for position in candidate.positions)


def sort_by_priority(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Sort candidates, the best first. If two are equally good, the cheaper one comes first, or else the one
    that is earlier in the source."""
    return sorted(candidates, key=lambda c: (-c.priority, c.cost, c.position))


def pack(
    ranked: Sequence[Candidate], title_costs: Sequence[int] | Mapping[int, int], room: float
) -> tuple[frozenset[int], int]:
    """Take each candidate, in the given order, that still fits into `room`.

    The first candidate of a document also pays for the document's title. A candidate pays for the units that
    it needs, unless they are already taken. A candidate is skipped if a taken one has the same key. Returns
    the positions taken and the sum of their costs.
    """
    taken: set[int] = set()
    titled: set[int] = set()
    seen: set[tuple[str, ...]] = set()
    used = 0
    for candidate in ranked:
        if candidate.key in seen or candidate.position in taken:
            continue
        cost = candidate.cost
        if candidate.doc not in titled:
            cost += title_costs[candidate.doc]
        cost += sum(need for position, need in candidate.needs if position not in taken)
        if used + cost <= room:
            used += cost
            taken |= candidate.positions
            titled.add(candidate.doc)
            if candidate.key:
                seen.add(candidate.key)
    return frozenset(taken), used


def fit(
    ranked: Sequence[Candidate],
    title_costs: Sequence[int] | Mapping[int, int],
    limit: int,
    measure: Callable[[frozenset[int]], int],
    *,
    scale: float = 1.0,
) -> frozenset[int]:
    """Return a selection of the best candidates that fits into `limit` and nearly fills it.

    It measures several selections, because costs only estimate the true size.

    Args:
        ranked: candidates, best first.
        title_costs: tokens of each document's title, counted alone.
        limit: the largest size that is allowed.
        measure: returns the true size of a selection; 0 for the empty one. More units can have a smaller
            size.
        scale: first guess of the ratio of the sum of costs to the true size. A good guess saves measurements.
    """
    low, high = 0.0, math.inf
    room = limit * scale
    everything = len(list_positions(ranked))
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
            if len(positions) == everything or limit - size <= limit // _FREE_DIVISOR:
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
    """Choose units of one document so that the size of their text is within `bounds`.

    Args:
        above: candidates, best first, that are taken up to the upper bound.
        below: other candidates, best first, that are taken only until the lower bound is reached.
        bounds: smallest and largest size, inclusive. The text is shorter if nothing more fits.
        title_costs: the cost of each document's title.
    """
    low, high = bounds
    positions = fit(above, title_costs, high, measure)
    seen = {candidate.key for candidate in above if candidate.key and candidate.position in positions}
    for candidate in below:
        if measure(positions) >= low:
            break
        more = positions | candidate.positions
        if candidate.key not in seen and measure(more) <= high:
            positions = more
            if candidate.key:
                seen.add(candidate.key)
    return positions


def _shrink(
    ranked: Sequence[Candidate], limit: int, measure: Callable[[frozenset[int]], int]
) -> frozenset[int]:
    """Halve `ranked` until it fits, and return its positions. Only unusual token counters need this."""
    size = len(ranked) // 2
    while size:
        positions = list_positions(ranked[:size])
        if measure(positions) <= limit:
            return positions
        size //= 2
    return frozenset()
