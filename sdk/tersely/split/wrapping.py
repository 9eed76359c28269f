"""Tell a line break that only wraps a paragraph from one that separates.

Wrapped lines are nearly full: the next word would not fit. Dialogue, verses and addresses break earlier, and
each of their lines is a unit of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

QUOTE = re.compile(r"\s{0,3}(?:>\s?)+")
"""The marker in front of a line of a block quote."""

SPEAKER = re.compile(
    r"""\s*(?:
      (?:[\[(]?\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?[\])]?\s+)              # a time, alone or before the name
    | (?:[\[(]?\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?[\])]?\s*)?
      [*_]{0,2}[^\W\d_a-zß-öø-ÿа-я][^:.!?,;(]{0,30}(?:\([^)]{0,30}\)\s*)?[*_]{0,2}[:：](?:[\s*_]|$)
    )""",
    re.VERBOSE,
)
"""The start of a line of dialogue: a time, a name and a colon, or both."""

TERMINALS = tuple(".!?:…。！？：؟।။")

_WIDTHS = range(40, 131)
"""Line lengths at which people and editors wrap text; a longer line is a whole paragraph."""
_NEARLY_FULL = 0.75
_FIRST_WORD = re.compile(r"\s*([\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]{1,2}|\S+)")


def measure_width(lines: Sequence[str]) -> int:
    """Length of the longest line, without trailing whitespace."""
    return max(len(line.rstrip()) for line in lines)


def is_wrapped(left: str, right: str, width: int) -> bool:
    """Whether the break between two lines only wraps a paragraph that is `width` characters wide."""
    left = left.rstrip()
    word = _FIRST_WORD.match(QUOTE.sub("", right, count=1))
    if word is None or word[1][0].islower():
        return not left.endswith(TERMINALS)
    if left.endswith((",", "-", "，", "、")):
        return True
    if width not in _WIDTHS:
        return False
    return len(left) >= width * _NEARLY_FULL or len(left) + 1 + len(word[1]) > width
