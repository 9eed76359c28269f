"""Split a text into units, the smallest pieces a compression keeps or drops, with exact offsets.

A unit is a sentence, or a structure that makes no sense in parts: a code block, a table, a JSON value, a list
item, a log line. Offsets are code points of the text as given, whatever line breaks or stray bytes it has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from tersely.text.lines import mask
from tersely.text.prose import sentence_starts
from tersely.text.structure import Block, Kind, find_blocks


@dataclass(frozen=True, slots=True)
class Unit:
    """`text[start:end]`, without surrounding whitespace; offsets are code points."""

    start: int
    end: int
    kind: Kind
    atomic: bool
    """Structure: kept whole or dropped whole, unless it alone is over the budget (see `seams`)."""


_LONG_SEAM = 400
_LONG_WORD = 40
_WORD_PIECE = 16
_LINE = re.compile(r"[^\n\r]*+(?:\r\n|\n|\r)|[^\n\r]+$")
_WORD = re.compile(r"\S+\s*")
_JSON_PART = re.compile(r'(?:[^",]|"(?:[^"\\]|\\.)*+")*+(?:,\s*|$)', re.DOTALL)


def split_units(text: str) -> list[Unit]:
    """Sorted, non-overlapping units; every non-whitespace code point of `text` lies in exactly one.

    Takes any string (CRLF, NUL and lone surrogates included) and time linear in its length.
    """
    plain = mask(text)
    units: list[Unit] = []
    for block in find_blocks(plain):
        cuts = [block.start, *_sentence_starts(plain, block), block.end]
        atomic = block.kind not in ("sentence", "heading")
        for left, right in pairwise(cuts):
            piece = text[left:right]
            body = piece.strip()
            if body:
                start = left + len(piece) - len(piece.lstrip())
                units.append(Unit(start, start + len(body), block.kind, atomic))
    return units


def _sentence_starts(plain: str, block: Block) -> Iterator[int]:
    if block.kind != "sentence":
        return
    prose = plain[block.start : block.end]
    if block.prefix:
        pattern = block.prefix
        lines = prose.split("\n")
        prose = "\n".join(pattern.sub(lambda mark: " " * len(mark[0]), line, count=1) for line in lines)
    prose = prose.replace("\n", " ")
    for start in sentence_starts(prose):
        # Cut right behind the sentence before, so that a quote marker between the two goes to the second.
        cut = start
        while cut and prose[cut - 1] == " ":
            cut -= 1
        yield block.start + cut


def seams(text: str, unit: Unit) -> list[tuple[int, int]]:
    """Contiguous sub-ranges of `unit`, in order, at which it may be cut when it alone is over the budget.

    Lines for code, tables, logs and JSON written over several lines; the parts between commas for JSON in
    one line; words for anything else, also for a line of more than 400 code points; and 16 code points, then
    single ones, for a long run without spaces. Each range includes the whitespace behind it. A range that is
    still too long can be cut again: `seams(text, Unit(start, end, unit.kind, unit.atomic))`.
    """
    if unit.kind in ("code", "table", "log", "json"):
        lines = list(_ranges(_LINE, text, unit.start, unit.end))
        if len(lines) > 1:
            return [part for line in lines for part in _cut_long(text, *line)]
        if unit.kind == "json":
            parts = list(_ranges(_JSON_PART, text, unit.start, unit.end))
            if len(parts) > 1 and parts[0][0] == unit.start and parts[-1][1] == unit.end:
                return [piece for part in parts for piece in _cut_long(text, *part)]
    return _words(text, unit.start, unit.end)


def _cut_long(text: str, start: int, end: int) -> list[tuple[int, int]]:
    return [(start, end)] if end - start <= _LONG_SEAM else _words(text, start, end)


def _words(text: str, start: int, end: int) -> list[tuple[int, int]]:
    words = list(_ranges(_WORD, text, start, end))
    if not words:
        return [(start, end)]
    words[0] = (start, words[0][1])  # a line's indent goes with its first word
    parts: list[tuple[int, int]] = []
    for left, right in words:
        length = right - left
        if length <= _LONG_WORD and len(words) > 1:
            parts.append((left, right))
            continue
        step = _WORD_PIECE if length > _WORD_PIECE else 1
        parts.extend((at, min(at + step, right)) for at in range(left, right, step))
    return parts


def _ranges(pattern: re.Pattern[str], text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for match in pattern.finditer(text, start, end):
        if match.end() > match.start():
            yield match.span()
