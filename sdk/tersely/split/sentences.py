"""Split a text into units with exact offsets.

A compression keeps or drops a unit as one. A unit is a sentence of proven prose, a line of any other text,
or a block that makes no sense in parts: a code block, a table, a JSON value, a list item, a log entry.
Offsets count the code points of the original text, whatever line breaks and invalid characters it contains.
An HTML comment in prose is a unit, even in the middle of a sentence, and so is a break between two pages.

Blocks are found in one pass over the lines. Each format has a pattern, which tells whether a block
of the format may start at a line. If so, the format's module reads on. `prose` divides all other lines. A
format either claims the lines that it has read, or gives up after a bounded number of them, so the pass
takes linear time.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tersely.runtime.cancellation import check_cancelled
from tersely.split.code import FRONT_MATTER, WHOLE_SOURCE, find_code_end
from tersely.split.columns import ALIGNED, COLUMNS, LABELLED, RULED, find_edges
from tersely.split.continued import find_continued_end, is_continued
from tersely.split.dates import PERIOD
from tersely.split.delimited import DELIMITED
from tersely.split.diffs import DIFFS, add_markers, cut_blocks, find_conflicts, leave_fenced
from tersely.split.figures import FIGURES
from tersely.split.fragments import join_fragments
from tersely.split.html import HTML, WHOLE_PAGE, blank, find_comments, find_wrappers
from tersely.split.json_values import JSON
from tersely.split.likeness import Likeness
from tersely.split.lines import Block, Format, Lines, Range, divide, make_block, mask, strip, unify_crlf
from tersely.split.logs import ENTRIES, STREAMS
from tersely.split.markdown import FENCES, HEADINGS, ITEM, is_asciidoc, is_field, is_reference, opens_item
from tersely.split.outline import find_links
from tersely.split.pages import PageBreak, find_page_breaks, remove_breaks, tie_halves
from tersely.split.prefixed import PREFIXED
from tersely.split.prose import split_prose
from tersely.split.python import MODULE
from tersely.split.roff import ROFF
from tersely.split.rows import CSV, FENCED, RECORDS
from tersely.split.sentence_starts import find_sentence_starts
from tersely.split.sessions import find_commands, split_session
from tersely.split.settings import SETTINGS, WHOLE_SETTINGS
from tersely.split.stanzas import STANZA, WHOLE_STANZAS
from tersely.split.tables import TABLES
from tersely.split.titles import is_stamped
from tersely.split.wrapping import is_wrapped
from tersely.split.xml import WHOLE_XML, XML
from tersely.split.yaml import WHOLE_YAML, YAML
from tersely.units import Kind, Unit

_WHOLE_FORMATS = (WHOLE_XML, WHOLE_PAGE, WHOLE_STANZAS, WHOLE_YAML, WHOLE_SETTINGS, WHOLE_SOURCE)
_FORMATS = (
    *FENCES,
    *DELIMITED,
    FRONT_MATTER,
    *PREFIXED,
    STREAMS,
    ROFF,
    JSON,
    *ENTRIES,
    HTML,
    XML,
    STANZA,
    YAML,
    SETTINGS,
    *DIFFS,
    FENCED,
    FIGURES,
    *TABLES,
    RECORDS,
    LABELLED,
    RULED,
    MODULE,
    *HEADINGS,
)
"""Formats that may start anywhere, even inside a list item. The first that matches wins."""
_OUTSIDE_ITEMS = (*_FORMATS, COLUMNS, CSV)
"""These formats, and two that cannot start inside a list item."""
_OWN_LINE = re.compile(r"[A-Z][a-z]+(?:: | \d{1,3} [-–—] )\S|\s+at \S+\(")
"""A line such as `Decision: none` or `Item 2 - Ropes`, or a stack frame. It does not continue an item."""


def split_units(text: str) -> list[Unit]:
    """Return sorted units that do not overlap. Every code point that is not white space is in exactly one.

    Accepts any string, even with CRLF, NUL or lone surrogates. Takes time linear in its length.
    """
    text = unify_crlf(text)
    commands = find_commands(text)
    return split_session(text, commands, _split_text) if commands else _split_text(text)


def _split_text(text: str) -> list[Unit]:
    """Return the units of a text that is not a session."""
    body = strip(text, 0, len(text))
    plain = mask(text)
    conflicts = find_conflicts(plain)
    if body and not conflicts and (kind := _find_whole_kind(text)):
        return [Unit(*body, kind, True)]
    breaks = find_page_breaks(text)
    visible = join_fragments(remove_breaks(plain, breaks))
    comments = find_comments(visible)
    visible = blank(visible, comments)
    wrappers = find_wrappers(visible)
    comments = sorted([*comments, *wrappers])
    furniture = [strip(text, page.start, page.end) for page in breaks if not _overlapping(comments, page)]
    comments = sorted([*comments, *filter(None, furniture)])
    visible = blank(visible, wrappers)
    visible = blank(visible, [marker for own in conflicts for marker in own])
    lines = Lines(visible, has_gaps=bool(comments))
    blocks = list(_split_blocks(lines))
    if conflicts and blocks:
        conflicts = leave_fenced(conflicts, blocks)
        blocks = list(cut_blocks(blocks, lines, [marker for own in conflicts for marker in own]))
    units: list[Unit] = []
    spans: list[range] = []
    inside = set[Range]()
    """Comments that are a part of a block of structure."""
    for block in blocks:
        check_cancelled()
        own = _overlapping(comments, block)
        if block.kind not in ("sentence", "heading", "line", "list_item"):
            inside.update(span for span in own if block.start <= span[0] and span[1] <= block.end)
        edges = {edge for span in own if span not in inside for edge in span}
        if block.kind == "sentence":
            prose = visible[block.start : block.end].replace("\n", " ")
            edges.update(block.start + start for start in find_sentence_starts(prose))
        cuts = {block.start, *edges, block.end}
        cuts = sorted(cut for cut in cuts if block.start <= cut <= block.end)
        divisible = block.kind not in ("sentence", "heading")
        first = len(units)
        parts = (span for span in divide(text, cuts) if not visible[slice(*span)].isspace())
        units += (Unit(*part, block.kind, divisible) for part in parts)
        spans.append(range(first, len(units)))
    links = find_links(lines, blocks, spans)
    for number, link in links.items():
        units[number] = replace(units[number], link=link)
    tie_halves(units, breaks)
    units = add_markers(units, conflicts) if conflicts else units
    outside = [span for span in comments if span not in inside]
    return _insert_comments(units, outside) if outside else units


def _insert_comments(units: Sequence[Unit], comments: Sequence[Range]) -> list[Unit]:
    """Return the units and the comments, in the order of the text."""
    merged = sorted([*units, *(Unit(*span, "comment", True) for span in comments)], key=lambda u: u.start)
    place = [at for at, unit in enumerate(merged) if unit.kind != "comment"]
    return [unit.move_needs(place) for unit in merged]


def _find_whole_kind(text: str) -> Kind | None:
    """Return the kind of a text that is one whole page or file; None for any other text."""
    return next((own.kind for own in _WHOLE_FORMATS if own.find_start(text) and own.holds(text)), None)


def _overlapping(ranges: Sequence[Range], block: Block | PageBreak) -> Sequence[Range]:
    """Return the ranges that overlap a block, or touch it. They must be sorted."""
    if not ranges:
        return ()
    first = bisect_right(ranges, block.start, key=lambda span: span[1])
    return ranges[first : bisect_left(ranges, block.end, key=lambda span: span[0])]


def _split_blocks(lines: Lines) -> Iterator[Block]:
    """Yield the blocks of a masked text (`lines.mask`) in order. Lines between them are blank."""
    paragraph = index = 0  # the lines paragraph..index-1 are prose that was not yet yielded
    count = len(lines.texts)
    edges = find_edges(lines) if "  " in lines.text else set[int]()
    while index < count:
        is_blank = lines.is_blank(index)
        structure = None if is_blank else _find_structure(lines, index, paragraph == index)
        end, kind = structure or (index + 1, None)
        if is_blank or kind:
            if paragraph < index:
                yield from split_prose(lines, paragraph, index, edges)
            paragraph = end
        if kind:
            yield make_block(lines, index, end, kind)
        index = end
    if paragraph < index:
        yield from split_prose(lines, paragraph, index, edges)


def _find_structure(lines: Lines, index: int, starts_paragraph: bool) -> tuple[int, Kind] | None:
    """Return the index after the structure that starts at a line, and its kind; None for prose.

    `starts_paragraph` is true if the line above is not prose.
    """
    if structure := _find_format(_OUTSIDE_ITEMS, lines, index, starts_paragraph):
        return structure
    if end := _find_item_end(lines, index, starts_paragraph):
        return end, "list_item"
    may_be_code = starts_paragraph or lines.indent(index) >= lines.indent(index - 1) + 2
    if may_be_code and lines.likeness(index) > Likeness.PROSE and (end := find_code_end(lines, index)):
        while end < len(lines) and is_continued(lines.texts[end - 1]) and not lines.is_blank(end):
            end = find_code_end(lines, end) or end + 1
        return end, "code"
    if end := find_continued_end(lines, index):
        return end, "line"
    return _find_format((ALIGNED,), lines, index, starts_paragraph)


def _find_format(
    formats: Sequence[Format], lines: Lines, index: int, starts_paragraph: bool
) -> tuple[int, Kind] | None:
    """Return the index after the structure of the first format that starts at a line, and its kind."""
    for kind, start, find_end, only_starts_paragraphs in formats:
        if (only_starts_paragraphs and not starts_paragraph) or index < lines.none_before[find_end]:
            continue
        if start.match(lines.text, lines.starts[index]) and (end := find_end(lines, index)):
            return end, kind
    return None


def _find_item_end(lines: Lines, index: int, starts_paragraph: bool) -> int | None:
    """Return the index after a list item with its indented or wrapped lines; None if it is too long."""
    if not (ITEM.match(lines.texts[index]) and opens_item(lines, index, starts_paragraph)):
        return None
    is_bulleted = not lines.texts[index].lstrip()[0].isalnum()
    is_entry = is_reference(lines, index)
    end, width = index + 1, 0
    while end < len(lines) and not lines.is_blank(end) and lines.is_short(index, end):
        above, line = lines.texts[end - 1 : end + 1]
        width = max(width, len(above.rstrip()))
        if line.strip() == "+" and is_asciidoc(lines):
            block = _find_format(_FORMATS, lines, end + 1, True)
            end = block[0] if block else lines.find_blank(end)
            continue
        if is_bulleted and lines.indent(end) < lines.indent(index):
            break
        # Something else may begin right below an item, such as a message or a position.
        is_other = _OWN_LINE.match(line) or is_stamped(line) or PERIOD.search(line, max(0, len(line) - 40))
        is_apart = not is_entry and lines.indent(end) <= lines.indent(index)
        if is_apart and (is_other or not is_wrapped(above, line, width)):
            break
        if is_field(lines, end) or opens_item(lines, end, False) or _find_format(_FORMATS, lines, end, False):
            break
        end += 1
    return end if lines.is_short(index, end) else None
