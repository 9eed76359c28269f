"""Find headings: marked with hashes, underlined, between two rules, or titles on a line of their own."""

from __future__ import annotations

import re

from tersely.split.lines import LONGEST_ITEM, Lines
from tersely.split.wrapping import TERMINALS

_LONGEST_UNDERLINED = 200
_LONGEST_TITLE = 80
_MOST_TITLE_WORDS = 12

_HASHES = re.compile(r" {0,3}#{1,6}(?:\s+\S|\s*$)")
_COMMENT = re.compile(r"\s*#\s")
_RULE = re.compile(r"\s*(?:={2,}|-{2,}|~{3,}|\^{3,})\s*$")


def find_heading_end(lines: Lines, index: int, *, starts_paragraph: bool) -> int | None:
    """Index after the heading that starts at `index`, or None if none starts there."""
    line = lines.texts[index]
    if _HASHES.match(line) and len(line) < LONGEST_ITEM:
        neighbours = lines.texts[max(index - 1, 0) : index] + lines.texts[index + 1 : index + 2]
        is_comment = _COMMENT.match(line) and any(_COMMENT.match(other) for other in neighbours)
        return None if is_comment else index + 1
    if not starts_paragraph or len(line) > _LONGEST_UNDERLINED:
        return None
    following = lines.texts[index + 1 : index + 3]
    if _RULE.match(line):  # a title between two rules
        is_framed = len(following) == 2 and following[0].strip() and following[1].rstrip() == line.rstrip()
        return index + 3 if is_framed else None
    is_underlined = following and _RULE.match(following[0]) and len(following[0].strip()) >= 2
    return index + 2 if is_underlined else None


def is_title(lines: Lines, index: int) -> bool:
    """Whether a line is a title: short, between blank lines, and without the end of a sentence."""
    line = lines.texts[index].strip()
    if (
        len(line) > _LONGEST_TITLE
        or line[:1].islower()
        or line.rstrip("\"'”’)]*_").endswith((*TERMINALS, ",", ";"))
    ):
        return False
    is_alone = (
        (index == 0 or lines.is_blank(index - 1)) and index + 1 < len(lines) and lines.is_blank(index + 1)
    )
    return is_alone and any(letter.isalpha() for letter in line) and len(line.split()) <= _MOST_TITLE_WORDS
