"""Headlines: lines that a blank line divides from the lines about which they are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tersely.split.places import Place

_LOCATION = re.compile(r"\S:(\d+)[:,]\d|\((\d+)[:,]\d|\s(\d+):\d")
"""A line and a column of a file."""
_GUTTER = re.compile(r"\s*(?:>\s*)?(\d+)(?:\s*[|│:]|\s)")
"""The number of a line of code, which a compiler prints before it."""
_MOST_LINES = 6
"""A frame of code shows only a few lines before the one that the message is about."""


def find_titles(places: Sequence[Place]) -> Iterator[Place]:
    """Yield the lines that may be titles: alone with a colon, or above entries of a log."""
    for place, below in pairwise(places):
        is_alone = place.starts_run and below.run != place.run and place.line.rstrip().endswith(":")
        is_caption = below.run == place.run and below.block.kind == "log"
        if place.block.kind == "line" and (is_alone or is_caption):
            yield place


def find_messages(places: Sequence[Place]) -> Iterator[Place]:
    """Yield each line with a place in a file, if the next run is code with the number of that line."""
    for place in places:
        located = _LOCATION.search(place.line)
        if located is None or not place.starts_run or place.block.kind == "log":
            continue
        number = next(filter(None, located.groups()))
        below = place.below
        for _ in range(_MOST_LINES):
            if below is None or below.run > place.run + 1:
                break
            gutter = _GUTTER.match(below.line) if below.run > place.run else None
            if gutter and gutter[1] == number:
                yield place
                break
            below = below.below


def goes_on(place: Place, indent: int) -> bool:
    """Return whether a run below a message is about it: it is indented more, or begins with no word."""
    return place.indent > indent or not place.line.lstrip()[:1].isalpha()
