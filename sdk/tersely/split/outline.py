"""The outline of a text that no parser reads: which lines a reader needs to understand another one.

A unit is read under its heads: the headings above it, the clause and the item around it, the line above that
is indented less, the first line of its record, the line that announces a list, a speaker, a sender, the
question of an answer, the entry of a log. Two rules follow. Nothing is kept without its heads. A head that
says nothing by itself, a frame, is not kept alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tersely.split.lines import Lines
from tersely.split.logs import starts_entry
from tersely.split.markdown import ITEM
from tersely.split.prose import PREFIX, SPEAKER, Block
from tersely.units import Link

_LABEL = re.compile(
    r"""[ \t]*(?:[-*+•][ \t]+)?["'*_`]*
    [^\W\d_][\w .()/&'\#-]{0,39}?["'*_`)]*[ \t]*
    (?:[:=|]["'*_`]*(?:[ \t]+|$)|=(?=[^\s=])|(?<=[A-Z])[:;](?=\S))(?P<value>.*)""",
    re.VERBOSE,
)
"""A line with a name and its value."""
_KEY = re.compile(r"[\s*_`-]*[^\W\d_][\w .*`-]*:(?:\s|$)")
"""The start of a line that names its value, as `Hash Join  (cost=1)` does not."""
_QUESTION = re.compile(r"[\s*_#>-]*+(?:q|question|frage)\s?\d*\s*[*_]*[:.)]", re.IGNORECASE)
_ANSWER = re.compile(r"[\s*_#>-]*+(?:a|answer|antwort)\s?\d*\s*[*_]*[:.)]", re.IGNORECASE)
_TIME = re.compile(r"\s*[\[(]?\d")
_CLAUSE = re.compile(r"\s*(?:§+\s*)?(?P<number>\d{1,3}(?:\.\d{1,3})*)[.)]*\s+\S")
_BEGIN = re.compile(r"\s*(?:-{5})?BEGIN[: ]\S")
_END = re.compile(r"\s*(?:-{5})?END[: ]\S")
_IDENTITY = re.compile(r"\s*(?:SUMMARY|FN|NAME|TITLE)\b", re.IGNORECASE)
_HASHES = re.compile(r"\s*(#{1,6})")
_RULED, _SECTION, _NUMBERED, _TITLE = 1, 8, 14, 20
"""Depths of headings without hashes: underlined ones, lines like `--- a ---`, numbered ones, other titles."""
_MOST_STYLES = 5
_FEW_WORDS = 3
"""Most words of a term or a label, which says nothing without the lines under it."""
_LONG_CLAUSE = 120
"""A numbered paragraph of more code points is a clause, and the paragraphs after it belong to it."""
_DEEPEST = 16
"""Lines around each other that are followed."""
_MOST_HEADS = 64
"""Heads of a head that are followed. Without a bound, lines that each announce the next would need all."""
_BRANCH = re.compile(r"[\s│├└─┬|`+\\-]*(?:[│├└]|[|`+\\]-{1,3}\s)[\s│├└─┬|`+\\-]*")
_QUOTED = re.compile(r"\s{0,3}(?:>\s?)+\S")
_INK = re.compile(r"[^\W_]")
_COMMENTS = ("#", "//", ";", "--", "%")
_EXCEPTION = re.compile(r"[\w.]*(?:Error|Exception|Warning|Interrupt|Exit)\b")
_RULE = re.compile(r"([-=*_~#+%]|\.(?=\.))(?:\1|\s){0,200}|\s[.]\s*")
_LETTERS, _NUMBER = re.compile(r"[^\W\d_]+"), re.compile(r"\d+")


_IS_HEAD = re.compile(
    rf"\s|{_CLAUSE.pattern}|(?i:{_QUESTION.pattern})|{SPEAKER.pattern}|.*[:：]\s*$", re.VERBOSE
)
"""The first line of a paragraph that others may be read under."""


class Spans(NamedTuple):
    """The units of one block, as indices."""

    first: int
    last: int


class _Place(NamedTuple):
    """A block, and what decides which heads it has."""

    block: Block
    units: Spans
    run: int
    """Number of its run. A run is a series of blocks without a blank line between them."""
    starts_run: bool
    indent: int
    line: str
    """Its first line."""
    is_text: bool
    """Whether it is prose, an item or a single line."""
    speaks: bool
    """Whether another speaker begins here."""


@dataclass(slots=True)
class _Head:
    """A place that others are read under."""

    units: tuple[int, ...]
    """Indices of its units, and of the heads that it needs itself."""
    indent: int
    run: int
    depth: int = 0
    reach: int = 0
    """The last run that it announces."""
    body_indent: int = -1
    """The indent of the first block that it announces."""
    anchor: tuple[int, ...] = ()
    """The line between BEGIN and END that says which record it is."""
    first_indent: int = 0
    """The indent of the first line of a clause."""
    is_line: bool = False
    """Whether it is a line or an item, which is kept with the first line of its body."""


@dataclass(slots=True)
class _State:
    """The heads of the block that is being read."""

    headings: list[_Head] = field(default_factory=list[_Head])
    begins: list[_Head] = field(default_factory=list[_Head])
    sender: _Head | None = None
    clauses: list[_Head] = field(default_factory=list[_Head])
    parents: list[_Head] = field(default_factory=list[_Head])
    """Lines above that are indented less."""
    question: _Head | None = None
    speaker: _Head | None = None
    record: _Head | None = None
    """The first line of a run, which tells what the others are about."""
    announcer: _Head | None = None
    """A line that ends with a colon."""
    quoters: list[_Head] = field(default_factory=list[_Head])
    """Lines that announce a quotation, by the level of the quotation."""
    quote: _Head | None = None
    """The quotation that the text below it answers."""
    label: _Head | None = None
    """A line with a name and its value, which may go on in the lines below."""
    entry: _Head | None = None
    """The entry of a log."""
    separator: _Head | None = None
    """A line such as `---` between records, which the first line of the next one needs."""

    def start_section(self) -> None:
        """Forget all heads but headings, BEGIN lines and the sender."""
        self.clauses, self.parents, self.quoters = [], [], []
        self.question = self.speaker = self.record = self.announcer = None
        self.quote = self.label = self.entry = self.separator = None

    def close_record(self, head: _Head | None) -> None:
        """Forget the first line of a run if it is a head that is read no further."""
        if head and self.record and head.units[0] == self.record.units[0]:
            self.record = None

    def list_heads(self, indent: int) -> list[_Head]:
        """Return the heads of a block with this indent."""
        slots = (
            self.sender,
            self.question,
            self.speaker,
            self.record,
            self.announcer,
            self.quote,
            self.label,
            self.entry,
            self.separator,
        )
        parents = [head for head in self.parents if head.indent < indent]
        stacks = (self.headings, self.begins, self.clauses, self.quoters, parents)
        return [*(head for stack in stacks for head in stack), *(head for head in slots if head)]


def find_links(lines: Lines, blocks: Sequence[Block], spans: Sequence[Spans]) -> dict[int, Link]:
    """Return the links of the units that need others or are frames, by index of the unit.

    Takes time linear in the number of blocks.

    Args:
        blocks: all blocks of a text, in order.
        spans: the units of each block.
    """
    if all(block.kind == "sentence" and not _IS_HEAD.match(lines.texts[block.first]) for block in blocks):
        return {}  # paragraphs alone
    return _Reader(_find_places(lines, blocks, spans), lines).read()


def _find_places(lines: Lines, blocks: Sequence[Block], spans: Sequence[Spans]) -> list[_Place]:
    runs: list[int] = []
    for number, block in enumerate(blocks):
        above = blocks[number - 1] if number else None
        goes_on = above is not None and above.last >= block.first
        if goes_on and above is not None:
            goes_on = above.prefix == block.prefix and not (_is_rule(lines, block) or _is_rule(lines, above))
        runs.append(runs[-1] + (not goes_on) if runs else 0)
    spoken = Counter(
        run for run, block in zip(runs, blocks, strict=True) if _is_spoken(lines.texts[block.first], block)
    )
    is_dialogue = {run for run, count in spoken.items() if count >= 2}
    if sum(spoken.values()) >= 3:
        is_dialogue |= spoken.keys()
    return [
        _Place(
            block,
            units,
            run,
            number == 0 or runs[number - 1] != run,
            _find_indent(lines, block),
            line := _strip_prefix(lines.texts[block.first], block),
            block.kind in ("line", "sentence", "list_item"),
            run in is_dialogue and not block.prefix and SPEAKER.match(line) is not None,
        )
        for number, (block, units, run) in enumerate(zip(blocks, spans, runs, strict=True))
        if units.last >= units.first
    ]


def _is_spoken(line: str, block: Block) -> bool:
    """Whether a block may be a part of a dialogue: prose after a name, or any line after a time."""
    if "-->" in line or not SPEAKER.match(line):
        return False
    return block.kind == "sentence" or (block.kind == "line" and _TIME.match(line) is not None)


def _strip_prefix(line: str, block: Block) -> str:
    return PREFIX.sub("", line, count=1) if block.prefix else line


def _find_indent(lines: Lines, block: Block) -> int:
    """Return the indent of a block. Lines that draw a tree count as spaces."""
    line = lines.texts[block.first]
    if block.kind != "table" and (branch := _BRANCH.match(line)):
        return len(branch[0])
    return lines.indent(block.first)


def _is_rule(lines: Lines, block: Block | None) -> bool:
    """Whether a block is a line that only separates others, as `---` does."""
    return (
        block is not None and block.kind == "line" and _RULE.fullmatch(lines.texts[block.first]) is not None
    )


class _Reader:
    def __init__(self, places: Sequence[_Place], lines: Lines) -> None:
        self._places, self._lines = places, lines
        self._needs: dict[int, set[int]] = {}
        self._frames: set[int] = set()
        self._rules: set[int] = set()
        self._starts = Counter(self._first_word(place) for place in places if place.starts_run)
        """The first words of runs: records of one kind begin alike."""
        self._bodies: dict[int, int] = {}
        """The first unit under each line that others are read under."""
        self._styles: list[str] = []
        """The signs that underline headings, in the order in which they appear."""
        labelled, total = Counter[int](), Counter[int]()
        indents = dict[int, int]()
        for place in places:
            # Indented lines are values that go on.
            if place.is_text and place.indent <= indents.setdefault(place.run, place.indent):
                total[place.run] += 1
                labelled[place.run] += not place.speaks and _LABEL.match(place.line) is not None
        self._records = {
            run for run, count in total.items() if labelled[run] * 2 >= count and labelled[run] >= 2
        }
        """Runs of lines with a name and a value each."""
        self._has_quotes = len({place.run for place in places if place.block.prefix.startswith(">")}) > 1

    def read(self) -> dict[int, Link]:
        """Return the links; see `find_links`."""
        state = _State()
        for number, place in enumerate(self._places):
            if place.block.kind == "heading":
                self._open_heading(place, state)
                continue
            self._close(number, place, state)
            if place.is_text and _END.match(place.line) and state.begins:
                self._end(place, state)
                continue
            self._need(place, state.list_heads(place.indent))
            if place.block.kind == "line" and not _INK.search(place.line):
                self._rules.add(place.units.first)
            if place.block.kind == "line" and _RULE.fullmatch(place.line):
                self._rules.add(place.units.first)
                state.separator = self._head(place.units.first, place)
                continue
            self._open(number, place, state)
            state.separator = None
        with_body = {need for needs in self._needs.values() for need in needs}
        self._tie_heads()
        self._tie_comments()
        links: dict[int, Link] = {}
        frames = self._rules | (self._frames & with_body)
        for unit in sorted(self._needs.keys() | frames):
            needs = tuple(sorted(set(self._needs.get(unit, ())) - {unit}))
            is_frame = unit in frames
            if needs or is_frame:
                links[unit] = Link(None, 1, needs, is_frame)
        return links

    def _tie_comments(self) -> None:
        """A comment needs the line below it."""
        target: int | None = None
        below: _Place | None = None
        for place in reversed(self._places):
            if below is None or below.block.first != place.block.last:
                target = None
            if not place.block.prefix.startswith(_COMMENTS):
                target = place.units.first
            elif target is not None:
                for unit in range(place.units.first, place.units.last + 1):
                    needs = self._needs.get(target, ())
                    self._needs[unit] = {*self._needs.get(unit, ()), *needs, target}
            below = place

    def _tie_heads(self) -> None:
        """Let each line that others are read under need the first of them, so that it is not kept alone."""
        for unit in sorted(self._bodies, reverse=True):
            body = self._bodies[unit]
            needs = {*self._needs.get(unit, ()), body, *self._find_heads(body)}
            self._needs[unit] = needs - {unit}

    def _need(self, place: _Place, heads: Sequence[_Head]) -> None:
        """Record the heads of all units of a block."""
        needs = {unit for head in heads for unit in head.units}
        for head in heads:
            if head.is_line:
                self._bodies.setdefault(head.units[-1], place.units.first)
        for unit in range(place.units.first, place.units.last + 1):
            self._needs[unit] = needs

    def _find_heads(self, unit: int) -> Iterable[int]:
        """Return the heads of a head, unless they are too many."""
        needs = self._needs.get(unit, ())
        return needs if len(needs) <= _MOST_HEADS else ()

    def _head(self, unit: int, place: _Place, depth: int = 0) -> _Head:
        units = (*self._find_heads(unit), unit)
        is_line = place.block.kind != "sentence"
        return _Head(units, place.indent, place.run, depth, place.run, is_line=is_line)

    def _close(self, number: int, place: _Place, state: _State) -> None:
        """Forget the heads that a block is not read under."""
        run, indent, line = place.run, place.indent, place.line
        for heads in (state.headings, state.clauses):
            while heads and heads[-1].indent > indent:
                heads.pop()
        while state.parents and state.parents[-1].indent >= indent:
            state.parents.pop()
        if state.record and run != state.record.run and indent <= state.record.indent:
            # A value of several paragraphs does not end its record.
            is_flush = self._lines.is_blank(place.block.first - 1) or place.block.kind == "code"
            if is_flush or self._places[number - 1].indent <= state.record.indent:
                state.record = None
        if state.announcer and not self._is_announced(number, place, state.announcer):
            state.announcer = None
        if state.label and (run != state.label.run or not self._goes_on(place, state.label)):
            state.label = None
        if state.entry and (run != state.entry.run or starts_entry(line)):
            state.entry = None
        while state.quoters and state.quoters[-1].depth > place.block.prefix.count(">"):
            state.quoters.pop()
        if state.quote and (place.block.prefix or indent < state.quote.indent):
            state.quote = None
        if state.sender and place.starts_run and run in self._records and indent <= state.sender.indent:
            state.sender = None
        if place.is_text and (clause := _CLAUSE.match(line)):
            depth = clause["number"].count(".")
            while (
                state.clauses
                and state.clauses[-1].depth >= depth
                and indent <= state.clauses[-1].first_indent
            ):
                state.close_record(state.clauses.pop())
        if state.separator and (place.block.kind != "line" or run != state.separator.run + 1):
            state.separator = None
        is_question = _QUESTION.match(line) is not None
        if is_question:
            state.close_record(state.question)
            state.question = None
        if is_question or place.speaks:
            state.close_record(state.speaker)
            state.speaker = None

    def _goes_on(self, place: _Place, label: _Head) -> bool:
        """Whether a block continues the line with a name and a value above it."""
        if _LABEL.match(place.line):
            return False
        return place.indent > label.indent or (
            place.indent == label.indent and place.block.kind == "sentence"
        )

    def _is_announced(self, number: int, place: _Place, announcer: _Head) -> bool:
        """Whether a line that ends with a colon announces a block."""
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

    def _end(self, place: _Place, state: _State) -> None:
        """Close a block between BEGIN and END. Whatever is kept of it needs both."""
        begin, end = state.begins.pop(), place.units.first
        self._needs[end] = set(begin.units)
        self._frames.add(end)
        for unit in range(begin.units[-1], end):
            self._needs[unit] = {*self._needs.get(unit, ()), end, *begin.anchor}

    def _open_heading(self, place: _Place, state: _State) -> None:
        depth = self._find_depth(place.block)
        headings = state.headings
        while headings and (headings[-1].depth >= depth or headings[-1].indent > place.indent):
            headings.pop()
        above = [*headings, *state.begins, *([state.sender] if state.sender else [])]
        self._need(place, above)
        first = place.units.first
        self._frames.add(first)
        headings.append(self._head(first, place, depth))
        state.start_section()

    def _find_depth(self, block: Block) -> int:
        """Return how deep a heading lies: by its hashes, its number or the sign of its rule."""
        text = self._lines.text[block.start : block.end].strip()
        if hashes := _HASHES.match(text):
            return len(hashes[1])
        if numbered := _CLAUSE.match(text):
            return _NUMBERED + min(_MOST_STYLES, numbered["number"].count("."))
        rule = text.rsplit("\n", 1)[-1].strip()[:1]
        if "\n" in text and not rule.isalnum():
            return _RULED + self._find_style(rule + text[0] * (not text[0].isalnum()))
        return _TITLE if text[0].isalnum() else _SECTION + self._find_style(text[0] + " ")

    def _find_style(self, style: str) -> int:
        if style not in self._styles:
            self._styles.append(style)
        return min(_MOST_STYLES, self._styles.index(style))

    def _open(self, number: int, place: _Place, state: _State) -> None:
        """Remember a block as a head of those after it."""
        (first, last), kind = place.units, place.block.kind
        if kind == "log":
            state.entry = self._head(first, place)
        elif place.is_text and _BEGIN.match(place.line):
            self._frames.add(first)
            if len(state.begins) < _DEEPEST:
                state.begins.append(self._head(first, place))
        elif place.is_text:
            self._open_text(number, place, state)
        if (place.is_text or kind == "code") and len(state.parents) < _DEEPEST:
            self._open_parent(number, place, state)
        if self._has_quotes and _QUOTED.match(self._lines.texts[place.block.first]):
            state.quote = self._head(last, place)

    def _open_text(self, number: int, place: _Place, state: _State) -> None:
        (first, last), line = place.units, place.line
        clause = _CLAUSE.match(line)
        is_question = _QUESTION.match(line) is not None
        label = _LABEL.match(line)
        if clause or is_question or place.speaks or label or ITEM.match(line):
            for unit in range(first + 1, last + 1):
                self._needs[unit] = {*self._needs[unit], first}
        if is_question:
            self._frames |= {first, last}
            state.question = self._head(last, place)
            state.question.is_line = True  # it comes with its answer
        elif place.speaks and not _ANSWER.match(line):
            state.speaker = self._head(first, place)
        is_long = place.block.end - place.block.start > _LONG_CLAUSE
        if clause and ("." in clause["number"] or is_long or self._is_title(number, place)):
            head = self._head(first, place, clause["number"].count("."))
            # The first line of a clause may be indented more than its other lines.
            head.first_indent = place.indent
            head.indent = min(map(self._lines.indent, range(place.block.first, place.block.last)))
            state.clauses.append(head)
        if self._lines.texts[place.block.last - 1].rstrip().rstrip("*_`").endswith((":", "：")):
            self._frames.add(last)
            below = self._places[number + 1].block.prefix.count(">") if number + 1 < len(self._places) else 0
            if below > place.block.prefix.count(">"):
                state.quoters.append(self._head(last, place, below))
            else:
                state.announcer = self._head(last, place)
        if state.record is None and place.starts_run and self._heads_record(number, place):
            state.record = self._head(first, place)
            # The number of a subtitle comes with its time, and a name with the value in the next line.
            if line.strip().isdigit() or (
                line.rstrip().endswith(":") and self._places[number + 1].indent > place.indent
            ):
                self._bodies[first] = self._places[number + 1].units.first
                state.record.units += (self._bodies[first],)
                if "-->" in self._places[number + 1].line:
                    self._frames |= {first, self._bodies[first]}
            if self._heads_text(number, place):
                state.sender = state.record
        if label and label["value"]:
            state.label = self._head(first, place)
        if label and state.begins and not state.begins[-1].anchor and _IDENTITY.match(line):
            state.begins[-1].anchor = (first,)

    def _is_title(self, number: int, place: _Place) -> bool:
        """Whether a numbered line stands alone above a paragraph, as the title of a clause does."""
        below = self._places[number + 1] if number + 1 < len(self._places) else None
        is_alone = place.starts_run and place.block.last - place.block.first == 1
        return is_alone and below is not None and below.run != place.run and below.block.kind == "sentence"

    def _heads_record(self, number: int, place: _Place) -> bool:
        """Whether the first line of a run tells what the other lines are about."""
        places, at = self._places, number + 1
        while at < len(places) and places[at].run == place.run and places[at].indent > place.indent:
            at += 1
        if at == len(places) or places[at].run != place.run:
            return False  # indented lines alone, which belong to it anyway
        below = places[at]
        if place.run in self._records:
            # A line with values of its own below it, as `a.c:3: error` has, does not head its siblings.
            return _KEY.match(place.line) is not None or at == number + 1
        if self._places[-1].run == 0:
            return False
        if place.block.kind != "line" or below.block.kind == "sentence":
            return False
        words = [self._first_word(place), self._first_word(below)]
        return _shape(place.line) != _shape(below.line) or (
            self._starts[words[0]] > 1 and words[0] != words[1]
        )

    def _first_word(self, place: _Place) -> str:
        return (place.line.split(maxsplit=1) or [""])[0]

    def _heads_text(self, number: int, place: _Place) -> bool:
        """Whether the text after a record belongs to it, as the text of a mail belongs to its header."""
        if place.run not in self._records or len(self._records) < 2:
            return False
        end = number
        while end < len(self._places) and self._places[end].run == place.run:
            end += 1
        return end < len(self._places) and self._places[end].run not in self._records

    def _open_parent(self, number: int, place: _Place, state: _State) -> None:
        """Remember a block as a head of the blocks below it that are indented more."""
        below = self._places[number + 1] if number + 1 < len(self._places) else None
        if below is None or _RULE.fullmatch(place.line):
            return
        is_item = ITEM.match(place.line) is not None
        is_near = below.run == place.run and below.indent > place.indent
        if place.block.kind == "sentence" and not (is_near or is_item):
            return  # a paragraph and an example below it
        if below.run != place.run and state.record and state.record.run == place.run:
            state.parents.append(_Head(state.record.units, place.indent, place.run))
            return
        unit = place.units.last if place.block.kind == "sentence" and not is_item else place.units.first
        is_term = place.block.kind == "line" and len(place.line.split()) <= _FEW_WORDS
        if is_near and is_term and not _LABEL.match(place.line):
            self._frames.add(unit)
        parent = self._head(unit, place)
        parent.is_line |= is_near
        state.parents.append(parent)


def _shape(line: str) -> str:
    """Return the pattern of letters and digits at the start of a line. Lines of one list begin alike."""
    word = (line.split(maxsplit=1) or [""])[0]
    word = _NUMBER.sub("9", _LETTERS.sub(lambda found: "A" if found[0][0].isupper() else "a", word))
    return word[:3]
