"""Logs: entries, and which of them are alike.

Entries stay single units. They form one series. A mark in it says how many of the missing entries are like
the entry above. Two entries are alike if their first lines are the same without numbers and quoted texts.
"""

from __future__ import annotations

import re

from tersely.split.lines import Format, Lines

_STAMP = re.compile(
    r"""[^\S\n]*[\[(<]?(?:
      \d{4}[-/.]\d\d[-/.]\d\d[T\ _,]+\d\d:\d\d
    | \d{1,2}[-/.]\d{1,2}[-/.]\d{2,4},?[T\ ]+\d{1,2}:\d\d
    | \d{1,2}/[A-Z][a-z]{2}/\d{4}[:\ ]\d\d:\d\d
    | (?:[A-Z][a-z]{2},?\ )?\d{1,2}[\ -][A-Z][a-z]{2}[\ -]\d{4}[:,]?\ \d\d:\d\d
    | [A-Z][a-z]{2}\ \d{1,2},\ \d{4},?\ \d{1,2}:\d\d
    | (?:[A-Z][a-z]{2}\ )?[A-Z][a-z]{2}\ [\ \d]\d\ \d\d:\d\d
    | \S+(?:\ \S+)?\ \S+\ \S+\ \[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:
    | \d{1,3}(?:\.\d{1,3}){3}\ \S+\ \S+\ \[
    | [IWEF]\d{4}\ \d\d:\d\d
    | 1\d{9}(?:\.\d+)?[\ \]]
    | thread\ '[^'\n]*'\ panicked\ at
    | \d\d:\d\d:\d\d(?:[.,]\d+)?\]?[^\S\n]+\[?(?:\S+[^\S\n]+)?\[?
      (?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL|CRITICAL)
    )""",
    re.VERBOSE,
)
_CLOCK = re.compile(r"[\d:.,]*(?:Z|[+-]\d\d:?\d\d)?[\])>]?")
"""The rest of a time, which `_STAMP` does not match: seconds, and the zone."""
_SEVERITY = re.compile(
    r"""[^\S\n]*[\[(]?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)[\])]?
    (?::|[^\S\n]+-|[^\S\n])[^\S\n]*\S""",
    re.VERBOSE,
)
_DETAIL = re.compile(r"\s(?:DETAIL|HINT|CONTEXT|STATEMENT|QUERY|LOCATION):[^\S\n]{2}")
"""The word before what PostgreSQL adds to the entry above."""
_VARIABLE = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|\b0x[0-9a-fA-F]+|\b[0-9a-fA-F]*\d[\w.:,/+-]*")
_LONGEST_SHAPE = 200


def _find_entry_end(lines: Lines, index: int) -> int | None:
    """Return the index after an entry that starts with a time, and the lines below it that are indented or
    add to it.

    None if the entry is a single line that is too long.
    """
    end = index + 1
    has_details = False
    while end < len(lines) and not lines.is_blank(end):
        if _is_detail(lines, index, end) and lines.is_short(index, end + 1):
            has_details = True
        elif lines.indent(end) <= lines.indent(index) or (not has_details and starts_entry(lines.texts[end])):
            break
        end += 1
    return end if end > index + 1 or lines.is_short(index, end) else None


def _is_detail(lines: Lines, index: int, below: int) -> bool:
    """Return whether a line of a log of PostgreSQL adds to the entry that starts at `index`."""
    detail = _DETAIL.search(lines.texts[below])
    return detail is not None and lines.texts[below][: detail.start()] == lines.texts[index][: detail.start()]


def _find_rated_end(lines: Lines, index: int) -> int | None:
    """Return the index after an entry that starts with a severity; None if other text is right below it."""
    below = index + 1
    if below < len(lines) and not lines.is_blank(below) and not starts_entry(lines.texts[below]):
        return None
    return _find_entry_end(lines, index)


def starts_entry(line: str) -> bool:
    """Return whether a line begins with a time or a severity."""
    return bool(_STAMP.match(line) or _SEVERITY.match(line))


ENTRIES = (
    Format("log", _STAMP, _find_entry_end),
    Format("log", _SEVERITY, _find_rated_end, only_starts_paragraphs=True),
)


def find_text_indent(line: str) -> int:
    """Return the number of spaces between the time at the start of a line and its text."""
    stamp = _STAMP.match(line)
    clock = _CLOCK.match(line, stamp.end() if stamp else 0)
    text = line[clock.end() if clock else 0 :]
    return len(text) - len(text.lstrip(" "))


def find_shape(text: str, start: int, end: int) -> str:
    """Return what the first line of the entry in `text[start:end]` has in common with others like it."""
    line = text[start : min(end, start + _LONGEST_SHAPE)].split("\n", 1)[0]
    return " ".join(_VARIABLE.sub("#", line).split())
