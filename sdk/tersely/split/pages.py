"""Page breaks in the text of a document, with the numbers and the running heads around them.

A form feed starts each page, or lines that are otherwise alike hold rising page numbers. The footer of a
page and the running head of the next are not part of the text, although they interrupt a sentence that
continues on the next page.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain
from typing import NamedTuple

from tersely.split.html import blank
from tersely.split.lines import is_wordy
from tersely.units import Unit

_NUMBER = re.compile(
    r"[^\w\n]*(?:page\s+)?(?:\d{1,4}|[ivxl]{1,6})(?:\s*(?:of|/)\s*\d{1,4})?[^\w\n]*", re.IGNORECASE
)
_FOOTER = re.compile(r".*\[Page [\divxl]+\]\s*")
"""A number alone in its line, and the last line of a page of an RFC."""
_BLANK = re.compile(r"\n[^\S\n]*\n")
_LINE_BREAK = re.compile("\n")
_DIGITS = re.compile(r"\d+")
_NARROW, _NEARLY_FULL = 36, 0.75
"""Smallest length of a line after which a sentence may continue with a capital: in code points, and relative
to the longest of the lines above it."""
_SAMPLE = 600
"""Number of code points to read on each side of a page break."""
_MOST_BLANK = 12
"""Largest number of blank lines to skip after a form feed, and after a running head."""
_NUMBERED_LINE = re.compile(
    r"\s*(?:(?P<first>\d{1,4})(?:\s+(?P<right>\D.*?))?|(?P<left>.*?\S)\s+(?P<last>\d{1,4}))\s*"
)
"""A line with a number at its start or its end, or with only a number."""
_LONGEST_HEAD = 140
"""Largest number of code points of a line with a page number."""
_LONGEST_BESIDE, _FEWEST_LETTERS = 80, 8
"""Largest number of code points and smallest number of letters of a line that recurs beside page numbers."""
_SHORTEST_PAGE, _LONGEST_PAGE = 12, 110
"""Smallest and largest number of lines of a page."""
_NEAR = 2
"""Number of lines on each side of a page number that may recur."""
_FEWEST_WORDS = 6
"""Smallest number of words of a line with a sentence that continues on the next page."""


class PageBreak(NamedTuple):
    """The range between the texts of two pages: `text[start:end]`."""

    start: int
    end: int
    is_inside: bool
    """True if a sentence continues on the next page."""


def _continues_sentence(text: str, start: int, end: int) -> bool:
    """Return whether a sentence continues after the page break `text[start:end]`."""
    *above, left = [line.rstrip() for line in text[max(0, start - _SAMPLE) : start].split("\n")[-4:]]
    right = text[end : end + _SAMPLE].lstrip()[:1]
    if not left or not right or left.endswith((".", "!", "?")):
        return False
    if right.islower():
        return True
    is_full = len(left) >= _NARROW and len(left) >= _NEARLY_FULL * max(map(len, above), default=0)
    return is_full and not left.endswith((":", ";"))


def remove_breaks(text: str, breaks: Sequence[PageBreak]) -> str:
    """Return `text` with spaces for the page breaks. Inside a sentence, only the last line break is kept."""
    text = blank(text, [(start, end) for start, end, _ in breaks])
    return blank(text, [(start, end - 1) for start, end, is_inside in breaks if is_inside], _LINE_BREAK)


def find_page_breaks(text: str) -> list[PageBreak]:
    """Return the page breaks of a text, in order, in time linear in its length."""
    if "\f" in text:
        return _find_at_feeds(text)
    joined = find_joined_pages(text)
    inside = [_continues_sentence(text, len(text[:start].rstrip()), end) for start, end in joined]
    return [PageBreak(*page, is_inside) for page, is_inside in zip(joined, inside, strict=True)]


def _find_at_feeds(text: str) -> list[PageBreak]:
    """Return the page breaks of a text with `\\f` at the start of each page.

    A running head recurs, and a blank line is below it. Column names that recur have their rows right below.
    """
    feeds = [found.start() for found in re.finditer("\f", text)]
    heads = Counter(_read_head(text, feed)[0] for feed in feeds)
    breaks: list[PageBreak] = []
    for feed in feeds:
        head, end = _read_head(text, feed)
        if not head or heads[head] < 2 or not _BLANK.match(text, end):
            end = feed + 1
        end = _skip_blank(text, end)
        start = _find_footer(text, feed, breaks[-1].end if breaks else 0)
        breaks.append(PageBreak(start, end, _continues_sentence(text, start, end)))
    end = len(text.rstrip())
    start = _find_footer(text, end, breaks[-1].end if breaks else 0)
    return [*breaks, PageBreak(start, end, False)] if start < end else breaks


def tie_halves(units: list[Unit], breaks: Sequence[PageBreak]) -> None:
    """Make the two halves of a sentence that a page break divides need each other."""
    for start, _, is_inside in breaks:
        at = bisect_left(units, start, key=lambda unit: unit.start)
        if is_inside and 0 < at < len(units) and units[at - 1].end <= start:
            units[at - 1], units[at] = units[at - 1].add_need(at), units[at].add_need(at - 1)


def _read_head(text: str, feed: int) -> tuple[str, int]:
    """Return the first line of the page, with 0 for each number, and the offset of its end."""
    start = _skip_blank(text, feed + 1)
    start = text.rfind("\n", feed, start) + 1 or feed + 1
    end = len(text) if (at := text.find("\n", start)) < 0 else at
    return _DIGITS.sub("0", " ".join(text[start:end].split())), end


def _skip_blank(text: str, at: int) -> int:
    """Return the start of the first non-blank line from `at` on, skipping at most `_MOST_BLANK` lines."""
    start = at
    for _ in range(_MOST_BLANK):
        end = text.find("\n", start)
        if end < 0 or text[start:end].strip():
            break
        start = end + 1
    return start


def _find_footer(text: str, feed: int, first: int) -> int:
    """Return the offset at which the text of a page ends: before the footer above the form feed, if any."""
    end = first + len(text[first:feed].rstrip())
    start = text.rfind("\n", first, end) + 1
    if start > first and (_NUMBER.fullmatch(text, start, end) or _FOOTER.fullmatch(text, start, end)):
        return first + len(text[first:start].rstrip())
    return end


def find_joined_pages(text: str) -> list[tuple[int, int]]:
    """Return the ranges between the texts of two pages, in order: page numbers and lines that recur there.

    Page numbers are in lines that are otherwise alike, and rise by one or two from page to page. Either they
    are alone in their lines on at least three pages and do not look like the numbers of list items, or a
    sentence continues after one of them. The time is linear in the length of the text.
    """
    lines = text.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    numbers: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for at, line in enumerate(lines):
        if len(line) <= _LONGEST_HEAD and (found := _NUMBERED_LINE.fullmatch(line)):
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
        if is_series or any(_is_in_sentence(lines, own) for own in furniture):
            ranges += ((starts[own.start], starts[own.stop] - 1) for own in furniture)
    return sorted(ranges)


def _find_rising(found: Sequence[tuple[int, int]]) -> list[int]:
    """Return the lines of the longest series of numbers that rise by one or two, a page apart.

    Args:
        found: the indices of lines that are otherwise alike, each with the number in it.
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
    """Yield the line of each page number, with the lines beside it that recur beside another page number."""
    sides = [[_list_near(lines, at, step) for step in (-1, 1)] for at in pages]
    near = ({_normalize(lines[line]) for side in own for line in side} for own in sides)
    counts = Counter(chain.from_iterable(near))
    for at, own in zip(pages, sides, strict=True):
        edges = [at, at]
        for number, side in enumerate(own):
            for line in side:
                head = _normalize(lines[line])
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


def _normalize(line: str) -> str:
    return " ".join(line.split())


def _is_in_sentence(lines: Sequence[str], furniture: range) -> bool:
    """Return whether a sentence continues in lower case after a page number."""
    above = _list_near(lines, furniture.start, -1)[:1]
    below = _list_near(lines, furniture.stop - 1, 1)[:1]
    if not above or not below:
        return False
    left, right = lines[above[0]].strip(), lines[below[0]].strip()
    is_prose = len(left.split()) >= _FEWEST_WORDS and is_wordy(left) and is_wordy(right)
    return is_prose and left[-1] not in ".!?:;" and right[0].islower()
