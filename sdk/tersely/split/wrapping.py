"""Detection of line breaks that only wrap a paragraph.

Wrapped lines are nearly full: the next word would not fit. Dialogue, verses and addresses break earlier.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tersely.split.counted_titles import STOPS
from tersely.split.lines import TICKED, WORD, is_wordy, remove_prefix
from tersely.split.sentence_starts import is_abbreviation
from tersely.split.titles import SECTION

TERMINALS = (*STOPS, "?", "？", "؟")
LABEL = re.compile(r"[^\W\d_][\w-]*:(?:\s+|$)")
LED = re.compile(r"(?:(?![.!?…:;]\s)[^\n])*?(?<!\.)\.{3}\s+(?:[^\s.!?…,]+|[A-Z][A-Z ]*)$")
"""Dots at the end of a line that lead to a value, such as a status. Slow: look for the dots first."""
_NEXT_SENTENCE = re.compile(r"[^\W_]{2}[.!?] [^\W\d_a-z]")
_QUOTED_LINE = re.compile(r"\s*([\"']).*[.!?]\1")
"""A sentence in quotes, alone in its line."""
_NAMED_QUOTE = re.compile(r"\s*[\w.-]+ \"[^\"]*\"\s*")
_DIGITS = re.compile(r"\d+")
_FEWEST_PAIRS = 4
"""Smallest number of words of lines that can be alike."""
_WIDTHS = range(40, 131)
"""Line lengths at which people and editors wrap text; a longer line is a whole paragraph."""
_NEARLY_FULL = 0.75
_WRAPPED = 30
"""Smallest number of code points of a line with a sentence that may continue in the next line."""
_HANGING = re.compile(r"\s*(?:[-*+•:]|\S{1,4}[.)])\s")
"""The start of an item or a definition. Its other lines are indented."""
_COUNTED = re.compile(r"\s*\d{1,3}(?:\.\d{1,3})+[.)]?\s+")
"""The number before a clause. Its other lines may be indented like its text."""
_FIRST_WORD = re.compile(r"\s*([\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]{1,2}|\S+)")
_ADDRESS = re.compile(r"\]\(\S{24,}|\S{40,}")
"""The target of a link, or another word that is too long to be wrapped."""
_UNFINISHED = re.compile(r"\b(?:an?|the|of|to|and|or|in|on|for|with|by|from|that|which)$")
"""A word that ends no sentence."""
_LARGEST_INDENT = 8
"""Largest indent of the first line of a paragraph."""


def measure_width(line: str) -> int:
    """Return the length of a line without its addresses, which may have been added after it was wrapped."""
    return len(_ADDRESS.sub("", line).rstrip())


def is_wrapped(left: str, right: str, width: int, *, is_inside: bool = False) -> bool:
    """Return whether the break between two lines only wraps a paragraph that is `width` characters wide.

    `is_inside` is true if the paragraph began above these lines.
    """
    left = remove_prefix(left.rstrip())
    if not is_wordy(left):
        return False
    right = remove_prefix(right.rstrip())
    if (
        SECTION.match(left)
        or _are_alike(left, right)
        or any(map(TICKED.match, (left.lstrip(), right.lstrip())))
        or ("..." in left and LED.match(left) and LED.match(right))
        or (are_pairs(left.split()) and not left.endswith(","))
        or (_NAMED_QUOTE.fullmatch(left) and _NAMED_QUOTE.fullmatch(right))
    ):
        return False
    word = _FIRST_WORD.match(right)
    # The last line of a paragraph may be a date or a number alone.
    is_rest = width in _WIDTHS and right.rstrip().endswith(STOPS) and len(right.split()) == 1
    if not (is_rest or is_wordy(right)) or _is_indented(left, right):
        return False
    if is_rest and not left.endswith(TERMINALS) and len(left) >= width * _NEARLY_FULL:
        return True
    if _QUOTED_LINE.fullmatch(left):
        return False
    if word is None or word[1][0].islower():
        ends = left.endswith(TERMINALS) and not is_abbreviation(left.split()[-1], right)
        is_inside &= left.lstrip()[:1].islower() and not left.endswith((";", ":"))
        return not ends and (is_inside or len(left) >= min(_WRAPPED, width // 2))
    if left.endswith((",", "-", "，", "、")) or _UNFINISHED.search(left):
        return True
    if width not in _WIDTHS or left.endswith(":"):
        return False
    return len(left) >= width * _NEARLY_FULL or len(left) + 1 + len(word[1]) > width


def _is_indented(left: str, right: str) -> bool:
    """Return whether a line is indented more than the one above, unless that is an item, or much less."""
    indent = len(right) - len(right.lstrip())
    more = indent - len(left) + len(left.lstrip())
    if (number := _COUNTED.match(left)) and number.end() == indent:
        return False
    is_label = more < 0 and not left[-1:].isalnum() and LABEL.match(right.lstrip()) is not None
    return more < -_LARGEST_INDENT or is_label or (more > 0 and not _HANGING.match(left))


def _are_alike(left: str, right: str) -> bool:
    """Return whether two lines are records: apart from numbers, they have the same words in most places.

    Half of the places are enough if the lines begin alike, and are equally long or share a sign such as `->`.
    One place is enough if both lines begin with a field such as `id=7`. Lines are not records if a sentence
    begins inside the first and continues in the second.
    """
    words = [_DIGITS.sub("0", line).split() for line in (left, right)]
    same = [one for one, other in zip(*words, strict=False) if one == other]
    is_form = words[0][:1] == same[:1] and (len({*map(len, words)}) == 1 or not all(map(WORD.match, same)))
    size = min(map(len, words))
    if same and same[:1] == words[0][:1] and "=" in same[0]:
        return True
    goes_on = right.lstrip()[:1].islower() and _NEXT_SENTENCE.search(left) and not left.endswith(TERMINALS)
    return size >= _FEWEST_PAIRS and len(same) * 2 >= size + (not is_form) and not goes_on


def are_pairs(words: Sequence[str]) -> bool:
    """Return whether at least every fourth word is a name with a colon, as in `id: ID! total: Int!`."""
    names = sum(word.endswith(":") for word in words)
    return names * 4 >= len(words) and (names > 1 or len(words) == 2)
