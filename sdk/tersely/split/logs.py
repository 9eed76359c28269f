"""Find log entries and stack traces.

Each recogniser takes lines and the index where an entry may start. It returns the index after the entry's
last line, or None if no entry starts there.
"""

from __future__ import annotations

import re

from tersely.split.lines import Lines

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
_SEVERITY = re.compile(
    r"\s*[\[(]?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)[\])]?(?::|\s+-|\s)\s*\S"
)
_TRACEBACK = re.compile(r"\s*Traceback \(most recent call last\)|\s*goroutine \d+ \[|\s*stack backtrace:")
_FRAME = re.compile(
    r"\s+at\s+\S|\s+\.\.\. \d+ (?:more|common)|(?:Caused by|Suppressed):|\s+File \".*\", line \d+"
)


def find_trace_end(lines: Lines, index: int) -> int | None:
    """End of a stack trace: its head, its frames and, in Python, the exception below them."""
    if _TRACEBACK.match(lines.texts[index]):
        base, end = lines.indent(index), index + 1
        while end < len(lines) and not lines.is_blank(end) and lines.indent(end) > base:
            end += 1
        # The exception itself follows the frames without an indent.
        return end + 1 if end < len(lines) and not lines.is_blank(end) else end
    end = index + 1
    if not _STAMP.match(lines.texts[index]):
        while end < len(lines) and _FRAME.match(lines.texts[end]):
            end += 1
    return end if end > index + 1 else None


def find_entry_end(lines: Lines, index: int, *, starts_paragraph: bool) -> int | None:
    """End of a log entry: a line that begins with a time, or with a severity among others like it, and the
    indented lines below it. None also for a single line that is too long."""
    if not _STAMP.match(lines.texts[index]):
        if not (starts_paragraph and _SEVERITY.match(lines.texts[index])):
            return None
        if index + 1 < len(lines) and not lines.is_blank(index + 1) and not _is_entry(lines, index + 1):
            return None
    end = index + 1
    while end < len(lines) and not lines.is_blank(end) and lines.indent(end) > lines.indent(index):
        if _is_entry(lines, end):
            break
        end += 1
    return end if end > index + 1 or lines.is_short(index, end) else None


def _is_entry(lines: Lines, index: int) -> bool:
    return bool(_STAMP.match(lines.texts[index]) or _SEVERITY.match(lines.texts[index]))
