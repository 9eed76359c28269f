"""Threads: nested comments, each below a line that says who wrote it and how long ago."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tersely.split.dates import stamps_comment
from tersely.split.heads import Head
from tersely.split.places import Place

_FEWEST = 3


class Thread:
    """The comments of a text, each with a header, and the comments that each one answers.

    A comment answers the nearest one above that is quoted less often or indented less. Headers are at least
    three lines with a time such as `3 hours ago`, each right above a text.
    """

    def __init__(self, places: Sequence[Place]) -> None:
        headers = {place for place in places if _is_header(place)}
        self._above: dict[Place, Sequence[Place]] = {}
        """The headers of the comments around each block, the outermost first."""
        self._first = min((place.units[0] for place in headers), default=0)
        self._headers = headers
        if len(headers) < _FEWEST or len(set(map(_find_depth, headers))) < 2:
            return
        above: list[Place] = []
        for place in places:
            depth = _find_depth(place)
            while above and (
                _find_depth(above[-1]) > depth or (place in headers and _find_depth(above[-1]) == depth)
            ):
                above.pop()
            if above:
                self._above[place] = tuple(above)
            if place in headers:
                above.append(place)

    def __bool__(self) -> bool:
        return bool(self._above)

    def add_headers(self, found: Mapping[Place, Sequence[Place]]) -> dict[Place, Sequence[Place]]:
        """Return the lines that name the columns of each block, and the headers of its thread above them."""
        return {**found, **{place: (*above, *found.get(place, ())) for place, above in self._above.items()}}

    def list_inner(self, place: Place, heads: list[Head]) -> list[Head]:
        """Return the heads of a block without those in other comments."""
        if not self or place.units[0] < self._first:
            return heads
        above = self._above.get(place, ())
        own = above[-1] if above and place not in self._headers else place
        return [head for head in heads if not self._first <= head.begin < own.units[0]]


def _is_header(place: Place) -> bool:
    below = place.below
    if below is None or not place.block.is_one_line or below.block.first > place.block.last:
        return False
    return _find_depth(below)[0] == _find_depth(place)[0] and stamps_comment(place.line)


def _find_depth(place: Place) -> tuple[int, int]:
    """Return the number of quotations around a block, and its indent."""
    return place.block.prefix.count(">"), place.indent
