"""The outline of a text that no parser reads: which lines a reader needs to understand another one.

A unit is read under its heads: headings, the clause and the item around it, the line above that is indented
less, the first line of its record, the line that announces a list, a speaker, a sender, the question of an
answer, the entry of a log. Two rules follow. Nothing is kept without its heads. No head that says nothing by
itself, a frame, is kept alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tersely.split.lines import Lines
from tersely.split.markdown import ITEM
from tersely.split.prose import QUOTE, SPEAKER, Block
from tersely.units import Link

LABEL = re.compile(
    r"""[ \t]*(?:[-*+•][ \t]+)?["'*_`]*
    (?P<name>[^\W\d_][\w .()/&'\#-]{0,39}?)["'*_`)]*[ \t]*(?:[:=|]["'*_`]*(?:[ \t]+|$)|[:=](?=[^\s:=/\\]))(?P<value>.*)""",
    re.VERBOSE,
)
"""A line with a name and its value."""
_QUESTION = re.compile(r"\s*(?:[*_#>-]+\s*)*(?:q|question|frage)\s?\d*\s*[*_]*[:.)]", re.IGNORECASE)
_ANSWER = re.compile(r"\s*(?:[*_#>-]+\s*)*(?:a|answer|antwort)\s?\d*\s*[*_]*[:.)]", re.IGNORECASE)
_CLAUSE = re.compile(r"\s*(?:§+\s*)?(?P<number>\d{1,3}(?:\.\d{1,3})*)(?P<end>[.)]*)\s+\S")
_BEGIN = re.compile(r"\s*(?:-{5})?BEGIN[: ]\S")
_END = re.compile(r"\s*(?:-{5})?END[: ]\S")
_IDENTITY = re.compile(
    r"(?:.*[\s_-])?(?:id|uid|name|title|key|path|file|url|subject|summary|fn|package|host|user|commit)", re.IGNORECASE
)
_HASHES = re.compile(r"\s*(#{1,6})")
_NUMBERED = re.compile(r"\s*(\d{1,3}(?:\.\d{1,3})*)\.?\s")
_DEEP = 20
"""Depth of a title without a sign of its depth, below those with one."""
_FEW_WORDS = 3
"""Words of a line that is a term or a label, and says nothing without the lines under it."""
_LONG_CLAUSE = 120
"""Code points from which a numbered paragraph is a clause, to which the paragraphs after it belong."""
_COUNT = re.compile(r"\d+")
_SIGNS = re.compile(r"[^\w\s]+")


class Spans(NamedTuple):
    """The units of one block."""

    first: int
    last: int
    """Index of its last unit."""


@dataclass(slots=True)
class _Head:
    """A block that others are read under."""

    unit: int
    """Index of the unit that says it."""
    indent: int
    run: int
    """Number of the run of lines without a blank line between them."""
    depth: int = 0


@dataclass(slots=True)
class _Outline:
    headings: list[_Head] = field(default_factory=list[_Head])
    clauses: list[_Head] = field(default_factory=list[_Head])
    parents: list[_Head] = field(default_factory=list[_Head])
    begins: list[_Head] = field(default_factory=list[_Head])
    sender: _Head | None = None
    speaker: _Head | None = None
    question: _Head | None = None
    record: _Head | None = None
    intro: _Head | None = None
    quote: _Head | None = None
    label: _Head | None = None
    entry: _Head | None = None


def find_links(lines: Lines, blocks: Sequence[Block], spans: Sequence[Spans]) -> dict[int, Link]:
    """Return the links of the units that need others, or that say nothing by themselves, by index.

    Args:
        blocks: all blocks of a text, in order.
        spans: the units of each block.
    """
    return _Reader(lines, blocks, spans).read()


class _Reader:
    def __init__(self, lines: Lines, blocks: Sequence[Block], spans: Sequence[Spans]) -> None:
        self._lines, self._blocks, self._spans = lines, blocks, spans
        self._needs: dict[int, set[int]] = {}
        self._frames: set[int] = set()
        self._styles: list[str] = []
        """The signs that underline headings, in the order in which they appear."""
        self._runs = self._find_runs()
        self._is_record, self._is_dialogue = self._rate_runs()
        records = [run for run, holds in self._is_record.items() if holds]
        self._has_records = len(records) > 1
        self._has_dialogue = any(self._is_dialogue.values())
        self._run_starts = {run: number for number, run in reversed(list(enumerate(self._runs)))}
        self._has_quotes = len({self._runs[n] for n, b in enumerate(blocks) if b.is_quoted}) > 1

    def read(self) -> dict[int, Link]:
        state = _Outline()
        for number in range(len(self._blocks)):
            self._read_block(number, state)
        with_body = set[int]().union(*self._needs.values()) if self._needs else set[int]()
        links: dict[int, Link] = {}
        for unit in sorted(self._needs.keys() | self._frames):
            needs = tuple(sorted(self._needs.get(unit, ())))
            is_frame = unit in self._frames and unit in with_body
            if needs or is_frame:
                links[unit] = Link(None, 1, needs, is_frame)
        return links

    def _find_runs(self) -> list[int]:
        """Return for each block the number of its run: the blocks without a blank line between them."""
        runs: list[int] = []
        for number, block in enumerate(self._blocks):
            is_next = number > 0 and self._blocks[number - 1].last >= block.first
            runs.append((runs[-1] if is_next else runs[-1] + 1) if runs else 0)
        return runs

    def _rate_runs(self) -> tuple[dict[int, bool], dict[int, bool]]:
        """Return for each run whether it is a record of labelled lines, and whether it is a dialogue."""
        labelled, spoken, total = Counter[int](), Counter[int](), Counter[int]()
        speakers = Counter[str]()
        for block, run in zip(self._blocks, self._runs, strict=True):
            if block.kind not in ("line", "sentence") or block.is_quoted:
                continue
            line = self._lines.texts[block.first]
            total[run] += 1
            if block.kind == "sentence" and SPEAKER.match(line):
                spoken[run] += 1
                speakers[line.split(":")[0].strip()] += 1
            elif LABEL.match(line):
                labelled[run] += 1
        is_dialogue = {
            run: count >= 2 or (sum(spoken.values()) >= 3 and len(speakers) < sum(speakers.values()))
            for run, count in spoken.items()
        }
        is_record = {
            run: (labelled[run] + spoken[run]) * 2 >= count >= 2 and not is_dialogue.get(run)
            for run, count in total.items()
        }
        return is_record, is_dialogue

    def _line(self, number: int) -> str:
        return self._lines.texts[self._blocks[number].first]

    def _read_block(self, number: int, state: _Outline) -> None:
        block, run = self._blocks[number], self._runs[number]
        line, indent = self._line(number), self._lines.indent(block.first)
        first, last = self._spans[number]
        if block.kind == "heading":
            self._open_heading(number, state)
            return
        self._close(number, state)
        if _END.match(line) and state.begins:
            begin = state.begins.pop()
            self._add(first, [begin, *state.begins, *state.headings])
            self._frames.add(first)
            for unit in range(begin.unit, first):  # a block that begins has to end
                self._needs.setdefault(unit, set()).add(first)
            return
        heads = [
            *state.headings,
            *state.begins,
            *state.clauses,
            *(head for head in state.parents if head.indent < indent),
        ]
        slots = (state.sender, state.question, state.speaker, state.record, state.intro, state.quote)
        heads += [head for head in slots if head is not None]
        heads += [head for head in (state.label, state.entry) if head is not None]
        for unit in range(first, last + 1):
            self._add(unit, heads)
        self._open(number, state)

    def _add(self, unit: int, heads: Sequence[_Head]) -> None:
        needs = self._needs.setdefault(unit, set())
        for head in heads:
            if head.unit != unit:
                needs.add(head.unit)
                needs |= self._needs.get(head.unit, set())
        needs.discard(unit)

    def _close(self, number: int, state: _Outline) -> None:
        """Forget the heads that the block is not read under."""
        block, run = self._blocks[number], self._runs[number]
        line, indent = self._line(number), self._lines.indent(block.first)
        starts_run = self._run_starts[run] == number
        while state.headings and state.headings[-1].indent > indent:
            state.headings.pop()
        while state.parents and state.parents[-1].indent >= indent:
            state.parents.pop()
        if state.record and run != state.record.run:
            if indent <= state.record.indent:
                state.record = None
        if state.intro and not self._is_announced(number, state.intro):
            state.intro = None
        if state.label and (run != state.label.run or LABEL.match(line) or indent < state.label.indent):
            state.label = None
        if state.entry and (run != state.entry.run or block.kind == "log"):
            state.entry = None
        if state.quote and (block.is_quoted or indent < state.quote.indent):
            state.quote = None
        if starts_run and self._has_records and self._is_record.get(run) and indent <= (
            state.sender.indent if state.sender else 0
        ):
            state.sender = None
        clause = _CLAUSE.match(line)
        if clause and block.kind in ("sentence", "list_item", "line"):
            depth = clause["number"].count(".")
            while state.clauses and (state.clauses[-1].depth >= depth or state.clauses[-1].indent > indent):
                state.clauses.pop()
        while state.clauses and indent < state.clauses[-1].indent:
            state.clauses.pop()
        if _QUESTION.match(line):
            state.question = state.speaker = None
        elif self._speaks(number):
            state.speaker = None

    def _is_announced(self, number: int, intro: _Head) -> bool:
        """Whether a block is what the line with a colon at its end announces."""
        block, run = self._blocks[number], self._runs[number]
        indent = self._lines.indent(block.first)
        if run == intro.run:
            return indent >= intro.indent and not self._line(number).rstrip().endswith(":")
        above = self._blocks[number - 1]
        is_next = run == intro.run + 1 and self._spans[number - 1].last == intro.unit
        goes_on = run == intro.depth + 1 and block.kind == above.kind == "list_item"
        same_run = run == intro.depth
        if is_next or goes_on or same_run or indent > intro.indent:
            intro.depth = run  # the run that it announced last
            return True
        return False

    def _speaks(self, number: int) -> bool:
        block = self._blocks[number]
        is_spoken = self._is_dialogue.get(self._runs[number], False)
        return is_spoken and not block.is_quoted and SPEAKER.match(self._line(number)) is not None

    def _open_heading(self, number: int, state: _Outline) -> None:
        block = self._blocks[number]
        depth = self._find_depth(block)
        while state.headings and state.headings[-1].depth >= depth:
            state.headings.pop()
        first = self._spans[number].first
        heads = [*state.headings, *([state.sender] if state.sender else []), *state.begins]
        self._add(first, heads)
        self._frames.add(first)
        state.headings.append(_Head(first, self._lines.indent(block.first), self._runs[number], depth))
        sender, headings, begins = state.sender, state.headings, state.begins
        fresh = _Outline(headings=headings, sender=sender, begins=begins)
        for name in _Outline.__slots__:
            setattr(state, name, getattr(fresh, name))

    def _find_depth(self, block: Block) -> int:
        """Return how deep a heading lies: by its hashes, its number or the sign of its rule."""
        text = self._lines.text[block.start : block.end].strip()
        if hashes := _HASHES.match(text):
            return len(hashes[1])
        below = text.rsplit("\n", 1)[-1].strip()
        sign = ""
        if "\n" in text and not below[:1].isalnum():
            sign = ("framed " if not text[:1].isalnum() else "") + below[:1]
        elif not text[:1].isalnum():
            sign = "line " + text[:1]
        elif numbered := _NUMBERED.match(text):
            return _DEEP - 5 + min(4, numbered[1].count("."))
        if not sign:
            return _DEEP
        if sign not in self._styles:
            self._styles.append(sign)
        return 6 + min(8, self._styles.index(sign)) if sign.startswith("line") else 1 + min(4, self._styles.index(sign))

    def _open(self, number: int, state: _Outline) -> None:
        """Remember the block as a head of those after it."""
        block, run = self._blocks[number], self._runs[number]
        line, indent = self._line(number), self._lines.indent(block.first)
        first, last = self._spans[number]
        ending = self._lines.texts[block.last - 1].rstrip().rstrip("*_`")
        is_text = block.kind in ("line", "sentence", "list_item")
        starts_run = self._run_starts[run] == number
        label = LABEL.match(line) if is_text else None
        if is_text and _BEGIN.match(line):
            state.begins.append(_Head(first, indent, run))
            self._frames.add(first)
            return
        if block.kind == "log":
            state.entry = _Head(first, indent, run)
        if is_text and _QUESTION.match(line):
            state.question = _Head(last, indent, run)
            self._frames.update(range(first, last + 1))
            for unit in range(first, last + 1):
                self._needs.setdefault(unit, set()).update(set(range(first, last + 1)) - {unit})
        elif self._speaks(number) and not _ANSWER.match(line):
            state.speaker = _Head(first, indent, run)
            for unit in range(first + 1, last + 1):
                self._add(unit, [state.speaker])
        if is_text and (clause := _CLAUSE.match(line)):
            depth = clause["number"].count(".")
            for unit in range(first + 1, last + 1):
                self._add(unit, [_Head(first, indent, run)])
            if depth or block.end - block.start > _LONG_CLAUSE:
                state.clauses.append(_Head(first, indent, run, depth))
        elif block.kind == "sentence" and ITEM.match(line):
            for unit in range(first + 1, last + 1):
                self._add(unit, [_Head(first, indent, run)])
        if block.is_quoted and self._has_quotes:
            state.quote = _Head(last, indent, run)
        if is_text and ending.endswith((":", "：", "::")):
            state.intro = _Head(last, indent, run, run)
            self._frames.add(last)
        if is_text and starts_run:
            below = number + 1 < len(self._blocks) and self._runs[number + 1] == run
            if below and state.record is None and self._heads_record(number):
                state.record = _Head(first, indent, run)
                if self._has_records and self._is_record.get(run):
                    self._open_sender(number, state)
        if label and label["value"]:
            state.label = _Head(first, indent, run)
        if is_text or block.kind == "code":
            self._open_parent(number, state)

    def _open_sender(self, number: int, state: _Outline) -> None:
        """Remember the first line of a record as the head of the text below it, until the next record."""
        run, first = self._runs[number], self._spans[number].first
        following = next((n for n in range(number, len(self._blocks)) if self._runs[n] > run), None)
        if following is not None and not self._is_record.get(self._runs[following]):
            state.sender = _Head(first, self._lines.indent(self._blocks[number].first), run)

    def _heads_record(self, number: int) -> bool:
        """Whether the first line of a run tells what the other lines are about."""
        run = self._runs[number]
        if self._runs[-1] == 0 or self._is_dialogue.get(run):
            return False
        if self._is_record.get(run):
            return self._has_records or self._line(number + 1)[:1].isspace()
        above, below = self._line(number), self._line(number + 1)
        block = self._blocks[number]
        if block.kind != "line" or self._blocks[number + 1].kind not in ("line", "code", "row", "table"):
            return False
        return _shape(above) != _shape(below)

    def _open_parent(self, number: int, state: _Outline) -> None:
        block, run = self._blocks[number], self._runs[number]
        indent = self._lines.indent(block.first)
        first, last = self._spans[number]
        following = self._blocks[number + 1] if number + 1 < len(self._blocks) else None
        if following is None:
            return
        is_near = self._runs[number + 1] == run
        deeper = self._lines.indent(following.first) > indent
        if block.kind == "sentence" and not (is_near and deeper) and not ITEM.match(self._line(number)):
            return
        unit = first if block.kind != "sentence" or ITEM.match(self._line(number)) else last
        if deeper and not is_near and state.record is not None and state.record.run == run:
            unit = state.record.unit
        state.parents.append(_Head(unit, indent, run))
        words = self._line(number).split()
        if deeper and is_near and block.kind == "line" and len(words) <= _FEW_WORDS and not LABEL.match(self._line(number)):
            self._frames.add(unit)


def _shape(line: str) -> tuple[int, str]:
    """Return what lines of one list have in common: the number of words, and the signs in them."""
    return len(line.split()), "".join(_SIGNS.findall(line))
