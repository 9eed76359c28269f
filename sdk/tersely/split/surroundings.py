"""Decisions about a line that depend on the lines around it, in a text that no parser reads."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tersely.split.heads import Head
from tersely.split.lines import FRAME
from tersely.split.logs import find_text_indent
from tersely.split.places import BULLETS, CLAUSE, COMMENTS, CUE, FIELD_SIGNS, Place, opens
from tersely.split.records import LABEL, OPTION, first_word, shape

_EXCEPTION = re.compile(r"[\w.]*(?:Error|Exception|Warning|Interrupt|Exit)\b")
_CAUSE = re.compile(r"\w+(?:\.\w+)+(?:Error|Exception)\b")
_STEP = re.compile(r"(?:\d{4}-\S+ )?(?:##\[(?:group|section)\]|::group::)|\$ \S|-{3,}[^\W\d_].*[^-]$")
_TAGS_ALONE = re.compile(r"\s*@\w\S*(?:\s+@\w\S*)*\s*")
_VALUE = re.compile(r"[:=]\s")
_BULLETED = re.compile(rf"\s*[{re.escape(BULLETS)}]\s+\S")
_MARKS = "●○×"
"""Signs that say how a record is: it runs, or it has failed."""
_MOST_NAMES = 16
"""Largest number of lines that share a body."""
_NUMBERED = re.compile(r"\s*\d+ *\|(?:\s|$)")
_NOTE = re.compile(r"\s*\|\s+\S")
_ONLY_LABEL = re.compile(r"\s*[^\W\d_][^:]{0,40}:\s*$")
_GAPPED = re.compile(r"\s*\S+  \S")


class Surroundings:
    """Decides what a line is by the lines around it."""

    def __init__(self, places: Sequence[Place]) -> None:
        self.cues = frozenset(place.run for place in places if CUE.match(place.line))
        """The runs that are subtitles."""
        self._has_answers = any(
            p.block.prefix == "<" and p.above and p.above.block.prefix == ">" for p in places
        )
        """Whether lines that begin with `<` answer those with `>`, as `curl -v` prints them."""
        self._first_lines = {place.run: place.line for place in reversed(places)}
        titles = {place: first_word(place) for place in _find_titles(places)}
        counts = Counter(word for word, _ in {(word, place.line) for place, word in titles.items()})
        # Titles that begin alike count only if one of them starts a run or follows a heading. If none does,
        # they are lines between the entries of a log, and each continues the entry above it.
        below_heading = {place for place in titles if place.above and place.above.block.kind == "heading"}
        first = {word for place, word in titles.items() if place.starts_run or place in below_heading}
        captions = {place for place in titles if place.below and place.below.block.kind == "log"}
        self._titles = {place for place, word in titles.items() if counts[word] > 1 and word in first}
        self._titles |= below_heading & captions
        self._captioned = {place.run for place in self._titles & captions}
        leaders = _find_leaders(places)
        self._titles.update(leaders)
        self._alien = _find_alien(places, leaders[-1]) if leaders else None
        self._subjects = {
            **dict(_find_continued(places)),
            **dict(_find_items(places)),
            **dict(_find_noted(places)),
            **dict(_find_labelled(places)),
        }

    def is_option(self, place: Place) -> bool:
        """Return whether a line begins with the name of an option, and does not continue the text above
        it."""
        if not OPTION.match(place.line):
            return False
        above = place.above or place
        return above.run != place.run or above.indent != place.indent or bool(OPTION.match(above.line))

    def is_inner_record(self, place: Place) -> bool:
        """Return whether an indented line begins a record, although the line below has the same indent.

        A frame of a stack is such a line. So is a line such as `NAME  VERSION` in `npm audit`: it and the
        first line of its run have two spaces after the first word, and the line below it does not.
        """
        if FRAME.match(place.line):
            return True
        if not (place.indent and _GAPPED.match(place.line) and _GAPPED.match(self._first_lines[place.run])):
            return False
        below = place.below
        if below is None or below.run != place.run or below.indent != place.indent:
            return False
        return not _GAPPED.match(below.line)

    def find_subject(self, place: Place) -> Place | None:
        """Return the place above that a line continues although it is not indented more.

        That is the line above an exception, the line above an item such as `- locked`, the last line with the
        sign that begins all fields of the text, the numbered line above a note in a gutter, or the line above
        a label such as `Metadata:` that several lines have.
        """
        if place in self._subjects:
            return self._subjects[place]
        above = place.above
        if above is None or above.run != place.run or above.indent != place.indent:
            return None
        return above if above.block.kind != "log" and _CAUSE.match(place.line) else None

    def ends_quote(self, place: Place) -> bool:
        """Return whether a block ends the quotation above it, because it has a prefix such as `>` itself.

        If lines with `<` answer lines with `>`, these answers and empty quoted lines do not end it, but a
        list item does.
        """
        if not self._has_answers:
            return place.block.prefix != ""
        is_answer = place.block.prefix == "<" or not place.line
        return place.block.kind == "list_item" or (place.block.prefix != "" and not is_answer)

    def starts_step(self, place: Place) -> bool:
        """Return whether a line heads all lines down to the next such line.

        Such a line is a step of a job, a prompt above the output of a command, or one of several titles that
        begin alike.
        """
        below = place.below
        is_above = below is not None and below.block.first == place.block.last and place.block.kind != "code"
        return place in self._titles or (is_above and _STEP.match(place.line) is not None)

    def ends_caption(self, place: Place, step: Head | None) -> bool:
        """Return whether the lines that `step` heads end before this place.

        Entries of a log right below `step` end at a run of text. The last record ends at the first run
        that is unlike those in the other records.
        """
        if place is self._alien:
            return True
        if step is None or step.run not in self._captioned or place.run == step.run:
            return False
        return place.starts_run and place.is_text and place.indent <= step.indent

    def goes_on(self, place: Place, label: Head) -> bool:
        """Return whether a block continues the value of `label`, a line above it with a name and a value."""
        if LABEL.match(place.line):
            return False
        if place.indent == label.indent:
            return place.run == label.run and place.block.kind == "sentence"
        return place.indent > label.indent  # a value may have several paragraphs

    def is_announced(self, place: Place, announcer: Head, is_inside: bool) -> bool:
        """Return whether `announcer` announces a block, and note in `announcer` how far it reaches.

        `announcer` is a line that ends with a colon. `is_inside`: whether a line above it is indented less
        than the block. Then the block may be indented less than `announcer`.
        """
        run = place.run
        above = place.above or place
        if announcer.text_indent is not None:
            return place.block.kind == "log" and find_text_indent(place.line) > announcer.text_indent + 1
        if run == announcer.run:
            if place.indent == announcer.indent and place.line.rstrip().endswith(":"):
                return False
            if _EXCEPTION.match(place.line):  # at the end of a traceback
                return place.indent == announcer.indent
            name = announcer.line.partition(":")[0] + ":"
            if announcer.body_indent < 0:
                announcer.body_indent = place.indent
                announcer.is_named = place.line.startswith(name)
                if place.indent < announcer.indent and not (is_inside and place.block.kind == "line"):
                    return False
            if announcer.is_named and place.indent == announcer.indent and not place.line.startswith(name):
                return False
            return place.indent >= announcer.body_indent
        is_next = run == announcer.run + 1 and above.units[-1] == announcer.units[-1]
        is_item = run == announcer.reach + 1 and place.block.kind == above.block.kind == "list_item"
        if is_next:
            announcer.body_indent = place.indent
        is_item = is_item and place.indent >= announcer.body_indent
        goes_on = announcer.reach == above.run and self.is_marked(place)
        if is_next or is_item or goes_on or run == announcer.reach or place.indent > announcer.indent:
            announcer.reach = run
            return True
        return False

    def is_marked(self, place: Place) -> bool:
        """Return whether a block with the sign of a quotation goes on with the text right above it."""
        above = place.above or place
        is_near = above.block.last == place.block.first and not above.block.prefix
        return is_near and place.block.prefix == ">"

    def is_title(self, place: Place) -> bool:
        """Return whether a numbered line is alone above a paragraph, as the title of a clause is."""
        below = place.below
        clause = CLAUSE.match(place.line)
        if clause and place.line[clause.end("number")] not in ".)" and place.line[clause.end() - 1].islower():
            return False  # it counts something
        is_alone = place.starts_run and place.block.last - place.block.first == 1
        return is_alone and below is not None and below.run != place.run and below.block.kind == "sentence"


def _find_titles(places: Sequence[Place]) -> Iterator[Place]:
    """Yield the lines that may be titles: alone with a colon, or above entries of a log."""
    for place, below in pairwise(places):
        is_alone = place.starts_run and below.run != place.run and place.line.rstrip().endswith(":")
        is_caption = below.run == place.run and below.block.kind == "log"
        if place.block.kind == "line" and (is_alone or is_caption):
            yield place


def _find_leaders(places: Sequence[Place]) -> Sequence[Place]:
    """Return the lines that begin records of several runs: the first line of a text, and those like it.

    They have the same first word, or they differ only in it. The runs below them begin alike.
    """
    if not places or first_word(places[0])[:1] in BULLETS or any(p.block.kind == "heading" for p in places):
        return []  # headings divide a text anyway
    if opens(first := places[0]):
        return []  # its record ends where the block is closed
    starts = [place for place in places if place.starts_run]
    rest = first.line.split()[1:]
    leaders = [
        at
        for at, place in enumerate(starts)
        if place.block.kind == first.block.kind != "sentence"
        and place.indent == first.indent
        and (_are_marked(place, first) or (len(rest) > 1 and place.line.split()[1:] == rest))
    ]
    ends = {*leaders, len(starts)}
    below = [shape(starts[at + 1].line) for at in leaders if at + 1 not in ends]
    differ = len({starts[at].line for at in leaders}) == len(leaders)
    if not differ or len(below) < 2 or len({*below}) > 1:
        return []
    # `RED CRANE TEAM` and `OLD CRANE TEAM` may be two of many names: then the runs below begin like them.
    is_alike = len({first_word(starts[at]) for at in leaders}) > 1 and below[0] == shape(first.line)
    return [] if is_alike else [starts[at] for at in leaders]


def _are_marked(place: Place, first: Place) -> bool:
    """Return whether two lines have the same first word, or both begin with a sign such as `●` or `×`."""
    words = (first_word(place), first_word(first))
    return words[0] == words[1] or all(len(word) == 1 and word in _MARKS for word in words)


def _find_alien(places: Sequence[Place], last: Place) -> Place | None:
    """Return the first run below the last record that begins like no run inside the other records."""
    known = {shape(place.line) for place in places if place.starts_run and place.run < last.run}
    return next((p for p in places if p.starts_run and p.run > last.run and shape(p.line) not in known), None)


def announces(line: str) -> bool:
    """Return whether a line ends with a colon. Emphasis may enclose it."""
    return line.rstrip().rstrip("*_`").endswith((":", "："))


def announces_entries(place: Place) -> bool:
    """Return whether an entry of a log ends with a colon, and the text of the one below it is indented."""
    below = place.below
    if below is None or below.block.kind != "log" or not place.line.rstrip().endswith(":"):
        return False
    return find_text_indent(below.line) > find_text_indent(place.line) + 1


def tie_comments(places: Sequence[Place], needs: dict[int, set[int]]) -> None:
    """Make each comment, and each line of tags such as `@slow`, need the line below it, in `needs`."""
    target: int | None = None
    for place in reversed(places):
        if place.below is None or place.below.block.first != place.block.last:
            target = None
        if not (place.block.prefix.startswith(COMMENTS) or _TAGS_ALONE.fullmatch(place.line)):
            target = place.units[0]
        elif target is not None:
            for unit in place.units:
                needs[unit] = {*needs.get(unit, ()), *needs.get(target, ()), target}


def _find_continued(places: Sequence[Place]) -> Iterator[tuple[Place, Place]]:
    """Yield each line that continues a field above it, and the line that begins the field.

    That is a line without the sign, such as `:`, that at least half of the lines begin with.
    """
    signs = Counter(place.line[:1] for place in places)
    sign, count = signs.most_common(1)[0] if signs else ("", 0)
    if count * 2 < len(places) or sign not in FIELD_SIGNS:
        return
    field: Place | None = None
    for place in places:
        if place.line.startswith(sign):
            field = place
        elif field and place.run == field.run and place.is_text:
            yield place, field


def _find_items(places: Sequence[Place]) -> Iterator[tuple[Place, Place]]:
    """Yield each line with a bullet, and the last line above it in its run with its indent and no bullet."""
    above: list[Place] = []
    for place in places:
        is_item = _BULLETED.match(place.line) is not None
        while above and (above[-1].run != place.run or above[-1].indent >= place.indent + is_item):
            above.pop()
        if not is_item:
            above.append(place)
        elif above and above[-1].indent == place.indent and above[-1].block.kind == "line":
            yield place, above[-1]


def _find_noted(places: Sequence[Place]) -> Iterator[tuple[Place, Place]]:
    """Yield each line with only a `|` in front, and the numbered line above it."""
    noted: Place | None = None
    for place in places:
        if noted is not None and place.run != noted.run:
            noted = None
        if _NUMBERED.match(place.line):
            noted = place
        elif not _NOTE.match(place.line):
            noted = None
        elif noted is not None:
            yield place, noted


def _find_labelled(places: Sequence[Place]) -> Iterator[tuple[Place, Place]]:
    """Yield each label that recurs between its siblings, and the sibling above it.

    Siblings are the lines with one indent under one line that is indented less.
    """
    found: dict[tuple[Place | None, str], list[tuple[Place, Place]]] = defaultdict(list)
    above: list[tuple[Place, Place]] = []
    """The last line of each smaller indent, and the sibling it belongs to."""
    for place in places:
        while above and above[-1][0].indent > place.indent:
            above.pop()
        owner = place
        sibling = above.pop()[1] if above and above[-1][0].indent == place.indent else None
        is_label = not place.speaks and place.has_body and _ONLY_LABEL.match(place.line)
        if is_label and sibling is not None and sibling.run == place.run:
            found[above[-1][0] if above else None, place.line.strip()].append((place, sibling))
            owner = sibling
        above.append((place, owner))
    return (pair for pairs in found.values() if len(pairs) > 1 for pair in pairs)


def find_names(place: Place) -> list[int]:
    """Return the units of the lines above that share the body of this one, as `h1,` does with `h2 {`."""
    names: list[int] = []
    above = place.above
    if place.line.rstrip().endswith(("{", ":")):
        while above and _shares(above, place) and len(names) < _MOST_NAMES:
            names.append(above.units[0])
            above = above.above
    return names


def _shares(above: Place, place: Place) -> bool:
    is_near = above.run == place.run and above.indent == place.indent and above.block.kind == "line"
    return is_near and above.line.rstrip().endswith(",") and not _VALUE.search(above.line)
