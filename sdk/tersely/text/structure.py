"""Cut a text into blocks: runs of prose, and structure that must not be read as sentences.

One pass over the lines. At each line the recognisers are asked in order whether a block of theirs starts
there; a line nobody claims is prose. Every recogniser either claims the lines it read or gives up after a
bounded look ahead, so the whole is linear in the length of the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tersely.text.code import LONGEST_RUN, Likeness, is_code, likeness
from tersely.text.tables import drawn_table_end, rows_end
from tersely.text.wrapping import QUOTE, SPEAKER, TERMINALS, is_wrapped, width

Kind = Literal["sentence", "code", "table", "json", "list_item", "heading", "log", "row"]

LONGEST_ITEM = 600
"""Code points above which a list item or log line is read as prose: it is a paragraph with a label."""


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that belong together: `text[start:end]`, without the last line break.

    A block of kind "sentence" is prose still to be cut into sentences; any other is one unit.
    """

    start: int
    end: int
    kind: Kind
    prefix: re.Pattern[str] | None = None
    """Matches a marker to be ignored at the start of each line (block quotes)."""


_UNSAFE = re.compile("[\x00\ud800-\udfff]")
_LINE_BREAKS = re.compile("\r(?!\n)|[\x0b\x0c\x85\u2028\u2029]")

_FENCE = re.compile(r" {0,8}(`{3,}|~{3,})([^`\n]*)$")
_ATX = re.compile(r" {0,3}#{1,6}(?:\s+\S|\s*$)")
_COMMENT = re.compile(r"\s*#\s")
_UNDERLINE = re.compile(r"\s*(?:={2,}|-{2,}|~{3,}|\^{3,})\s*$")
_ITEM = re.compile(
    r"\s*(?:(?P<bullet>[-*+•‣◦▪●○–])|\(?(?P<number>\d{1,3})[.)]|(?P<letter>[A-Za-z])\.|\(?[A-Za-z]\)|\(?[ivxIVX]{2,5}\))"
    r"\s+\S"
)
_STAMP = re.compile(
    r"""\s*[\[(<]?(?:
      \d{4}[-/.]\d\d[-/.]\d\d[T\ _,]+\d\d:\d\d
    | \d{1,2}[-/.]\d{1,2}[-/.]\d{2,4},?[T\ ]+\d{1,2}:\d\d
    | \d{1,2}/[A-Z][a-z]{2}/\d{4}[:\ ]\d\d:\d\d
    | (?:[A-Z][a-z]{2}\ )?[A-Z][a-z]{2}\ [\ \d]\d\ \d\d:\d\d
    | \d{1,3}(?:\.\d{1,3}){3}\ \S+\ \S+\ \[
    | [IWEF]\d{4}\ \d\d:\d\d
    | \d{10}(?:\.\d+)?[\ \]]
    | \d\d:\d\d:\d\d(?:[.,]\d+)?\]?\s+\[?(?:\S+\s+)?\[?(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL|CRITICAL)
    )""",
    re.VERBOSE,
)
_LEVEL = re.compile(
    r"\s*[\[(]?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)[\])]?(?::|\s+-|\s)\s*\S"
)
_TRACEBACK = re.compile(r"\s*Traceback \(most recent call last\)|\s*goroutine \d+ \[|\s*stack backtrace:")
_FRAME = re.compile(
    r"\s+at\s+\S|\s+\.\.\. \d+ (?:more|common)|(?:Caused by|Suppressed):|\s+File \".*\", line \d+"
)

_JSON = json.JSONDecoder(parse_int=str, parse_float=str)


def masked(text: str) -> str:
    """`text` with one kind of line break and nothing that UTF-8 cannot encode. Offsets stay the same."""
    text = _UNSAFE.sub("\ufffd", text).replace("\r\n", " \n")
    return _LINE_BREAKS.sub("\n", text)


def find_blocks(text: str) -> Iterator[Block]:
    """The blocks of a masked text, in order. Lines between blocks are blank."""
    return _Scanner(text).blocks()


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.split("\n")
        self.offsets: list[int] = []
        offset = 0
        for line in self.lines:
            self.offsets.append(offset)
            offset += len(line) + 1
        self.likeness: list[Likeness | None] = [None] * len(self.lines)
        self.indents: list[int] = [-1] * len(self.lines)
        self.rows_until = 0
        self.json_budget = 4 * len(text) + 100_000
        self.fence_ahead = self._fences_ahead() if "```" in text or "~~~" in text else None

    def blocks(self) -> Iterator[Block]:
        index, count = 0, len(self.lines)
        paragraph = 0  # first line of the prose read and not yet yielded; the lines paragraph..index-1
        while index < count:
            found = None
            if not self.blank(index):
                found = self.structure(index, fresh=paragraph == index)
                if found is None:
                    index += 1
                    continue
            if paragraph < index:
                yield from self.prose(paragraph, index)
            if found is None:
                index += 1
            else:
                end, kind = found
                yield self.block(index, end, kind)
                index = end
            paragraph = index
        if paragraph < count:
            yield from self.prose(paragraph, count)

    def block(self, first: int, end: int, kind: Kind, prefix: re.Pattern[str] | None = None) -> Block:
        return Block(self.offsets[first], self.offsets[end - 1] + len(self.lines[end - 1]), kind, prefix)

    def blank(self, index: int) -> bool:
        line = self.lines[index]
        return not line or line.isspace()

    def indent(self, index: int) -> int:
        known = self.indents[index]
        if known < 0:
            line = self.lines[index]
            known = self.indents[index] = len(line[: len(line) - len(line.lstrip())].expandtabs(4))
        return known

    # -- recognisers: the index after the block's last line, and its kind; None where nothing starts --

    def structure(self, index: int, *, fresh: bool) -> tuple[int, Kind] | None:
        """`fresh` says that no prose line stands directly before this one."""
        if index < self.rows_until:
            return index + 1, "row"
        if found := self.interruption(index, fresh):
            return found
        if end := self.list_item(index, fresh):
            return end, "list_item"
        if (fresh or self.indent(index) >= self.indent(index - 1) + 2) and (end := self.code(index)):
            return end, "code"
        if fresh and (end := rows_end(self.lines, index)) > index:
            self.rows_until = end
            return index + 1, "row"
        return None

    def interruption(self, index: int, fresh: bool) -> tuple[int, Kind] | None:
        """Structure that may also start in the middle of a list item."""
        if end := self.fenced(index) or self.front_matter(index):
            return end, "code"
        if end := self.json_value(index):
            return end, "json"
        if (end := drawn_table_end(self.lines, index)) > index:
            return end, "table"
        if end := self.trace(index) or self.log_line(index, fresh):
            return end, "log"
        if end := self.heading(index, fresh):
            return end, "heading"
        return None

    def fenced(self, index: int) -> int | None:
        if self.fence_ahead is None or not (opening := _FENCE.match(self.lines[index])):
            return None
        mark = opening[1]
        if self.fence_ahead[index + 1][mark[0] == "~"] < len(mark):
            # Never closed: the text was cut inside the block, or this line closes one cut before.
            rest = index + 1
            while rest < len(self.lines) and not self.blank(rest):
                rest += 1
            return rest if opening[2].strip() and rest > index + 1 else index + 1
        end = index + 1
        while not self.closes(end, mark):
            end += 1
        return end + 1

    def closes(self, index: int, mark: str) -> bool:
        found = _FENCE.match(self.lines[index])
        return found is not None and found[1].startswith(mark) and not found[2].strip()

    def _fences_ahead(self) -> list[tuple[int, int]]:
        """For each line, the longest closing fence of backticks and of tildes at or behind it."""
        ahead = [(0, 0)]
        for line in reversed(self.lines):
            found = _FENCE.match(line)
            ticks, tildes = ahead[-1]
            if found and not found[2].strip():
                length = len(found[1])
                ticks, tildes = (
                    (max(ticks, length), tildes) if line.lstrip()[0] == "`" else (ticks, max(tildes, length))
                )
            ahead.append((ticks, tildes))
        ahead.reverse()
        return ahead

    def front_matter(self, index: int) -> int | None:
        if index or self.lines[0].rstrip() != "---":
            return None
        for end in range(1, min(len(self.lines), LONGEST_RUN)):
            if self.lines[end].rstrip() == "---":
                return end + 1 if end > 1 else None
            if self.likely(end) is Likeness.PROSE:
                return None
        return None

    def json_value(self, index: int) -> int | None:
        line = self.lines[index]
        start = self.offsets[index] + len(line) - len(line.lstrip())
        if self.text[start] not in "{[" or self.json_budget <= 0:
            return None
        try:
            _, stop = _JSON.raw_decode(self.text, start)
        except json.JSONDecodeError as error:
            self.json_budget -= error.pos - start + 10
            return None
        except RecursionError:
            self.json_budget -= 20_000
            return None
        end = index + self.text.count("\n", start, stop)
        behind = self.text[stop : self.offsets[end] + len(self.lines[end])].strip()
        if behind not in ("", ",", ";", "]", "],"):
            self.json_budget -= stop - start
            return None
        return end + 1

    def trace(self, index: int) -> int | None:
        if _TRACEBACK.match(self.lines[index]):
            base, end = self.indent(index), index + 1
            while end < len(self.lines) and not self.blank(end) and self.indent(end) > base:
                end += 1
            # The exception itself stands unindented behind the frames.
            return end + 1 if end < len(self.lines) and not self.blank(end) else end
        end = index + 1
        if not _STAMP.match(self.lines[index]):
            while end < len(self.lines) and _FRAME.match(self.lines[end]):
                end += 1
        return end if end > index + 1 else None

    def log_line(self, index: int, fresh: bool) -> int | None:
        if not _STAMP.match(self.lines[index]):
            if not (fresh and _LEVEL.match(self.lines[index])):
                return None
            if index + 1 < len(self.lines) and not self.blank(index + 1) and not self.logged(index + 1):
                return None
        end = index + 1
        while end < len(self.lines) and not self.blank(end) and self.indent(end) > self.indent(index):
            if self.logged(end):
                break
            end += 1
        return end if self.is_short(index, end) or end > index + 1 else None

    def logged(self, index: int) -> bool:
        return bool(_STAMP.match(self.lines[index]) or _LEVEL.match(self.lines[index]))

    def heading(self, index: int, fresh: bool) -> int | None:
        line = self.lines[index]
        if _ATX.match(line) and len(line) < LONGEST_ITEM:
            beside = self.lines[max(index - 1, 0) : index] + self.lines[index + 1 : index + 2]
            is_comment = _COMMENT.match(line) and any(_COMMENT.match(other) for other in beside)
            return None if is_comment else index + 1
        if not fresh or len(line) > 200:
            return None
        ahead = self.lines[index + 1 : index + 3]
        if _UNDERLINE.match(line):  # a title between two rules
            same = len(ahead) == 2 and ahead[0].strip() and ahead[1].rstrip() == line.rstrip()
            return index + 3 if same else None
        return index + 2 if ahead and _UNDERLINE.match(ahead[0]) and len(ahead[0].strip()) >= 2 else None

    def likely(self, index: int) -> Likeness:
        known = self.likeness[index]
        if known is None:
            known = self.likeness[index] = likeness(self.lines[index])
        return known

    def code(self, index: int) -> int | None:
        if self.likely(index) is Likeness.PROSE:
            return None
        base = self.indent(index)
        end = self.run(index, index, base)
        kinds = [self.likely(line) for line in range(index, end)]
        if not is_code(kinds, indented=base >= 4):
            return None
        while end - index < LONGEST_RUN:
            following = end
            while following < len(self.lines) and self.blank(following):
                following += 1
            if following == len(self.lines) or self.indent(following) <= base:
                break
            longer = self.run(following, index, base + 1)
            kinds = [self.likely(line) for line in range(following, longer)]
            if kinds.count(Likeness.PROSE) * 2 > len(kinds) or max(kinds) < Likeness.MAYBE:
                break
            end = longer
        return end

    def run(self, index: int, first: int, indent: int) -> int:
        """End of the non-blank lines from `index` on that are indented by at least `indent`."""
        end = index
        while end < len(self.lines) and end - first < LONGEST_RUN and not self.blank(end):
            if self.indent(end) < indent or _FENCE.match(self.lines[end]):
                break
            end += 1
        return max(end, index + 1)

    def list_item(self, index: int, fresh: bool) -> int | None:
        if not self.opens_item(index, fresh):
            return None
        end = index + 1
        while end < len(self.lines) and not self.blank(end) and self.is_short(index, end):
            inside = self.indent(end) > self.indent(index)
            if not inside and not is_wrapped(
                self.lines[end - 1], self.lines[end], width(self.lines[index:end])
            ):
                break
            if self.opens_item(end, fresh=False) or self.interruption(end, fresh=False):
                break
            end += 1
        return end if self.is_short(index, end) else None

    def opens_item(self, index: int, fresh: bool) -> bool:
        found = _ITEM.match(self.lines[index])
        if not found:
            return False
        if letter := found["letter"]:  # "A. Smith" is a name unless "B." stands beside it
            beside = [self.lines[k].lstrip()[:2] for k in range(max(index - 2, 0), index)]
            beside += [line.lstrip()[:2] for line in self.lines[index + 1 : index + 3]]
            return chr(ord(letter) - 1) + "." in beside or chr(ord(letter) + 1) + "." in beside
        if found["number"] and not fresh and int(found["number"]) != 1:
            return self.lines[index - 1].rstrip().endswith((":", ".", ";"))
        return True

    def is_short(self, first: int, end: int) -> bool:
        return self.offsets[end - 1] + len(self.lines[end - 1]) - self.offsets[first] <= LONGEST_ITEM

    # -- prose --

    def prose(self, first: int, end: int) -> Iterator[Block]:
        """Join the wrapped lines of a paragraph and part the others."""
        lines = self.lines[first:end]
        widest = width(lines)
        quoted = [QUOTE.match(line) is not None for line in lines]
        spoken = [SPEAKER.match(line) is not None for line in lines]
        has_turns = spoken.count(True) >= 2
        start = 0
        for line in range(1, len(lines) + 1):
            if (
                line < len(lines)
                and quoted[line] == quoted[start]
                and not (has_turns and spoken[line])
                and is_wrapped(lines[line - 1], lines[line], widest)
            ):
                continue
            kind = "heading" if line - start == 1 and self.is_title(first + start) else "sentence"
            yield self.block(first + start, first + line, kind, QUOTE if quoted[start] else None)
            start = line

    def is_title(self, index: int) -> bool:
        """A short line on its own that does not end like a sentence and has something behind it."""
        line = self.lines[index].strip()
        if len(line) > 80 or line[:1].islower() or line.rstrip("\"'”’)]*_").endswith((*TERMINALS, ",", ";")):
            return False
        alone = (
            (index == 0 or self.blank(index - 1)) and index + 1 < len(self.lines) and self.blank(index + 1)
        )
        return alone and any(letter.isalpha() for letter in line) and len(line.split()) <= 12
