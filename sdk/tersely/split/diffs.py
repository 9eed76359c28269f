"""Diffs: unified diffs with hunks that say how many lines they have, and context diffs.

Also merge conflicts: the lines from `<<<<<<<` to `>>>>>>>`. Their markers show which side a line belongs to.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from tersely.split.lines import Block, Format, Lines, Range, find_lines, make_block
from tersely.split.markdown import FENCE
from tersely.split.nodes import Node, Sizes, join_lines_below
from tersely.units import Link, Series, Unit

HUNK = r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@"
"""The first line of a hunk of a unified diff, as a pattern."""
_HUNK = re.compile(rf"{HUNK}|@@ @@$")
_HEADER = re.compile(
    r"diff |index |--- |\+\+\+ |new file|deleted file|similarity |dissimilarity |rename |copy |old mode"
    r"|new mode|Binary files |Index: |={20,}"
)
_CONTEXT_FILE = re.compile(r"\*\*\* \S[^\n]*\n--- \S[^\n]*\n\*{15}")
_CONTEXT_HUNK = re.compile(r"\*{15}")
_SIDE = re.compile(r"(?:\*\*\*|---) \d+(?:,\d+)? (?:\*\*\*\*|----)\s*$")
_CONTEXT_LINE = re.compile(
    rf"{_CONTEXT_HUNK.pattern}|{_SIDE.pattern}|[ !+-] |--- \S|[ !+-]?$|diff |Index: |={{20,}}|\\ "
)
_STEP = 240
"""Largest part of a hunk that is too large to be kept whole, in code points."""
_MARKER = re.compile(r"^(?:(?:<{7}|>{7}) \S.*|\|{7}(?: .*)?|={7} *)$", re.MULTILINE)
_SIGNS = ("<=>", "<|=>")
"""The first characters of a conflict's markers, joined. The lines between `|` and `=` are the text before
both changes."""


def _find_end(lines: Lines, index: int) -> int | None:
    end, hunks = index, 0
    while end < len(lines):
        line = lines.texts[end]
        if hunk := _HUNK.match(line):
            end = _skip_hunk(lines, end + 1, int(hunk[1] or 1), int(hunk[2] or 1))
            hunks += 1
        elif _HEADER.match(line):
            end += 1
        else:
            break
    if hunks:
        return end
    lines.none_before[_find_end] = end
    return None


def _skip_hunk(lines: Lines, index: int, old: int, new: int) -> int:
    """Return the index after a hunk that has `old` lines of the old file and `new` lines of the new one."""
    while index < len(lines) and (old > 0 or new > 0):
        sign = lines.texts[index][:1]
        if sign not in ("", " ", "+", "-", "\\"):
            break
        old -= sign in ("", " ", "-")
        new -= sign in ("", " ", "+")
        index += 1
    while index < len(lines) and lines.texts[index].startswith("\\"):
        index += 1
    return index


def _find_context_end(lines: Lines, index: int) -> int:
    """Return the index after a context diff. Its files have hunks; its hunks have two sides with lines."""
    for end in range(index + 1, len(lines)):
        if not (_CONTEXT_LINE.match(lines.texts[end]) or _CONTEXT_FILE.match(lines.text, lines.starts[end])):
            return end
    return len(lines)


DIFFS = (
    Format("diff", re.compile(r"diff --git |Index: |--- \S"), _find_end),
    Format("diff", _CONTEXT_FILE, _find_context_end),
)


def open_diff(text: str, start: int, end: int, sizes: Sizes) -> Node | None:
    """Return the tree of a diff: files with hunks. Large hunks are cut between lines."""
    if _CONTEXT_FILE.match(text, start):
        return _open_context(text, start, end, sizes)
    files: list[Node] = []
    in_header = False
    for left, right in find_lines(text, start, end):
        if _HUNK.match(text, left, right):
            if not files:
                return None
            files[-1].children.append(Node(left, right))
            in_header = False
        elif not in_header and (text[left] not in " +-\\@" or _begins_file(text, left, right)):
            files.append(Node(left, right, series=Series()))
            in_header = True
        elif files and files[-1].children:
            files[-1].children[-1].end = right
        if files:
            files[-1].end = right
    for file in files:
        for hunk in file.children:
            if hunk.end - hunk.start > sizes.whole or len(files) == len(file.children) == 1:
                hunk.open(join_lines_below(text, hunk.start, hunk.end, min(_STEP, sizes.part)), Series())
    if len(files) == 1:
        (file,) = files
        hunk = file.children[0] if len(file.children) == 1 else None
        inside = hunk if hunk and hunk.children else file
        return Node(start, end, inside.children, inside.series)
    return Node(start, end, files, Series())


def _begins_file(text: str, left: int, right: int) -> bool:
    """Return whether `text[left:right]` is `--- file` with `+++ file` below it."""
    return text.startswith("--- ", left) and text[right : right + 6].lstrip("\r\n").startswith("+++ ")


def _open_context(text: str, start: int, end: int, sizes: Sizes) -> Node:
    """Return the tree of a context diff: files with hunks. Large hunks are opened into two sides."""
    files: list[Node] = []
    for left, right in find_lines(text, start, end):
        if _CONTEXT_FILE.match(text, left):
            files.append(Node(left, right, series=Series()))
        file = files[-1]
        hunks = file.children
        if _CONTEXT_HUNK.match(text, left, right):
            hunks.append(Node(left, right, series=Series()))
        elif hunks and _SIDE.match(text, left, right):
            hunks[-1].children.append(Node(left, right, series=Series()))
        for node in (file, *hunks[-1:], *(hunks[-1].children[-1:] if hunks else ())):
            node.end = right
    for hunk in (hunk for file in files for hunk in file.children):
        if hunk.end - hunk.start <= sizes.whole:
            hunk.children = []
        for side in hunk.children:
            side.children = join_lines_below(text, side.start, side.end, min(_STEP, sizes.part))
    return Node(start, end, files, Series())


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
    pairs = zip(conflicts, around, strict=True)
    return [own for own, block in pairs if block.end < own[-1][1] or not FENCE.start.match(block.line)]


def cut_blocks(blocks: Sequence[Block], lines: Lines, markers: Sequence[Range]) -> Iterator[Block]:
    """Yield the blocks, but split those that contain a marker into lines, because no parser can read them."""
    at = [lines.find(start) for start, _ in markers]
    for block in blocks:
        if bisect_left(at, block.first) == bisect_left(at, block.last):
            yield block
            continue
        own = (line for line in range(block.first, block.last) if not lines.is_blank(line))
        yield from (make_block(lines, line, line + 1, "line") for line in own)


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
        near = {marker for need in (at, *merged[at].link.needs) for marker in around.get(need, ())}
        for marker in near - {at}:
            merged[at] = merged[at].add_need(marker)
    return merged
