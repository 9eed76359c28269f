"""Comments and other notes, and the lines that they are about."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from tersely.split.lines import CLOSER, LONGEST_ITEM
from tersely.split.markdown import ITEM
from tersely.split.places import Place, is_comment, opens

_TAGS_ALONE = re.compile(r"\s*@\w\S*(?:\s+@\w\S*)*\s*")
_DIRECTION = re.compile(r"\s*\([a-z][^()]*\)\s*")
"""A line in parentheses that says how the words below it are spoken."""


def find_comments(places: Sequence[Place]) -> dict[Place, Place]:
    """Map each line to the comment right above it, unless the comment is long. Items in comments are apart.

    In a text without paragraphs and list items, a line such as `# lamps` is not a heading but a comment if it
    is indented, or stands above a line with an opening bracket or with deeper lines.
    """
    texts = [place for place in places if place.kind in ("sentence", "list_item")]
    has_text = not all(is_comment(place.block) for place in texts)
    found: dict[Place, Place] = {}
    goes_on, start = False, 0
    for place, below in pairwise(places):
        start = start if goes_on else place.block.start
        is_above = is_comment(place.block)
        if place.kind == "heading" and place.line.lstrip().startswith("# ") and not has_text:
            is_above = place.indent > 0 or opens(below) or below.has_body
        is_above = is_above and _has_text(place) and _has_text(below)
        goes_on = is_above and below.block.first == place.block.last and below.indent >= place.indent
        is_item = is_comment(below.block) and ITEM.match(below.line) is not None
        is_near = below.block.start - start <= LONGEST_ITEM
        if goes_on and is_near and not is_item and not CLOSER.fullmatch(below.line):
            found[below] = place
    return found


def _has_text(place: Place) -> bool:
    """Return whether a line has more than the sign of a comment."""
    return bool(place.line.strip(" \t#/;%"))


def tie_comments(places: Sequence[Place], needs: dict[int, set[int]]) -> None:
    """Add to `needs` that each note needs the line below it, unless the note begins too far above it.

    A line with only the sign of a comment ends a note.
    """
    target: Place | None = None
    for place in reversed(places):
        is_near = place.below is not None and place.below.block.first == place.block.last
        if not is_note(place):
            target = place
        elif not is_near or not _has_text(place):
            target = None
        elif target is not None and target.block.start - place.block.start <= LONGEST_ITEM:
            unit = target.units[0]
            for own in place.units:
                needs[own] = {*needs.get(own, ()), *needs.get(unit, ()), unit}


def is_note(place: Place) -> bool:
    """Return whether a line is about the line below: a comment, tags such as `@slow`, or a direction such as
    `(quietly)` that is not indented more than the line above it."""
    if is_comment(place.block) or (_TAGS_ALONE.fullmatch(place.line) and place.kind != "code"):
        return True
    is_inner = place.above is not None and place.above.indent >= place.indent and not place.starts_run
    return is_inner and _DIRECTION.fullmatch(place.line) is not None
