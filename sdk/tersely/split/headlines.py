"""Headlines: heads of lines that are not indented more, often across a blank line."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from tersely.split.lines import TICKED
from tersely.split.markers import ARROWS, BULLETS, find_marker
from tersely.split.places import CUE, Place, announces
from tersely.split.records import LABEL, first_word, is_term
from tersely.split.sentence_starts import LABELLED, PROOF

_LOCATION = re.compile(r"\S:(\d+)[:,]\d|\((\d+)[:,]\d|\s(\d+):\d|File \"[^\"]+\", line (\d+)")
"""A line number and a column, such as `a.c:3:5`, `(3,5)` or ` 3:5`; or the place of a frame of Python."""
_GUTTER = re.compile(rf"\s*(?:[{ARROWS}]\s*)?(\d+)(?:\s*[|│:]|\s)")
"""The line number that a compiler prints in front of a line of code."""
_WORD = re.compile(r"\w")
_NUMBERED = re.compile(r"\s*\d+ *\|(?:\s|$)")
_NOTE = re.compile(r"\s*\|\s+\S")
_VALUED = re.compile(r"[^\s:=]\s*[:=](?![:=])")
"""The end of a name before its value."""
_SIGN = re.compile(r"\s*(?:([^\w\s])(?=[^\W\d_])|([^\W\d_]\S*))")
_CAUSED = re.compile(r"\s*(?:Caused by|Suppressed|Wrapped by)\b")
_CLAIM, _PROOF = re.compile(rf"\s*{LABELLED}"), re.compile(rf"\s*{PROOF}[*_]*[.:]")
_FIRST = re.compile(r"\s*\(?(?:1|[aA]|i)[.)]\s")
_MESSAGE = re.compile(r"\S+:\d+(?::\d+)?: (?:fatal )?(?:error|warning)\b")
_REMARK = re.compile(r"\S+:\d+(?::\d+)?: note\b")
_UNDERLINE = re.compile(r"\s*[~^]+\s*")
_BOX = re.compile(r"\s*(?:\[[ xX]?\]|\([ xX]?\)|[☐☑☒○◯])\s")
_FEWEST_SECTIONS, _MOST_WORDS = 3, 7
_MOST_LINES = 6
"""Number of lines searched for the one that a message is about: compilers print only a few above it."""
_FEWEST_TERMS = 3
"""Smallest number of terms in a list. One or two short lines between paragraphs may be anything."""
_LONGEST_TERM, _MOST_TERM_WORDS = 60, 5


def find_possible_titles(places: Sequence[Place]) -> Iterator[Place]:
    """Yield the lines that may be titles.

    These are lines right above log entries, and runs of a few words that end with a colon, unless they
    announce a list or an example below them or are directives of reStructuredText.
    """
    for place, below in pairwise(places):
        is_alone = place.starts_run and below.run != place.run and place.line.rstrip().endswith(":")
        is_alone = is_alone and below.kind not in ("list_item", "code", "json", "xml")
        is_alone = is_alone and len(place.line.split()) <= _MOST_WORDS and not place.line.startswith("..")
        is_caption = below.run == place.run and below.kind == "log"
        if place.kind == "line" and (is_alone or is_caption):
            yield place


def heads_entries(title: Place) -> bool:
    """Return whether two of the next three lines that are indented like a title have a body."""
    entry, with_body = title.below, 0
    for _ in range(3):
        if entry is None or entry.indent != title.indent or not entry.starts_run:
            break
        with_body += entry.has_body
        entry = entry.below
        while entry and entry.indent > title.indent:
            entry = entry.below
    return with_body > 1


def tie_labels(places: Sequence[Place], needs: dict[int, set[int]], bodies: dict[int, int]) -> None:
    """Tie each line that ends with a colon to the block right below it, if it has no body so far, and each
    caption such as `Table 2: Prices` to the table below it.

    The body of a label is no other label, and no field that is indented alike: then the value is empty.
    """
    for place, below in pairwise(places):
        label = place.units[0]
        is_label = place.kind == "line" and below.run == place.run and announces(place.line)
        is_field = below.indent == place.indent and LABEL.match(below.line) is not None
        is_label &= not (is_field or announces(below.line))
        if (is_label or place.is_caption) and label not in bodies:
            bodies[label] = below.units[0]
            for unit in below.units:
                needs[unit] = {*needs.get(unit, ()), *needs.get(label, ()), label}


def find_messages(places: Sequence[Place]) -> Iterator[Place]:
    """Yield each message that names a line of a file, if the next run shows code with that line number."""
    for at, place in enumerate(places):
        is_first = place.starts_run or (place.above is not None and not _WORD.search(place.above.line))
        located = _LOCATION.search(place.line) if is_first and place.kind != "log" else None
        if located is None:
            continue
        number = int(next(filter(None, located.groups())))
        below = [line for line in places[at + 1 : at + 1 + _MOST_LINES] if line.run == place.run + 1]
        if any(_shows(line, number) for line in below):
            yield place


def _shows(place: Place, number: int) -> bool:
    """Return whether a block has a line of code with this number."""
    first = _GUTTER.match(place.line)
    return first is not None and 0 <= number - int(first[1]) < place.block.last - place.block.first


def find_continuations(places: Sequence[Place]) -> Iterator[tuple[Place, Place]]:
    """Yield each line that continues what an earlier line says, and that line."""
    # Lines that begin with `|` and have no number continue the numbered line above them.
    yield from _pair(
        places, _NUMBERED, _NOTE, lambda place, above: place.run != above.run or not _NOTE.match(place.line)
    )
    yield from _find_started(places)
    yield from _find_caused(places)
    # Notes of a compiler, such as `a.c:3:5: note: declared here`, explain the message above them.
    yield from _pair(places, _MESSAGE, _REMARK, lambda place, message: place.run != message.run)
    # Proofs and solutions continue the theorem or the exercise above them.
    yield from _pair(places, _CLAIM, _PROOF, lambda place, _: place.kind == "heading")


def _pair(
    places: Sequence[Place],
    first: re.Pattern[str],
    later: re.Pattern[str],
    ends: Callable[[Place, Place], bool],
) -> Iterator[tuple[Place, Place]]:
    """Yield each line that `later` matches, and the last line above it that `first` matches.

    `ends` must be false for all lines between them.
    """
    begun: Place | None = None
    for place in places:
        if begun is not None and ends(place, begun):
            begun = None
        if first.match(place.line):
            begun = place
        elif begun is not None and later.match(place.line):
            yield place, begun


def _find_started(places: Sequence[Place]) -> Iterator[tuple[Place, Place]]:
    """Yield each line that continues a line above it, and the line above.

    In a subtitle, all lines of text continue the first one. Elsewhere, a label in lower case continues the
    line above if its name begins there.
    """
    first: Place | None = None
    for above, place in pairwise(places):
        if first is not None and place.run != first.run:
            first = None
        if CUE.match(above.line) and place.run == above.run:
            first = place
        elif first is not None:
            yield place, first
        elif _wraps(above, place):
            yield place, above


def _find_caused(places: Sequence[Place]) -> Iterator[tuple[Place, Place]]:
    """Yield each line such as `Caused by: ...` below a stack, and the line of the exception above it."""
    exception: Place | None = None
    for place in places:
        if exception and (place.run != exception.run or place.indent < exception.indent):
            exception = None
        if exception and place.indent == exception.indent and _CAUSED.match(place.line):
            yield place, exception
        elif exception is None or place.indent == exception.indent:
            exception = place if place.has_body else None


def _wraps(above: Place, place: Place) -> bool:
    """Return whether the name of a label begins in the line above it."""
    is_near = above.run == place.run and above.indent == place.indent and above.kind == "line"
    if not is_near or not place.line[:1].islower() or ":" in above.line:
        return False
    words, label = above.line.split(), place.line.partition(":")[0].split()
    if len(label) < 2 or len(words) < 2:
        return False
    return words[0][0].isupper() and words[-1][-1].isalpha() and LABEL.match(place.line) is not None


def tie_underlines(places: Sequence[Place], needs: dict[int, set[int]]) -> None:
    """Make units that need a line also need the signs right below it, such as the `~~~~` of a compiler."""
    pairs = [(place, line) for place, line in pairwise(places) if line.run == place.run]
    below = {place.units[0]: line.units[0] for place, line in pairs if _UNDERLINE.fullmatch(line.line)}
    for own in needs.values():
        own |= {below[unit] for unit in own & below.keys()}


def introduces(place: Place) -> bool:
    """Return whether a block introduces the block right below it, and neither is dialogue.

    A line introduces any list, a paragraph a list that counts from `1` or `a`, and a question of one line
    any list or boxes to tick.
    """
    below = place.next
    if below is None or below.indent > place.indent or place.speaks or below.speaks:
        return False
    if place.kind == "list_item":
        # An item of one line that ends no sentence, as in `(1) He needs`.
        is_unfinished = place.block.is_one_line and place.line.rstrip()[-1:] not in ".;!?,"
        return is_unfinished and _begins_inner_list(place, below)
    if place.kind != "sentence":
        return place.kind == "line" and below.kind == "list_item"
    asks = place.block.is_one_line and place.line.rstrip().endswith("?")
    if asks and not TICKED.match(place.line) and is_choice(below):
        return True
    return below.kind == "list_item" and _FIRST.match(below.line) is not None


def _begins_inner_list(place: Place, below: Place) -> bool:
    """Return whether the list item below an item is the first one of another list."""
    markers = find_marker(place.line), find_marker(below.line)
    is_other = "" not in markers and markers[0] != markers[1] and markers[0] not in BULLETS
    is_first = markers[1] in BULLETS or _FIRST.match(below.line) is not None
    return below.kind == "list_item" and is_other and is_first


def is_choice(place: Place) -> bool:
    """Return whether a line is a list item, or begins with a box to tick."""
    return place.kind == "list_item" or _BOX.match(place.line) is not None


def is_label(place: Place, below: Place) -> bool:
    """Return whether a line of a few words, which says nothing alone, is right above a list item."""
    return place.kind == "line" and below.kind == "list_item" and is_term(place)


def find_sectioned_records(places: Sequence[Place]) -> Sequence[Place]:
    """Return the lines that begin records with inner sections.

    These lines have the same first word or words, and at least two of them start a run. Each other run
    between them starts with a title that ends with a colon. Also return the first line of the text, because
    the first record may have other lines above its name.
    """
    starts = [place for place in places if place.starts_run and not place.indent]
    are_alike = len({*map(_first_words, starts)}) < len(starts)
    key: Callable[[Place], str] = _first_words if are_alike else first_word
    most = Counter(map(key, starts)).most_common(1)
    leaders = [place for place in starts if key(place) == most[0][0]]
    if len(leaders) < 2 or _heads_lines(leaders[0]) or len({place.line for place in leaders}) < len(leaders):
        return []
    first, last = leaders[0], leaders[-1]
    inside = [place for place in starts if place.run and key(place) != key(first)]
    while inside and inside[-1].run > last.run and not _heads_lines(inside[-1]):
        inside.pop()
    if not inside or not all(map(_heads_lines, inside)):
        return []
    more = [place for place in places if not place.indent and key(place) == key(first)]
    return sorted({places[0], *leaders, *more}, key=lambda place: place.block.start)


def find_sections(places: Sequence[Place]) -> Iterator[Place]:
    """Yield the lines without values that begin alike, each right above lines that have values.

    All these lines have the same indent and are in the same run. At least three of those without values
    begin alike, and any others are above them.
    """
    siblings: dict[tuple[int, int], list[Place]] = defaultdict(list)
    for place in places:
        siblings[place.run, place.indent].append(place)
    for lines in siblings.values():
        plain = [place for place in lines if place.kind != "line" or not _VALUED.search(place.line)]
        most = Counter(map(_first_sign, plain)).most_common(1)
        titles = [place for place in plain if most and _first_sign(place) == most[0][0]]
        if len(titles) < _FEWEST_SECTIONS or not most[0][0]:
            continue
        above, empty = len(plain) - len(titles), {*plain}
        are_apart = not any(place.below in empty for place in titles)
        differ = len({place.line for place in titles}) == len(titles)
        is_first = lines[: above + 1] == [*plain[:above], titles[0]]
        if are_apart and differ and is_first and len(lines) >= len(titles) * 3:
            yield from (place for place in titles if not place.has_body)


def _first_sign(place: Place) -> str:
    """Return the first word of a line, or the sign right before that word."""
    return found[1] or found[2] if (found := _SIGN.match(place.line)) else ""


def _first_words(place: Place) -> str:
    return " ".join(place.line.split(maxsplit=2)[:2])


def _heads_lines(place: Place) -> bool:
    """Return whether a line ends with a colon, right above lines that are indented more."""
    return place.has_body and place.next is not None and place.line.rstrip().endswith(":")


def tie_terms(places: Sequence[Place], needs: dict[int, set[int]]) -> None:
    """Make definitions need their term, and each term need its first definition.

    Converters write such a list as lines of a few words with paragraphs below them. Only one paragraph
    below the last term is a definition.
    """
    lists: list[list[list[Place]]] = [[]]
    for place in places:
        if _is_defined(place):
            lists[-1].append([place])
        elif lists[-1] and place.kind == "sentence" and place.starts_run:
            lists[-1][-1].append(place)
        elif lists[-1]:
            lists.append([])
    for entries in lists:
        if len(entries) < _FEWEST_TERMS:
            continue
        entries[-1] = entries[-1][:2]
        for term, *definitions in entries:
            unit = term.units[0]
            own = needs.get(unit, set[int]())
            for part in (part for below in definitions for part in below.units):
                needs[part] = {*needs.get(part, ()), *own, unit}
            needs[unit] = {*own, definitions[0].units[0]}


def _is_defined(place: Place) -> bool:
    """Return whether a line of a few words is alone above a paragraph with the same indent."""
    below, line = place.below, place.line.strip()
    if below is None or place.kind != "line" or below.kind != "sentence" or place.block.prefix:
        return False
    is_alone = place.starts_run and below.starts_run and place.indent == below.indent
    is_short = len(line) <= _LONGEST_TERM and len(line.split()) <= _MOST_TERM_WORDS
    return is_alone and is_short and line[0].isalnum() and line[-1] not in ".:;,!?"
