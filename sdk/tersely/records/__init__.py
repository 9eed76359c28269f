"""Structure that is kept in parts: what tools return to agents.

`arrange` takes a text and its units. It opens blocks that are too large to be kept whole, and links what
belongs together, such as the lines of a log. Each kind of structure has a module, which turns a block into a
tree of nodes (`parts`):

json_values   JSON, by elements, members and sentences of long strings

`matching` scores the parts by the words of the question, so that a model need not read all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple

from tersely.records.json_values import open_json
from tersely.records.parts import Link, Node, Series, flatten
from tersely.text.sentences import Unit

__all__ = ["Arranged", "Link", "Series", "arrange"]

_LISTS = frozenset({"json"})
"""Kinds of units that form a list where several stand together: then a mark counts those left out."""


class Arranged(NamedTuple):
    """A unit, or a part of one."""

    unit: Unit
    parent: int
    """Position of the unit that it is, or is a part of, among those that were arranged."""
    link: Link | None
    """How it hangs together with others; None for prose and for what is alone."""


def arrange(
    text: str, units: Sequence[Unit], is_large: Callable[[Unit], bool], size: int, form: str
) -> list[Arranged]:
    """The units of `text`, in order, the large ones in parts.

    Args:
        units: sorted, as `split_units` gives them.
        is_large: whether a unit is too large to be kept whole.
        size: code points up to which a part is not opened further.
        form: the words of a mark; see `Series`.
    """
    arranged: list[Arranged] = []
    for kind, group in groupby(enumerate(units), key=lambda entry: entry[1].kind):
        members = list(group)
        series = Series(form) if kind in _LISTS and len(members) > 1 else None
        for parent, unit in members:
            node = _open(text, unit, size, form) if is_large(unit) else None
            if node is None:
                link = None if series is None else Link(series, 1, (), is_frame=False)
                arranged.append(Arranged(unit, parent, link))
                continue
            for part in flatten(text, node, series, first=len(arranged)):
                arranged.append(Arranged(Unit(part.start, part.end, unit.kind, True), parent, part.link))
    return arranged


def _open(text: str, unit: Unit, size: int, form: str) -> Node | None:
    """The tree of a unit; None where its structure is not understood."""
    if unit.kind == "json":
        return open_json(text, unit.start, unit.end, size, form)
    return None
