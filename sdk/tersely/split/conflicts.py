"""Merge conflicts: the lines from `<<<<<<<` to `>>>>>>>`. The markers show which side a line belongs to."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from tersely.split.lines import Block, Lines, Range, make_block
from tersely.split.markdown import FENCE
from tersely.units import Link, Unit

_MARKER = re.compile(r"^(?:(?:<{7}|>{7}) \S.*|\|{7}(?: .*)?|={7} *)$", re.MULTILINE)
_SIGNS = ("<=>", "<|=>")
"""The first characters of a conflict's markers, joined. The lines between `|` and `=` are the text before
both changes."""


def find_conflicts(text: str) -> list[Sequence[Range]]:
    """Return the markers of each conflict in a masked text, in order."""
    conflicts: list[Sequence[Range]] = []
    markers: list[Range] = []
    for found in _MARKER.finditer(text) if "\n>>>>>>> " in text else ():
        if found[0][0] == "<":
            markers = []
        markers.append((found.start(), found.start() + len(found[0].rstrip())))
        if found[0][0] == ">":
            if "".join(text[start] for start, _ in markers) in _SIGNS:
                conflicts.append(markers)
            markers = []
    return conflicts


def leave_fenced(conflicts: Sequence[Sequence[Range]], blocks: Sequence[Block]) -> list[Sequence[Range]]:
    """Drop the conflicts inside fenced blocks, because the content of these blocks is split later."""
    starts = [block.start for block in blocks]
    around = [blocks[max(0, bisect_right(starts, markers[0][0]) - 1)] for markers in conflicts]
    return [
        markers
        for markers, block in zip(conflicts, around, strict=True)
        if block.end < markers[-1][1] or not FENCE.start.match(block.line)
    ]


def cut_blocks(blocks: Sequence[Block], lines: Lines, markers: Sequence[Range]) -> Iterator[Block]:
    """Yield the blocks, but split a block that contains a marker into lines: no parser can read it."""
    at = [lines.find(start) for start, _ in markers]
    for block in blocks:
        if bisect_left(at, block.first) == bisect_left(at, block.last):
            yield block
            continue
        for line in range(block.first, block.last):
            if not lines.is_blank(line):
                yield make_block(lines, line, line + 1, "line")


def add_markers(units: Sequence[Unit], conflicts: Sequence[Sequence[Range]]) -> list[Unit]:
    """Return the units and the markers, by their order in the text.

    A unit in a conflict, or one that needs such a unit, needs all markers of the conflict.
    """
    frame = Link(None, 1, (), "frame")
    signs = [Unit(*span, "line", True, link=frame) for markers in conflicts for span in markers]
    merged = sorted([*units, *signs], key=lambda unit: unit.start)
    starts = [unit.start for unit in merged]
    around: dict[int, Sequence[int]] = {}
    """For each unit in a conflict, the positions of the conflict's markers."""
    for markers in conflicts:
        own = [bisect_left(starts, start) for start, _ in markers]
        around.update(dict.fromkeys(range(own[0], own[-1] + 1), own))
    markers_at = {at for own in around.values() for at in own}
    moved = [at for at in range(len(merged)) if at not in markers_at]
    for at, unit in enumerate(merged):
        merged[at] = unit if at in markers_at else unit.move_needs(moved)
        for marker in {marker for need in (at, *merged[at].link.needs) for marker in around.get(need, ())} - {
            at
        }:
            merged[at] = merged[at].add_need(marker)
    return merged
