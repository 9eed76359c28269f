"""Page breaks in the text of a document, with the numbers and the running heads around them.

A form feed starts each page. The footer above it and the running head below it belong to no text, but stand
in the middle of a sentence if it goes on in the next page.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from tersely.units import Unit

_NUMBER = re.compile(
    r"[^\w\n]*(?:page\s+)?(?:\d{1,4}|[ivxl]{1,6})(?:\s*(?:of|/)\s*\d{1,4})?[^\w\n]*", re.IGNORECASE
)
_FOOTER = re.compile(r".*\[Page [\divxl]+\]\s*")
"""A number that stands alone, and the last line of a page of an RFC."""
_INK = re.compile(r"\S")
_DIGITS = re.compile(r"\d+")
_ENDS = (".", "!", "?", ":", ";")
_LONG = 55
"""Fewest code points of a full line. A sentence without an end goes on after it."""
_MOST_BLANK = 12
"""Most blank lines between the text and the footer, or between the running head and the text."""


class PageBreak(NamedTuple):
    """What stands between the texts of two pages: `text[start:end]`."""

    start: int
    end: int
    is_inside: bool
    """Whether a sentence goes on in the next page."""


def remove_breaks(text: str, breaks: Sequence[PageBreak]) -> str:
    """Return `text` with spaces for the page breaks. A single line break stays of one inside a sentence."""
    parts: list[str] = []
    done = 0
    for start, end, is_inside in breaks:
        space = _INK.sub(" ", text[start:end])
        if is_inside:
            space = space[:-1].replace("\n", " ") + space[-1:]
        parts += [text[done:start], space]
        done = end
    return "".join([*parts, text[done:]])


def find_page_breaks(text: str) -> list[PageBreak]:
    """Return the page breaks of a text, in order. The text has `\\f` at the start of each page.

    Takes time linear in the length of the text.
    """
    feeds = [found.start() for found in re.finditer("\f", text)]
    heads = Counter(_read_head(text, feed)[0] for feed in feeds)
    breaks: list[PageBreak] = []
    for feed in feeds:
        head, end = _read_head(text, feed)
        if not head or heads[head] < 2:
            end = feed + 1
        end = _skip_blank(text, end)
        start = _find_footer(text, feed, breaks[-1].end if breaks else 0)
        left, right = text[text.rfind("\n", 0, start) + 1 : start].rstrip(), text[end : end + _LONG].lstrip()
        goes_on = right[:1].islower() or len(left) >= _LONG
        breaks.append(PageBreak(start, end, bool(left) and not left.endswith(_ENDS) and goes_on))
    return breaks


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
