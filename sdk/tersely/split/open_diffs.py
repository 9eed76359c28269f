"""Diffs: hunks, each with the file that it changes."""

from __future__ import annotations

from tersely.split.diffs import HUNK
from tersely.split.open_lines import find_lines
from tersely.split.parts import Node
from tersely.units import Series

_STEP = 240
"""Code points of a part of a hunk that is too large to be kept whole."""


def open_diff(text: str, start: int, end: int, whole: int) -> Node | None:
    """The tree of a diff: files, in them hunks. Hunks above `whole` code points are cut between lines."""
    files: list[Node] = []
    in_header = False
    for left, right in find_lines(text, start, end):
        if HUNK.match(text, left, right):
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
            _cut_hunk(text, hunk, whole)
    if len(files) == 1:
        return Node(start, end, files[0].children, files[0].series) if len(files[0].children) > 1 else None
    return Node(start, end, files, Series())


def _begins_file(text: str, left: int, right: int) -> bool:
    """Whether `text[left:right]` is `--- file` with `+++ file` below it."""
    return text.startswith("--- ", left) and text[right : right + 6].lstrip("\r\n").startswith("+++ ")


def _cut_hunk(text: str, hunk: Node, whole: int) -> None:
    if hunk.end - hunk.start <= whole:
        return
    lines = list(find_lines(text, hunk.start, hunk.end))[1:]
    steps: list[Node] = []
    for left, right in lines:
        if steps and right - steps[-1].start <= _STEP:
            steps[-1].end = right
            steps[-1].items += 1
        else:
            steps.append(Node(left, right))
    if len(steps) > 1:
        hunk.children, hunk.series = steps, Series()
