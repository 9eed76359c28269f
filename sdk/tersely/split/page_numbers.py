"""Pages that were joined without a form feed: their numbers, and the lines that recur beside these."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate

from tersely.split.lines import is_wordy

_NUMBERED = re.compile(
    r"\s*(?:(?P<first>\d{1,4})(?:\s+(?P<right>\D.*?))?|(?P<left>.*?\S)\s+(?P<last>\d{1,4}))\s*"
)
"""A line with a number at its start or its end, or with only a number."""
_LONGEST_HEAD = 140
"""Most code points of a line with the number of a page."""
_LONGEST_BESIDE, _FEWEST_LETTERS = 80, 8
"""Most code points and fewest letters of a line that recurs beside it."""
_SHORTEST_PAGE, _LONGEST_PAGE = 12, 110
"""Fewest and most lines of a page."""
_NEAR = 2
"""Number of lines on each side of the number of a page that may recur."""
_FEWEST_WORDS = 6
"""Fewest words of a line whose sentence goes on in the next page."""


def find_joined_pages(text: str) -> list[tuple[int, int]]:
    """Return the ranges between the texts of two pages, in order: the number of a page, and lines beside it
    that recur.

    In lines of one form, a number rises by one or two from page to page. It is alone in its line on at least
    three pages, unless it counts from 1 as items do, or a sentence goes on after it. Takes time linear in the
    length of the text.
    """
    lines = text.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    numbers: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for at, line in enumerate(lines):
        if len(line) <= _LONGEST_HEAD and (found := _NUMBERED.fullmatch(line)):
            key = found["left"] or found["right"] or ""
            numbers[key].append((at, int(found["first"] or found["last"])))
    ranges: list[tuple[int, int]] = []
    for key, found in numbers.items():
        pages = _find_rising(found)
        if len(pages) < 2 or len(found) > 2 * len(pages) + 2 or len(key.split()) == 1:
            continue
        furniture = [*_find_furniture(lines, pages)]
        is_list = (pages[0], 1) in found and max(map(len, furniture)) == 1
        is_series = not key and len(pages) > 2 and not is_list
        if is_series or any(_is_inside(lines, own) for own in furniture):
            ranges += ((starts[own.start], starts[own.stop] - 1) for own in furniture)
    return sorted(ranges)


def _find_rising(found: Sequence[tuple[int, int]]) -> list[int]:
    """Return the lines of the longest series of numbers that rise by one or two, a page apart.

    Args:
        found: lines of one form, and the number in each.
    """
    best: list[int] = []
    last: dict[int, tuple[int, int, int]] = {}  # for each number: its line, the number above it, the length
    end: int | None = None
    for at, number in found:
        length, above = 1, number
        for step in (1, 2):
            line, _, size = last.get(number - step, (at, 0, 0))
            if _SHORTEST_PAGE <= at - line <= _LONGEST_PAGE * step and size >= length:
                length, above = size + 1, number - step
        last[number] = (at, above, length)
        end = number if end is None or length > last[end][2] else end
    while end is not None:
        at, above, _ = last[end]
        best.append(at)
        end = above if above != end else None
    return best[::-1]


def _find_furniture(lines: Sequence[str], pages: Sequence[int]) -> Iterator[range]:
    """Yield the lines of the number of each page, with those beside it that recur beside another number."""
    sides = [[_list_near(lines, at, step) for step in (-1, 1)] for at in pages]
    counts = Counter(text for own in sides for text in {_read(lines[line]) for side in own for line in side})
    for at, own in zip(pages, sides, strict=True):
        edges = [at, at]
        for number, side in enumerate(own):
            for line in side:
                head = _read(lines[line])
                is_text = head.endswith((".", "!", "?", ";", ",")) or len(head) > _LONGEST_BESIDE
                if counts[head] < 2 or is_text or sum(map(str.isalpha, head)) < _FEWEST_LETTERS:
                    break
                edges[number] = line
        yield range(edges[0], edges[1] + 1)


def _list_near(lines: Sequence[str], at: int, step: int) -> list[int]:
    """Return the nearest lines above or below a line that are not blank."""
    near: list[int] = []
    line = at + step
    while 0 <= line < len(lines) and len(near) < _NEAR and abs(line - at) < _SHORTEST_PAGE:
        near += [line] if lines[line].strip() else []
        line += step
    return near


def _read(line: str) -> str:
    return " ".join(line.split())


def _is_inside(lines: Sequence[str], furniture: range) -> bool:
    """Return whether a sentence goes on in lower case after the number of a page."""
    above = _list_near(lines, furniture.start, -1)[:1]
    below = _list_near(lines, furniture.stop - 1, 1)[:1]
    if not above or not below:
        return False
    left, right = lines[above[0]].strip(), lines[below[0]].strip()
    is_prose = len(left.split()) >= _FEWEST_WORDS and is_wordy(left) and is_wordy(right)
    return is_prose and left[-1] not in ".!?:;" and right[0].islower()
