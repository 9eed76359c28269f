"""Decide which experience a new one replaces, and what changes if some had never been added.

Nothing is read or written here. Equal vectors give equal similarities on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np

from tersely_agents.experience.types import Vectors

MARGIN = 1e-4
"""Entries whose float32 similarity is this much below the threshold are compared exactly."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What merging reads of an experience that is neither forgotten nor revoked."""

    number: int
    """Its place in the order in which experiences were added."""
    key: str
    success: bool
    own: Vectors
    threshold: float | None
    """Similarity above which it replaces another; None if it was imported and replaces none."""
    over_success: bool
    """Whether it may replace a success although it is a failure."""


def choose_replaced(new: Entry, others: Iterable[Entry]) -> Entry | None:
    """The most similar of `others` that `new` may replace, the oldest of several; None if there is none."""
    threshold = new.threshold
    if threshold is None:
        return None
    allowed = [e for e in others if new.success or new.over_success or not e.success]
    matches = [(_compare(new.own, e.own), -e.number, e) for e in allowed]
    matches = [match for match in matches if match[0] > threshold]
    return max(matches, key=lambda match: match[:2])[2] if matches else None


def find_similar(search: Callable[[int], list[tuple[str, float]]], threshold: float) -> list[str]:
    """The ids of all entries that may be above the threshold.

    `search` gives that many of the most similar entries, with their similarities, the highest first.
    """
    count = 8
    while True:
        matches = search(count)
        if len(matches) < count or matches[-1][1] <= threshold - MARGIN:
            return [key for key, score in matches if score > threshold - MARGIN]
        count *= 2


def replay(
    entries: Sequence[Entry],
    replaced: dict[str, str],
    removed: AbstractSet[str],
    vectors: Callable[[], Vectors],
) -> dict[str, str]:
    """What each entry replaces if those in `removed` had never been added.

    A recorded decision stays unless what it rests on has changed.

    Args:
        entries: all of them, oldest first, also the removed ones.
        replaced: id of an entry to the id of the one that it replaces.
        vectors: gives the vectors of the entries, one row each.
    """
    active: dict[str, Entry] = {}
    restored: dict[str, Entry] = {}
    rivals: dict[int, list[Entry]] = {}
    lowest = min((e.threshold for e in entries if e.threshold is not None), default=1.0) - MARGIN
    result: dict[str, str] = {}

    def restore(key: str, after: int) -> None:
        entry = active[key]
        restored[key] = entry
        similar = vectors()[after + 1 :] @ entry.own > lowest
        for at in np.flatnonzero(similar):
            rivals.setdefault(after + 1 + int(at), []).append(entry)

    for at, entry in enumerate(entries):
        old = replaced.get(entry.key)
        if entry.key in removed:
            if old in active:
                restore(old, at)
            continue
        new = old
        present = [e for e in rivals.get(at, ()) if e.key in restored]
        if old is not None and old not in active:
            near = np.flatnonzero(vectors()[:at] @ entry.own > (entry.threshold or 1.0) - MARGIN)
            match = choose_replaced(
                entry, [active[entries[i].key] for i in near.tolist() if entries[i].key in active]
            )
            new = None if match is None else match.key
        elif present:
            match = choose_replaced(entry, [*present, *([active[old]] if old else [])])
            new = old if match is None else match.key
        active[entry.key] = entry
        if new is not None:
            result[entry.key] = new
            if old != new and old in active:
                restore(old, at)
            restored.pop(new, None)
            del active[new]
    return result


def _compare(first: Vectors, second: Vectors) -> float:
    """The dot product, rounded once."""
    return math.fsum((first.astype(np.float64) * second).tolist())
