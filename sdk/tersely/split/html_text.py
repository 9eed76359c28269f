"""The text of a block of HTML, cut into sentences or lines. The pieces between tags need each other."""

from __future__ import annotations

import re

from tersely.split.nodes import DEEPEST, Node
from tersely.split.sentence_starts import find_sentence_starts

Range = tuple[int, int]
"""(start, end) in code points."""
_BREAK = re.compile(r"\r?\n|\r")
_LETTER = re.compile(r"[^\W\d_]")
_MOST_PIECES = 64
"""Pieces of a sentence or a line. One with more tags in it is cut."""


def cut_sentences(text: str, ranges: list[Range]) -> list[list[Node]]:
    """Return the pieces of each sentence of a block. There is at least one range."""
    first, last = ranges[0][0], ranges[-1][1]
    plain = [" "] * (last - first)
    for left, right in ranges:
        plain[left - first : right - first] = text[left:right]
    prose = "".join(plain).replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
    previous, ends = 0, list[int]()
    for start in find_sentence_starts(re.sub(r"\s", " ", prose)):
        if _LETTER.search(prose, previous, start):  # the number of a heading is not a sentence
            ends.append(first + start)
            previous = start
    return cut(text, ranges, [*ends, last])


def cut_lines(text: str, ranges: list[Range], size: int) -> list[list[Node]]:
    """Return the pieces of each line of a listing; of all lines together if they have at most `size`.

    A line needs the lines around it that are indented less.
    """
    first, last = ranges[0][0], ranges[-1][1]
    if last - first <= size:
        return cut(text, ranges, [last])
    breaks = [line.end() for left, right in ranges for line in _BREAK.finditer(text, left, right)]
    lines = cut(text, ranges, [*breaks, last])
    around: list[tuple[int, list[Node]]] = []
    for pieces in lines:
        start = pieces[0].start
        line = text[text.rfind("\n", first, start) + 1 or first : start]
        body = text[start : pieces[0].end]
        indent = len(line) - len(line.rstrip()) + len(body) - len(body.lstrip())
        while around and around[-1][0] >= indent:
            around.pop()
        heads = [node for _, nodes in around[-DEEPEST:] for node in nodes]
        for piece in pieces:
            piece.wants += heads
        around.append((indent, pieces))
    return lines


def cut(text: str, ranges: list[Range], ends: list[int]) -> list[list[Node]]:
    """Return the pieces up to each of these offsets. The last one is the end of the ranges."""
    groups: list[list[Node]] = [[]]
    number = 0
    for left, right in ranges:
        while left < right:
            if ends[number] <= left or len(groups[-1]) == _MOST_PIECES:
                groups.append([])
            while ends[number] <= left:
                number += 1
            stop = min(right, ends[number])
            if not text[left:stop].isspace():
                groups[-1].append(Node(left, stop, items=0 if groups[-1] else 1))
            left = stop
    for pieces in groups:
        for piece in pieces:
            piece.wants = [other for other in pieces if other is not piece]
    return [pieces for pieces in groups if pieces]
