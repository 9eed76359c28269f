"""Regions: the parts of a text in which `cycles` looks for records; which lines of a record name it.

A preface is a line above the first line of its record, in the same paragraph, such as a comment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tersely.split.places import Place, is_comment
from tersely.split.records import first_word, shape

_OTHERS = ("heading", "log", "code", "html", "xml", "settings")
"""Kinds of blocks that are never part of a cycle."""


def find_regions(places: Sequence[Place]) -> Iterator[Sequence[Place]]:
    """Yield the blocks between paragraphs, lines that begin with `<`, headings, code and the like.

    Regions may be empty. They leave out remarks.
    """
    region: list[Place] = []
    for place in places:
        is_paragraph = place.kind == "sentence" and not place.indent
        if is_paragraph or place.kind in _OTHERS or place.block.prefix == "<":
            yield region
            region = []
        elif not place.is_remark:
            region.append(place)
    yield region


def are_runs(region: Sequence[Place], owners: Sequence[int | None]) -> bool:
    """Return whether the runs are the records.

    Each cycle begins right below the first line of a run, or all runs begin with one word and hold at most
    one start, or runs inside the cycles are like those that begin them. Or all runs but the first are alike,
    and some cycles begin inside them, as notes inside the messages of a compiler.
    """
    starts = [at for at in {*owners} if at is not None and owners[at] is None]
    if _have_siblings(region, starts):
        return True
    forms = [_find_form(place) for place in region[1:] if place.starts_run]
    inner = [region[at] for at in starts if not region[at].starts_run]
    are_inside = any(place.above and not place.above.starts_run for place in inner)
    if are_inside and len(forms) > 2 and None not in forms and len({*forms}) == 1:
        return True
    tops = [first_word(place) for place in region if place.starts_run]
    is_alike = len({*tops}) == 1 and len({region[at].run for at in starts}) == len(starts) <= len(tops) + 1
    are_below = is_alike or all(at and region[at - 1].starts_run for at in starts)
    return len(starts) > 1 and are_below and not any(region[at].starts_run for at in starts)


def _have_siblings(region: Sequence[Place], starts: Sequence[int]) -> bool:
    """Return whether all lines at `starts` begin runs, and other runs have names of their own but are alike:
    their next two lines are of the same kinds."""
    if not all(region[at].starts_run or region[at].is_titled for at in starts):
        return False
    forms = {_find_form(region[at]) for at in starts}
    first, known = min(starts), {*starts}
    others = [place for at, place in enumerate(region) if place.starts_run and at > first and at not in known]
    differ = len({first_word(place) for place in others}) == len(others) > 1
    return differ and None not in forms and all(_find_form(place) in forms for place in others)


def _find_form(place: Place) -> tuple[str, str, str] | None:
    """Return the kinds of the two lines below the first line of a run, and how the first of them begins.

    Return None if the run has no two lines there.
    """
    second = place.below
    third = second.below if second else None
    if second is None or third is None or third.run != place.run:
        return None
    return second.kind, shape(second.line), third.kind


def find_prefaces(region: Sequence[Place], starts: Sequence[int]) -> dict[int, int]:
    """Map each line above the first line of its record to that first line.

    Return nothing unless each paragraph contains exactly one record.

    Args:
        starts: indices of the first lines of records, ascending.
    """
    pairs = enumerate(pairwise(region), 1)
    blanks = (n for n, (above, below) in pairs if above.block.last < below.block.first)
    edges = [0, *blanks, len(region)]
    paragraphs = [range(*edge) for edge in pairwise(edges) if edge[1] > starts[0] and edge[0] <= starts[-1]]
    if len(paragraphs) != len(starts) or not all(map(range.__contains__, paragraphs, starts)):
        return {}
    fronts = ((range(own.start, start), start) for own, start in zip(paragraphs, starts, strict=True))
    return {at: start for front, start in fronts for at in front}


def find_keys(region: Sequence[Place], bodies: dict[int, list[int]]) -> dict[int, list[int]]:
    """Map the first line of each record to the lines that name it, if that first line is a comment.

    These are the lines after the comment, down to the first one with a first word that at least nine tenths
    of the records share. Records that do not begin with a comment have none.

    Args:
        bodies: for the first line of each record, the other lines of the record.
    """
    words = {start: [first_word(region[at]) for at in body] for start, body in bodies.items()}
    counts = Counter(word for own in words.values() for word in set(own))
    keys: dict[int, list[int]] = {}
    for start, body in bodies.items():
        often = {word for word, count in counts.items() if count * 10 >= len(bodies) * 9}
        shared = (n for n, word in enumerate(words[start]) if word[:1].isalnum() and word in often)
        own = [at for at in body[: next(shared, -1) + 1] if not is_comment(region[at].block)]
        keys[start] = own if is_comment(region[start].block) else []
    return keys
