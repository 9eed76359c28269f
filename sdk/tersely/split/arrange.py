"""Structure that is kept in parts: what tools return to agents.

`arrange` takes a text and its units. It opens blocks that are too large to be kept whole, and links what
belongs together, such as the lines of a log. Each kind of structure has a module, which turns a block into a
tree of nodes (`parts`):

json_values   JSON, by elements, members and sentences of long strings
code          functions, classes and statements
diffs         hunks, by file
settings      YAML, by keys
html          web pages: sentences and rows of tables
lines         tables by rows, fenced blocks, lines of anything else
logs          which entries of a log are alike, and which traces belong to which

`matching` scores the parts by the words of the question, so that a model need not read all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

from tersely.split.html import open_html
from tersely.split.open_code import open_code
from tersely.split.open_diffs import open_diff
from tersely.split.open_json import open_json
from tersely.split.open_lines import find_fences, open_lines, open_quote, open_table
from tersely.split.open_logs import find_shape, find_traces
from tersely.split.open_yaml import open_yaml
from tersely.split.parts import Link, Node, Series, flatten, strip
from tersely.split.sentences import Unit, split_units

__all__ = ["Arranged", "Link", "Series", "Sizes", "arrange"]

_LISTS = frozenset({"json", "log", "row", "match", "record"})
"""Kinds of units that form a list where several stand together: then a mark counts those left out."""


class Arranged(NamedTuple):
    """A unit, or a part of one."""

    unit: Unit
    parent: int
    """Position of the unit that it is, or is a part of, among those that were arranged."""
    link: Link | None
    """How it hangs together with others; None for prose and for what is alone."""


class Sizes(NamedTuple):
    """How finely blocks are opened, in code points."""

    part: int
    """Up to which a value, a row or a sentence is not opened."""
    whole: int
    """Up to which a function, a hunk or a key with all that is nested in it is not opened."""


def arrange(
    text: str, units: Sequence[Unit], is_large: Callable[[Unit], bool], sizes: Sizes, form: str
) -> list[Arranged]:
    """The units of `text`, in order, the large ones in parts.

    Args:
        units: sorted, as `split_units` gives them.
        is_large: whether a unit is too large to be kept whole.
        form: the words of a mark; see `Series`.
    """
    arranged: list[Arranged] = []
    is_log = sum(unit.kind == "log" for unit in units) * 2 >= max(4, len(units))

    def kind_of(entry: tuple[int, Unit]) -> str:
        # Lines between the entries of a log belong to it, whatever they look like.
        return "log" if is_log and entry[1].kind in ("sentence", "heading", "code") else entry[1].kind

    for kind, group in groupby(enumerate(units), key=kind_of):
        members = list(group)
        if kind == "log" and len(members) > 1:
            arranged += _link_log(text, members, len(arranged), form)
            continue
        series = Series(form) if kind in _LISTS and len(members) > 1 else None
        head = len(arranged) if kind == "row" and series else None
        for parent, unit in members:
            if unit.kind == "comment":
                arranged.append(Arranged(unit, parent, Link(None, 0, (), is_frame=False, is_markup=True)))
                continue
            if unit.kind == "code" and is_large(unit) and (inside := find_fences(text, unit.start, unit.end)):
                first = len(arranged)
                for part in _open_fences(text, unit, inside, sizes, form, first):
                    arranged.append(Arranged(part.unit, parent, part.link))
                continue
            node = _open(text, unit, sizes, form) if is_large(unit) else None
            if node is None:
                needs = () if head in (None, len(arranged)) else (head,)
                link = None if series is None else Link(series, 1, needs, is_frame=False)
                arranged.append(Arranged(unit, parent, link))
                continue
            for part in flatten(text, node, series, first=len(arranged)):
                arranged.append(Arranged(Unit(part.start, part.end, unit.kind, True), parent, part.link))
    return arranged


def _link_log(text: str, members: Sequence[tuple[int, Unit]], first: int, form: str) -> Iterator[Arranged]:
    """The entries of a log as one series. An entry and the traces below it need each other."""
    entries = [unit for _, unit in members]
    series = Series(form, flows=True)
    traces = find_traces(text, entries)
    groups: list[list[int]] = []
    for number, is_trace in enumerate(traces):
        if is_trace:
            groups[-1].append(number)
        else:
            groups.append([number])
    together = {number: group for group in groups for number in group}
    for number, (parent, unit) in enumerate(members):
        needs = tuple(first + other for other in together[number] if other != number)
        shape = find_shape(text, unit.start, unit.end)
        yield Arranged(unit, parent, Link(series, 1, needs, is_frame=False, shape=shape))


def _open(text: str, unit: Unit, sizes: Sizes, form: str) -> Node | None:
    """The tree of a unit; None where its structure is not understood."""
    start, end = unit.start, unit.end
    if unit.kind == "json":
        return open_json(text, start, end, sizes.part, form)
    if unit.kind == "html":
        return open_html(text, start, end, form)
    if unit.kind == "table":
        return open_table(text, start, end, form)
    if unit.kind == "diff":
        return open_diff(text, start, end, sizes.whole, form)
    if unit.kind == "yaml":
        return open_yaml(text, start, end, sizes.part, form)
    if unit.kind == "code" and text.startswith(">", start):
        return open_quote(text, start, end, sizes.part, form)
    if unit.kind == "code":
        return open_code(text, start, end, sizes.whole, form)
    if unit.kind == "record":
        return open_lines(text, start, end, sizes.part // 4, form)
    return None


def _open_fences(
    text: str, unit: Unit, inside: tuple[int, int], sizes: Sizes, form: str, first: int
) -> Iterator[Arranged]:
    """The parts of a fenced block, the first of which will be at `first`; what is inside needs the fences."""
    left, right = inside
    body = text[left:right]
    units = split_units(body)
    inner = arrange(body, units, lambda part: part.end - part.start > sizes.part, sizes, form)
    last = first + len(inner) + 1
    series = Series(form)
    head, tail = strip(text, unit.start, left), strip(text, right, unit.end)
    if head is None or tail is None:
        return
    yield Arranged(Unit(*head, "code", True), 0, Link(None, 1, (last,), is_frame=True))
    for part in inner:
        link = part.link or Link(series, 1, (), is_frame=False)
        needs = (first, *(need + first + 1 for need in link.needs), last)
        link = replace(link, series=link.series or series, needs=needs)
        unit = Unit(part.unit.start + left, part.unit.end + left, "code", True)
        yield Arranged(unit, 0, link)
    yield Arranged(Unit(*tail, "code", True), 0, Link(None, 0, (first,), is_frame=True))
