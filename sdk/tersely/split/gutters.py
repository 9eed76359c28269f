"""Lines that a tool prints with a gutter in front.

A gutter is, for example, the graph of `git log --graph`, the `==31==` of valgrind, or the `[INFO]` of Maven.
"""

from __future__ import annotations

import re

from tersely.split.lines import Format, Lines, mask
from tersely.split.prefixed import Line, Prefixed

_PROCESS = re.compile(r"(?P<sign>==|--)\d+(?P=sign) ?")
_GRAPH = re.compile(r"(?:[*|\\/_] ?)+(?: *(?=(?:commit [0-9a-f]{7}|[A-Z][A-Za-z]*: )))?| {2,}(?=\S)")
_LEVEL = re.compile(r"\[(?:INFO|WARNING|ERROR|DEBUG)\](?: |$)")
_MAVEN = re.compile(r"\[INFO\] (?:Scanning for projects\.|-{3})")
_START = re.compile(rf"{_PROCESS.pattern}|\* +commit [0-9a-f]{{7}}|{_MAVEN.pattern}")
_FEWEST = 3
_MOST_PRINTED = 1_000
"""Largest number of lines that a test may print between two lines of Maven."""


def _find_end(lines: Lines, index: int) -> int | None:
    """Return the index after lines with the gutter of the first one."""
    if _MAVEN.match(lines.texts[index]):
        return _find_last_level(lines, index) + 1
    pattern = _find_pattern(lines.texts[index])
    end = index
    while end < len(lines) and (pattern.match(lines.texts[end]) or _goes_on(lines, end, pattern)):
        end += 1
    return end if end - index >= _FEWEST else None


def _find_last_level(lines: Lines, index: int) -> int:
    """Return the index of the last line with a level. Between such lines, tests print lines without one."""
    last = index
    for number in range(index, len(lines)):
        if _LEVEL.match(lines.texts[number]):
            last = number
        elif number - last > _MOST_PRINTED:
            break
    return last


def _goes_on(lines: Lines, index: int, pattern: re.Pattern[str]) -> bool:
    """Return whether a blank line is followed by a line with a gutter. A gutter of spaces may leave a line
    blank."""
    return (
        lines.is_blank(index) and index + 1 < len(lines) and pattern.match(lines.texts[index + 1]) is not None
    )


def _find_pattern(line: str) -> re.Pattern[str]:
    if _MAVEN.match(line):
        return _LEVEL
    process = _PROCESS.match(line)
    return re.compile(re.escape(process[0].rstrip()) + " ?") if process else _GRAPH


GUTTER = Format("numbered", _START, _find_end)


def read_gutter(text: str, start: int, end: int) -> Prefixed | None:
    """Return the lines of a block without their gutter; None if it has none."""
    body = mask(text[start:end])
    if not _START.match(body):
        return None
    pattern = _find_pattern(body.split("\n", 1)[0])
    lines: list[Line] = []
    at = start
    for line in body.split("\n"):
        gutter = pattern.match(line)
        lines.append(Line(at, at + (gutter.end() if gutter else 0), at + len(line)))
        at += len(line) + 1
    return Prefixed(text, lines)
