"""Terms above their definitions, with a blank line between: no sign and no indentation shows them.

A converter writes such a list as lines of a few words, and paragraphs below them.
"""

from __future__ import annotations

from collections.abc import Sequence

from tersely.split.places import Place

_FEWEST = 3
"""Fewest terms of a list. Between paragraphs, one or two short lines may be anything."""
_LONGEST, _MOST_WORDS = 60, 5


def tie_terms(places: Sequence[Place], needs: dict[int, set[int]]) -> None:
    """Add to `needs` that definitions need their term, and that the term needs its definition.

    Below the last term of a list, only one paragraph is a definition.
    """
    at = 0
    while at < len(places):
        entries, at = _read_list(places, at)
        if len(entries) < _FEWEST:
            continue
        entries[-1] = entries[-1][:2]
        for term, *definitions in entries:
            unit = term.units[0]
            own = needs.get(unit, set[int]())
            for below in definitions:
                for part in below.units:
                    needs[part] = {*needs.get(part, ()), *own, unit}
            needs[unit] = {*own, definitions[0].units[0]}


def _read_list(places: Sequence[Place], at: int) -> tuple[list[Sequence[Place]], int]:
    """Return the entries of the list that begins at a place, each a term with its paragraphs, and the index
    of the first place that may begin another list."""
    entries: list[Sequence[Place]] = []
    while at < len(places) and _is_term(places[at]):
        end = at + 1
        while end < len(places) and places[end].block.kind == "sentence" and places[end].starts_run:
            end += 1
        entries.append(places[at:end])
        at = end
    return entries, at + (not entries)


def _is_term(place: Place) -> bool:
    """Return whether a line of a few words stands alone above a paragraph that is indented alike."""
    below, line = place.below, place.line.strip()
    if below is None or place.block.kind != "line" or below.block.kind != "sentence" or place.block.prefix:
        return False
    is_alone = place.starts_run and below.starts_run and place.indent == below.indent
    is_short = len(line) <= _LONGEST and len(line.split()) <= _MOST_WORDS
    return is_alone and is_short and line[0].isalnum() and line[-1] not in ".:;,!?"
