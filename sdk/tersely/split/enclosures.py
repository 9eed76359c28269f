"""Sections between two lines: BEGIN and END, `\\begin{a}` and `\\end{a}`, `define` and `endef`, or `/*` and
`*/`."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from tersely.split.lines import OPENED_COMMENT, Lines
from tersely.split.places import Place

_BEGIN = re.compile(r"\s*(?:(?:-{5})?BEGIN[: ]\S|\\begin\{|\{\||\{\{[^{}]*$)")
_END = re.compile(r"\s*(?:(?:-{5})?END[: ]\S|\\end\{|\|\}|\}\})")
"""First and last line of a section in a calendar, a key file, LaTeX or wikitext."""
_WORD = re.compile(r"[.%#!<]?(?P<word>[a-z]+)", re.IGNORECASE)
_LAST = re.compile(r"(?:</|[.%#!]?(?:en(?=def)|end[ _]?))(?P<word>[a-z]+)(?: \w+)?[;>]?\s*$", re.IGNORECASE)
"""A line that ends a section. The group `word` matches what the first line of the section begins with. In
`end module crane` it matches "module"; the first line is `module crane`. In `endef` it matches "def"; the
first line is, for example, `define a`. In `</Yard>` it matches "Yard"; the first line is `<Yard north>`."""
_MOST_WORDS = 16
"""At most this many words, such as "module", are used to pair the first and last lines of sections."""
_IDENTITY = re.compile(r"\s*(?:SUMMARY|FN|NAME|TITLE)\b", re.IGNORECASE)
"""The line in a section that names what the section describes."""
_CELLS = re.compile(r".*[^\\]&.*\\\\\s*$")
"""A row of a LaTeX table."""
RULED = re.compile(r"\s*\\(?:h|top|mid|bottom)(?:line|rule)\b\s*")
"""A rule between the rows of a LaTeX table."""


class Enclosures:
    """The lines that begin and end a section of a text."""

    def __init__(self, places: Sequence[Place], lines: Lines) -> None:
        self._places = places
        pairs = [*_find_pairs(places), *_find_comments(places, lines)]
        self._first = {first for first, _ in pairs}
        self._last = {last for _, last in pairs}

    def begins(self, number: int, place: Place) -> bool:
        """Return whether a line begins a section."""
        return place.is_text and (number in self._first or _BEGIN.match(place.line) is not None)

    def ends(self, number: int, place: Place) -> bool:
        """Return whether a line ends a section."""
        return place.is_text and (number in self._last or _END.match(place.line) is not None)

    def names_record(self, place: Place) -> bool:
        """Return whether a line in a section says what the section is about."""
        return _IDENTITY.match(place.line) is not None

    def names_columns(self, number: int, place: Place) -> bool:
        """Return whether a line in a section has the names of columns, as in wikitext and LaTeX."""
        if place.line.startswith("!"):
            return True
        below = self._places[number + 1].line if number + 1 < len(self._places) else ""
        return _CELLS.match(place.line) is not None and RULED.match(below) is not None


def _find_pairs(places: Sequence[Place]) -> Iterator[tuple[int, int]]:
    """Yield pairs of indices: of a line such as `define a`, and of the line `endef` that ends its section."""
    lasts = {
        number: found["word"].lower()
        for number, place in enumerate(places)
        if place.is_text and (found := _LAST.match(place.line.lstrip()))
    }
    words = list(dict.fromkeys(lasts.values()))[:_MOST_WORDS]
    if not words:
        return
    opened: dict[tuple[str, int], list[int]] = defaultdict(list)
    for number, place in enumerate(places):
        if number in lasts:
            if firsts := opened[lasts[number], place.indent]:
                yield firsts.pop(), number
        elif place.is_text and (found := _WORD.match(place.line.lstrip())):
            for word in words:
                if found["word"].lower().startswith(word):
                    opened[word, place.indent].append(number)


def _find_comments(places: Sequence[Place], lines: Lines) -> Iterator[tuple[int, int]]:
    """Yield the indices of the first and the last block of each comment between `/*` and `*/`."""
    first: int | None = None
    for number, place in enumerate(places):
        if first is None and OPENED_COMMENT.match(place.line):
            first = number
        elif first is not None and lines.texts[place.block.last - 1].rstrip().endswith("*/"):
            yield first, number
            first = None
