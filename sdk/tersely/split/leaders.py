"""Leaders: lines that begin the records or the parts of a text, if these contain blank lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from tersely.split.places import BULLETS, CUE, Place, opens
from tersely.split.records import first_word, shape

_MARKS = "●○×"
"""Signs that show the state of what a record is about, such as running or failed."""
_CLOCK = re.compile(r"(?<![\d:.A-SU-Za-z_])\d{1,2}:[0-5]\d\b")
_VARYING = re.compile(r"\d+|\b[A-Z][a-z]{2}\b|\b[AP]M\b")
"""A part that differs from one time to another: a number, or a word such as `Mon`, `Jan` or `AM`."""
_LONGEST_STAMP = 200


def find_leaders(places: Sequence[Place]) -> Sequence[Place]:
    """Return the lines that begin records of several runs: the first line of a text, and the lines like it.

    They all differ, but have the same first word, or differ only in it. The runs right below them begin
    alike, but not like the leaders.
    """
    if not places or first_word(places[0])[:1] in BULLETS or any(p.block.kind == "heading" for p in places):
        return []  # headings divide a text anyway
    if opens(first := places[0]):
        return []  # its record ends where the block is closed
    starts = [place for place in places if place.starts_run]
    rest = first.line.split()[1:]
    leaders = [
        at
        for at, place in enumerate(starts)
        if place.block.kind == first.block.kind != "sentence"
        and place.indent == first.indent
        and (_are_marked(place, first) or (len(rest) > 1 and place.line.split()[1:] == rest))
    ]
    ends = {*leaders, len(starts)}
    below = [shape(starts[at + 1].line) for at in leaders if at + 1 not in ends]
    differ = len({starts[at].line for at in leaders}) == len(leaders)
    if not differ or len(below) < 2 or len({*below}) > 1:
        return []
    # `RED CRANE TEAM` and `OLD CRANE TEAM` may be two of many names. If the runs below look like them, they
    # are no leaders.
    is_alike = len({first_word(starts[at]) for at in leaders}) > 1 and below[0] == shape(first.line)
    # Nor is `Ada (1):`, although `Ada (7):` comes later, if the run below it begins with `Bob (3):`.
    inner = [starts[at + 1] for at in leaders if at + 1 not in ends]
    is_alike |= first.has_body and all(place.has_body and _ends_like(place, first) for place in inner)
    return [] if is_alike else [starts[at] for at in leaders]


def _ends_like(place: Place, first: Place) -> bool:
    """Return whether two lines have the same number of words, and last words of the same shape."""
    words, others = place.line.split(), first.line.split()
    return len(words) == len(others) and shape(words[-1]) == shape(others[-1])


def _are_marked(place: Place, first: Place) -> bool:
    """Return whether two lines have the same first word, or both begin with a sign such as `●` or `×`."""
    words = (first_word(place), first_word(first))
    return words[0] == words[1] or all(len(word) == 1 and word in _MARKS for word in words)


def find_alien(places: Sequence[Place], last: Place) -> Place | None:
    """Return the first line of the first run after the last record; None if the record reaches the end.

    `last` is the first line of the last record. The record ends at a run that begins like no run above
    `last`.
    """
    known = {shape(place.line) for place in places if place.starts_run and place.run < last.run}
    return next((p for p in places if p.starts_run and p.run > last.run and shape(p.line) not in known), None)


def find_stamps(places: Sequence[Place]) -> Sequence[Place]:
    """Return the lines with a time that begin the parts of a report, such as each sample of `iostat`.

    They start runs and differ only in their times and numbers. At least two of the parts have more than one
    run. A text with other log entries has no such parts.
    """
    starts = [place for place in places if place.starts_run]
    masks = {place: " ".join(_VARYING.sub("0", place.line).split()) for place in starts if _has_time(place)}
    counts = Counter(masks.values())
    stamps = {place for place, mask in masks.items() if counts[mask] > 1}
    parts = sum(above in stamps and place not in stamps for above, place in pairwise(starts))
    is_log = any(place.block.kind == "log" and place not in stamps for place in places)
    return [] if parts < 2 or is_log else [place for place in starts if place in stamps]


def _has_time(place: Place) -> bool:
    if place.block.kind not in ("line", "log") or len(place.line) > _LONGEST_STAMP or place.speaks:
        return False
    return CUE.match(place.line) is None and _CLOCK.search(place.line) is not None
