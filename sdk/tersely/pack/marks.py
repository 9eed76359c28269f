"""Marks: the words that tersely adds to a compression in place of left-out text.

In a series, such as the elements of an array or the lines of a log, each run of members that is left out is
replaced by a mark that counts them. A run that is shorter than its mark is kept.

Any other mark says only that something is missing. It is added between two kept units if anything was
dropped between them, unless these two and everything between them are whole sentences of prose, none of them
begins with the number of a clause or with a name and a colon, and none that is dropped is the head of another
one. If a unit was cut, a mark is also added wherever pieces of it are missing next to a kept one. A blank
line next to a gap stays. With the option `marks="all"`, every gap gets a mark. Dropped markup leaves none,
nor do empty comment lines.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from tersely.units import Series, Unit

_LONG, _SHORT = "[…]", "…"
BLANK_LINE = re.compile(r"(\r?\n)[ \t]*\1")
_CLAUSE = re.compile(r"(?:§\s*)?\d{1,3}(?:\.\d{1,3})+[.)]?\s")
"""The number at the start of a clause, such as 1.12. Without a mark, a gap in the numbers puzzles readers."""
_LABEL = re.compile(
    r"\*\*[^*\n]{1,60}\*\*"
    r"|(?:[\[(]?\d{1,2}:\d\d(?::\d\d)?[\])]?\s+)?[^\W\d_a-z][^\W_]*(?:[ .'’-]+[^\W_]+){0,4}:\s"
)
"""Words in bold, or a name with a colon, perhaps after a time: of a speaker, or of what a text is about."""
_EMPTY = re.compile(r"[#;%*]{1,3}|/{2,3}|--")
"""The sign of a comment without a text. Instead of a mark, nothing is written."""


class Omission(NamedTuple):
    """A run of members of one series that is left out."""

    first: int
    """Position of its first unit."""
    last: int
    mark: str


def find_omissions(units: Sequence[Unit], document: range, kept: Sequence[int]) -> list[Omission]:
    """Return the omissions of a document, in order.

    Args:
        units: all units of a request.
        document: the positions of the document's units.
        kept: the positions of the kept units, ascending.
    """
    active = {series for at in kept if (series := units[at].link.series) is not None}
    if not active:
        return []
    active.update(_find_emptied(units, kept))
    numbers: Counter[Series] = Counter()
    found: list[Omission] = []
    edges = [document.start - 1, *kept, document.stop]
    for before, after in pairwise(edges):
        found += _find_runs(units, document, before + 1, after, active, numbers)
    return found


def _find_emptied(units: Sequence[Unit], kept: Sequence[int]) -> Iterator[Series]:
    """Yield the series of each container that keeps its head but none of its members."""
    for before, after in pairwise(kept):
        link = units[before + 1].link
        is_emptied = after > before + 1 and units[before].link.role != "content"
        if is_emptied and link.series is not None and {*link.needs}.issubset(kept):
            yield link.series


def keep_short_runs(units: Sequence[Unit], document: range, kept: Sequence[int]) -> Sequence[int]:
    """Return `kept` and every run of members that is shorter than its mark, ascending.

    A run is not added if one of its units would lack a head, or if one of its frames would have no content.
    Instead its mark is shortened later. A mark that must parse cannot be shortened, so such a run is added
    together with its heads.
    """
    more: set[int] = set()
    for first, last, mark in find_omissions(units, document, kept):
        if len(mark) <= units[last].end - units[first].start:
            continue
        run = [at for at in range(first, last + 1) if units[at].link.role != "markup"]
        series = units[first].link.series
        if _is_complete(units, run, {*kept, *run}):
            more.update(run)
        elif series is not None and series.before:
            more.update(run, *(units[at].link.needs for at in run))
    return sorted(more.union(kept)) if more else kept


def _is_complete(units: Sequence[Unit], run: Sequence[int], kept: set[int]) -> bool:
    """Return whether all heads of a run's units are kept, and each frame in the run has content."""
    needs = {need for at in run for need in units[at].link.needs}
    with_content = {need for at in run if units[at].link.role == "content" for need in units[at].link.needs}
    return needs <= kept and all(units[at].link.role == "content" or at in with_content for at in run)


def _find_runs(
    units: Sequence[Unit],
    document: range,
    start: int,
    stop: int,
    active: set[Series],
    numbers: Counter[Series],
) -> list[Omission]:
    """Return the omissions among the units start..stop-1, which are all dropped."""
    runs: list[Omission] = []
    position = start
    while position < stop:
        series = units[position].link.series
        if series is None or series not in active:
            position += 1
            continue
        first, count, last = position, 0, position
        shape_above = units[start - 1].link.shape if start > document.start else None
        alike = 0
        while position < stop:
            link = units[position].link
            if link.series is series:
                count += link.items
                alike += link.shape is not None and link.shape == shape_above
            elif not any(first <= need < position for need in link.needs):
                break  # not inside a container of the series
            last = position
            position += 1
        if not count:  # markup alone
            continue
        numbers[series] += 1
        is_last = position == document.stop or units[position].link.series is not series
        mark = series.make_mark(count, numbers[series], is_last=is_last, alike=alike)
        runs.append(Omission(first, last, mark))
    return runs


def mark_between(text: str, units: Sequence[Unit], before: int, after: int, *, everywhere: bool) -> str:
    """Return the mark for the units dropped between two kept units, with its separators; "" for no mark.

    `before` and `after` are the positions of the two kept units.
    """
    dropped = units[before + 1 : after]
    if _are_markup(dropped) or are_empty(text, dropped):
        return ""
    left, right = units[before], units[after]
    gap_units = range(before + 1, after)
    loses_head = any(
        need in gap_units for at in range(before + 1, after + 1) for need in units[at].link.needs
    )
    are_prose = not loses_head and all(_is_prose(text, units[at]) for at in range(before, after + 1))
    is_cut = _are_one_unit(left, units[before + 1]) or _are_one_unit(units[after - 1], right)
    if are_prose and not is_cut and not everywhere:
        return ""
    gap = text[left.end : right.start]
    if are_prose and not any(c in "\r\n" for c in gap):
        return _choose_mark((f" {_LONG} ", f" {_SHORT} ", _SHORT), len(gap))
    above = _choose_breaks(text[left.end : dropped[0].start])
    below = _choose_breaks(text[dropped[-1].end : right.start])
    return _choose_mark((f"{above}{_LONG}{below}", f"\n{_LONG}\n", f"\n{_SHORT}\n", _SHORT), len(gap))


def _choose_breaks(gap: str) -> str:
    return "\n\n" if BLANK_LINE.search(gap) else "\n"


def are_empty(text: str, units: Sequence[Unit]) -> bool:
    """Return whether there are only signs of comments without a text, which leave no mark."""
    return all(_EMPTY.fullmatch(text, unit.start, unit.end) for unit in units)


def _are_markup(units: Sequence[Unit]) -> bool:
    """Return whether there is nothing but markup, which leaves no mark."""
    return all(unit.link.role == "markup" for unit in units)


def _is_prose(text: str, unit: Unit) -> bool:
    if unit.kind == "sentence" and unit.link.series is None:
        is_named = _CLAUSE.match(text, unit.start) or _LABEL.match(text, unit.start)
        return unit.link.role != "frame" and not is_named
    return unit.link.role == "markup"


def mark_before(units: Sequence[Unit], document: range, first: int, *, everywhere: bool) -> str:
    """Return the mark in front of the first kept unit of a document; "" for none.

    A mark is needed if the unit is a piece of a unit that was cut, and the pieces before it are missing.
    `everywhere`: whether a mark is also added if anything else is missing before the unit.
    """
    first_piece = first
    while first_piece > document.start and _are_one_unit(units[first_piece - 1], units[first_piece]):
        first_piece -= 1
    if first_piece < first:
        start = units[first_piece].start
    elif everywhere and units[first].link.series is None and not _are_markup(units[document.start : first]):
        start = units[document.start].start
    else:
        return ""
    return _choose_mark((_LONG + "\n", _SHORT + "\n", _SHORT), units[first].start - start)


def mark_after(units: Sequence[Unit], document: range, last: int, *, everywhere: bool) -> str:
    """Return the mark after the last kept unit of a document; see `mark_before`."""
    last_piece = last
    while last_piece + 1 < document.stop and _are_one_unit(units[last_piece], units[last_piece + 1]):
        last_piece += 1
    if last_piece > last:
        end = units[last_piece].end
    elif everywhere and units[last].link.series is None and not _are_markup(units[last + 1 : document.stop]):
        end = units[document.stop - 1].end
    else:
        return ""
    return _choose_mark(("\n" + _LONG, "\n" + _SHORT, _SHORT), end - units[last].end)


def _are_one_unit(above: Unit, below: Unit) -> bool:
    """Return whether two neighbours are pieces of one unit that was cut. Members of a series do not count."""
    if above.doc != below.doc or above.parent != below.parent:
        return False
    return above.link.series is None and below.link.series is None


def shorten(mark: str, room: int) -> str:
    """Return a mark in at most `room` characters. A mark that must parse stays as it is."""
    return _choose_mark((mark, _LONG, _SHORT), room) if mark.startswith("[…") else mark


def _choose_mark(candidates: Sequence[str], room: int) -> str:
    """Return the first candidate with at most `room` characters, or else the last one.

    Candidates are in descending length. `room` is the length of the text that the mark replaces.
    """
    return next((mark for mark in candidates if len(mark) <= room), candidates[-1])
