"""Regions of a text and tags of its lines, from which `cycles` finds records.

A region is a part of a text to search for records. The tag of a line is the first word with the signs before
it, or the pattern of that word if the word itself is a value. In a format without indentation, it tells a
reader what the line is. A preface is a line above the first line of its record, in the same paragraph.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from tersely.split.lines import TICKED
from tersely.split.places import FIELD_SIGNS, Place, is_comment
from tersely.split.prose import is_prose
from tersely.split.records import first_word, shape

_TAG = re.compile(r"\s*(?P<sign>(?:[^\w\s]+\s*){0,3})(?P<word>\w+(?:[.-]\w+)*)?")
_SECOND = re.compile(r"\S*\s++\W*+(\w+)")
_NUMBERS = re.compile(r"\b(?=[a-fA-F]*\d)[0-9a-fA-F]++\b|\d+")
_CAPITALS, _SMALL = re.compile(r"[A-Z]+"), re.compile(r"[a-z]+")
_MESSAGE = re.compile(r"\S+:\d+:")
_VALUE = re.compile(r"\w\S*\d|\d")
"""The start of a word with a digit."""
_LABEL = re.compile(r"\s*\w[\w .-]+[:=]\s")
_FIELD = re.compile(r"[^\W\d][\w .-]*[:=]")
_END = re.compile(r"\W*(?:/|end(?![a-z]))", re.IGNORECASE)
_LEVEL = re.compile(r"(\d{1,2}) (?:@|[^\W\d])")
"""A level at the start of a line."""
FEWEST_RECORDS = 3
_FEWEST_LETTER_LINES, _MOST_LETTERS = 12, 12
"""Smallest number of lines, and largest number of different letters, of a format with letters as tags."""
_OTHERS = ("heading", "log", "code", "html", "xml", "settings")
"""Kinds of blocks that are never part of a cycle."""


class Tag(NamedTuple):
    text: str
    is_literal: bool
    """True if it is the word itself, not its pattern."""

    @property
    def has_word(self) -> bool:
        return any(map(str.isalnum, self.text))

    @property
    def may_begin(self) -> bool:
        """True if lines with this tag may begin records. Lines such as `^` and `END LC_TIME` end them."""
        return self.has_word and not _END.match(self.text)

    @property
    def is_plain(self) -> bool:
        """True for the pattern of a word or a number without a sign, which many lines have by chance."""
        return not self.is_literal and self.text[0].isalnum()

    @property
    def is_word(self) -> bool:
        """True for the pattern of a word of letters."""
        return not self.is_literal and self.text[:-1].isalpha()


Tags = Sequence[Tag | None]
"""The tag of each line; None for prose."""


def speaks(place: Place) -> bool:
    """Return whether a line is prose, apart from its tag."""
    if place.kind == "sentence" or place.speaks:
        return True
    return not TICKED.match(place.line) and is_prose(_TAG.sub("", place.line, count=1))


def _match(line: str) -> tuple[str, str]:
    """Return the signs and the word at the start of a line."""
    found = _TAG.match(line)
    return ("".join(found["sign"].split()), found["word"] or "") if found else ("", "")


def _choose(literal: Sequence[str], patterns: Sequence[str], region: Sequence[Place]) -> Tags:
    """Return the literal tag of each line; its pattern if that tag is unique, or begins with a value."""
    counts = Counter(text for text in literal if not _VALUE.match(text))
    pairs = zip(literal, patterns, strict=True)
    tags = [Tag(text, True) if counts[text] > 1 else Tag(f"{pattern} ", False) for text, pattern in pairs]
    return [None if place.kind == "sentence" else tag for place, tag in zip(region, tags, strict=True)]


def _read_letters(region: Sequence[Place]) -> Tags:
    """Return the first letter of each line if values follow these letters directly; otherwise nothing."""
    starts = [_match(place.line) for place in region]
    letters = Counter(word[0] for sign, word in starts if not sign and word)
    words = len({word for sign, word in starts if not sign})
    is_tight = all(len(place.line) < 2 or not place.line[1].isspace() for place in region)
    named = sum(_LABEL.match(place.line) is not None for place in region)
    are_letters = all(map(str.isalpha, letters)) and len(letters) <= min(_MOST_LETTERS, words // 2)
    if len(region) < _FEWEST_LETTER_LINES or not are_letters or not is_tight or named * 10 > len(region):
        return ()
    tags = [sign + (word if sign else word[:1]) for sign, word in starts]
    return _choose(tags, tags, region)


def _read_words(region: Sequence[Place], *, prefer_signs: bool = False) -> Tags:
    """Return the first word of each line with the signs before it, or its pattern if the word is unique.

    With `prefer_signs`, the signs at the start of a line are its tag, without the word after them.
    """
    starts = [_match(place.line) for place in region]
    words = [(prefer_signs and sign) or sign + word for sign, word in starts]
    return _choose(words, [sign + _shape(word) for sign, word in starts], region)


def _read_pairs(region: Sequence[Place]) -> Tags:
    """Return the first two words of each line, or the tag of the first if no other line begins with both.

    Return nothing for messages of a compiler, which begin with a file and a line number, or if all lines
    begin with the same word, because each of them may be a record.
    """
    if any(_MESSAGE.match(place.line) for place in region) or len({*map(first_word, region)}) == 1:
        return ()
    words: list[str] = []
    for place in region:
        found = _TAG.match(place.line)
        second = found and _SECOND.match(place.line, found.end())
        words.append("".join(_match(place.line)) + (f" {second[1]}" if second else ""))
    return [
        pair if pair is None or pair.is_literal else word
        for pair, word in zip(_choose(words, words, region), _read_words(region), strict=True)
    ]


def _shape(word: str) -> str:
    """Return the pattern of capitals, small letters and numbers in a word."""
    return _SMALL.sub("a", _CAPITALS.sub("A", _NUMBERS.sub("9", word)))


READERS = (_read_letters, _read_words, _read_pairs, partial(_read_words, prefer_signs=True))
"""Functions that read the tags of lines. They are tried in this order."""


def is_regular(tags: Tags) -> bool:
    """Return whether the same pairs of successive tags recur."""
    return len(set(pairwise(tags))) * 2 <= len(tags) + 1


def has_value(tag: Tag, place: Place) -> bool:
    """Return whether a line has a value after its tag, or begins with a sign and a value."""
    rest = _TAG.sub("", place.line, count=1)
    return any(map(str.isalnum, rest)) if tag.is_literal else not tag.is_plain


def read_levels(region: Sequence[Place]) -> list[int | None] | None:
    """Return the owners of lines that begin with their level: a number that rises by at most one."""
    owners: list[int | None] = []
    above: list[int] = []
    """The last line of each level."""
    for at, place in enumerate(region):
        level = _LEVEL.match(place.line)
        if level is None or int(level[1]) > len(above):
            return None
        del above[int(level[1]) :]
        owners.append(above[-1] if above else None)
        above.append(at)
    tops = sum(owner is None for owner in owners)
    return owners if tops > 1 and len(set(owners)) > 2 else None


def list_outer(region: Sequence[Place]) -> list[int]:
    """Return the lines that are indented least, and those with a name that is aligned to the right."""
    names = [(place, _FIELD.match(place.line.lstrip())) for place in region]
    ends = [name.end() + place.indent if name else 0 for place, name in names]
    column, count = Counter(filter(None, ends)).most_common(1)[0] if any(ends) else (0, 0)
    is_aligned = count * 5 >= len(region) * 4
    base = min((place.indent for place in region), default=0)
    aligned = {at for at, end in enumerate(ends) if is_aligned and end == column}
    return [at for at, place in enumerate(region) if place.indent == base or at in aligned]


def find_period(region: Sequence[Place]) -> int | None:
    """Return the number of lines of each record, if all are equally long and begin with the same sign."""
    sign = region[0].line[:1] if region else ""
    if sign not in FIELD_SIGNS:
        return None
    period = next((at for at, place in enumerate(region) if at and place.line[:1] == sign), 1)
    heads = region[::period]
    is_periodic = period > 1 and len(heads) >= FEWEST_RECORDS
    return period if is_periodic and all(place.line[:1] == sign for place in heads) else None


def find_regions(places: Sequence[Place], starts: Container[Place]) -> Iterator[Sequence[Place]]:
    """Yield the blocks between paragraphs, lines that begin with `<`, headings, code and the like.

    A region also ends before each of the lines in `starts`. Regions may be empty. They leave out remarks.
    """
    region: list[Place] = []
    for place in places:
        if place in starts:
            yield region
            region = []
        is_paragraph = place.kind == "sentence" and not place.indent
        if is_paragraph or place.kind in _OTHERS or place.block.prefix == "<":
            yield region
            region = []
        elif not place.is_remark:
            region.append(place)
    yield region


def are_runs(region: Sequence[Place], owners: Sequence[int | None]) -> bool:
    """Return whether the runs, not the cycles, are the records.

    They are in four cases: each cycle begins right below the first line of a run; all runs begin with one
    word and have at most one start each; runs inside the cycles are like those that begin them; or all runs
    but the first are alike and some cycles begin inside them, as notes inside the messages of a compiler.
    """
    starts = [at for at in {*owners} if at is not None and owners[at] is None]
    if _have_siblings(region, starts):
        return True
    forms = [_find_form(place) for place in region[1:] if place.starts_run]
    inner = [region[at] for at in starts if not region[at].starts_run]
    are_inside = any(place.above and not place.above.starts_run for place in inner)
    if are_inside and len(forms) > 2 and None not in forms and len({*forms}) == 1:
        return True
    tops = [first_word(place) for place in region if place.starts_run]
    is_alike = len({*tops}) == 1 and len({region[at].run for at in starts}) == len(starts) <= len(tops) + 1
    are_below = is_alike or all(at and region[at - 1].starts_run for at in starts)
    return len(starts) > 1 and are_below and not any(region[at].starts_run for at in starts)


def _have_siblings(region: Sequence[Place], starts: Sequence[int]) -> bool:
    """Return whether all lines at `starts` begin runs, and the other runs are like these.

    Runs are alike if their next two lines are of the same kinds. The other runs have different first words.
    """
    if not all(region[at].starts_run or region[at].is_titled for at in starts):
        return False
    forms = {_find_form(region[at]) for at in starts}
    first, known = min(starts), {*starts}
    others = [place for at, place in enumerate(region) if place.starts_run and at > first and at not in known]
    differ = len({first_word(place) for place in others}) == len(others) > 1
    return differ and None not in forms and all(_find_form(place) in forms for place in others)


def _find_form(place: Place) -> tuple[str, str, str] | None:
    """Return the kinds of the two lines below the first line of a run, and the shape of the first of them.

    Return None if the run has fewer lines.
    """
    second = place.below
    third = second.below if second else None
    if second is None or third is None or third.run != place.run:
        return None
    return second.kind, shape(second.line), third.kind


def find_prefaces(region: Sequence[Place], starts: Sequence[int]) -> dict[int, int]:
    """Map each line above the first line of its record to that first line.

    Return nothing unless each paragraph contains exactly one record.

    Args:
        starts: indices of the first lines of records, ascending.
    """
    pairs = enumerate(pairwise(region), 1)
    blanks = (n for n, (above, below) in pairs if above.block.last < below.block.first)
    edges = [0, *blanks, len(region)]
    paragraphs = [range(*edge) for edge in pairwise(edges) if edge[1] > starts[0] and edge[0] <= starts[-1]]
    if len(paragraphs) != len(starts) or not all(map(range.__contains__, paragraphs, starts)):
        return {}
    fronts = ((range(own.start, start), start) for own, start in zip(paragraphs, starts, strict=True))
    return {at: start for front, start in fronts for at in front}


def find_keys(region: Sequence[Place], bodies: dict[int, list[int]]) -> dict[int, list[int]]:
    """Map the first line of each record to the lines that name it, if that first line is a comment.

    These are the lines after the comment, down to the first one with a first word that at least nine tenths
    of the records share. Records that do not begin with a comment have none.

    Args:
        bodies: for the first line of each record, the other lines of the record.
    """
    words = {start: [first_word(region[at]) for at in body] for start, body in bodies.items()}
    counts = Counter(word for own in words.values() for word in set(own))
    keys: dict[int, list[int]] = {}
    for start, body in bodies.items():
        often = {word for word, count in counts.items() if count * 10 >= len(bodies) * 9}
        shared = (n for n, word in enumerate(words[start]) if word[:1].isalnum() and word in often)
        own = [at for at in body[: next(shared, -1) + 1] if not is_comment(region[at].block)]
        keys[start] = own if is_comment(region[start].block) else []
    return keys
