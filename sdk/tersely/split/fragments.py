"""Sentences in fragments: texts of web pages with line breaks around links and words in italics."""

from __future__ import annotations

import re
from collections.abc import Sequence

_PUNCTUATION = re.compile(r"\s*[,.;](?:\s+\w|\s*$)")
"""A line that continues a sentence after a link or a word in italics."""
_FEWEST, _SHARE = 3, 0.025
"""Smallest number of such lines in a text of fragments, and their smallest share of all lines."""
_OPEN = re.compile(
    r"(?:\b(?:an?|the|of|to|and|or|in|on|for|with|by|from|that|which|is|are|as|at|see)|[,(\[“‘\"'/~])\s*$"
)
_BEGINS = re.compile(
    r"\s*+(?:\S++\s++)*?(?:[a-z]|(?:The|An?|See|Like|In|If|Use|With|For|To|By|When|This|Both|Each|As|On)\s*$)"
)
"""A line with a word in small letters, or with the first word of a sentence."""
_INDENTED = re.compile(r" [a-z(]")
"""A line that continues a sentence after a link."""
_CLOSING = frozenset(")]”’'\"")
_CLOSED = (".", "!", "?", ":")
_GOES_ON = ",.;:)]!?%”’/"


def are_fragments(texts: Sequence[str]) -> bool:
    """Return whether many lines of a text begin with punctuation that belongs to the line above."""
    begin = [at for at in range(1, len(texts)) if texts[at].lstrip()[:1] in {",", ".", ";"}]
    begin = [at for at in begin if (last := texts[at - 1].rstrip()[-1:]).isalnum() or last in _CLOSING]
    count = sum(_PUNCTUATION.match(texts[at]) is not None for at in begin)
    return count >= _FEWEST and count >= _SHARE * sum(not text.isspace() for text in texts if text)


def join_fragments(text: str) -> str:
    """Return the text without blank lines inside sentences. Offsets stay the same."""
    lines = text.split("\n")
    if not are_fragments(lines):
        return text
    ends = [" " if _is_inside(lines, at) else "\n" for at in range(len(lines))]
    return "".join(line + end for line, end in zip(lines, ends, strict=True))[:-1]


def _is_inside(lines: Sequence[str], at: int) -> bool:
    """Return whether the blank line below a line is inside a sentence."""
    if at + 2 >= len(lines) or not lines[at].strip() or lines[at + 1].strip() or not lines[at + 2].strip():
        return False
    return lines[at + 2].lstrip()[0] in ",.;)" or _OPEN.search(lines[at]) is not None


def is_fragment(left: str, right: str, below: str = "") -> bool:
    """Return whether a sentence continues across the line break between two lines of a text in fragments.

    `below` is the line below them. If a sentence continues there, `right` is a link or a name inside it.
    """
    goes_on = _PUNCTUATION.match(below) or _INDENTED.match(below)
    if goes_on and not left.rstrip().endswith(_CLOSED) and _BEGINS.match(left):
        return True
    left, right = left.strip(), right.strip()
    if not left or not right:
        return False
    if right[0] in _GOES_ON or _OPEN.search(left):
        return True
    return not left.endswith(_CLOSED) and (right[0].islower() or right[0] in "(“‘")
