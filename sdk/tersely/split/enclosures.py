"""Sections between two lines: BEGIN and END, `\\begin{a}` and `\\end{a}`, `define` and `endef`, or `/*` and
`*/`. Also comments and other notes, and the lines that they are about."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tersely.split.lines import CLOSER, LONGEST_ITEM, OPENED_COMMENT, Lines
from tersely.split.markdown import ITEM
from tersely.split.places import Place, is_comment, opens

_BEGIN = re.compile(r"\s*(?:(?:-{5})?BEGIN[: ]\S|\\begin\{|\{\||\{\{[^{}]*$)")
_END = re.compile(r"\s*(?:(?:-{5})?END[: ]\S|\\end\{|\|\}|\}\})")
"""First and last line of a section in a calendar, a key file, LaTeX or wikitext."""
_WORD = re.compile(r"[.%#!<]?(?P<word>[a-z]+(?:_[a-z]+)*)", re.IGNORECASE)
_LAST = re.compile(
    r"(?:</|[.%#!]?(?:en(?=def)|end[ _-]?))(?P<word>[a-z]+(?:_[a-z]+)*)(?: \w+)?[.;>]?\s*$", re.IGNORECASE
)
"""A line that ends a section. The group `word` matches the start of the first line of the section. In
`end module crane` it matches "module"; the first line is `module crane`. In `endef` it matches "def"; the
first line is, for example, `define a`. In `</Yard>` it matches "Yard"; the first line is `<Yard north>`."""
_MOST_WORDS = 16
"""At most this many words, such as "module", are used to pair the first and last lines of sections."""
_IDENTITY = re.compile(r"\s*(?:SUMMARY|FN|NAME|TITLE)\b", re.IGNORECASE)
"""The line in a section that names what the section describes."""
_VALUE = re.compile(r"[:=]\s")
_KEY = re.compile(r"\s*[\"']?_?(?:id|name|key|title)\b")
"""A line that names the object around it."""
_MOST_NAMES = 16
"""Largest number of lines above that share the body of a line."""
_CELLS = re.compile(r".*[^\\]&.*\\\\\s*(?P<rule>\\\w+)?$")
"""A row of a LaTeX table."""
RULED = re.compile(r"\s*\\(?:h|top|mid|bottom)(?:line|rule)\b\s*")
"""A rule between the rows of a LaTeX table."""
SILENT = (
    rf"{RULED.pattern}|=(?:over|back|cut|pod)\b.*|\s*(?:\(\d{{1,3}}\)|(?:Table|Figure)\s\d+)"
    r"|##\[endgroup\]|::endgroup::"
)
"""Lines of LaTeX, of POD, of articles and of jobs that say nothing alone, as a pattern."""
_TAGS_ALONE = re.compile(r"\s*@\w\S*(?:\s+@\w\S*)*\s*")
_DIRECTION = re.compile(r"\s*\([a-z][^()]*\)\s*")
"""A line in parentheses that says how the words below it are spoken."""


def find_enclosures(places: Sequence[Place], lines: Lines) -> tuple[set[Place], set[Place]]:
    """Return the lines that begin a section, and those that end one."""
    first = {place for place in places if place.is_text and _BEGIN.match(place.line)}
    last = {place for place in places if place.is_text and _END.match(place.line)}
    for begin, end in (*_find_pairs(places), *_find_block_comments(places, lines)):
        first |= {begin} if _is_line(begin) else set()
        last |= {end} if _is_line(end) else set()
    return first, last


def names_record(place: Place) -> bool:
    """Return whether a line in a section says what the section is about."""
    return _IDENTITY.match(place.line) is not None


def names_columns(place: Place) -> bool:
    """Return whether a line in a section has the names of columns, as in wikitext and LaTeX."""
    if place.line.startswith("!"):
        return True
    cells = _CELLS.match(place.line)
    is_ruled = place.below is not None and RULED.match(place.below.line) is not None
    return cells is not None and (is_ruled or RULED.fullmatch(cells["rule"] or "") is not None)


def _find_pairs(places: Sequence[Place]) -> Iterator[tuple[Place, Place]]:
    """Yield pairs of lines: one such as `define a`, and the line `endef` that ends its section."""
    found = {place: _LAST.match(place.line.lstrip()) for place in places if _is_line(place)}
    lasts = {place: _find_word(last) for place, last in found.items() if last}
    words = list(dict.fromkeys(lasts.values()))[:_MOST_WORDS]
    if not words:
        return
    opened: dict[tuple[str, int], list[Place]] = defaultdict(list)
    for place in places:
        if place in lasts:
            if firsts := opened[lasts[place], place.indent]:
                yield firsts.pop(), place
        elif _is_line(place) and (found := _WORD.match(place.line.lstrip())):
            first = _find_word(found)
            for word in words:
                if first == word or (word[0] != "<" and first.startswith(word)):
                    opened[word, place.indent].append(place)


def _find_word(found: re.Match[str]) -> str:
    """Return the word of a line that may begin or end a section, after `<` if the line is a tag."""
    return "<" * found[0].startswith("<") + found["word"].lower()


def _is_line(place: Place) -> bool:
    """Return whether a place may begin or end a section. A line that is alone may have become a heading."""
    return place.is_text or place.kind == "heading"


def _find_block_comments(places: Sequence[Place], lines: Lines) -> Iterator[tuple[Place, Place]]:
    """Yield the first and the last block of each comment between `/*` and `*/`."""
    first: Place | None = None
    for place in places:
        if first is None and OPENED_COMMENT.match(place.line):
            first = place
        elif first is not None and lines.texts[place.block.last - 1].rstrip().endswith("*/"):
            yield first, place
            first = None


def find_names(place: Place) -> list[int]:
    """Return the first units of the lines above that share this line's body, as `h1,` and `h2 {` do."""
    names: list[int] = []
    above = place.above
    if place.line.rstrip().endswith(("{", ":")):
        while above and _shares(above, place) and len(names) < _MOST_NAMES:
            names.append(above.units[0])
            above = above.above
    return names


def find_anchor(place: Place) -> tuple[int, ...]:
    """Return the unit of the line below a `{` if it names the object that begins there."""
    below = place.below
    is_named = below is not None and place.line.strip() == "{" and _KEY.match(below.line)
    return (below.units[0],) if below and is_named else ()


def _shares(above: Place, place: Place) -> bool:
    is_near = above.run == place.run and above.indent == place.indent and above.kind == "line"
    return is_near and above.line.rstrip().endswith(",") and not _VALUE.search(above.line)


def find_comments(places: Sequence[Place]) -> dict[Place, Place]:
    """Map each line to the comment right above it, unless the comment is long. Skip items in comments.

    In a text without paragraphs and list items, a line such as `# lamps` is not a heading but a comment if it
    is indented, or is above a line with an opening bracket or with deeper lines.
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
    """Make each note need the line below it, unless the note begins too far above that line.

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
