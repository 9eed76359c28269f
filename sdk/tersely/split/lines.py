"""The lines of a text: where each starts, and how far it is indented."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import NamedTuple

from tersely.split.fragments import are_fragments
from tersely.split.likeness import Likeness, rate_line
from tersely.units import Kind

Range = tuple[int, int]
"""The start and the end of a part of a text, in code points."""
LONGEST_ITEM = 600
"""Largest number of code points of a list item, a log entry or a heading. Anything longer is a paragraph with
a label."""

LONGEST_LINE = 2000
"""Number of code points of a line that are searched for cells."""
_LETTER = r"[A-Za-z\u00aa-\u1fff\u2c00-\U0010ffff]"
"""Letters and accents of all scripts; `re` does not treat all of them as letters."""
WORD = re.compile(
    rf"""["'“‘«„(\[*_¿¡`]*+
    (?:{_LETTER}++(?:['’‑/-]{_LETTER}++)*+(?:['’]|\.(?=[^\w]|$))? | \d[\d.,]*+%?)
    ["'”’»)\]*_`]*+[,.;:!?…]*+["'”’»)\]*_`]*+""",
    re.VERBOSE,
)
"""A word of running text, or a number, with the signs around it."""
_UNSAFE = re.compile("[\x00\ud800-\udfff]")
_LINE_BREAKS = re.compile("\r(?!\n)|[\x0b\x0c\x85\u2028\u2029]")
_LINE = re.compile(r"[^\n\r]*")
_WHOLE_LINE = re.compile(r"[^\r\n]+(?:\r\n?|\n)?|\r\n?|\n")
OPENED_COMMENT = re.compile(r"\s*/\*(?!.*\*/)")
"""The first line of a block comment that a later line closes."""
PREFIX = re.compile(r"\s*(?:(?:>\s?)+|<(?=\s)|#+[.:,~|>!]?(?:\s|$)|//+(?:\s|$)|;+\s|--\s|%+\s|\.\\\")\s*")
"""The sign before each line of a quotation or a comment, or of what `curl -v` has sent or received."""
CLOSER = re.compile(
    r"(?:\s*+(?:[)\]}]\W*+(?:null\b\W*+)?|/\s*+\Z"
    r"|(?:(?i:end(?: if)?)|endif|endef|END-[A-Z]+|fi|done|esac)\b\W*+))++"
)
"""Lines that only close the blocks above them."""
TICKED = re.compile(r"(?:\[(?:[*+!x? -]|\d+/\d+)\]|[✓✔✕✗✘√])\s")
"""A tick, or a sign or a step such as 2/4 in brackets at the start of a line of a report, or of a task."""
FRAME = re.compile(r"#\d+\s")
"""The number of a frame of the stack, as debuggers print it."""


class Lines:
    """The lines of a masked text, with caches so that no search is repeated.

    Attributes:
        text: the whole text.
        texts: the lines, without their line breaks.
        has_gaps: True if comments in the text were replaced by spaces.
        is_fragmented: True if sentences are broken by line breaks around links and words in italics.
        starts: the offset of each line in the text, in code points.
        json_budget, xml_budget: code points that failed attempts to read JSON, YAML, TOML or XML may still
            consume. The budgets keep the time linear.
        csv_budget, code_budget: the same for CSV, and for Python and fenced blocks.
        none_before: for each `Format.find_end`, the first line at which to try it again.
        record_keys: keys that begin records, so that these are not read as settings.
        field_counts: how often each field begins a line, once that is known.
    """

    def __init__(self, text: str, *, has_gaps: bool = False) -> None:
        self.text = text
        self.has_gaps = has_gaps
        self.texts = text.split("\n")
        self.is_fragmented = are_fragments(self.texts)
        self.starts = [0, *accumulate(len(line) + 1 for line in self.texts[:-1])]
        self.json_budget = self.xml_budget = self.csv_budget = self.code_budget = 4 * len(text) + 100_000
        self.none_before = Counter[FindEnd]()
        self.record_keys = set[str]()
        self.field_counts = Counter[str]()
        self._found: dict[re.Pattern[str], bool] = {}
        self._indents: dict[int, int] = {}
        self._likenesses: dict[int, Likeness] = {}

    def __len__(self) -> int:
        return len(self.texts)

    def find(self, offset: int) -> int:
        """Return the index of the line that an offset lies in."""
        return bisect_right(self.starts, offset) - 1

    def end_of(self, index: int) -> int:
        """Return the offset after the last code point of a line, without its line break."""
        return self.starts[index] + len(self.texts[index])

    def is_short(self, first: int, end: int) -> bool:
        """Return whether the lines first..end-1 have at most `LONGEST_ITEM` code points."""
        return self.end_of(end - 1) - self.starts[first] <= LONGEST_ITEM

    def has(self, pattern: re.Pattern[str]) -> bool:
        """Return whether a pattern is found somewhere in the text. It is searched once."""
        if pattern not in self._found:
            self._found[pattern] = pattern.search(self.text) is not None
        return self._found[pattern]

    @cached_property
    def _blanks(self) -> list[int]:
        return [index for index, line in enumerate(self.texts) if not line.strip()]

    @cached_property
    def enclosed(self) -> set[int]:
        """The lines between `BEGIN:VCARD` and `END:VCARD`, or similar lines. Long lines are folded there."""
        found: set[int] = set()
        begins: list[int] = []
        for index, line in enumerate(self.texts):
            if line.startswith("BEGIN:"):
                begins.append(index)
            elif line.startswith("END:") and begins:
                begin = begins.pop()
                found.update(() if begins else range(begin + 1, index))
        return found

    def is_blank(self, index: int) -> bool:
        """Return whether a line has nothing but white space."""
        return not self.texts[index].strip()

    def skip_blank(self, index: int, signs: str = "") -> int:
        """Return the index of the first non-blank line from `index` on that begins with none of `signs`."""
        while index < len(self.texts) and (not (body := self.texts[index].lstrip()) or body[0] in signs):
            index += 1
        return index

    def find_blank(self, index: int) -> int:
        """Return the index of the first blank line from `index` on."""
        at = bisect_left(self._blanks, index)
        return self._blanks[at] if at < len(self._blanks) else max(index, len(self.texts))

    def indent(self, index: int) -> int:
        """Return the columns of white space before a line; a tab reaches the next multiple of 4."""
        if index not in self._indents:
            line = self.texts[index]
            self._indents[index] = len(line[: len(line) - len(line.lstrip())].expandtabs(4))
        return self._indents[index]

    def likeness(self, index: int) -> Likeness:
        """Return how much a line looks like code."""
        if index not in self._likenesses:
            self._likenesses[index] = rate_line(self.texts[index])
        return self._likenesses[index]


def remove_prefix(line: str) -> str:
    """Return a line without the sign of a quotation or a comment that it begins with."""
    return line[found.end() :] if (found := PREFIX.match(line)) else line


def skip_comments(lines: Lines, index: int, signs: str) -> int:
    """Return the index of the first line from `index` on that is blank or begins with none of `signs`."""
    return skip_while(lines, index, lambda line: line.lstrip().startswith(tuple(signs)))


def skip_while(lines: Lines, index: int, holds: Callable[[str], object]) -> int:
    """Return the index of the first line from `index` on that is blank or for which `holds` is false."""
    while index < len(lines) and not lines.is_blank(index) and holds(lines.texts[index]):
        index += 1
    return index


def find_closing_line(lines: Lines, index: int, below: int, closes: Callable[[str], bool]) -> int | None:
    """Return the index after the line that closes the block that begins at `index`.

    Search after the line `below`. A search that finds nothing is charged to `code_budget`.
    """
    if lines.code_budget <= 0:
        return None
    for end in range(below + 1, len(lines)):
        if closes(lines.texts[end]):
            return end + 1
    lines.code_budget -= len(lines.text) - lines.starts[index]
    return None


def end_above(lines: Lines, index: int) -> int:
    """Return the offset after the last line above `index` that is not blank; 0 if all are."""
    while index and lines.is_blank(index - 1):
        index -= 1
    return lines.end_of(index - 1) if index else 0


FindEnd = Callable[[Lines, int], int | None]
"""Returns the index after the last line of the block that starts at an index; None if none starts there.

It may write into `Lines.none_before`, so that it is not called again for lines that it has read."""


class Format(NamedTuple):
    """A kind of block: which lines may start it, and where it ends."""

    kind: Kind
    start: re.Pattern[str]
    """Matches at the start of every line that may start a block. It is tried on nearly every line, so it
    must be fast and look no further than the line below."""
    find_end: FindEnd
    only_starts_paragraphs: bool = False


class WholeFormat(NamedTuple):
    """A format that a whole text may have."""

    kind: Kind
    find_start: Callable[[str], re.Match[str] | None]
    """A fast search for a sign of the format. `holds` is called only if it finds one."""
    holds: Callable[[str], bool]


def mask(text: str) -> str:
    """Return the text without NULs and lone surrogates, with `\\n` as its only line break.

    Offsets stay the same.
    """
    return _LINE_BREAKS.sub("\n", unify_crlf(_UNSAFE.sub("\ufffd", text)))


def unify_crlf(text: str) -> str:
    """Return the text with ` \n` for CRLF, so that formats need to handle only one kind of line break.

    Offsets stay the same.
    """
    return text.replace("\r\n", " \n")


def find_lines(text: str, start: int, end: int) -> Iterator[Range]:
    """Return the ranges of the lines in `text[start:end]` that are not blank, without their line breaks."""
    return (line.span() for line in _LINE.finditer(text, start, end) if line[0].strip())


def list_whole_lines(text: str, start: int, end: int) -> list[Range]:
    """Return the ranges of all lines in `text[start:end]`, with their line breaks, as Python counts them."""
    return [line.span() for line in _WHOLE_LINE.finditer(text, start, end)]


def find_indent(text: str, line: Range) -> int:
    """Return the characters of white space before a line, which is a range of `text`."""
    body = text[slice(*line)].rstrip("\r\n")
    return len(body) - len(body.lstrip())


def strip(text: str, start: int, end: int) -> Range | None:
    """Return a range without the white space around it; None if it is blank."""
    inner = text[start:end]
    body = inner.strip()
    if not body:
        return None
    start += len(inner) - len(inner.lstrip())
    return start, start + len(body)


def divide(text: str, cuts: Iterable[int]) -> list[Range]:
    """Return the ranges between neighbouring cuts, without white space around them and without empty ones."""
    return [span for start, end in pairwise(cuts) if (span := strip(text, start, end))]


def line_start(text: str, start: int) -> int:
    """Return the start of the line if only blanks precede `start`, so that code keeps its indentation."""
    first = start
    while first and text[first - 1] in " \t":
        first -= 1
    return first if not first or text[first - 1] in "\r\n" else start


def is_wordy(line: str) -> bool:
    """Return whether at least half of a line are words."""
    words = line.split()
    return sum(WORD.fullmatch(word) is not None for word in words) * 2 >= len(words)


class Block(NamedTuple):
    """Lines that belong together: `text[start:end]`, without the last line break.

    A block of kind "sentence" is prose that is not yet cut into sentences. Any other is one unit.
    """

    first: int
    """Index of its first line."""
    last: int
    """Index after its last line."""
    start: int
    end: int
    kind: Kind
    line: str
    """Its first line."""
    prefix: str = ""
    """The sign before each of its lines, if it is a quotation or a comment, for example."""
    run: int = 0
    """Number of its run, once that is known (see `Place.run`)."""

    @property
    def is_one_line(self) -> bool:
        return self.last - self.first == 1


def make_block(lines: Lines, first: int, last: int, kind: Kind, prefix: str = "") -> Block:
    """Return the block of the lines first..last-1."""
    return Block(first, last, lines.starts[first], lines.end_of(last - 1), kind, lines.texts[first], prefix)


def starts_run(blocks: Sequence[Block], at: int) -> bool:
    """Return whether a block begins a run."""
    return at == 0 or blocks[at - 1].run != blocks[at].run
