"""Divisions of statutes and books: lines such as `PART II - FEES`, `Article 5` or `§ 7a Records`."""

from __future__ import annotations

import re
from typing import NamedTuple

from tersely.split.lines import Lines, is_wordy

_OUTER = (
    "book|part|(?:sub)?title|(?:sub)?division|(?:sub)?chapter|schedule|annex|appendix|exhibit"
    "|buch|teil|(?:unter)?abschnitt|kapitel|titel|anlage|livre|titre|chapitre|partie"
    "|libro|título|capítulo|parte|boek|hoofdstuk|afdeling"
)
_INNER = "article|artikel|artículo|articolo|art|sections?|sec|sect|sección|rule|regulation|clause"
"""Words for the smallest divisions, which may be the first ones of an excerpt."""
_NUMBER = (
    r"(?:\d{1,5}[A-Za-z]{0,2}(?:[.:-]\d{1,5}[A-Za-z]?)*(?:-[A-Z](?::\d{1,5})?)?|[A-Z]\d{1,4}(?:-\d{1,4})*"
    r"|[IVXLC]{1,8}|[A-Z])"
)
_DIVISION = re.compile(
    rf"\s*(?:(?P<sign>§§?)\s*|(?P<word>(?i:{_OUTER}|{_INNER}))\b\.?\s+)(?P<number>{_NUMBER})(?!\w)"
    r"(?P<gap>[.:)]*\s*[-–—:]*)\s*(?P<title>\S.*)?$"
)
_NUMBER_ALONE = re.compile(r"\s*\d{1,3}(?:(?:\.\d{1,3}){2,4}\.?|(?:\.\d{1,3})?\.)\s*")
_IS_INNER = re.compile(_INNER, re.IGNORECASE)
_CAPITALIZED = re.compile(
    r"(?:[\"'“‘(]*[A-ZÄÖÜÉ][\w'’-]*|and|or|of|the|to|for|in|on|by|with|an?|from)[,;)\"'”’]*"
)
_STOPS, _OPENING = (".", "!", "?", ":", ";", ","), "\"'“‘([„«"
NUMBER = "#"
_LONGEST, _MOST_WORDS, _SHORT = 160, 16, 90


class Division(NamedTuple):
    """The number of a division, and its title."""

    word: str
    """The word before the number in small letters, or `§`, or `NUMBER` without one."""
    title: str
    """Empty if the line has only the number."""

    @property
    def is_inner(self) -> bool:
        """Whether it is one of the smallest divisions, such as a section or an article."""
        return self.word == "§" or _IS_INNER.fullmatch(self.word) is not None


def read_division(line: str) -> Division | None:
    """Return the division that a line names, without regard to the lines around it; None if it names none."""
    if _NUMBER_ALONE.fullmatch(line):
        return Division(NUMBER, "")
    found = _DIVISION.match(line)
    if found is None or len(line.strip()) > _LONGEST:
        return None
    title, gap = (found["title"] or "").rstrip(), found["gap"].strip()
    division = Division("§" if found["sign"] else found["word"].lower(), title)
    if not title:
        return division
    words = title.split()
    if not (title[0].isupper() or title[0] in _OPENING) or len(words) > _MOST_WORDS or "  " in title:
        return None
    if not is_wordy(title) or title.endswith(_STOPS[1:]) or (not gap and title.endswith("...")):
        return None
    if title.endswith("."):
        # A sentence may follow the number of a short section, and so may a title with a full stop.
        is_capitalized = all(map(_CAPITALIZED.fullmatch, title[:-1].split()))
        return division if gap and (gap[-1] in "-–—" or is_capitalized) else None
    return division


def begins_division(lines: Lines, index: int) -> bool:
    """Return whether a line begins a division: above it, no sentence goes on, and below it, there is text.

    In a table of contents, another line with the same word is right below.
    """
    division = read_division(lines.texts[index])
    if division is None or (division.word == NUMBER and not names_division(lines, index + 1)):
        return False
    above = lines.texts[index - 1].rstrip() if index else ""
    is_division = read_division(above) or names_division(lines, index - 1)
    if above and not above.endswith(_STOPS) and not is_division:
        return False
    below = lines.skip_blank(index + 1)
    if below == len(lines):
        return False
    next_one = read_division(lines.texts[below])
    return next_one is None or next_one.word != division.word


def names_division(lines: Lines, index: int) -> bool:
    """Return whether a line is the title of the division whose number is alone in the line above it."""
    if not 0 < index < len(lines) or (above := read_division(lines.texts[index - 1])) is None or above.title:
        return False
    line = lines.texts[index].strip()
    if not line or len(line) > _SHORT or not (line[0].isupper() or line[0] in _OPENING):
        return False
    ends = line.endswith(_STOPS) and not line.endswith((". –", ". —"))
    below = lines.texts[index + 1].lstrip()[:1] if index + 1 < len(lines) else ""
    return not ends and is_wordy(line) and not below.islower() and read_division(line) is None


def is_second_line(line: str, above: str) -> bool:
    """Return whether the heading `above` is a number alone, whose title is the heading in `line`."""
    division = read_division(above)
    return division is not None and not division.title and read_division(line) is None
