"""Which units to keep, given what each is worth and what it costs. Pure functions, no model and no text.

The best units go in first; one that no longer fits is passed over for smaller ones behind it. Costs are
counted unit by unit, but token counts are not additive, so `fit` measures every choice as a whole and
corrects itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_TRIES = 8
"""Measurements before settling for what was found; one or two are usual."""
_PRICED = 64
"""Tokens up to which length counts against a unit: a table is no sentence, and is not to lose to many."""
_SLACK = 100
"""Stop when less than this part of the limit is left."""


@dataclass(frozen=True, slots=True)
class Item:
    """A unit that may be kept."""

    doc: int
    unit: int
    """Position among the units of its document."""
    value: float
    cost: int
    """Tokens, counted alone."""
    words: tuple[str, ...] | None = None
    """What it says, for sentences that another document may say too."""


def value(score: float, cost: float, length_price: float) -> float:
    """What a unit of `cost` tokens is worth in its place: score / cost ** length_price, where a long unit
    costs no more than a long sentence does."""
    return score / min(max(cost, 1), _PRICED) ** length_price


Choice = frozenset[tuple[int, int]]
"""The (document, unit) pairs to keep."""


def rank(items: Sequence[Item]) -> list[Item]:
    """Best first: by value, then cheaper first, then source order, so that the order is total."""
    return sorted(items, key=lambda item: (-item.value, item.cost, item.doc, item.unit))


def pack(ranked: Sequence[Item], title_costs: Sequence[int], room: float) -> tuple[Choice, int]:
    """Take units in the order given while they fit into `room`; the first of a document pays its title.

    What a chosen unit of another document says already is passed over. Returns the choice and the sum of its
    costs.
    """
    chosen: set[tuple[int, int]] = set()
    titled: set[int] = set()
    said: dict[tuple[str, ...], int] = {}
    used = 0
    for item in ranked:
        if item.words and said.get(item.words, item.doc) != item.doc:
            continue
        cost = item.cost if item.doc in titled else item.cost + title_costs[item.doc]
        if used + cost <= room:
            used += cost
            chosen.add((item.doc, item.unit))
            titled.add(item.doc)
            if item.words:
                said[item.words] = item.doc
    return frozenset(chosen), used


def fit(
    ranked: Sequence[Item],
    title_costs: Sequence[int],
    limit: int,
    measure: Callable[[Choice], int],
    *,
    scale: float = 1.0,
) -> Choice:
    """The fullest choice found whose measured size is within `limit`.

    Args:
        ranked: candidates, best first.
        title_costs: per document, tokens of its title counted alone.
        limit: tokens that `measure` may return at most.
        measure: true size of a choice; 0 for the empty one. It need be neither additive nor monotone.
        scale: costs per measured token, from a choice measured before; a good first guess saves measurements.
    """
    low, high = 0.0, math.inf
    room = limit * scale
    best: Choice = frozenset()
    overfull: Choice = frozenset()
    for _ in range(_TRIES):
        choice, used = pack(ranked, title_costs, room)
        if choice == best:
            if high == math.inf:
                break
            low, room = room, (room + high) / 2
            continue
        size = measure(choice)
        scale = used / size if used and size else scale
        if size <= limit:
            best, low = choice, room
            if len(choice) == len(ranked) or limit - size <= limit // _SLACK:
                break
            room += (limit - size) * scale
        else:
            overfull, high = choice, used
            room -= (size - limit) * scale
        if not low < room < high:
            room = (low + high) / 2
    if best or not overfull:
        return best
    return _shrink([item for item in ranked if (item.doc, item.unit) in overfull], limit, measure)


def within(
    worth: Sequence[Item], rest: Sequence[Item], bounds: tuple[int, int], measure: Callable[[Choice], int]
) -> Choice:
    """Units of one document, number 0, whose measured size keeps to `bounds`.

    Args:
        worth: candidates, best first, that fill the upper bound as far as they go.
        rest: others, best first, for what the lower bound still lacks.
        bounds: inclusive. The lower one may be missed, where nothing more fits.
    """
    low, high = bounds
    choice = fit(worth, [0], high, measure)
    for item in rest:
        if measure(choice) >= low:
            break
        more = choice | {(item.doc, item.unit)}
        if measure(more) <= high:
            choice = more
    return choice


def _shrink(ranked: Sequence[Item], limit: int, measure: Callable[[Choice], int]) -> Choice:
    """The longest prefix of `ranked`, by halving, that fits: the way out for counters that behave oddly."""
    count = len(ranked) // 2
    while count:
        choice = frozenset((item.doc, item.unit) for item in ranked[:count])
        if measure(choice) <= limit:
            return choice
        count //= 2
    return frozenset()
