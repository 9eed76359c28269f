"""Split a text into units with exact offsets.

A compression keeps or drops a unit as one. A unit is a sentence or a block of structure that makes no sense
in parts: a code block, a table, a JSON value, a list item, a log entry. Offsets count the code points of the
original text, whatever line breaks and invalid characters it contains. An HTML comment in prose is a unit of
its own, also in the middle of a sentence.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tersely.split.blocks import Block, find_blocks
from tersely.split.comments import Range, blank, find_comments
from tersely.split.lines import mask
from tersely.split.pages import find_document_kind
from tersely.split.prose import find_sentence_starts
from tersely.units import Unit


def split_units(text: str) -> list[Unit]:
    """Sorted, non-overlapping units; every non-whitespace code point of `text` lies in exactly one.

    Accepts any string, also with CRLF, NUL or lone surrogates. Takes time linear in its length.
    """
    if (kind := find_document_kind(text)) and (body := text.strip()):
        start = len(text) - len(text.lstrip())
        return [Unit(start, start + len(body), kind, True)]
    plain = mask(text)
    comments = find_comments(plain)
    visible = blank(plain, comments)
    units: list[Unit] = []
    inside = set[Range]()
    """Comments that are a part of a block of structure."""
    for block in find_blocks(visible):
        own = _overlapping(comments, block)
        if block.kind not in ("sentence", "heading", "list_item"):
            inside.update(span for span in own if block.start <= span[0] and span[1] <= block.end)
        edges = {edge for span in own if span not in inside for edge in span}
        cuts = {block.start, *_find_cuts(visible, block), *edges, block.end}
        cuts = sorted(cut for cut in cuts if block.start <= cut <= block.end)
        atomic = block.kind not in ("sentence", "heading")
        for left, right in pairwise(cuts):
            part = text[left:right]
            body = part.strip()
            if body and not visible[left:right].isspace():
                start = left + len(part) - len(part.lstrip())
                units.append(Unit(start, start + len(body), block.kind, atomic))
    if comments:
        units += [Unit(*span, "comment", True) for span in comments if span not in inside]
        units.sort(key=lambda unit: unit.start)
    return units


def _overlapping(ranges: Sequence[Range], block: Block) -> Sequence[Range]:
    """Those of some ranges, which are sorted, that share a code point with a block."""
    if not ranges:
        return ()
    first = bisect_right(ranges, block.start, key=lambda span: span[1])
    return ranges[first : bisect_left(ranges, block.end, key=lambda span: span[0])]


def _find_cuts(plain: str, block: Block) -> Iterator[int]:
    """Offsets between the sentences of a block of prose; none for structure."""
    if block.kind != "sentence":
        return
    prose = plain[block.start : block.end]
    if block.prefix:
        pattern = block.prefix
        lines = prose.split("\n")
        prose = "\n".join(pattern.sub(lambda mark: " " * len(mark[0]), line, count=1) for line in lines)
    prose = prose.replace("\n", " ")
    for start in find_sentence_starts(prose):
        # Cut right after the previous sentence, so that a quote marker between the two belongs to the second.
        cut = start
        while cut and prose[cut - 1] == " ":
            cut -= 1
        yield block.start + cut
