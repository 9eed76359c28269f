"""Stanzas: records with the same fields, one field a line, as in `dpkg --status`. Blank lines separate them.

The first field names the stanza. The value of a field may continue in indented lines below it. If the first
line is indented, the signs after the names of all fields are in one column.
"""

from __future__ import annotations

import re
from collections import Counter

from tersely.split.lines import Format, Lines, WholeFormat, find_lines, mask
from tersely.split.nodes import Node, Sizes, join_lines
from tersely.split.prose import find_paragraphs, is_prose
from tersely.units import Series

_NAMED = r"[^\W\d_](?:[\w.()/-]| (?! )){0,39}?"
"""The name of a field. A gap of two blanks ends it."""
_SEPARATOR = r"[ \t]*(?::(?=\s|$)|=)"
_START = re.compile(rf"[ \t]*{_NAMED}{_SEPARATOR}[^\n]*\n(?:{_NAMED}{_SEPARATOR}|[ \t]+\S)")
_FIELD = re.compile(rf"(?P<indent>[ \t]*)(?P<name>{_NAMED}){_SEPARATOR}(?P<value>[^\n]*)")
_SIGNS_ALONE = re.compile(r"[^\w\s]+\s*")
"""A line such as `-`. The fields above it, down from the last such line, are one part of the stanza."""
_NAME = re.compile(r"name|id|title|package|path|unit", re.IGNORECASE)
"""The name of a field that identifies its stanza even if another field is first."""
_LONGEST_NAME = 200
_FEWEST_FIELDS = 2


def _find_end(lines: Lines, index: int) -> int | None:
    """Return the index after two or more stanzas; None if there are fewer, or half of the values are prose.

    Also return None if a field that begins a stanza occurs elsewhere in the text: then the records contain
    blank lines.
    """
    start = end = index
    known = {field["name"] for field in [_FIELD.match(lines.texts[index])] if field}
    count = most = spoken = 0
    firsts, own = set[str](), Counter[str]()
    while start < len(lines) and (fields := _read_fields(lines, start, known)):
        is_first = start == index
        stop = lines.find_blank(start)
        known.update(field["name"] for field in fields)
        count, most = count + len(fields), max(most, len(fields))
        spoken += sum(is_prose(field["value"]) for field in fields)
        firsts.add(fields[0]["name"])
        own.update(field["name"] for field in fields)
        # A dialogue looks similar, but most of its values are prose.
        if spoken * 2 < count and not is_first and most >= _FEWEST_FIELDS:
            end = stop
        start = lines.skip_blank(stop)
    if end > index and not lines.field_counts:
        lines.field_counts.update(field["name"] for field in map(_FIELD.match, lines.texts) if field)
    if end > index and not any(own[name] < lines.field_counts[name] for name in firsts):
        return end
    lines.none_before[_find_end] = max(start, index + 1)
    return None


def _match_field(line: str, column: int) -> re.Match[str] | None:
    """Return the field in a line that is not indented, or whose value starts in a column."""
    field = _FIELD.match(line)
    return field if field and (not field["indent"] or field.start("value") == column) else None


def _find_column(line: str) -> int:
    """Return the column after the sign in a stanza's first line; -1 if that line is not indented."""
    field = _FIELD.match(line)
    return field.start("value") if field and field["indent"] else -1


def _read_fields(lines: Lines, index: int, known: set[str]) -> list[re.Match[str]]:
    """Return the fields of the stanza that starts at a line; none if the name of the first is not known."""
    first = _FIELD.match(lines.texts[index])
    if first is None or first["name"] not in known:
        return []
    fields: list[re.Match[str]] = []
    column = _find_column(lines.texts[index])
    for at in range(index, lines.find_blank(index)):
        line = lines.texts[at]
        if field := _match_field(line, column):
            fields.append(field)
        elif not (at > index and (line[:1].isspace() or _SIGNS_ALONE.fullmatch(line))) or _opens(lines, at):
            return []
    # A dialogue looks similar, but it has few names.
    return fields if len({field["name"] for field in fields}) * 2 > len(fields) else []


def _opens(lines: Lines, index: int) -> bool:
    """Return whether a line announces indented lines. Such a record is an outline, not a stanza."""
    is_announced = lines.texts[index].rstrip().endswith(":")
    return is_announced and index + 1 < len(lines) and lines.indent(index + 1) > lines.indent(index)


def _are_stanzas(text: str) -> bool:
    lines = Lines(mask(text))
    first = lines.skip_blank(0)
    if first + 1 < len(lines) and lines.is_blank(first + 1):
        first = lines.skip_blank(first + 1)  # below a line such as `version: 1`
    end = _find_end(lines, first)
    return end is not None and lines.skip_blank(end) == len(lines)


STANZA = Format("stanza", _START, _find_end, only_starts_paragraphs=True)
WHOLE_STANZAS = WholeFormat(
    "stanza",
    re.compile(rf"(?:[^\S\n]*+\n)*+(?:[^\n]+\n\s*\n)?^{_START.pattern}", re.MULTILINE).match,
    _are_stanzas,
)
"""A text of stanzas is not YAML, although each of them may be."""


def open_stanzas(text: str, start: int, end: int, sizes: Sizes) -> Node:
    """Return the tree of stanzas. All fields of a stanza need its first field, and others that name it."""
    stanzas: list[Node] = []
    above = start
    column, part = -1, 0
    for left, right in find_lines(text, start, end):
        line = text[text.rfind("\n", 0, left) + 1 : right]
        if not stanzas or text.count("\n", above, left) > 1:
            stanzas.append(Node(left, right, series=Series()))
            column, part = _find_column(line), 0
        elif field := _match_field(line, column):
            is_name = _NAME.fullmatch(field["name"]) is not None and right - left <= _LONGEST_NAME
            stanzas[-1].children.append(Node(left, right, is_anchor=is_name))
        elif stanzas[-1].children:
            fields = stanzas[-1].children
            fields[-1].end = right
            if _SIGNS_ALONE.fullmatch(line) and part < len(fields):
                fields[part:] = [Node(fields[part].start, right)]
                part = len(fields)
        stanzas[-1].end = above = right
    for stanza in stanzas:
        if stanza.end - stanza.start <= sizes.part:
            stanza.children = []
            continue
        for field in stanza.children:
            if field.end - field.start > sizes.part and not field.is_anchor:
                # Its first line is the head of the others.
                field.children = _list_parts(text, field.start, field.end, sizes.part)
                field.series = Series(" ")
        below = stanza.children[0].start if stanza.children else stanza.end
        if below - stanza.start > sizes.part:
            stanza.children[:0] = _list_parts(text, stanza.start, below, sizes.part)
    return Node(start, end, stanzas, Series())


def _list_parts(text: str, start: int, end: int, size: int) -> list[Node]:
    """Return the parts of a value below its first line: paragraphs of prose, and lines."""
    first = next(find_lines(text, start, end))
    return join_lines([part for part, _ in find_paragraphs(text, first[1], end)], size)
