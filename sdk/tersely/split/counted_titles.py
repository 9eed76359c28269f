"""Titles with numbers: `2.1 Ropes`, and series such as `Part A`, `Part B`.

Also divisions of statutes and books: lines such as `PART II - FEES`, `Article 5` or `§ 7a Records`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from tersely.split.dates import DATE
from tersely.split.lines import Block, Lines, is_wordy, starts_run
from tersely.split.markers import CLAUSE

SERIES = re.compile(r"(?P<word>§+|[A-Z][^\W\d_]+)\s+(?P<number>\d{1,3}|[A-Z]|[IVX]{1,5})(?=[:.,)\s–—-]|$)")
"""The start of a title such as `Part A: Cranes` or `§ 3 Ropes`."""
STOPS = tuple(".!:…。！：।။។")
NUMBERED_TITLE = re.compile(
    r"(?:\d{1,2}(?:\.\d{1,2}){0,3}|[A-Z](?:\.\d{1,2}){1,3})\.?\s+(?P<title>[A-Z][^.!?;:]*(?:[^\W_]|(?<=\w)\?))"
)
_ITEM = re.compile(r"\s*(\d{1,4})[A-Z]?\.\s")
LONGEST_TITLE, SHORT_TITLE, LONGEST_QUESTION = 80, 60, 120
"""Largest sizes in code points: any title, a title right above a paragraph, and a numbered question."""
_OUTER = (
    "book|part|(?:sub)?title|(?:sub)?division|(?:sub)?chapter|schedule|annex|appendix|exhibit"
    "|buch|teil|(?:unter)?abschnitt|kapitel|titel|anlage|livre|titre|chapitre|partie"
    "|libro|título|capítulo|parte|boek|hoofdstuk|afdeling"
)
_INNER = "article|artikel|artículo|articolo|art|sections?|sec|sect|sección|rule|regulation|clause"
"""Words for the smallest divisions, which may be the first ones of an excerpt."""
_DIVISION_NUMBER = (
    r"(?:\d{1,5}[A-Za-z]{0,2}(?:[.:-]\d{1,5}[A-Za-z]?)*(?:-[A-Z](?::\d{1,5})?)?|[A-Z]\d{1,4}(?:-\d{1,4})*"
    r"|[IVXLC]{1,8}|[A-Z])"
)
_DIVISION = re.compile(
    rf"\s*(?:(?P<sign>§§?)\s*|(?P<word>(?i:{_OUTER}|{_INNER}))\b\.?\s+)(?P<number>{_DIVISION_NUMBER})(?!\w)"
    r"(?P<gap>[.:)]*\s*[-–—:]*)\s*(?P<title>\S.*)?$"
)
_NUMBER_ALONE = re.compile(r"\s*\d{1,3}(?:(?:\.\d{1,3}){2,4}\.?|(?:\.\d{1,3})?\.)\s*")
_IS_INNER = re.compile(_INNER, re.IGNORECASE)
_CAPITALIZED = re.compile(
    r"(?:[\"'“‘(]*[A-ZÄÖÜÉ][\w'’-]*|and|or|of|the|to|for|in|on|by|with|an?|from)[,;)\"'”’]*"
)
_ENDS, _OPENING = (".", "!", "?", ":", ";", ","), "\"'“‘([„«"
NUMBER = "#"
"""Used as the word of a division that has only a number."""
_LONGEST_DIVISION, _MOST_WORDS, _SHORT_TITLE = 160, 16, 90


def find_series(lines: Lines, blocks: Sequence[Block], titles: set[int]) -> Iterator[Sequence[int]]:
    """Yield the indices of each series of counted titles, such as `Part A` and `Part B`, and of dates.

    The first line, and every date and item, begins a run or is right below a heading or one of `titles`.
    Items such as `1. Expenses` are alone in their runs. Each number is one higher than the last. Below each
    line is a block that is not in the series.
    """
    found: dict[str, list[int]] = defaultdict(list)
    numbers: dict[int, str] = {}
    for at, block in enumerate(blocks):
        line = block.line.strip()
        if block.kind not in ("line", "heading", "list_item") or not may_be_title(line):
            continue
        counted = SERIES.match(line)
        word, number = (counted["word"].casefold(), counted["number"]) if counted else ("", "")
        is_title = block.kind == "list_item" and is_numbered_title(lines, block.first)
        is_below = at - 1 in titles or (at > 0 and blocks[at - 1].kind == "heading")
        if not (is_title or is_below or starts_run(blocks, at)):
            last = found.get(word, [])[-1:] if block.kind == "line" else []
            word = word if last and _are_counted([numbers[last[0]], number]) else ""
        elif block.kind == "list_item":
            below = blocks[at + 1] if at + 1 < len(blocks) else None
            is_alone = block.is_one_line and below is not None and below.run != block.run
            is_alone |= is_title and below is not None and below.kind == "sentence"
            item = CLAUSE.match(line)
            number = item["number"] if item else ""
            word = "item" if is_alone and number.isdigit() else ""
        elif DATE.fullmatch(line):
            word = "date"
        if word:
            found[word].append(at)
            numbers[at] = number
    for word, series in found.items():
        own = [numbers[at] for at in series] if word != "date" else []
        below = {at + 1 for at in series}
        have_bodies = below.isdisjoint(series) and series[-1] + 1 < len(blocks)
        if len(series) > 1 and _are_counted(own) and have_bodies:
            yield series


def is_numbered_title(lines: Lines, index: int) -> bool:
    """Return whether a line is a title with a number, below the end of a sentence or a blank line, and above
    something else."""
    line = lines.texts[index].strip()
    numbered = NUMBERED_TITLE.fullmatch(line)
    if numbered is None or len(line) > (LONGEST_QUESTION if line[-1] == "?" else SHORT_TITLE):
        return False
    if not index:
        return "." in line[: numbered.start("title")].rstrip(" .")
    above, below = lines.texts[index - 1], lines.texts[index + 1 : index + 2]
    is_below_end = not above.strip() or above.rstrip("\"'”’)]*_ ").endswith(STOPS)
    if not is_below_end or not below or NUMBERED_TITLE.fullmatch(below[0].strip()):
        return False
    return not below[0].lstrip()[:1].islower()


def may_be_title(line: str) -> bool:
    return len(line) <= LONGEST_TITLE and line[-1] not in ".,;"


def _are_counted(numbers: Sequence[str]) -> bool:
    """Return whether each number or letter is one higher than the last."""
    readings = [map(_read_number, numbers)]
    if all(len(number) == 1 for number in numbers):
        readings.append(map(ord, numbers))  # I, V and X may be letters too
    return any(all(number == last + 1 for last, number in pairwise(values)) for values in readings)


def _read_number(number: str) -> int:
    """Return the value of a number or of a Roman numeral; 0 for any other letter."""
    if number.isdigit():
        return int(number)
    digits = [{"I": 1, "V": 5, "X": 10}.get(digit, 0) for digit in number]
    return sum(-one if one < next_one else one for one, next_one in pairwise([*digits, 0]))


def find_marginal(blocks: Sequence[Block]) -> set[int]:
    """Return the indices of the titles right above numbered sections, as some statutes print them.

    Each begins a run. The numbers rise from title to title: those of lists begin again.
    """
    found: dict[int, int] = {}
    for at, (block, below) in enumerate(pairwise(blocks)):
        item = _ITEM.match(below.line)
        if below.kind != "list_item" or not item or block.kind not in ("line", "sentence", "heading"):
            continue
        line = block.line.strip()
        is_title = line[0].isupper() and len(line) <= LONGEST_TITLE and line[-1] not in ":;,?!"
        if is_title and starts_run(blocks, at) and block.run == below.run and block.is_one_line:
            found[at] = int(item[1])
    rises = all(number < larger for number, larger in pairwise(found.values()))
    return {*found} if rises and len(found) > 1 else set()


class Division(NamedTuple):
    """The number of a division, and its title."""

    word: str
    """The word before the number in small letters, or `§`, or `NUMBER` without one."""
    title: str
    """Empty if the line has only the number."""

    @property
    def is_inner(self) -> bool:
        """True for the smallest divisions, such as a section or an article."""
        return self.word == "§" or _IS_INNER.fullmatch(self.word) is not None


def read_division(line: str) -> Division | None:
    """Return the division that a line names, without regard to the lines around it; None if it names none."""
    if _NUMBER_ALONE.fullmatch(line):
        return Division(NUMBER, "")
    found = _DIVISION.match(line)
    if found is None or len(line.strip()) > _LONGEST_DIVISION:
        return None
    title, gap = (found["title"] or "").rstrip(), found["gap"].strip()
    division = Division("§" if found["sign"] else found["word"].lower(), title)
    if not title:
        return division
    words = title.split()
    if not (title[0].isupper() or title[0] in _OPENING) or len(words) > _MOST_WORDS or "  " in title:
        return None
    if not is_wordy(title) or title.endswith(_ENDS[1:]) or (not gap and title.endswith("...")):
        return None
    if title.endswith("."):
        # A sentence may follow the number of a short section, and so may a title with a full stop.
        is_capitalized = all(map(_CAPITALIZED.fullmatch, title[:-1].split()))
        return division if gap and (gap[-1] in "-–—" or is_capitalized) else None
    return division


def is_division(lines: Lines, index: int) -> bool:
    """Return whether a line begins a division such as `Article 5`, or is the title right below it."""
    return _begins_division(lines, index) or _names_division(lines, index)


def _begins_division(lines: Lines, index: int) -> bool:
    """Return whether a line begins a division: no sentence above continues into it, and text follows it.

    A line of a table of contents does not: a line with the same word is right below it.
    """
    division = read_division(lines.texts[index])
    if division is None or (division.word == NUMBER and not _names_division(lines, index + 1)):
        return False
    above = lines.texts[index - 1].rstrip() if index else ""
    is_division = read_division(above) or _names_division(lines, index - 1)
    if above and not above.endswith(_ENDS) and not is_division:
        return False
    below = lines.skip_blank(index + 1)
    if below == len(lines):
        return False
    next_one = read_division(lines.texts[below])
    return next_one is None or next_one.word != division.word


def _names_division(lines: Lines, index: int) -> bool:
    """Return whether a line is the title of a division that has its number alone in the line above."""
    if not 0 < index < len(lines) or (above := read_division(lines.texts[index - 1])) is None or above.title:
        return False
    line = lines.texts[index].strip()
    if not line or len(line) > _SHORT_TITLE or not (line[0].isupper() or line[0] in _OPENING):
        return False
    ends = line.endswith(_ENDS) and not line.endswith((". –", ". —"))
    below = lines.texts[index + 1].lstrip()[:1] if index + 1 < len(lines) else ""
    return not ends and is_wordy(line) and not below.islower() and read_division(line) is None


def is_second_line(line: str, above: str) -> bool:
    """Return whether the heading `above` is only a number, and the heading in `line` is its title."""
    division = read_division(above)
    return division is not None and not division.title and read_division(line) is None
