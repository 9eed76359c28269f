"""Titles in capitals."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from tersely.split.lines import Block, Lines, starts_run

_CAPITALS = re.compile(r"\s*+(?=.*[A-Z]{3})[A-Z][A-Z\d]*(?:[ /,&'(-]{1,3}[A-Z\d]+\)?){0,7}\s*")
"""A few words in capitals."""


def find_capitals(lines: Lines, blocks: Sequence[Block], runs: Sequence[int]) -> set[int]:
    """Return the indices of the lines in capitals that are headings of the lines right below them.

    They begin runs. There are at least two, or one and a heading in capitals. All differ: names of speakers
    recur. More than a fourth are indented like the line below, unlike in a manual page.
    """
    titles: dict[str, int] = {}
    flush = 0
    has_heading = any(b.kind == "heading" and _CAPITALS.fullmatch(lines.texts[b.first]) for b in blocks)
    for at, (block, below) in enumerate(pairwise(blocks)):
        line = lines.texts[block.first]
        begins_run = runs[at] == runs[at + 1] and starts_run(runs, at)
        is_title = begins_run and block.kind == "line" and _CAPITALS.fullmatch(line) is not None
        indent = lines.indent(block.first) - lines.indent(below.first)
        if not is_title or indent > 0 or _CAPITALS.fullmatch(lines.texts[below.first]):
            continue
        if line in titles:
            return set()
        titles[line] = at
        flush += indent == 0
    return {*titles.values()} if flush + has_heading > 1 and flush * 4 > len(titles) else set()
