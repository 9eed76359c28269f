"""Places: the blocks of a text, with the properties that decide which other blocks are their heads."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from tersely.split.lines import Lines
from tersely.split.prose import PREFIX, SPEAKER, Block

CLAUSE = re.compile(r"\s*(?:§+\s*)?(?P<number>\d{1,3}(?:\.\d{1,3})*)[.)]*\s+\S")
BULLETS = "-*+•"
FIELD_SIGNS = frozenset(":!@$&~^")
"""Signs that may begin each field of a record. Others begin items, comments, quotations or cells."""
CUE = re.compile(r"\s*[\d:.,]+ -->")
"""The time of a subtitle."""
_HASHES = re.compile(r"\s*(#{1,6})")
_SIGNED = re.compile(r"(={1,6})(?: .*|[^=].*[^=]\1)")
"""A heading between equals signs, as in wikitext and AsciiDoc: the more signs, the deeper."""
_STARS = re.compile(r"(\*{2,6})\s")
"""The stars before a nested item of wikitext or AsciiDoc."""
_STARRED = re.compile(r"(\*{1,6}) ")
"""The stars before a heading of org."""
_LATEX_LEVELS = ("part", "chapter", "section", "subsection", "subsubsection")
_LATEX = re.compile(rf"\\({'|'.join(_LATEX_LEVELS)})\b")
_TRAILED = re.compile(r"(\w+)\b.* [*=#~]{5,}")
"""A heading with a row of signs after it, as Ansible prints: PLAY, and TASK below it."""
_RULED, _SECTION, _NUMBERED, _TITLE = 1, 8, 14, 20
"""Depths of headings without hashes: underlined ones, lines like `--- a ---`, numbered ones, other titles."""
_AFTER_SIGNS = ("<", "[", " ")
"""Characters that may follow the signs at the start of a heading such as `---< a >---` or `--- a ---`."""
_MOST_STYLES = 5
_NESTED = 2
"""Fewest spaces by which a heading in a section is indented more than the title of the section."""
_BRANCH = re.compile(
    r"[\s│├└─┬|`+\\-]*(?:[│├└]|[|`+\\]-{1,3}\s)[\s│├└─┬|`+\\-]*|[ \t]*(?:\d+[ \t]*)?\|[ \t_]*"
)
"""Signs in front of a line's text: the branches of a drawn tree, or a `|` that may follow a line number."""
_EDIT = re.compile(r"[ \t]*\d+[ \t]+[-+~][ \t]")
"""The number and the sign before a line that a compiler proposes, in a run that has a line with only `|`."""
RULE = re.compile(r"([-=*_~#+%]|\.(?=\.))(?:\1|\s){0,200}|\s[.]\s*")
_SIGN = re.compile(r"[ \t]*(?:[-+~]|-/\+) +")
_SIGNED_BLOCK = re.compile(rf"{_SIGN.pattern}[\w\"][^\n]*[{{\[]\s*$")
"""A line with a sign that opens a block of a plan. The other lines are indented as if signs were blanks."""
_FLAG = re.compile(r"[ ]+\*{2,3}[ ]+|[ ]*[-=]>[ ]+")
"""The sign of a line that is the current one, or was chosen. Other lines of the list have blanks instead."""
_RIGHT = re.compile(r"[ ]*\d+(?=\s)")
_TIME = re.compile(r"\s*[\[(]?\d")


@dataclass(slots=True, eq=False, repr=False)
class Place:
    """A block, and what decides which heads it has."""

    block: Block
    units: range
    """Indices of its units."""
    run: int
    """Number of its run. A run is a series of blocks with the same prefix. A blank line ends it, and so does
    a rule such as `---`."""
    starts_run: bool
    indent: int
    line: str
    """Its first line."""
    is_text: bool
    """Whether it is prose, an item or a single line."""
    speaks: bool
    """Whether another speaker begins here."""
    above: Place | None = None
    below: Place | None = None

    @property
    def has_body(self) -> bool:
        """Whether the line below is indented more."""
        return self.below is not None and self.below.indent > self.indent


@dataclass(slots=True)
class Head:
    """A place that others need as a head."""

    units: tuple[int, ...]
    """Indices of its units, and of the heads that it needs itself."""
    indent: int
    run: int
    depth: int = 0
    reach: int = 0
    """Number of the last run that it announces."""
    body_indent: int = -1
    """The indent of the first block that it announces."""
    anchor: tuple[int, ...] = ()
    """The line between BEGIN and END that names the record or its columns."""
    first_indent: int = 0
    """The indent of the first line of a clause."""
    is_line: bool = False
    """Whether it is a line or an item, which is kept with the first line of its body."""
    text_indent: int | None = None
    """The spaces before the text of an entry of a log that announces others."""
    is_named: bool = False
    """Whether the lines that it announces begin with its first name, as in messages of a compiler."""
    is_option_or_record: bool = False
    """Whether it is the name of a command's option, or the first line of a record inside another one."""
    line: str = ""
    """The first line of a heading, or of a block that announces others."""
    begin: int = 0
    """The first unit of its whole statement: of an `else`, the `if`; of most other heads, the head itself."""

    def ends_at(self, depth: int, indent: int) -> bool:
        """Return whether the section of this heading ends at a heading with this depth and indent.

        It does not end at a heading such as `  [Ada]` that is indented more than a title.
        """
        is_below = indent - self.indent >= _NESTED and _SECTION <= depth < _NUMBERED and self.depth == _TITLE
        return self.indent > indent or (self.depth >= depth and not is_below)


@dataclass(slots=True)
class State:
    """The heads that may apply to the next block."""

    headings: list[Head] = field(default_factory=list[Head])
    begins: list[Head] = field(default_factory=list[Head])
    sender: Head | None = None
    clauses: list[Head] = field(default_factory=list[Head])
    parents: list[Head] = field(default_factory=list[Head])
    """Lines above that are indented less."""
    question: Head | None = None
    speaker: Head | None = None
    record: Head | None = None
    """The first line of a run, if it says what the other lines are about."""
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

    def start_section(self) -> None:
        """Forget all heads but headings, BEGIN lines and the sender."""
        self.clauses, self.parents, self.quoters = [], [], []
        self.question = self.speaker = self.record = self.announcer = None
        self.quote = self.label = self.entry = self.separator = self.step = None

    def end_headings(self, rule: str) -> None:
        """Forget headings such as `---< a >---`, and those below them, if `rule` ends one of them.

        A rule ends a heading that begins with the same sign and is equally long.
        """
        sign, size = rule[:1], len(rule.rstrip())
        if any(head.line[:1] == sign and len(head.line.rstrip()) == size for head in self.headings):
            while any(head.line[:1] == sign for head in self.headings):
                self.headings.pop()
            self.start_section()

    def close_record(self, head: Head | None) -> None:
        """Forget the record if `head`, a head that no longer applies, is its first line."""
        if head and self.record and head.units[0] == self.record.units[0]:
            self.record = None

    def list_heads(self, indent: int) -> list[Head]:
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
            self.step,
            self.continued,
        )
        parents = [head for head in self.parents if head.indent < indent]
        stacks = (self.headings, self.begins, self.clauses, self.quoters, parents)
        return [*(head for stack in stacks for head in stack), *(head for head in slots if head)]


def find_places(lines: Lines, blocks: Sequence[Block], spans: Sequence[range]) -> list[Place]:
    """Return a place for each block that has units. There is at least one block."""
    firsts = [lines.texts[block.first] for block in blocks]
    runs = _number_runs(blocks, firsts)
    entries = list(zip(blocks, firsts, runs, strict=True))
    spoken = Counter(run for block, line, run in entries if _is_spoken(line, block))
    dialogues = {run for run, count in spoken.items() if count >= 2 or spoken.total() >= 3}
    cues = {run for _, line, run in entries if CUE.match(line)}
    guttered = {run for _, line, run in entries if line.strip() == "|"}
    has_signs = any(map(_SIGNED_BLOCK.match, firsts))
    indents = [_find_indent(lines, block, has_signs, run in guttered) for block, _, run in entries]
    columns = {*zip(runs, indents, strict=True)}
    for number, (run, line) in enumerate(zip(runs, firsts, strict=True)):
        if (flag := _FLAG.match(line)) and (run, len(flag[0])) in columns:
            indents[number] = len(flag[0])
    for number, (block, below) in enumerate(pairwise(blocks)):
        if _are_aligned(firsts[number], firsts[number + 1]):
            indents[number + 1] = indents[number]
        if block.kind == "line" and below.kind == "table" and indents[number] > indents[number + 1]:
            indents[number] = 0  # a title centred above a table
    places: list[Place] = []
    for (block, line, run), units, indent, run_above in zip(
        entries, spans, indents, [-1, *runs[:-1]], strict=True
    ):
        if not units:
            continue
        line = PREFIX.sub("", line, count=1) if block.prefix else line
        is_text = block.kind in ("line", "sentence", "list_item")
        speaks = not block.prefix and _speaks(line, run in dialogues, run in cues)
        places.append(Place(block, units, run, run != run_above, indent, line, is_text, speaks))
    for place, below in pairwise(places):
        place.below, below.above = below, place
    return places


def _number_runs(blocks: Sequence[Block], firsts: Sequence[str]) -> list[int]:
    """Return the number of the run of each block, whose first lines are given."""
    runs = [0]
    for (above, line_above), (block, line) in pairwise(zip(blocks, firsts, strict=True)):
        is_near = above.last >= block.first and above.prefix == block.prefix
        goes_on = is_near and not is_rule(above, line_above) and not is_rule(block, line)
        runs.append(runs[-1] + (not goes_on))
    return runs


def _is_spoken(line: str, block: Block) -> bool:
    """Return whether a block may be dialogue: prose that begins with a name, or a line that begins with a
    time."""
    if "-->" in line or not SPEAKER.match(line):
        return False
    return block.kind == "sentence" or (block.kind == "line" and _TIME.match(line) is not None)


def _speaks(line: str, in_dialogue: bool, in_cue: bool) -> bool:
    """Return whether another speaker begins with a line of a dialogue or of a subtitle."""
    if CUE.match(line):
        return False
    return (in_cue and line.startswith("<v")) or ((in_dialogue or in_cue) and SPEAKER.match(line) is not None)


def _find_indent(lines: Lines, block: Block, has_signs: bool, in_gutter: bool) -> int:
    """Return the indent of a block. Lines that draw a tree count as spaces."""
    line = lines.texts[block.first]
    if block.kind in ("heading", "table"):
        return lines.indent(block.first)
    if branch := _BRANCH.match(line) or (in_gutter and _EDIT.match(line)):
        return len(branch[0])
    if has_signs and (sign := _SIGN.match(line)):
        return len(sign[0])
    if stars := _STARS.match(line):
        return len(stars[1]) - 1
    return lines.indent(block.first)


def _are_aligned(above: str, line: str) -> bool:
    """Return whether both lines begin with numbers, which are aligned to the right."""
    ends = [found.end() if (found := _RIGHT.match(text)) else 0 for text in (above, line)]
    return ends[0] == ends[1] > 0


def is_rule(block: Block, line: str) -> bool:
    """Return whether a block with this first line only separates other blocks, as `---` does."""
    return block.kind == "line" and RULE.fullmatch(line) is not None


class Depths:
    """Depths of headings.

    Some headings are marked by signs: by a row of them below, or by a few before the text. A kind of sign
    that occurs for the first time marks a deeper heading than the kinds that occurred earlier.
    """

    def __init__(self) -> None:
        self._styles: list[str] = []
        self._first_word: str | None = None

    def find(self, text: str) -> int:
        """Return the depth of a heading, from its hashes, its number, or its sign."""
        text = text.strip()
        if text[0] == "|":
            return _TITLE + len(text) - len(text.lstrip("|"))
        if hashes := _HASHES.match(text):
            return len(hashes[1])
        if signed := _SIGNED.fullmatch(text):
            return len(signed[1])
        if starred := _STARRED.match(text):
            return len(starred[1])
        if latex := _LATEX.match(text):
            return _LATEX_LEVELS.index(latex[1])
        if trailed := _TRAILED.fullmatch(text):
            self._first_word = self._first_word or trailed[1]
            return _SECTION + (trailed[1] != self._first_word)
        if numbered := CLAUSE.match(text):
            return _NUMBERED + min(_MOST_STYLES, numbered["number"].count("."))
        rule = text.rsplit("\n", 1)[-1].strip()[:1]
        if "\n" in text and not rule.isalnum():
            # The heading is inside a section if the first sign was one such as that of `--- a ---`.
            is_inside = self._styles and self._styles[0][-1] in _AFTER_SIGNS
            base = _SECTION if is_inside else _RULED
            return base + self._find_style(rule + text[0] * (not text[0].isalnum()))
        if text[0].isalnum():
            return _TITLE
        bracket = text.lstrip(text[0])[:1]  # `---< module >---` and `--- goal ---` differ
        return _SECTION + self._find_style(text[0] + (bracket if bracket in _AFTER_SIGNS else " "))

    def _find_style(self, style: str) -> int:
        if style not in self._styles:
            self._styles.append(style)
        return min(_MOST_STYLES, self._styles.index(style))
