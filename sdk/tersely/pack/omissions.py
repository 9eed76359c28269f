"""What a selection leaves out of the lists of a document, and the marks that count it.

A list is a `Series`: the elements of an array, the lines of a log. Where some of its members are kept, a mark
stands for each run of the others. A run that is shorter than its mark is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from tersely.split.arrange import Series
from tersely.split.units import CostedUnit


class Omission(NamedTuple):
    """A run of members of one series that is left out."""

    first: int
    """Position of its first unit among those of its document."""
    last: int
    mark: str


def find_omissions(units: Sequence[CostedUnit], kept: Sequence[int]) -> list[Omission]:
    """The omissions of a document, in order. `kept` holds ascending positions in `units`."""
    active: set[Series] = set()
    for position in kept:
        link = units[position].link
        if link is not None and link.series is not None:
            active.add(link.series)
    if not active:
        return []
    numbers: Counter[Series] = Counter()
    found: list[Omission] = []
    edges = [-1, *kept, len(units)]
    for before, after in pairwise(edges):
        found += _find_runs(units, before + 1, after, active, numbers)
    return found


def keep_short_runs(units: Sequence[CostedUnit], kept: Sequence[int]) -> list[int]:
    """`kept` and every run of members that is shorter than its mark, ascending."""
    more = set(kept)
    for first, last, mark in find_omissions(units, kept):
        if len(mark) > units[last].end - units[first].start:
            more.update(at for at in range(first, last + 1) if not units[at].is_markup)
    return sorted(more)


def _find_runs(
    units: Sequence[CostedUnit], start: int, stop: int, active: set[Series], numbers: Counter[Series]
) -> list[Omission]:
    """The omissions among the units start..stop-1, all of which are dropped."""
    runs: list[Omission] = []
    position = start
    while position < stop:
        series = _series_at(units, position)
        if series is None or series not in active:
            position += 1
            continue
        first, count, last = position, 0, position
        above = _shape_at(units, start - 1)
        alike = 0
        while position < stop:
            link = units[position].link
            if link is None:
                break
            if link.series is series:
                count += link.items
                alike += link.shape is not None and link.shape == above
            elif not any(first <= need < position for need in link.needs):
                break  # not inside a container of the series
            last = position
            position += 1
        is_last = position == len(units) or _series_at(units, position) is not series
        if not count:  # markup alone
            continue
        numbers[series] += 1
        mark = series.mark(count, numbers[series], is_last=is_last, alike=alike)
        runs.append(Omission(first, last, mark))
    return runs


def _shape_at(units: Sequence[CostedUnit], position: int) -> str | None:
    link = units[position].link if position >= 0 else None
    return None if link is None else link.shape


def _series_at(units: Sequence[CostedUnit], position: int) -> Series | None:
    link = units[position].link
    return None if link is None else link.series
