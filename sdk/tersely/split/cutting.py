"""Cut units that are too large for a limit into pieces, which are scored and chosen one by one.

A block of several lines is cut between lines, and running text in it between sentences. A line is cut only
in two cases, and then between words: if it is running text without the end of a sentence, or if the documents
hold nothing else. A piece is about as long as a sentence. So the selector can tell pieces that matter from
pieces that do not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from tersely.split.continued import OPTION
from tersely.split.lines import Range, find_lines, mask, strip
from tersely.split.markers import RUN_IN
from tersely.split.nodes import Node, Sizes, join_lines, open_lines
from tersely.split.prose import find_paragraphs, is_prose
from tersely.split.sentence_starts import find_sentence_starts
from tersely.units import Series, Unit

LONGEST_SENTENCE = 1000
"""A sentence of at most this many code points is never cut. A longer one is text without punctuation."""

SMALLEST_PIECE = 8
"""With room for fewer tokens, a unit is dropped instead of cut, because tiny pieces would mislead."""

PIECE = 240
"""Largest size of a piece in code points. Only a single line may have more."""
_MARGIN = 0.8
"""Share of the room that a piece may fill by estimate, because tokens are not spread evenly over a unit."""
_LONG_WORD = 40
_WORD = re.compile(r"\S+")
_SPACE = re.compile(r"\s")


def cut(text: str, unit: Unit, cost: int, room: int, *, is_alone: bool = False) -> list[Range]:
    """Return the pieces of a unit, in order. Together they hold all of its text that is not white space.

    A unit that must not be cut is returned whole.

    Args:
        cost: tokens of the unit.
        room: largest number of tokens of a piece. A piece may have more only if it cannot be divided.
        is_alone: True if the documents have no other unit. A line is then cut between words.
    """
    size = unit.end - unit.start
    target = max(1, min(PIECE, int(size * room * _MARGIN / cost)))
    if room < SMALLEST_PIECE:
        return [(unit.start, unit.end)]
    is_endless = unit.kind == "sentence" and size > LONGEST_SENTENCE
    seams = _find_seams(text, unit)
    if is_endless or (is_alone and unit.divisible and len(seams) == 1):
        seams = [part for seam in seams for part in _cut_words(text, *seam, target)]
    return [(piece.start, piece.end) for piece in join_lines(_strip(text, seams), target)]


def _find_seams(text: str, unit: Unit) -> list[Range]:
    """Return the ranges that a unit may be cut into: lines, and the sentences of items and paragraphs."""
    if not unit.divisible:
        return [(unit.start, unit.end)]
    if unit.kind == "list_item":
        is_paragraph = is_prose(" ".join(text[unit.start : unit.end].split()))
        return list(_find_parts(text, (unit.start, unit.end), is_paragraph))
    return _find_sentences_and_lines(text, unit.start, unit.end)


def open_option(text: str, start: int, end: int, sizes: Sizes) -> Node | None:
    """Open an option with its description into sentences and lines, and any other block into lines.

    The first one is their head. Short neighbours share a part.
    """
    if not OPTION.match(text, start):
        return open_lines(text, start, end, sizes)
    seams = _strip(text, _find_sentences_and_lines(text, start, end))
    nodes = join_lines(seams[1:], sizes.part // 4)
    return Node(start, end, nodes, Series()) if nodes else None


def _find_sentences_and_lines(text: str, start: int, end: int) -> list[Range]:
    parts = find_paragraphs(text, start, end)
    return [seam for part, is_paragraph in parts for seam in _find_parts(text, part, is_paragraph)]


def _find_parts(text: str, part: Range, is_paragraph: bool) -> Iterator[Range]:
    """Yield the sentences of a paragraph, or the lines of other text and of a paragraph with one sentence.

    A title such as `7. Waiver.` is part of the sentence after it.
    """
    start, end = part
    title = RUN_IN.match(text, start, end)
    body = title.end() - start if title else 0
    starts = find_sentence_starts(_SPACE.sub(" ", mask(text[start:end]))) if is_paragraph else ()
    if starts := [at for at in starts if at >= body]:
        return pairwise([start, *(start + at for at in starts), end])
    return find_lines(text, start, end)


def _strip(text: str, seams: Iterable[Range]) -> list[Range]:
    """Return the ranges that are not blank, without the white space around them."""
    return [span for seam in seams if (span := strip(text, *seam))]


def _cut_words(text: str, start: int, end: int, target: int) -> Iterator[Range]:
    """Yield the words of a range. A word that is too long is cut every `target` code points."""
    for word in _WORD.finditer(text, start, end):
        left, right = word.span()
        step = right - left if right - left <= _LONG_WORD else target
        yield from ((at, min(at + step, right)) for at in range(left, right, step))
