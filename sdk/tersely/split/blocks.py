"""Cut a text into blocks: runs of prose, and structure that must not be read as sentences.

One pass over the lines. At each line the recognisers look in turn whether one of their blocks starts there.
A line that no recogniser claims is prose. Each recogniser claims the lines that it read or gives up after a
bounded look ahead, so the pass takes time linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tersely.split.code import Fences, find_code_end, find_front_matter_end, find_quoted_end
from tersely.split.diffs import find_diff_end
from tersely.split.headings import find_heading_end, is_title
from tersely.split.json_values import JsonValues
from tersely.split.lines import Lines
from tersely.split.logs import find_entry_end, find_trace_end
from tersely.split.matches import find_matches_end
from tersely.split.tables import find_rows_end, find_table_end
from tersely.split.wrapping import QUOTE, SPEAKER, is_wrapped, measure_width
from tersely.split.yaml import find_record_end, find_yaml_end, first_key
from tersely.units import Kind

_ITEM = re.compile(
    r"\s*(?:(?P<bullet>[-*+•‣◦▪●○–])|\(?(?P<number>\d{1,3})[.)]|(?P<letter>[A-Za-z])\.|\(?[A-Za-z]\)|\(?[ivxIVX]{2,5}\))"
    r"\s+\S"
)


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that belong together: `text[start:end]`, without the last line break.

    A block of kind "sentence" is prose that is not yet cut into sentences. Any other is one unit.
    """

    start: int
    end: int
    kind: Kind
    prefix: re.Pattern[str] | None = None
    """Matches a marker at the start of each line that is not part of the prose (block quotes)."""


def find_blocks(text: str) -> Iterator[Block]:
    """The blocks of a masked text (`lines.mask`), in order. Lines between blocks are blank."""
    return _Scanner(Lines(text)).blocks()


class _Scanner:
    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._fences = Fences(lines)
        self._json = JsonValues(lines)
        self._rows_until = 0
        """Index after the rows of values, or the search results, that were found last."""
        self._row_kind: Kind = "row"
        self._no_yaml_before = 0
        """Index after lines that look like YAML and are none."""
        self._record_key: str | None = None
        """The first key of the last record."""

    def blocks(self) -> Iterator[Block]:
        index, count = 0, len(self._lines)
        paragraph = 0  # first line of the prose that was read and not yet yielded: paragraph..index-1
        while index < count:
            structure = None
            if not self._lines.is_blank(index):
                structure = self._find_structure(index, starts_paragraph=paragraph == index)
                if structure is None:
                    index += 1
                    continue
            if paragraph < index:
                yield from self._split_paragraph(paragraph, index)
            if structure is None:
                index += 1
            else:
                end, kind = structure
                yield self._block(index, end, kind)
                index = end
            paragraph = index
        if paragraph < count:
            yield from self._split_paragraph(paragraph, count)

    def _block(self, first: int, end: int, kind: Kind, prefix: re.Pattern[str] | None = None) -> Block:
        return Block(self._lines.starts[first], self._lines.end_of(end - 1), kind, prefix)

    def _find_structure(self, index: int, *, starts_paragraph: bool) -> tuple[int, Kind] | None:
        """Index after the last line and kind of the structure that starts at `index`, if one does.

        `starts_paragraph`: no line of prose precedes `index` directly.
        """
        lines = self._lines
        if index < self._rows_until:
            return index + 1, self._row_kind
        if structure := self._find_interruption(index, starts_paragraph=starts_paragraph):
            return structure
        if starts_paragraph and (settings := self._find_settings(index)):
            return settings
        if end := self._find_item_end(index, starts_paragraph=starts_paragraph):
            return end, "list_item"
        may_be_code = starts_paragraph or lines.indent(index) >= lines.indent(index - 1) + 2
        if may_be_code and (end := self._find_code_end(index)):
            return end, "code"
        if starts_paragraph and (end := find_rows_end(lines.texts, index)):
            return self._start_rows(index, end, "row")
        return None

    def _find_code_end(self, index: int) -> int | None:
        """As `find_code_end`, up to a JSON value. One line above such a value is not taken for code."""
        end = find_code_end(self._lines, index)
        for line in range(index + 1, end or index):
            if not self._lines.is_blank(line) and self._json.find_end(line):
                return line if line > index + 1 else None
        return end

    def _start_rows(self, index: int, end: int, kind: Kind) -> tuple[int, Kind]:
        """The first of the rows index..end-1, each of which is a unit."""
        self._rows_until, self._row_kind = end, kind
        return index + 1, kind

    def _find_settings(self, index: int) -> tuple[int, Kind] | None:
        """As `_find_structure`, for keys with values."""
        if index >= self._no_yaml_before:
            end, is_yaml = find_yaml_end(self._lines, index)
            if is_yaml:
                return end, "yaml"
            self._no_yaml_before = end
        if end := find_record_end(self._lines, index, self._record_key):
            self._record_key = first_key(self._lines, index)
            return end, "record"
        self._record_key = None
        return None

    def _find_interruption(self, index: int, *, starts_paragraph: bool) -> tuple[int, Kind] | None:
        """As `_find_structure`, for structure that may also start inside a list item."""
        lines = self._lines
        if end := self._fences.find_end(index) or find_front_matter_end(lines, index):
            return end, "code"
        if end := find_quoted_end(lines, index):
            return end, "code"
        if end := self._json.find_end(index):
            return end, "json"
        if end := find_diff_end(lines, index):
            return end, "diff"
        if starts_paragraph and (end := find_matches_end(lines.texts, index)):
            return self._start_rows(index, end, "match")
        if end := find_table_end(lines.texts, index):
            return end, "table"
        if end := find_trace_end(lines, index):
            return end, "log"
        if end := find_entry_end(lines, index, starts_paragraph=starts_paragraph):
            return end, "log"
        if end := find_heading_end(lines, index, starts_paragraph=starts_paragraph):
            return end, "heading"
        return None

    def _find_item_end(self, index: int, *, starts_paragraph: bool) -> int | None:
        """End of a list item with its indented or wrapped lines; None if it is too long."""
        if not self._opens_item(index, starts_paragraph=starts_paragraph):
            return None
        lines = self._lines
        end = index + 1
        while end < len(lines) and not lines.is_blank(end) and lines.is_short(index, end):
            is_indented = lines.indent(end) > lines.indent(index)
            if not is_indented and not is_wrapped(
                lines.texts[end - 1], lines.texts[end], measure_width(lines.texts[index:end])
            ):
                break
            if self._opens_item(end, starts_paragraph=False) or self._find_interruption(
                end, starts_paragraph=False
            ):
                break
            end += 1
        return end if lines.is_short(index, end) else None

    def _opens_item(self, index: int, *, starts_paragraph: bool) -> bool:
        texts = self._lines.texts
        item = _ITEM.match(texts[index])
        if not item:
            return False
        if letter := item["letter"]:  # "A. Smith" is a name unless "B." is near
            near = [texts[k].lstrip()[:2] for k in range(max(index - 2, 0), index)]
            near += [line.lstrip()[:2] for line in texts[index + 1 : index + 3]]
            return chr(ord(letter) - 1) + "." in near or chr(ord(letter) + 1) + "." in near
        if item["number"] and not starts_paragraph and int(item["number"]) != 1:
            return texts[index - 1].rstrip().endswith((":", ".", ";"))
        return True

    def _split_paragraph(self, first: int, end: int) -> Iterator[Block]:
        """Join the wrapped lines of a paragraph; every other line becomes a block of its own."""
        lines = self._lines.texts[first:end]
        widest = measure_width(lines)
        quoted = [QUOTE.match(line) is not None for line in lines]
        spoken = [SPEAKER.match(line) is not None for line in lines]
        is_dialogue = spoken.count(True) >= 2
        start = 0
        for line in range(1, len(lines) + 1):
            if (
                line < len(lines)
                and quoted[line] == quoted[start]
                and not (is_dialogue and spoken[line])
                and is_wrapped(lines[line - 1], lines[line], widest)
            ):
                continue
            kind = "heading" if line - start == 1 and is_title(self._lines, first + start) else "sentence"
            yield self._block(first + start, first + line, kind, QUOTE if quoted[start] else None)
            start = line
