"""Names of columns: which row names the columns of the rows below it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from tersely.split.lines import LONGEST_LINE, Range
from tersely.split.rows import VALUE

GAP = re.compile(r"(?<=\S)(?: (?=[ \t])|\t)[ \t]*+(?=\S)")
"""Two blanks, or a tab with any blanks around it, between two words."""
_LONGEST_NAMES = 120
_WORD = re.compile(r"\S+")
_FIELD_NAME = re.compile(r"\s*[A-Z]{3,}\s{2}")
"""A word in capitals before a gap. Unless all words are in capitals, it names the field of its line."""
_NUMBER = re.compile(r"\d{5}")
"""Five digits in a row: too long for a year, so the word is a value."""
_NUMBERED = re.compile(r"[^\W\d_]+ (?i:no|nr|number|id)\.?(?: {2,}|\t+)\d+(?:\s+\d+)*\s*")
"""A row such as `Train no.  2849  3106`, which numbers the columns."""
_WITH_UNIT = re.compile(r"\b\d+ [^\W\d_]+ (?:\[[^\]\s]*\]|\([^)\s]*\))")
"""A name of a column with a number and a unit, such as `8 h [mg/m3]`."""
_UNIT = re.compile(r"%|[^\W\d_]{1,6}/[^\W\d_]{1,6}|[^\W\d_]{1,3}")
"""A unit between two values, such as `mmol/L`."""
_COUNTED = re.compile(r"(?P<number>\d{1,3})(?P<word>[^\w\s]?[^\W\d]+)")
_TIME = re.compile(r"\d+:\d\d:\d\d")
_RANGE = re.compile(r"\d[\d.,]*\s?[-–]\s?\d[\d.,]*|[<>≤≥]=?\s?\d[\d.,]*|\d[\d.,]*\+")
"""A name such as `51-500` or `>500`: the values in its column apply to this range."""


def find_words(line: str) -> list[Range]:
    """Return the start and the end of each word of a line. A tab counts as several columns."""
    return [word.span() for word in _WORD.finditer(line[:LONGEST_LINE].expandtabs())]


def _split_cells(line: str) -> list[str]:
    return GAP.split(line[:LONGEST_LINE].strip())


def are_names(first: str, below: Sequence[str]) -> bool:
    """Return whether a row has the names of columns.

    Only ranges, numbered names and names with units may have numbers. Either the row has no small letters,
    or each row in `below` has a value.
    """
    words = first.split()
    gaps = len(GAP.findall(first[:LONGEST_LINE]))
    if len(words) < 2 or not gaps:
        return False
    if (gaps == 1 and words[0].endswith(":")) or not {"=", ":"}.isdisjoint(words):
        return False  # a field is not a row
    if below and _TIME.match(words[0]) and _TIME.match(below[0].lstrip()):
        words = words[1:]  # both rows begin with a time
    if _NUMBERED.fullmatch(first):
        return bool(below) and not any(map(_NUMBERED.fullmatch, below))
    words = _WITH_UNIT.sub("", " ".join(words)).split()
    is_value = any("@" in word or VALUE.fullmatch(word) or _NUMBER.search(word) for word in words)
    if is_value and not (_are_numbered(first) or _are_ranges(first, below)):
        return False
    if not any(map(str.islower, first)):
        return True
    if _FIELD_NAME.match(first) and any(map(_FIELD_NAME.match, below)):
        return False
    return all(any(map(VALUE.fullmatch, row.split())) for row in below)


def names_values(first: str, below: Sequence[str]) -> bool:
    """Return whether a row names all columns but the first, which has labels, as in the output of R.

    If the row has values, such as years, no cell below may be empty. A name such as `9 May` does not count
    as a value.
    """
    names = find_words(first)
    fewest = 2 if not has_value(first) or has_worded_cells(first) else len(names)
    return len(names) > 1 < len(below) and all(has_values(names, row, fewest) for row in below)


def has_worded_cells(line: str) -> bool:
    """Return whether gaps divide a line into at least two cells, each of which has a letter."""
    cells = _split_cells(line)
    return len(cells) > 1 and all(any(map(str.isalpha, cell)) for cell in cells)


def has_value(line: str) -> bool:
    return any(map(VALUE.fullmatch, line.split()))


def has_values(names: Sequence[Range], row: str, fewest: int = 1) -> bool:
    """Return whether a row has values after its label, and each of them begins or ends where a name does."""
    words = find_words(row)
    texts = row[:LONGEST_LINE].split()
    values = [word for word, text in zip(words[1:], texts[1:], strict=True) if VALUE.fullmatch(text)]
    return len(values) >= fewest and words[0][0] < names[0][0] and all(are_aligned(values, names))


def are_aligned(cells: Sequence[Range], others: Sequence[Range]) -> list[bool]:
    """Return for each cell whether it starts or ends at the same column as one of `others`."""
    starts, ends = {start for start, _ in others}, {end for _, end in others}
    return [start in starts or end in ends for start, end in cells]


def _are_numbered(line: str) -> bool:
    """Return whether all cells with a number are one word and different numbers, such as `Crane 1`, or count
    from 1 on, such as `1.Rd`."""
    cells = [cell.split() for cell in _split_cells(line)]
    numbered = [cell for cell in cells if any(map(VALUE.fullmatch, cell))]
    counted = [found for cell in numbered if (found := _COUNTED.fullmatch(" ".join(cell)))]
    if len(counted) == len(numbered) > 1 and len({found["word"] for found in counted}) == 1:
        return all(int(found["number"]) == at for at, found in enumerate(counted, 1))
    are_pairs = all(len(cell) == 2 and cell[0].isalpha() and cell[1].isdigit() for cell in numbered)
    differ = len({*map(tuple, numbered)}) == len(numbered) > 1
    return are_pairs and len({word for word, _ in numbered}) == 1 and differ


def _are_ranges(first: str, below: Sequence[str]) -> bool:
    """Return whether all cells with a number, and at least two, are ranges, unlike the cells below."""
    numbered = [cell for cell in _split_cells(first) if any(map(str.isdigit, cell))]
    inside = any(_RANGE.fullmatch(cell) for row in below for cell in _split_cells(row))
    return len(numbered) > 1 and not inside and all(map(_RANGE.fullmatch, numbered))


def count_values(line: str) -> int:
    """Return the number of values at the end of a line without gaps, as in the text of a PDF.

    A unit counts as a value too if a value follows it.
    """
    words = line.split()
    if len(words) < 2 or not _is_value(words[-1]) or len(line) > LONGEST_LINE or GAP.search(line.strip()):
        return 0
    values = [*takewhile(lambda word: _is_value(word) or _UNIT.fullmatch(word), reversed(words))]
    return len(values) if sum(map(_is_value, values)) > 1 else 0


def _is_value(word: str) -> bool:
    return word in "–—" or VALUE.fullmatch(word.lstrip("±≈∼")) is not None


def may_name(line: str) -> bool:
    """Return whether a line without gaps may name columns: it is short, has no value and ends no sentence."""
    words = line.split()
    ends = line.rstrip()[-1:] in ".:,;"
    return len(words) > 1 and len(line) <= _LONGEST_NAMES and not ends and not any(map(_is_value, words))
