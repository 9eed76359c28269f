"""Heads: the blocks that other blocks need, and which of them apply to a block."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tersely.split.depths import COUNTED_DEPTH, NUMBERED_DEPTH, PLAIN_DEPTH, RULED_DEPTH
from tersely.split.markers import CLAUSE
from tersely.split.places import Place
from tersely.split.records import first_word
from tersely.split.sentence_starts import COUNTED
from tersely.split.titles import CARGO

_WORD = rf"(?:(?i:{COUNTED}|note)\s+)?"
_FIRST = re.compile(rf"{_WORD}(?:1(?:[.):\s–—-]|$)|[AI][.):–—-])")
"""The number or the letter of the first title of a series."""
_COUNTED_TITLE = re.compile(rf"{_WORD}(?:\d{{1,3}}|[A-Z]|[IVX]{{1,5}})(?:[.):–—-]|$)")
_CATEGORY = re.compile(r"\[\[(?!(?i:file|image|datei|bild|fichier|media):)[^\W\d_]+:[^\]\n]+\]\]\s*$")
"""A category at the end of a page of wikitext."""
_ABOVE = 0.2
"""Subtracted from the depth of a series of titles to get that of the title whose section they are in."""
_MOST_LISTS = 16
"""Largest number of lists, each inside the next, that continue together."""
_NESTED = 2
"""A heading indented at least this much more than a title is in the title's section."""


@dataclass(slots=True)
class Head:
    """A block that other blocks need."""

    units: tuple[int, ...]
    """Indices of its units, and of the heads that it needs itself."""
    indent: int
    run: int
    depth: float = 0
    reach: int = 0
    """Number of the last run that it announces."""
    body_indent: int = -1
    """The indent of the first block that it announces."""
    anchor: tuple[int, ...] = ()
    """The unit of the line after BEGIN or `{` that names the record or its columns; empty without one."""
    first_indent: int = 0
    """The indent of the first line of a clause."""
    is_line: bool = False
    """True for a line or an item, which is kept with the first line of its body."""
    text_indent: int | None = None
    """For an entry of a log that announces others: the number of spaces before its text."""
    has_list_only: bool = False
    """True if it announces only list items and boxes to tick."""
    is_named: bool = False
    """True if the lines that it announces repeat its text up to the colon, as messages of a compiler do."""
    is_option_or_record: bool = False
    """True for the name of a command's option, and for the first line of a record inside another one."""
    is_outer: bool = False
    """True if it heads all text down to the next such line, including the headings in that text."""
    line: str = ""
    """The first line of a heading, or of a block that announces others; the last line of a parent."""
    announcer: Head | None = None
    """The line right above a heading, or above an earlier one like it, that announces it."""
    outer: Head | None = None
    """For a line that announces a list: the head that announces the list around it."""
    begin: int = 0
    """The first unit of its whole statement: for an `else`, the `if`; for most other heads, itself."""

    def extend(self, run: int) -> None:
        """Extend the reach to a run, for the lists around this one too."""
        head: Head | None = self
        for _ in range(_MOST_LISTS):
            if head:
                head.reach, head = run, head.outer

    def ends_at(self, depth: float, indent: int) -> bool:
        """Return whether the section of this heading ends at a heading with this depth and indent.

        The section of a title does not end at a heading such as `  [Ada]` that is indented more.
        """
        is_inner = RULED_DEPTH <= depth < COUNTED_DEPTH and indent - self.indent >= _NESTED
        is_below = is_inner and self.depth >= PLAIN_DEPTH
        return self.ends_at_indent(indent) or (self.depth >= depth and not is_below)

    def ends_at_indent(self, indent: int) -> bool:
        """Return whether a line with this indent ends the section, because it is indented less."""
        return self.indent > indent and not CARGO.match(self.line)


@dataclass(slots=True)
class State:
    """The heads that may apply to the next block."""

    headings: list[Head] = field(default_factory=list[Head])
    begins: list[Head] = field(default_factory=list[Head])
    """First lines of the sections, such as BEGIN to END, that have not ended."""
    sender: Head | None = None
    """The header of a mail, or a record like it, whose text follows."""
    sender_word: str = ""
    """The first word of the last such header."""
    clauses: list[Head] = field(default_factory=list[Head])
    titles: dict[str, Head] = field(default_factory=dict[str, Head])
    """The titles of the last clause and of the clauses around it, such as 2 and 2.1, by their numbers."""
    parents: list[Head] = field(default_factory=list[Head])
    """Lines above that are indented less."""
    question: Head | None = None
    speaker: Head | None = None
    record: Head | None = None
    """The first line of a run, if it says what the other lines of the run are about."""
    announcer: Head | None = None
    """A line that ends with a colon."""
    quoters: list[Head] = field(default_factory=list[Head])
    """Lines that announce a quotation. The depth of each is the number of `>` before the quotation."""
    quote: Head | None = None
    """The quotation that the text below it answers."""
    label: Head | None = None
    """A line with a name and its value, which may go on in the lines below."""
    entry: Head | None = None
    """The entry of a log."""
    separator: Head | None = None
    """A line such as `---` between records. The first line of the next record needs it."""
    continued: Head | None = None
    """The earlier line that the line being read continues, as `else` continues `if`."""
    step: Head | None = None
    """The line that begins a step of a job, or a record. It heads all lines down to the next such line."""

    def start_section(self) -> Head | None:
        """Forget all heads except headings, titles of clauses, BEGIN lines, the sender and `continued`.

        Also keep a step with headings in it, and return it.
        """
        self.clauses, self.parents, self.quoters = [], [], []
        self.question = self.speaker = self.record = self.announcer = None
        self.quote = self.label = self.entry = self.separator = None
        self.step = self.step if self.step and self.step.is_outer else None
        return self.step

    def end_sections(self, place: Place) -> None:
        """Forget headings, clauses and a sender that are indented more than the block at `place`.

        A report of cargo has headings that are indented more than their text. Also forget titles of tables,
        unless the block is a table. If the block repeats the line that announced a heading, forget that
        heading and those below it. If it is a category of wikitext, forget all headings.
        """
        is_table = place.kind == "table"
        if self.sender and self.sender.indent > place.indent:
            self.sender = None
        if _CATEGORY.match(place.line):
            self.headings = []
        announced = [head.announcer.line if head.announcer else None for head in self.headings]
        if place.line in announced:
            del self.headings[announced.index(place.line) :]
        for heads in (self.headings, self.clauses):
            while heads and (
                heads[-1].ends_at_indent(place.indent) or (heads[-1].line[:1] == "|" and not is_table)
            ):
                heads.pop()

    def end_clauses(self, place: Place) -> None:
        """If a clause begins here, forget the clauses that it ends, and the records that began with them."""
        clause = CLAUSE.match(place.line) if place.is_text else None
        if clause is None or (clause["word"] and place.kind == "sentence"):
            return
        depth, clauses = clause["number"].count("."), self.clauses
        while clauses and clauses[-1].depth >= depth and place.indent <= clauses[-1].first_indent:
            self.end_record(clauses.pop())

    def end_at_heading(self, depth: float, place: Place) -> Head | None:
        """Forget the headings whose sections a new heading ends, and perhaps the sender.

        Return what announced the outermost of these headings if that heading is as deep as the new one.
        Forget the sender if at least two of them are above it; if one is, and the new heading has signs or is
        counted; or if the next mail is below the new heading, as below `--- Original message ---`.
        """
        if self.sender and place.below and first_word(place.below) == self.sender_word:
            self.end_text(self.sender)
        announcer: Head | None = None
        above_sender = 0
        last = self.headings[-1] if self.headings else None
        is_below = last and place.above and place.above.units[0] == last.begin
        if last and is_below and _FIRST.match(place.line) and not _COUNTED_TITLE.match(last.line):
            last.depth = min(last.depth, depth - _ABOVE)  # all titles of the series are inside its section
        outside = (at for at, head in enumerate(self.headings) if _is_outside(place.line, head.line))
        around = next(outside, len(self.headings))
        while self.headings and (
            len(self.headings) > around or self.headings[-1].ends_at(depth, place.indent)
        ):
            ended = self.headings.pop()
            announcer = ended.announcer if ended.depth == depth else None
            above_sender += self.sender is not None and ended.begin < self.sender.begin
        if above_sender > 1 or (above_sender and depth < NUMBERED_DEPTH):
            self.sender = None
        return announcer

    def end_at_rule(self, place: Place, first: Place) -> None:
        """Forget the headings that end at `place`, which is a rule.

        If the line below the rule begins with the same word as `first`, the first line of the text, the rule
        is between records, and all headings end. If a heading such as `---< a >---` begins with the rule's
        sign and is equally long, the headings with this sign end, and those below them.
        """
        below = place.below
        are_lines = below is not None and below.kind == first.kind == "line"
        if below and are_lines and below.line.split()[:1] == first.line.split()[:1]:
            self.headings = []
            self.start_section()
        sign, size = place.line[:1], len(place.line.rstrip())
        if any(head.line[:1] == sign and len(head.line.rstrip()) == size for head in self.headings):
            while any(head.line[:1] == sign for head in self.headings):
                self.headings.pop()
            self.start_section()

    def end_step(self, *, is_post: bool) -> None:
        """Forget the step with its lines and headings, and any sender, speaker, entry, record and quotation.

        If a post of a thread begins, forget all but the headings above the step.
        """
        if self.step:
            self.parents = [head for head in self.parents if head.begin <= self.step.begin]
            self.headings = [head for head in self.headings if head.begin < self.step.begin]
        self.step = self.sender = self.speaker = self.entry = self.record = self.quote = None
        if is_post:
            self.start_section()

    def end_text(self, sender: Head) -> None:
        """Forget a sender, and the headings in its text."""
        self.sender = None
        self.headings = [head for head in self.headings if head.begin < sender.begin]

    def end_record(self, head: Head | None) -> None:
        """Forget the record if `head`, a head that no longer applies, is its first line."""
        if head and self.record and head.begin == self.record.begin:
            self.record = None

    def list_fixed(self) -> list[Head]:
        """Return the heads of a block that do not depend on cycles."""
        return [*self.begins, *self.quoters, *filter(None, (self.step, self.separator))]

    def list_heads(self, indent: int) -> list[Head]:
        """Return the heads of a block with this indent."""
        above = (self.sender, self.question, self.speaker, self.record, self.announcer, self.quote)
        slots = (*above, self.label, self.entry, self.separator, self.step, self.continued)
        parents = [head for head in self.parents if head.indent < indent]
        stacks = (self.headings, self.begins, self.clauses, self.quoters, parents)
        return [*(head for stack in stacks for head in stack), *(head for head in slots if head)]


def _is_outside(line: str, above: str) -> bool:
    """Return whether a title with a number such as 2.1 is not in the section of another one, such as 1."""
    clauses = (CLAUSE.match(line), CLAUSE.match(above))
    numbers = [clause["number"] for clause in clauses if clause]
    return len(numbers) == 2 and "." in numbers[0] and not numbers[0].startswith(f"{numbers[1]}.")


def add_title(titles: dict[str, Head], number: str, title: Head) -> dict[str, Head]:
    """Return the titles of a clause and of the clauses around it."""
    return {**{own: head for own, head in titles.items() if number.startswith(f"{own}.")}, number: title}


def list_titles_around(titles: dict[str, Head], heading: str) -> list[Head]:
    """Return the titles of the clauses around a heading with a number."""
    clause = CLAUSE.match(heading)
    number = clause["number"] if clause else ""
    return [head for above, head in titles.items() if number.startswith(f"{above}.")]
