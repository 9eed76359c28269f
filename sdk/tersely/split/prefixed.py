"""Texts with a prefix on every line, such as the number of the line.

Such a text is split and opened as it would be without the prefixes. Its units become whole lines again, with
their prefixes. Units that share a line become one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tersely.split.lines import strip
from tersely.split.nodes import join_lines
from tersely.units import Link, Series, Unit


class Line(NamedTuple):
    """A line of a text: its prefix is `text[start:body]`, and `text[body:end]` is the rest."""

    start: int
    body: int
    end: int
    is_apart: bool = False
    """Whether it does not continue the line above."""


class Prefixed:
    """The lines of a text, and what is left of it without their prefixes.

    Attributes:
        body: the text without prefixes. A blank line sets lines apart that do not continue the line above.
    """

    def __init__(self, text: str, lines: Sequence[Line]) -> None:
        self._text = text
        self._lines = lines
        self._starts: list[int] = []
        parts: list[str] = []
        length = 0
        for line in lines:
            part = "\n" * line.is_apart + text[line.body : line.end] + "\n"
            self._starts.append(length)
            parts.append(part)
            length += len(part)
        self.body = "".join(parts)

    def estimate_source(self, unit: Unit) -> Unit:
        """Return a unit of the text that is as long as a unit of the body, and begins at the same line."""
        start = self._lines[self._find_lines(unit)[0]].start
        return Unit(start, start + unit.end - unit.start, unit.kind, unit.atomic)

    def _find_lines(self, unit: Unit) -> tuple[int, int]:
        return bisect_right(self._starts, unit.start) - 1, bisect_right(self._starts, unit.end - 1) - 1

    def restore(
        self, units: Sequence[Unit], first: int, is_large: Callable[[Unit], bool], size: int
    ) -> list[Unit]:
        """Return the units of the body as units of the text, the first at position `first`.

        Units that share a line become one; if that is too large, it is cut between lines into parts of about
        `size` code points. A blank line belongs to the unit above it.
        """
        if not units:
            return []
        groups = self._group(units)
        edges = [0, *(self._find_lines(group[0])[0] for group in groups[1:]), len(self._lines)]
        spans: list[list[tuple[int, int]]] = []
        places: list[range] = []
        position = first
        for number, group in enumerate(groups):
            lines = self._lines[edges[number] : edges[number + 1]]
            span = strip(self._text, lines[0].start, lines[-1].end) or (lines[0].start, lines[-1].end)
            parts = [span]
            if len(group) > 1 and is_large(Unit(*span, "code", True)):
                cut = [strip(self._text, line.start, line.end) for line in lines]
                parts = [(node.start, node.end) for node in join_lines([c for c in cut if c], size)]
            spans.append(parts)
            places.append(range(position, position + len(parts)))
            position += len(parts)
        owners = [number for number, group in enumerate(groups) for _ in group]
        series = Series()
        restored: list[Unit] = []
        for number, group in enumerate(groups):
            needed = {owners[need] for unit in group for need in unit.needs} - {number}
            needs = tuple(sorted(at for owner in needed for at in places[owner]))
            link = _merge([unit.link or Link(series, 1, (), False) for unit in group], series, needs)
            restored += (Unit(*span, "code", True, link=link) for span in spans[number])
        return restored

    def _group(self, units: Sequence[Unit]) -> list[list[Unit]]:
        """Return the units in groups that share no line."""
        groups: list[list[Unit]] = []
        last = -1
        for unit in units:
            begin, end = self._find_lines(unit)
            if begin <= last:
                groups[-1].append(unit)
            else:
                groups.append([unit])
            last = end
        return groups


def _merge(links: Sequence[Link], otherwise: Series, needs: tuple[int, ...]) -> Link:
    """Return the link of units that become one."""
    series = links[0].series
    items = sum(link.items for link in links if link.series is series) if series else 1
    is_frame = all(link.is_frame for link in links)
    is_markup = all(link.is_markup for link in links)
    return Link(series or otherwise, items, needs, is_frame, is_markup, shape=links[0].shape)
