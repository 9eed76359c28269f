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
from tersely.split.parts import Node, flatten, strip
from tersely.split.sentences import split_units
from tersely.units import Link, Series, Unit

_LISTS = frozenset({"json", "log", "row", "match", "record"})
"""Kinds of units that form a list where several stand together: then a mark counts those left out."""


class Sizes(NamedTuple):
    """How finely blocks are opened, in code points."""

    part: int
    """Up to which a value, a row or a sentence is not opened."""
    whole: int
    """Up to which a function, a hunk or a key with all that is nested in it is not opened."""


def arrange(
    text: str, units: Sequence[Unit], doc: int, is_large: Callable[[Unit], bool], sizes: Sizes
) -> list[Unit]:
    """Return the units of `text`, the large ones in parts, each with its document, its parent and its link.

    Args:
        units: sorted, as `split_units` gives them.
        doc: index of the document.
        is_large: whether a unit of structure is too large to be kept whole.
    """
    arranged: list[Unit] = []
    is_log = sum(unit.kind == "log" for unit in units) * 2 >= max(4, len(units))

    def kind_of(entry: tuple[int, Unit]) -> str:
        # Lines between the entries of a log belong to it, whatever they look like.
        return "log" if is_log and entry[1].kind in ("sentence", "heading", "code") else entry[1].kind

    def add(unit: Unit, parent: int, link: Link | None) -> None:
        arranged.append(Unit(unit.start, unit.end, unit.kind, unit.atomic, doc, parent, False, 0, link))

    for kind, group in groupby(enumerate(units), key=kind_of):
        members = list(group)
        if kind == "log" and len(members) > 1:
            links = _link_log(text, [unit for _, unit in members], len(arranged))
            for (parent, unit), link in zip(members, links, strict=True):
                add(unit, parent, link)
            continue
        series = Series() if kind in _LISTS and len(members) > 1 else None
        head = len(arranged) if kind == "row" and series else None
        for parent, unit in members:
            if unit.kind == "comment":
                add(unit, parent, Link(None, 0, (), is_frame=False, is_markup=True))
                continue
            if unit.kind == "code" and is_large(unit) and (inside := find_fences(text, unit.start, unit.end)):
                for part in _open_fences(text, unit, inside, sizes, len(arranged)):
                    add(part, parent, part.link)
                continue
            node = _open(text, unit, sizes) if unit.atomic and is_large(unit) else None
            if node is None:
                needs = () if head in (None, len(arranged)) else (head,)
                add(unit, parent, None if series is None else Link(series, 1, needs, is_frame=False))
                continue
            for part in flatten(text, node, series, first=len(arranged)):
                add(Unit(part.start, part.end, unit.kind, True), parent, part.link)
    return arranged


def _link_log(text: str, entries: Sequence[Unit], first: int) -> Iterator[Link]:
    """Yield links that make the entries of a log one series. An entry and its traces need each other.

    `first` is the position of the first entry among the units of the document.
    """
    series = Series(flows=True)
    groups: list[list[int]] = []
    for number, is_trace in enumerate(find_traces(text, entries)):
        if is_trace:
            groups[-1].append(number)
        else:
            groups.append([number])
    for group in groups:
        for number in group:
            needs = tuple(first + other for other in group if other != number)
            shape = find_shape(text, entries[number].start, entries[number].end)
            yield Link(series, 1, needs, is_frame=False, shape=shape)


def _open(text: str, unit: Unit, sizes: Sizes) -> Node | None:
    """The tree of a unit; None where its structure is not understood."""
    start, end = unit.start, unit.end
    if unit.kind == "json":
        return open_json(text, start, end, sizes.part)
    if unit.kind == "html":
        return open_html(text, start, end)
    if unit.kind == "table":
        return open_table(text, start, end)
    if unit.kind == "diff":
        return open_diff(text, start, end, sizes.whole)
    if unit.kind == "yaml":
        return open_yaml(text, start, end, sizes.part)
    if unit.kind == "code" and text.startswith(">", start):
        return open_quote(text, start, end, sizes.part)
    if unit.kind == "code":
        return open_code(text, start, end, sizes.whole)
    if unit.kind == "record":
        return open_lines(text, start, end, sizes.part // 4)
    return None


def _open_fences(text: str, unit: Unit, inside: tuple[int, int], sizes: Sizes, first: int) -> Iterator[Unit]:
    """Yield the parts of a fenced block, the first at position `first`. The content needs the fences."""
    left, right = inside
    body = text[left:right]
    inner = arrange(body, split_units(body), 0, lambda part: part.end - part.start > sizes.part, sizes)
    last = first + len(inner) + 1
    series = Series()
    head, tail = strip(text, unit.start, left), strip(text, right, unit.end)
    if head is None or tail is None:
        return
    yield Unit(*head, "code", True, link=Link(None, 1, (last,), is_frame=True))
    for part in inner:
        link = part.link or Link(series, 1, (), is_frame=False)
        needs = (first, *(need + first + 1 for need in link.needs), last)
        link = replace(link, series=link.series or series, needs=needs)
        yield Unit(part.start + left, part.end + left, "code", True, link=link)
    yield Unit(*tail, "code", True, link=Link(None, 0, (first,), is_frame=True))
