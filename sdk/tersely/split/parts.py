"""What structure is made of: a tree of nodes, which becomes a flat list of parts.

A container has a head, children and a tail, as in `{"results": [`, the records, `]}`. Its children are one
series. Head and tail come along with every child that is kept, so that what is kept is well formed and says
where it belongs. Where children are left out, a mark counts them, in a form in which the block still parses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tersely.units import Link, Series

DEEPEST = 40
"""Containers inside each other that are opened. What lies deeper is one part."""


@dataclass(slots=True)
class Node:
    """A range of a text: a leaf, or a container with the children in it. Offsets are code points."""

    start: int
    end: int
    children: list[Node] = field(default_factory=list["Node"])
    series: Series | None = None
    """Of its children."""
    items: int = 1
    is_anchor: bool = False
    """Whether its siblings need it, as the members of a record need its name."""
    wants: list[Node] = field(default_factory=list["Node"])
    """Nodes elsewhere in the tree that it needs, as a function needs an import."""
    is_markup: bool = False
    """Whether it is never kept."""
    breaks: bool = False
    """Whether a line break takes the place of markup."""


@dataclass(frozen=True, slots=True)
class Part:
    """`text[start:end]`, without surrounding whitespace, kept or dropped as one."""

    start: int
    end: int
    link: Link


def flatten(text: str, root: Node, series: Series | None, first: int) -> list[Part]:
    """The parts of a tree, in source order. They hold every non-blank code point of it exactly once.

    `series` is that of the root, and `first` the position that the first part will have in its document.
    """
    parts: list[Part] = []
    places: list[tuple[Node, int, int]] = []
    _add(text, root, series, first, parts, places)
    where = {id(node): range(first + begin, first + end) for node, begin, end in places}
    for node, begin, end in places:
        wanted = [position for other in node.wants for position in where[id(other)]]
        for at in range(begin, end) if wanted else ():
            parts[at] = _with_needs(parts[at], first + at, wanted)
    return parts


def _add(
    text: str,
    node: Node,
    series: Series | None,
    first: int,
    parts: list[Part],
    places: list[tuple[Node, int, int]],
) -> None:
    """Append the parts of `node`, a member of `series`, and note in `places` where they are in `parts`."""
    begin = len(parts)
    if not node.children:
        if span := strip(text, node.start, node.end):
            link = Link(series, node.items, (), False, is_markup=node.is_markup, breaks=node.breaks)
            parts.append(Part(*span, link))
            places.append((node, begin, begin + 1))
        else:
            places.append((node, begin, begin))
        return
    needs: list[int] = []
    if head := strip(text, node.start, node.children[0].start):
        needs.append(first + begin)
        parts.append(Part(*head, Link(series, node.items, (), is_frame=True)))
    for child in node.children:
        at = len(parts)
        _add(text, child, node.series, first, parts, places)
        if child.is_anchor and len(parts) == at + 1:
            needs.append(first + at)
    if tail := strip(text, node.children[-1].end, node.end):
        needs.append(first + len(parts))
        parts.append(Part(*tail, Link(series, 0, (), is_frame=True)))
    for at in range(begin, len(parts)):
        parts[at] = _with_needs(parts[at], first + at, needs)
    places.append((node, begin, len(parts)))


def _with_needs(part: Part, position: int, needs: Sequence[int]) -> Part:
    """The part, which stands at `position`, with more needs."""
    link = part.link
    together = tuple(sorted({*link.needs, *needs} - {position}))
    return replace(part, link=replace(link, needs=together))


def strip(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The range without the whitespace around it; None if nothing is left."""
    inner = text[start:end]
    body = inner.strip()
    if not body:
        return None
    start += len(inner) - len(inner.lstrip())
    return start, start + len(body)
