"""Page breaks in the text of a document, with the numbers and the running heads around them.

A form feed starts each page, or numbers of pages rise in lines of one form. The footer of a page and the
running head of the next belong to no text, but stand in the middle of a sentence if it goes on in the next
page.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from tersely.split.html import blank
from tersely.split.page_numbers import find_joined_pages
from tersely.units import Unit

_NUMBER = re.compile(
    r"[^\w\n]*(?:page\s+)?(?:\d{1,4}|[ivxl]{1,6})(?:\s*(?:of|/)\s*\d{1,4})?[^\w\n]*", re.IGNORECASE
)
_FOOTER = re.compile(r".*\[Page [\divxl]+\]\s*")
"""A number that stands alone, and the last line of a page of an RFC."""
_BLANK = re.compile(r"\n[^\S\n]*\n")
_LINE_BREAK = re.compile("\n")
_DIGITS = re.compile(r"\d+")
_NARROW, _NEARLY_FULL = 36, 0.75
"""Fewest code points of a line after which a sentence goes on with a capital: alone, and as a share of the
lines above it."""
_SAMPLE = 600
"""Code points on each side of a page break that are looked at."""
_MOST_BLANK = 12
"""Most blank lines between the text and the footer, or between the running head and the text."""


class PageBreak(NamedTuple):
    """What stands between the texts of two pages: `text[start:end]`."""

    start: int
    end: int
    is_inside: bool
    """Whether a sentence goes on in the next page."""


def _goes_on(text: str, start: int, end: int) -> bool:
    """Return whether a sentence goes on after the page break `text[start:end]`."""
    *above, left = [line.rstrip() for line in text[max(0, start - _SAMPLE) : start].split("\n")[-4:]]
    right = text[end : end + _SAMPLE].lstrip()[:1]
    if not left or not right or left.endswith((".", "!", "?")):
        return False
    if right.islower():
        return True
    is_full = len(left) >= _NARROW and len(left) >= _NEARLY_FULL * max(map(len, above), default=0)
    return is_full and not left.endswith((":", ";"))


def remove_breaks(text: str, breaks: Sequence[PageBreak]) -> str:
    """Return `text` with spaces for the page breaks. A single line break stays of one inside a sentence."""
    text = blank(text, [(start, end) for start, end, _ in breaks])
    return blank(text, [(start, end - 1) for start, end, is_inside in breaks if is_inside], _LINE_BREAK)


def find_page_breaks(text: str) -> list[PageBreak]:
    """Return the page breaks of a text, in order, in time linear in its length."""
    if "\f" in text:
        return _find_at_feeds(text)
    joined = find_joined_pages(text)
    return [PageBreak(start, end, _goes_on(text, len(text[:start].rstrip()), end)) for start, end in joined]


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
        breaks.append(PageBreak(start, end, _goes_on(text, start, end)))
    end = len(text.rstrip())
    start = _find_footer(text, end, breaks[-1].end if breaks else 0)
    return [*breaks, PageBreak(start, end, False)] if start < end else breaks


def tie_halves(units: list[Unit], breaks: Sequence[PageBreak]) -> None:
    """Make the two halves of a sentence with a page break inside need each other."""
    for start, _, is_inside in breaks:
        at = bisect_left(units, start, key=lambda unit: unit.start)
        if is_inside and 0 < at < len(units) and units[at - 1].end <= start:
            units[at - 1], units[at] = units[at - 1].add_need(at), units[at].add_need(at - 1)


def _read_head(text: str, feed: int) -> tuple[str, int]:
    """Return the first line of the page, without its numbers, and where it ends."""
    start = _skip_blank(text, feed + 1)
    start = text.rfind("\n", feed, start) + 1 or feed + 1
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    return _DIGITS.sub("0", " ".join(text[start:end].split())), end


def _skip_blank(text: str, at: int) -> int:
    """Return the start of the first line from `at` on that is not blank, or `at` if it is too far."""
    start = at
    for _ in range(_MOST_BLANK):
        end = text.find("\n", start)
        if end < 0 or text[start:end].strip():
            break
        start = end + 1
    return start


def _find_footer(text: str, feed: int, first: int) -> int:
    """Return where the text of a page ends: before its number, if one stands above the form feed."""
    end = first + len(text[first:feed].rstrip())
    start = text.rfind("\n", first, end) + 1
    if start > first and (_NUMBER.fullmatch(text, start, end) or _FOOTER.fullmatch(text, start, end)):
        return first + len(text[first:start].rstrip())
    return end
