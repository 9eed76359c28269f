"""Divide blocks that are too large to be kept whole, and link units that belong together.

To open a block is to divide it along its structure: the module of its format turns it into a tree of nodes,
and the nodes become units here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from tersely.split.code import open_code
from tersely.split.columns import open_rows
from tersely.split.cutting import open_option
from tersely.split.delimited import find_delimited
from tersely.split.diffs import open_diff
from tersely.split.html_tree import open_html
from tersely.split.json_values import open_json
from tersely.split.lines import Range, unify_crlf
from tersely.split.logs import STREAMS, find_shape, open_streams
from tersely.split.markdown import find_fences, open_quote
from tersely.split.nodes import Node, Sizes, flatten, open_lines
from tersely.split.prefixed import Prefixed, read_prefixed
from tersely.split.roff import open_roff
from tersely.split.sentences import split_units
from tersely.split.settings import open_settings
from tersely.split.stanzas import open_stanzas
from tersely.split.tables import open_table
from tersely.split.xml_tree import open_xml
from tersely.split.yaml import open_yaml
from tersely.units import UNLINKED, Kind, Link, Series, Unit

_OPENERS: dict[Kind, Callable[[str, int, int, Sizes], Node | None]] = {
    "diff": open_diff,
    "html": open_html,
    "json": open_json,
    "line": open_option,
    "log": open_lines,
    "numbered": open_lines,
    "roff": open_roff,
    "row": open_rows,
    "settings": open_settings,
    "stanza": open_stanzas,
    "table": open_table,
    "xml": open_xml,
    "yaml": open_yaml,
}
_HEADED = ("row", "table", "stanza", "numbered")
"""Kinds of units whose first parts may be heads only."""
_DEEPEST = 8
"""Largest number of levels of nested texts that are opened. A file in a fence is one level."""
_FEWEST = {"json": 2, "line": 4, "log": 2}
"""Smallest number of neighbours of a kind that form a series, in which marks count the dropped members."""


def arrange(
    text: str,
    units: Sequence[Unit],
    doc: int,
    is_large: Callable[[Unit], bool],
    sizes: Sizes,
    depth: int = 0,
) -> list[Unit]:
    """Return the units of `text`, the large ones in parts, each with its document, its parent and its link.

    Args:
        units: sorted, as `split_units` gives them.
        doc: index of the document.
        is_large: returns whether a block is too large to be kept whole.
        depth: number of texts around this one; a file in a fence is nested in one.
    """
    text = unify_crlf(text)
    arranged: list[Unit] = []
    places: list[Sequence[int]] = []
    """For each unit, the positions to which a need for it leads: its own, or that of its first part. For a
    table and for numbered lines, the first part that is no frame and all that it needs, because the names of
    columns or of a function alone say nothing."""
    is_log = sum(unit.kind == "log" for unit in units) * 2 >= max(4, len(units))

    def kind_of(entry: tuple[int, Unit]) -> str:
        # All lines between the entries of a log belong to it.
        return "log" if is_log and entry[1].kind in ("line", "sentence", "heading", "code") else entry[1].kind

    for kind, group in groupby(enumerate(units), key=kind_of):
        members = list(group)
        series = Series(flows=kind == "log") if len(members) >= _FEWEST.get(kind, sys.maxsize) else None
        for parent, unit in members:
            place = [len(arranged)]
            parts: Sequence[Unit] = ()
            if unit.kind == "numbered" and depth < _DEEPEST:
                parts = _open_numbered(text, unit, is_large, sizes, len(arranged), depth)
            elif unit.kind == "row" or (unit.divisible and is_large(unit)):
                parts = _open(text, unit, series, len(arranged), sizes, depth)
            content = next((at for at, part in enumerate(parts) if part.link.role == "content"), None)
            if unit.kind in _HEADED and content is not None:
                place = [*parts[content].link.needs, place[0] + content]
            places.append(place)
            for part in parts or (unit,):
                link = part.link if parts else _make_link(text, unit, series, kind)
                spot = (part.start, part.end, part.kind, part.divisible)
                arranged.append(Unit(*spot, doc, parent, False, 0, link))
    return [_add_heads(unit, units[unit.parent].link, places) for unit in arranged]


def _make_link(text: str, unit: Unit, series: Series | None, kind: str) -> Link:
    """Return the link that puts an unopened unit into its series, if it has one.

    A comment gets a link that says that it is markup.
    """
    if unit.kind == "comment":
        return Link(None, 0, (), "markup")
    if series is None:
        return UNLINKED
    shape = find_shape(text, unit.start, unit.end) if kind == "log" else None
    return Link(series, 1, (), shape=shape)


def _add_heads(unit: Unit, heads: Link, places: Sequence[Sequence[int]]) -> Unit:
    """Return a part of a unit, with the unit's heads added to what it needs."""
    if heads is UNLINKED or unit.link.role == "markup":
        return unit
    needs = {*unit.link.needs, *(place for need in heads.needs for place in places[need])}
    role = "frame" if heads.role == "frame" else unit.link.role
    return replace(unit, link=replace(unit.link, needs=tuple(sorted(needs)), role=role))


def _open(
    text: str, unit: Unit, series: Series | None, first: int, sizes: Sizes, depth: int
) -> Sequence[Unit]:
    """Return the parts of a unit, the first at position `first`; none if its structure is not understood."""
    opener = _OPENERS.get(unit.kind)
    if unit.kind == "code":
        inside = find_fences(text, unit.start, unit.end) or find_delimited(text, unit.start, unit.end)
        if inside and depth < _DEEPEST:
            return list(_open_fences(text, unit, inside, sizes, first, depth))
        opener = open_quote if text.startswith(">", unit.start) else open_code
    node = opener(text, unit.start, unit.end, sizes) if opener else None
    if opener and node and not node.children:
        # It was left whole because it is within `sizes.whole`, but the caller needs it in parts.
        part = min(sizes.part, (unit.end - unit.start) // 2)
        node = opener(text, unit.start, unit.end, Sizes(part, part))
    if opener and (node is None or not node.children):
        node = open_lines(text, unit.start, unit.end, sizes)
    return () if node is None else flatten(text, node, unit.kind, series, first)


def _open_fences(
    text: str, unit: Unit, inside: Range, sizes: Sizes, first: int, depth: int
) -> Iterator[Unit]:
    """Yield the parts of a fenced block, the first at position `first`. The content needs the fences."""
    left, right = inside
    body = text[left:right]
    inner = arrange(
        body, split_units(body), 0, lambda part: part.end - part.start > sizes.part, sizes, depth + 1
    )
    last = first + len(inner) + 1
    series = Series()
    head, tail = text[unit.start : left].rstrip(), text[right : unit.end].lstrip()
    yield Unit(unit.start, unit.start + len(head), "code", True, link=Link(None, 1, (last,), "frame"))
    for part in inner:
        needs = (first, *(need + first + 1 for need in part.link.needs), last)
        link = replace(part.link, series=part.link.series or series, needs=needs)
        yield Unit(part.start + left, part.end + left, "code", True, link=link)
    yield Unit(unit.end - len(tail), unit.end, "code", True, link=Link(None, 0, (first,), "frame"))


def _open_numbered(
    text: str, unit: Unit, is_large: Callable[[Unit], bool], sizes: Sizes, first: int, depth: int
) -> list[Unit]:
    """Return the parts of numbered lines: single lines if they come from all over a file, otherwise the parts
    that they would have without numbers."""

    def open_body(lines: Prefixed) -> Sequence[Unit]:
        body = lines.body
        units: list[Unit] = []
        if lines.are_scattered:
            units = lines.list_scattered()
        else:
            for start, end in lines.list_ranges():
                places = range(len(units), sys.maxsize)
                for part in split_units(body[start:end]):
                    moved = replace(part, start=start + part.start, end=start + part.end)
                    units.append(moved.move_needs(places))
        return arrange(body, units, 0, lambda part: is_large(lines.estimate_source(part)), sizes, depth + 1)

    if STREAMS.start.match(text, unit.start):
        return open_streams(text, unit.start, unit.end, first, open_body)
    lines = read_prefixed(text, unit.start, unit.end)
    return lines.restore(open_body(lines), first, is_large, sizes.part)
