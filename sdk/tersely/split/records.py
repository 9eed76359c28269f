"""Records: runs of lines with a first line that tells what the others are about."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from tersely.split.continued import OPTION
from tersely.split.lines import CLOSER
from tersely.split.markers import BULLETS, find_marker
from tersely.split.places import CUE, Place, announces, is_rule
from tersely.split.prose import is_in_capitals

LABEL = re.compile(
    r"""[ \t]*(?:[-*+•][ \t]+)?["'*_`]*
    (?:\[(?=\w+[ ]"[^"]*"\][ \t]*$))?[^\W\d_][\w .()/&'\#-]{0,39}?["'*_`)]*[ \t]*
    (?:[:=|]["'*_`]*(?:[ \t]+|$)|=(?=[^\s=])|(?<=[A-Z])[:;](?=\S)|[ ](?="[^"]*"\][ \t]*$))(?P<value>.*)""",
    re.VERBOSE,
)
"""A line with a name and its value. In a game of chess it is `[White "Ada"]`."""
QUESTION = re.compile(r"[\s*_#>-]*+(?:q|question|frage)\s?\d*\s*[*_]*[:.)]", re.IGNORECASE)
ANSWER = re.compile(r"[\s*_#>-]*+(?:a|answer|antwort)\s?\d*\s*[*_]*[:.)]", re.IGNORECASE)
_KEY = re.compile(r"[\s*_`-]*[^\W\d_][\w .*`-]*:(?:\s|$)")
"""The start of a line with a name, a colon and a value. `Hash Join  (cost=1)` is not such a line."""
_VALUED = re.compile(r"\s*(?P<name>[^\W\d_][\w/-]*(?: [\w/-]+)?)(?:[ \t]*[:=][ \t]*| {2,}|\t+)\S")
"""A line with a name and its value, divided by a sign or a gap."""
_FEWEST_PAIRED, _LONGEST_PAIRED = 4, 48
"""Smallest number of lines of a run in which names and values take turns; largest size of each line."""
MAX_TERM_WORDS = 3
"""Largest number of words of a term. A term says nothing without the lines below it."""
_MAIL = re.compile(r"\s*(?:From|To|Cc|Subject|Date|Sent|Von|An|Betreff|Datum|Gesendet|De|À|Objet)\s?:\s")
_LONG = 12
"""Above this number of lines, the first line of a run heads the others only if half of them begin alike."""
_STEM = re.compile(r"[^\W\d_]+[^\w\s:](?=\w)")
"""The start of a name such as `text/plain`, which lines of one list share."""
_LETTERS, _NUMBER = re.compile(r"[^\W\d_]+"), re.compile(r"\d+")


class Records:
    """The runs of a text that are records."""

    def __init__(self, places: Sequence[Place]) -> None:
        self._is_single = not places or places[-1].run == 0
        """True if the text is one run."""
        self._starts = Counter(first_word(place) for place in places if place.starts_run)
        """The first words of runs: records of one kind begin alike."""
        self.leads = set[Place]()
        """The first line of each run. Also each line indented less than all lines above it in its run, and
        less than the line below it. Also the line below a preamble (see `_follows_preamble`)."""
        names: dict[int, list[str]] = defaultdict(list)
        total = Counter[int]()
        shapes: dict[int, Counter[str]] = defaultdict(Counter)
        indents, lowest = dict[int, int](), dict[int, int]()
        for place in places:
            is_head = place.has_body and place.next is not None
            is_lower = not place.starts_run and place.indent < lowest[place.run] and is_head
            is_lead = place.starts_run or is_lower or self._follows_preamble(place) or _is_remarked(place)
            # A line such as `Actions:` heads only its list.
            is_above = place.is_titled and (_is_above_items(place) or _is_above_fields(place))
            if is_lead or (is_above and not place.line.rstrip().endswith(":")):
                self.leads.add(place)
            lowest[place.run] = min(place.indent, lowest.get(place.run, place.indent))
            # Lines that are indented more continue the value above them. A gutter counts as an indent.
            is_flush = place.indent <= indents.setdefault(place.run, place.indent)
            if place.is_text and not place.is_remark and (is_flush or not place.line[:1].isspace()):
                total[place.run] += 1
                shapes[place.run][shape(place.line)] += 1
                if not place.speaks and (label := LABEL.match(place.line)):
                    names[place.run].append(place.line[: label.start("value")].strip())
        named = {run: found for run, found in names.items() if len(found) >= max(2, total[run] / 2)}
        self._records = {run for run, own in named.items() if len({*own}) * 2 > len(own) or own[0] in own[1:]}
        """Runs in which at least two lines, and at least half of all, have a name and a value. Most of their
        names differ, or the first one recurs."""
        long = [run for run, count in total.items() if count > _LONG]
        self._mixtures = {run for run in long if shapes[run].most_common(1)[0][1] * 2 < total[run]}
        """Long runs in which less than half of the lines begin alike, such as the output of a build."""
        self._named = _find_named(places)
        self.repeated = {place for run, place in _find_repeated(places) if run in self._records}
        """Lines inside records with the same name as the first line. Each begins another record."""
        self.leads |= self._named | self.repeated
        self._last = {place.run: place for place in places}
        self._items = {place.run: place for place in places if place.kind == "list_item"}
        """The last item of each run with items."""
        self._tables = {place.run for place in places if place.kind in ("row", "table")}

    def _follows_preamble(self, place: Place) -> bool:
        """Return whether a line is right below the first line of the text and begins as several runs do.

        The first line must not begin like other runs.
        """
        above = place.above
        if above is None or above.above or above.run != place.run or above.indent != place.indent:
            return False
        if above.kind != "line" or place.kind not in ("line", "sentence"):
            return False
        return self._starts[first_word(place)] > 1 == self._starts[first_word(above)]

    def holds(self, run: int) -> bool:
        """Return whether enough lines of a run have a name and a value."""
        return run in self._records

    def is_head(self, place: Place) -> bool:
        """Return whether the first line of a run tells what the other lines are about."""
        if CLOSER.fullmatch(place.line) or place.is_caption:
            return False
        if place in self._named or CUE.match(place.line):
            return True
        has_list = place.has_body and not place.has_one_line and place.line.rstrip().endswith(":")
        if place.run in self._mixtures or has_list:
            return False
        if place.run in self._tables:
            return True
        below = place.next
        while below is not None and (below.indent > place.indent or below.is_remark):
            below = below.next
        if below is None:
            return False  # all lines below are indented more, so it is their head anyway
        if place.kind == "list_item" and find_marker(place.line) not in BULLETS:
            return below.kind != "list_item" or find_marker(below.line) in BULLETS
        if place.kind == below.kind == "list_item":
            return False
        are_alike = all(line.has_body and _KEY.fullmatch(line.line.rstrip()) for line in (place, below))
        if are_alike or CLOSER.fullmatch(below.line):
            return False
        if place.run in self._records:
            # A line with indented lines below it, such as `a.c:3: error`, does not head siblings like it.
            differs = shape(place.line) != shape(below.line)
            return _KEY.match(place.line) is not None or below is place.below or differs
        are_terms = all(line.has_body and len(line.line.split()) <= MAX_TERM_WORDS for line in (place, below))
        if self._is_single or OPTION.match(place.line) or are_terms:
            return False
        if place.kind == "sentence" and below.kind == "line":
            return self._starts[first_word(place)] > 1
        if place.kind != "line":
            return False
        if below.kind == "sentence":
            return is_term(place) or is_in_capitals(place.line)
        if _is_above_items(place):
            return True
        words = [first_word(place), first_word(below)]
        if (stem := _STEM.match(place.line)) and below.line.startswith(stem[0]):
            return False
        return shape(place.line) != shape(below.line) or (self._starts[words[0]] > 1 and words[0] != words[1])

    def titles_fields(self, place: Place) -> bool:
        """Return whether a line of a few words, which says nothing alone, is above the fields of its run."""
        is_title = place.run in self._records and is_term(place) and not LABEL.match(place.line)
        return is_title and place.line[:1].isupper()

    def heads_text(self, place: Place) -> bool:
        """Return whether the text after a record belongs to it, as the text of a mail belongs to its header.

        A blank line or a rule is between them. A table with a title that begins like the record does not
        belong to it, and a record with list items is not a header.
        """
        is_mail = place.below and all(_MAIL.match(line.line) for line in (place, place.below))
        if place.run not in self._records or (len(self._records) < 2 and not is_mail):
            return False
        if self.titles_fields(place) and (place.above or sum(map(self.titles_fields, self.leads)) > 1):
            return False  # it is one of several groups of fields
        if place.line.rstrip().endswith(":") or (place.has_body and not _KEY.match(place.line)):
            return False
        last = self._last[place.run]
        below = last.below
        if (item := self._items.get(place.run)) and item.units[0] > place.units[0]:
            return False
        if below is None or below.run in self._records:
            return False
        if below.block.first == last.block.last and not is_rule(below.block, below.line):
            return False
        return below.run not in self._tables or first_word(below) != first_word(place)


def is_term(place: Place) -> bool:
    """Return whether the first line has at most `MAX_TERM_WORDS` words, and a letter at its end."""
    return len(place.line.split()) <= MAX_TERM_WORDS and place.line.rstrip()[-1:].isalpha()


def _is_above_fields(place: Place) -> bool:
    """Return whether a line without a value is right above fields."""
    is_above = place.kind == "line" and place.next is not None and LABEL.match(place.next.line)
    return bool(is_above) and not LABEL.match(place.line)


def _is_above_items(place: Place) -> bool:
    """Return whether a line and perhaps another one, such as a title and its date, are above list items."""
    below = place.below
    if below is not None and below.kind == "line" and below.indent == place.indent:
        below = below.below
    is_near = below is not None and below.run == place.run and below.indent >= place.indent
    return place.kind == "line" and is_near and below is not None and below.kind == "list_item"


def _is_remarked(place: Place) -> bool:
    """Return whether a line with a name and a value is right below a heading that may be a comment."""
    above = place.above
    is_heading = above is not None and above.kind == "heading" and above.line.startswith("# ")
    is_first = above is not None and above.starts_run and above.run == place.run
    return is_heading and is_first and LABEL.match(place.line) is not None


def _find_named(places: Sequence[Place]) -> set[Place]:
    """Return the lines right below headings that recur word for word, if all begin with one name.

    Their values tell the sections apart.
    """
    below: dict[str, list[Place]] = defaultdict(list)
    for above, place in pairwise(places):
        if above.kind == "heading":
            below[above.line].append(place)
    named: set[Place] = set()
    for found in below.values():
        names = {match and match["name"] for match in map(_VALUED.match, (place.line for place in found))}
        if len(found) > 1 and len(names) == 1 and None not in names:
            named.update(found)
    return named


def _find_repeated(places: Sequence[Place]) -> Iterator[tuple[int, Place]]:
    """Yield the run and the place of each line with the same name as the first line of its run.

    A line right below another such line is not one of them.
    """
    first = above = ""
    for place in places:
        label = LABEL.match(place.line)
        name = place.line[: label.start("value")].strip() if label else ""
        if place.starts_run:
            first = name
        elif name and name == first != above:
            yield place.run, place
        above = name


def shape(line: str) -> str:
    """Return the pattern of letters and digits at the start of a line. Lines of one list begin alike."""
    word = (line.split(maxsplit=1) or [""])[0]
    word = _NUMBER.sub("9", _LETTERS.sub(lambda found: "A" if found[0][0].isupper() else "a", word))
    return word[:3]


def first_word(place: Place) -> str:
    return (place.line.split(maxsplit=1) or [""])[0]


def find_pairs(places: Sequence[Place]) -> Iterator[tuple[Place, Place]]:
    """Yield each value that is in the line below its name, with the name. In a run with a title, also yield
    each name with the title.

    All lines of such a run are short, and no name has a digit. In at least two runs, half of the values have
    one. If the number of lines is odd, the first line is the title.
    """
    runs = [list(group) for _, group in groupby(places, lambda place: place.run)]
    found = [lines for lines in runs if len(lines) >= _FEWEST_PAIRED and all(map(_is_short, lines))]
    found = [lines for lines in found if not any(map(_has_digit, lines[len(lines) % 2 :: 2]))]
    if sum(sum(map(_has_digit, lines)) * 4 >= len(lines) for lines in found) < 2:
        return
    for lines in found:
        title, *_ = lines if len(lines) % 2 else [None]
        for name, value in zip(lines[len(lines) % 2 :: 2], lines[len(lines) % 2 + 1 :: 2], strict=True):
            yield value, name
            if title:
                yield name, title


def _is_short(place: Place) -> bool:
    is_plain = not (announces(place.line) or LABEL.match(place.line))
    return is_plain and place.kind == "line" and len(place.line) <= _LONGEST_PAIRED


def _has_digit(place: Place) -> bool:
    return any(map(str.isdigit, place.line))
