"""Blocks between two lines: delimiters of AsciiDoc, with the title and the attributes above, environments of
LaTeX, and drawers of Org mode."""

from __future__ import annotations

import re

from tersely.split.lines import Format, Lines, Range, find_closing_line, find_lines
from tersely.split.markdown import is_asciidoc

_ABOVE = re.compile(r"\[[^\]\n]*\]\s*$|\.[^\s.].*$")
"""The attributes or the title of a block."""
_DELIMITER = re.compile(r"(?:-{4,}|={4,}|\*{4,}|_{4,}|\.{4,}|\+{4,}|/{4,}|[|,:!]===|--)\s*$")
_ANCHOR = re.compile(r"\[\[[^\]\n]+\]\]\s*\n={1,6} \S")
_MOST_ABOVE = 4
_BEGIN = re.compile(r"[ \t]*\\begin\{(?!document\}|tabular|longtable|array)([A-Za-z]+\*?)\}")


def _find_block_end(lines: Lines, index: int) -> int | None:
    """Return the index after the block that starts at a line, or after the paragraph below its attributes."""
    if not is_asciidoc(lines):
        return None
    first = index
    while first < len(lines) and first - index < _MOST_ABOVE and _ABOVE.match(lines.texts[first]):
        first += 1
    is_other = first < len(lines) and lines.texts[first].startswith(("= ", "== ", "*", ". "))
    if first == len(lines) or lines.is_blank(first) or is_other:
        return None
    if not _DELIMITER.match(lines.texts[first]):
        return lines.find_blank(first) if first > index and lines.texts[index].startswith("[") else None
    above = lines.texts[index - 1].strip() if index else ""
    if first == index and above not in ("", "+"):
        return None
    closing = lines.texts[first].rstrip()
    return find_closing_line(lines, index, first, lambda line: line.rstrip() == closing)


def _find_anchored_end(lines: Lines, index: int) -> int | None:
    return index + 2 if is_asciidoc(lines) else None


def _find_environment_end(lines: Lines, index: int) -> int | None:
    """Return the index after the environment that begins at a line, if it ends in a line of its own."""
    opening = _BEGIN.match(lines.texts[index])
    if opening is None or lines.code_budget <= 0:
        return None
    name, depth = opening[1], 0
    for end in range(index, len(lines)):
        line = lines.texts[end]
        depth += line.count(f"\\begin{{{name}}}") - line.count(f"\\end{{{name}}}")
        if depth <= 0:
            return end + 1 if end > index and line.strip() == f"\\end{{{name}}}" else None
    lines.code_budget -= len(lines.text) - lines.starts[index]
    return None


def _find_drawer_end(lines: Lines, index: int) -> int | None:
    """Return the index after the properties of a heading of Org mode."""
    return find_closing_line(lines, index, index, lambda line: line.strip() == ":END:")


DELIMITED = (
    Format("code", re.compile(r"[ \t]*:[A-Z]+:[ \t]*$", re.MULTILINE), _find_drawer_end),
    Format("code", _BEGIN, _find_environment_end),
    Format("heading", _ANCHOR, _find_anchored_end),
    Format("code", re.compile(rf"(?:{_ABOVE.pattern}|{_DELIMITER.pattern})", re.MULTILINE), _find_block_end),
)


def find_delimited(text: str, start: int, end: int) -> Range | None:
    """Return the range between the delimiters of a block; None if it has none."""
    lines = list(find_lines(text, start, end))
    if (opening := _BEGIN.match(text, start)) and len(lines) > 2:
        closes = text[slice(*lines[-1])].strip() == f"\\end{{{opening[1]}}}"
        return (lines[1][0], lines[-2][1]) if closes else None
    first = next((at for at, line in enumerate(lines) if not _ABOVE.match(text[slice(*line)])), len(lines))
    if first > len(lines) - 3 or not _DELIMITER.match(text[slice(*lines[first])]):
        return None
    opening, closing = (text[slice(*lines[at])].strip() for at in (first, -1))
    return (lines[first + 1][0], lines[-2][1]) if opening == closing else None
