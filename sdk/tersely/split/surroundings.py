"""Decisions about a line that depend on the lines around it, in a text that no parser reads."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tersely.split.places import Head, Place, is_rule
from tersely.split.records import LABEL, OPTION

_EXCEPTION = re.compile(r"[\w.]*(?:Error|Exception|Warning|Interrupt|Exit)\b")
_GAPPED = re.compile(r"\s*\S+  \S")


class Surroundings:
    """Decides what a line is by the lines around it.

    Attributes:
        first_fields: the indices of the first lines of records between lines such as `---`; empty without
            such records.
    """

    def __init__(self, places: Sequence[Place]) -> None:
        self._places = places
        self._first_lines = {place.run: place.line for place in reversed(places)}
        self.first_fields = _find_first_fields(places)

    def is_option(self, number: int, place: Place) -> bool:
        """Return whether a line begins with the name of an option, and does not continue the text above
        it."""
        if not OPTION.match(place.line):
            return False
        above = self._places[number - 1] if number else place
        return above.run != place.run or above.indent != place.indent or bool(OPTION.match(above.line))

    def is_inner_record(self, number: int, place: Place) -> bool:
        """Return whether an indented line begins a record, although the line below has the same indent.

        Such a line has two spaces after its first word, as the first line of its run does (`NAME  VERSION` in
        `npm audit`). The line below it does not.
        """
        if not (place.indent and _GAPPED.match(place.line) and _GAPPED.match(self._first_lines[place.run])):
            return False
        below = self.find_below(number)
        is_near = below is not None and below.run == place.run and below.indent == place.indent
        return is_near and below is not None and not _GAPPED.match(below.line)

    def goes_on(self, place: Place, label: Head) -> bool:
        """Return whether a block continues the value of `label`, a line above it with a name and a value."""
        if LABEL.match(place.line):
            return False
        if place.indent == label.indent:
            return place.run == label.run and place.block.kind == "sentence"
        return place.indent > label.indent  # a value may have several paragraphs

    def is_announced(self, number: int, place: Place, announcer: Head) -> bool:
        """Return whether a line that ends with a colon announces a block."""
        run = place.run
        above = self._places[number - 1]
        if run == announcer.run:
            if place.indent == announcer.indent and place.line.rstrip().endswith(":"):
                return False
            if _EXCEPTION.match(place.line):  # at the end of a traceback
                return place.indent == announcer.indent
            if announcer.body_indent < 0:
                announcer.body_indent = place.indent
            return place.indent >= max(announcer.indent, announcer.body_indent)
        is_next = run == announcer.run + 1 and above.units.last == announcer.units[-1]
        is_item = run == announcer.reach + 1 and place.block.kind == above.block.kind == "list_item"
        if is_next:
            announcer.body_indent = place.indent
        is_item = is_item and place.indent >= announcer.body_indent
        if is_next or is_item or run == announcer.reach or place.indent > announcer.indent:
            announcer.reach = run
            return True
        return False

    def find_below(self, number: int) -> Place | None:
        """Return the place below the place `number`, if there is one."""
        return self._places[number + 1] if number + 1 < len(self._places) else None

    def is_title(self, number: int, place: Place) -> bool:
        """Return whether a numbered line is alone above a paragraph, as the title of a clause is."""
        below = self.find_below(number)
        is_alone = place.starts_run and place.block.last - place.block.first == 1
        return is_alone and below is not None and below.run != place.run and below.block.kind == "sentence"


def _find_first_fields(places: Sequence[Place]) -> frozenset[int]:
    """Return the indices of the first lines of records between lines such as `---`, as in `pip show`.

    Return nothing unless all these lines begin with the same name.
    """
    numbers = [
        0,
        *(number + 1 for number, place in enumerate(places[:-1]) if is_rule(place.block, place.line)),
    ]
    names = [LABEL.match(places[number].line) and places[number].line.partition(":")[0] for number in numbers]
    return frozenset(numbers) if len(names) > 1 and names[0] and len({*names}) == 1 else frozenset()
