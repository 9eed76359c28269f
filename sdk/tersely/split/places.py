"""Places: the blocks of a text, with the properties that decide which other blocks are their heads."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from tersely.split.counted_titles import is_numbered_title
from tersely.split.forms import find_dividers, find_forms, list_labels
from tersely.split.lines import Block, Lines, remove_prefix, skip_comments, starts_run
from tersely.split.markdown import is_in_record
from tersely.split.markers import RUN_IN
from tersely.split.prose import SPEAKER
from tersely.split.titles import CAPTION, CENTRED, SECTION, find_apart, find_titles
from tersely.units import Kind

FIELD_SIGNS = frozenset(":!@$&~^")
"""Signs that may begin each field of a record. Others begin items, comments, quotations or cells."""
CUE = re.compile(r"\s*[\d:.,]+ -->")
"""The time of a subtitle."""
_STARS = re.compile(r"(\*{2,6})\s")
"""The stars before a nested item of wikitext or AsciiDoc."""
_BRANCH = re.compile(
    r"[\s│├└─┬|`+\\:-]*(?:[│├└]|[|`+\\:]-{1,3}\s)[\s│├└─┬|`+\\:-]*|[ \t]*(?:\d+[ \t]*)?\|[ \t_]*"
)
"""Signs in front of a line's text: the branches of a drawn tree, or a `|` that may follow a line number."""
_EDIT = re.compile(r"[ \t]*\d+[ \t]+[-+~][ \t]")
"""The number and the sign before a line that a compiler proposes, in a run that has a line with only `|`."""
RULE = re.compile(r"([-=*_~#+%]|\.(?=\.{3}))(?:\1|\s){0,200}|\s[.]\s*")
ELISION = re.compile(r"\s*+(?:[│|]\s*+)?(?:\.{3}|…|⋮(?:\.{3})?)\s*")
"""A line in place of lines that a tool left out, as compilers and maps of repositories print it."""
_SIGN = re.compile(r"[ \t]*(?:[-+~]|-/\+) +")
_SIGNED_BLOCK = re.compile(rf"{_SIGN.pattern}[\w\"][^\n]*[{{\[]\s*$")
"""A line with a sign that opens a block of a plan. Lines without signs have spaces in their place."""
_FLAG = re.compile(r"[ ]+\*{2,3}[ ]+|[ ]*[-=]>[ ]+")
"""The sign of a line that is the current one, or was chosen. Other lines of the list have blanks instead."""
_RIGHT = re.compile(r"[ ]*\d+(?=[\s:])")
_TIME = re.compile(r"\s*[\[(]?\d")
_DEFINITION = re.compile(r":[ \t]+(?=\S)")
"""The sign before a definition in Markdown. The term is above it."""
_DASHED = re.compile(r"[^\W\d_](?: ?[—–]|:[-—–])")
"""The last word of a line, and a dash that announces what is below, as in statutes."""
_FEWEST_WORDS = 4
_MOST_CALLERS = 4
_COMMENTS = ("#", "//", ";", "%")
"""Signs of comments, as `Block.prefix` has them. After `--`, CMake prints what it has found."""


ADMONITION = re.compile(
    r"\s*(?i:note|warning|caution|danger|tip|important|attention|notice|hinweis|achtung|warnung|vorsicht)"
    r"(?:!|\s[–—-]\s.{1,40})?\s*"
)


@dataclass(slots=True, eq=False, repr=False)
class Place:
    """A block, with the properties that decide which heads it has."""

    block: Block
    units: range
    """Indices of its units."""
    run: int
    """Number of its run. A run is a series of blocks with the same prefix. A blank line ends it, and so does
    a rule such as `---`. A comment between the lines of a record does not."""
    starts_run: bool
    indent: int
    line: str
    """Its first line."""
    is_text: bool
    """True for prose, an item or a single line."""
    speaks: bool
    """True if another speaker begins here."""
    is_remark: bool
    """True for a comment in a run of other lines."""
    is_apart: bool
    """True for the title of a record that has more blank lines above it than inside."""
    above: Place | None = None
    below: Place | None = None
    header: Sequence[Place] = ()
    """The other lines of the header of a post or a record that begins here."""

    @property
    def kind(self) -> Kind:
        return self.block.kind

    @property
    def next(self) -> Place | None:
        """The block below it in its run."""
        return self.below if self.below is not None and self.below.run == self.run else None

    @property
    def has_body(self) -> bool:
        """True if the line below is indented more."""
        return self.below is not None and self.below.indent > self.indent

    @property
    def is_titled(self) -> bool:
        """True for the first block below a heading."""
        return self.above is not None and self.above.kind == "heading"

    @property
    def is_caption(self) -> bool:
        """Whether it is a line such as `Table 2: Prices` above the table that it names."""
        caption = CAPTION.match(self.line) if self.is_text else None
        has_table = self.below is not None and self.below.kind in ("table", "row")
        return has_table and caption is not None and caption[1] is not None

    @property
    def opens_with_title(self) -> bool:
        """Whether its first unit is a title, such as `Scope.` before more sentences, or a caption."""
        return self.is_caption or RUN_IN.match(self.line) is not None

    @property
    def is_announced(self) -> bool:
        """True for a heading such as `--- a ---` after a line that begins a run and ends with a colon."""
        above = self.above
        if above is None or not above.starts_run or above.kind != "line":
            return False
        return above.line.rstrip().endswith(":") and SECTION.match(self.line) is not None

    def closes_bracket(self, head: str) -> bool:
        """Return whether it closes the bracket at the end of `head`, as `): int` does, and opens none."""
        sign = self.line.lstrip()[:1]
        return bool(sign) and head.rstrip()[-1:] + sign in ("()", "[]", "{}") and not opens(self)

    def ends(self, record: Place) -> bool:
        """Return whether it ends a record above it.

        It is indented less, or both are labels with a colon that are indented alike and start their runs.
        """
        are_labels = self.line.rstrip()[-1:] == record.line.rstrip()[-1:] == ":"
        is_sibling = are_labels and self.starts_run and record.starts_run and self.indent == record.indent
        return self.run != record.run and (self.indent < record.indent or is_sibling)

    @property
    def has_one_line(self) -> bool:
        """True if exactly one line right below it is indented more."""
        last = self.below and self.below.below
        return self.has_body and (last is None or last.run != self.run or last.indent <= self.indent)


def find_places(lines: Lines, blocks: Sequence[Block], spans: Sequence[range]) -> list[Place]:
    """Return a place for each block that has units. There is at least one block."""
    runs = _number_runs(lines, blocks)
    blocks = [block._replace(run=run) for block, run in zip(blocks, runs, strict=True)]
    labels = list_labels(blocks)
    forms = find_forms(blocks, labels)
    apart = find_apart(blocks) | forms.keys()
    titles = apart | find_titles(lines, blocks, find_dividers(labels, bool(forms)))
    blocks = [block._replace(kind="heading") if at in titles else block for at, block in enumerate(blocks)]
    dialogues = _find_dialogues(blocks)
    cues = {block.run for block in blocks if CUE.match(block.line)}
    prefixes = dict[int, str]()
    places: list[Place] = []
    indents = _find_indents(lines, blocks)
    for at, (block, units, indent) in enumerate(zip(blocks, spans, indents, strict=True)):
        if not units:
            continue
        line, run = remove_prefix(block.line) if block.prefix else block.line, block.run
        is_text = block.kind in ("line", "sentence", "list_item")
        speaks = not block.prefix and _speaks(line, run in dialogues, run in cues)
        is_remark = block.prefix != prefixes.setdefault(run, block.prefix)
        own = (block, units, run, starts_run(blocks, at), indent, line)
        places.append(Place(*own, is_text, speaks, is_remark, at in apart))
    for place, below in pairwise(places):
        place.below, below.above = below, place
    by_block = {place.block: place for place in places} if forms else {}
    for at, others in forms.items():
        if first := by_block.get(blocks[at]):
            first.header = [by_block[blocks[other]] for other in others if blocks[other] in by_block]
    _mark_callers(places)
    return places


def _find_dialogues(blocks: Sequence[Block]) -> set[int]:
    """Return the runs in which speakers begin many lines; none if they are fields of records with titles."""
    spoken = Counter(block.run for block in blocks if _is_spoken(block))
    inside = [block for block in blocks if block.run in spoken]
    flush = Counter(block.run for block in inside if not block.line[:1].isspace())
    named = Counter(block.run for block in inside if SPEAKER.match(block.line))
    spoken = Counter({run: count for run, count in spoken.items() if named[run] * 2 >= flush[run]})
    dialogues = {run for run, count in spoken.items() if count >= 2 or spoken.total() >= 3}
    titled = {b.run for at, b in enumerate(blocks) if starts_run(blocks, at) and not _is_spoken(b)}
    return set() if len(dialogues) > 2 and dialogues <= titled else dialogues


def _find_indents(lines: Lines, blocks: Sequence[Block]) -> list[int]:
    """Return the indent of each block, with regard to the blocks around it."""
    guttered = {block.run for block in blocks if block.line.strip() == "|"}
    has_signs = any(_SIGNED_BLOCK.match(block.line) for block in blocks)
    indents = [_find_indent(lines, block, has_signs, block.run in guttered) for block in blocks]
    columns = {(block.run, indent) for block, indent in zip(blocks, indents, strict=True)}
    for number, block in enumerate(blocks):
        if (flag := _FLAG.match(block.line)) and (block.run, len(flag[0])) in columns:
            indents[number] = len(flag[0])
    for number, (block, below) in enumerate(pairwise(blocks)):
        if _are_aligned(block.line, below.line):
            indents[number + 1] = indents[number]
        if block.kind == "line" and below.kind == "table" and indents[number] > indents[number + 1]:
            indents[number] = 0  # a title centred above a table
    for number in range(len(blocks) - 2, -1, -1):
        if blocks[number].kind == "heading" and indents[number] >= CENTRED:
            indents[number] = min(indents[number], indents[number + 1])
    for number, (above, block) in enumerate(pairwise(blocks), 1):
        definition = _DEFINITION.match(block.line)
        if definition and not _DEFINITION.match(above.line) and starts_run(blocks, number - 1):
            indents[number] = len(definition[0])
        elif definition and indents[number - 1] and above.run == block.run:
            indents[number] = indents[number - 1]
    return indents


def _mark_callers(places: Sequence[Place]) -> None:
    """Mark the lines that name the speaker of the paragraphs below. At least two names with a colon recur.

    Many names that seldom recur are labels, such as those of several notes of one form.
    """
    alone = [p for p in places if p.starts_run and p.kind == "line" and not (p.block.prefix or p.has_body)]
    named = [p for p in alone if announces(p.line) and SPEAKER.match(p.line)]
    callers = [p for p in named if p.below and p.below.kind not in ("code", "list_item")]
    counts = Counter(place.line for place in callers)
    is_form = len(counts) > _MOST_CALLERS and len(counts) * 3 >= counts.total()
    if sum(count > 1 for count in counts.values()) > 1 and not is_form:
        for place in callers:
            place.speaks = counts[place.line] > 1


def _number_runs(lines: Lines, blocks: Sequence[Block]) -> list[int]:
    """Return the run number of each block. A comment between the lines of a record is part of its run."""
    runs = [0]
    prefix, is_inside = blocks[0].prefix, False
    for above, block in pairwise(blocks):
        is_near = above.last >= block.first
        if is_comment(block) and not (is_near and is_comment(above)):
            below = skip_comments(lines, block.last, block.prefix)
            is_inside = not prefix and is_in_record(lines, block.first, below)
        is_near &= block.prefix == prefix or (is_inside and is_comment(block))
        goes_on = is_near and not is_rule(above, above.line) and not is_rule(block, block.line)
        goes_on = goes_on and not (block.kind == "line" and is_numbered_title(lines, block.first))
        runs.append(runs[-1] + (not goes_on))
        if not goes_on:
            prefix = block.prefix
    return runs


def _is_spoken(block: Block) -> bool:
    """Return whether a block may be dialogue: prose that begins with a name, or a line that begins with a
    time."""
    if "-->" in block.line or CAPTION.match(block.line) or not SPEAKER.match(block.line):
        return False
    return block.kind == "sentence" or (block.kind == "line" and _TIME.match(block.line) is not None)


def _speaks(line: str, in_dialogue: bool, in_cue: bool) -> bool:
    """Return whether another speaker begins with a line of a dialogue or of a subtitle."""
    if CUE.match(line) or CAPTION.match(line):
        return False
    return (in_cue and line.startswith("<v")) or ((in_dialogue or in_cue) and SPEAKER.match(line) is not None)


def _find_indent(lines: Lines, block: Block, has_signs: bool, in_gutter: bool) -> int:
    """Return the indent of a block. Lines that draw a tree count as spaces."""
    line = block.line.rstrip()
    if block.kind in ("heading", "table"):
        return min(map(lines.indent, (block.first, block.last - 1)))  # an underlined title may be centred
    if branch := _BRANCH.match(line) or (in_gutter and _EDIT.match(line)):
        return len(branch[0])
    if has_signs and (sign := _SIGN.match(line)):
        return len(sign[0])
    return len(stars[1]) - 1 if (stars := _STARS.match(line)) else lines.indent(block.first)


def _are_aligned(above: str, line: str) -> bool:
    """Return whether both lines begin with numbers, which are aligned to the right."""
    ends = [found.end() if (found := _RIGHT.match(text)) else 0 for text in (above, line)]
    return ends[0] == ends[1] > 0


def opens(place: Place) -> bool:
    """Return whether a line opens a block that another line closes."""
    return place.line.rstrip().endswith(("{", "[", "("))


def announces(line: str) -> bool:
    """Return whether a line ends with a colon, perhaps with signs of emphasis after it, or is a word such as
    `WARNING!` alone."""
    line = line.rstrip()
    ends = line.rstrip("*_`").endswith((":", "：", ":-"))
    if line[-1:] in "—–" and _DASHED.search(line[-3:]):
        ends |= len(line.split()) > _FEWEST_WORDS
    return ends or ADMONITION.fullmatch(line) is not None


def is_comment(block: Block) -> bool:
    """Return whether the lines of a block begin with the sign of a comment."""
    return block.prefix.startswith(_COMMENTS)


def is_rule(block: Block, line: str) -> bool:
    """Return whether a block with this first line only separates other blocks, as `---` does."""
    return block.kind == "line" and RULE.fullmatch(line) is not None
