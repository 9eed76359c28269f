"""Tables: drawn ones, and rows of values."""

from __future__ import annotations

import re
from collections.abc import Callable

from tersely.split.lines import Format, Lines, find_lines
from tersely.split.nodes import Node, Sizes
from tersely.units import Series

_DELIMITER_ROW = re.compile(
    r"\s*+[|+]?\s*+:?-++:?\s*+(?:[|+]\s*+:?-++:?\s*+)++[|+]?\s*$|\s*+\|\s*+:?-++:?\s*+\|\s*$"
)
_GRID_LINE = re.compile(r"\s*(?:\+[-=+:]{2,}|[\u2500\u2501\u250c\u250f\u2552-\u2554\u256d])")
_GRID_ROW = re.compile(r"\s*(?:[|+]|[\u2500-\u257f])")
_PIPED_ROW = re.compile(r"\s*\|.*\|\s*$")
_REST_BORDER = re.compile(r"\s*={2,}(?: +={2,})+\s*$")
_GAP = re.compile(r"(?<=\S)(?: {2,}|\t+)(?=\S)")
_WIDE_GAP = re.compile(r"(?<=\S)(?: {3,}|\t+)(?=\S)")
_RULE = re.compile(r"[\s|+:=-]+$")
_MOST_HEAD_LINES = 4


def _find_table_end(lines: Lines, index: int) -> int | None:
    """Return the index after a table with drawn columns: Markdown, reST, or a grid of characters."""
    texts = lines.texts
    first = texts[index]
    second = texts[index + 1] if "|" in first and index + 1 < len(lines) else ""
    if "-" in second and _DELIMITER_ROW.match(second[:2000]):
        return _skip_while(lines, index + 2, lambda line: "|" in line)
    for start, row in ((_GRID_LINE, _GRID_ROW), (_PIPED_ROW, _PIPED_ROW)):
        if start.match(first):
            end = _skip_while(lines, index + 1, lambda line, row=row: row.match(line) is not None)
            return end if end - index >= 2 else None
    if _REST_BORDER.match(first):
        end = _skip_while(lines, index + 1, lambda line: bool(line.strip()))
        while end > index and not _REST_BORDER.match(texts[end - 1]):
            end -= 1
        return end if end - index >= 3 else None
    return None


def _find_rows_end(lines: Lines, index: int) -> int | None:
    """Return the index after three or more rows of values, with separators or aligned with spaces."""
    first = lines.texts[index]
    for is_row in (*(_separated_like(first, separator) for separator in "\t,;"), _is_aligned):
        if is_row(first):
            end = _skip_while(lines, index + 1, is_row)
            if end - index >= 3:
                return end
    return None


def _separated_like(first: str, separator: str) -> Callable[[str], bool]:
    """Return a test for rows with as many values as the first."""
    count = first.strip().count(separator)

    def is_row(line: str) -> bool:
        if line.strip().count(separator) != count:
            return False
        if separator == "\t":
            return count >= 1
        # Prose has a space after each comma, most rows of values do not.
        return count >= 2 and line.count(separator + " ") * 2 < line.count(separator)

    return is_row


def _is_aligned(line: str) -> bool:
    line = line[:2000].strip()
    return len(_GAP.findall(line)) >= 2 and _WIDE_GAP.search(line) is not None


def _skip_while(lines: Lines, index: int, holds: Callable[[str], bool]) -> int:
    """Return the index of the first line from `index` on that is blank or for which `holds` is false."""
    while index < len(lines) and not lines.is_blank(index) and holds(lines.texts[index]):
        index += 1
    return index


TABLE = Format(
    "table", re.compile(r"[^\n|]*\||[^\S\n]*(?:\+[-=+:]{2}|[\u2500-\u257f]|==+ +==)"), _find_table_end
)
ROWS = Format(
    "row",
    re.compile(r"[^\n]*(?:\t|[,;](?! )|   )"),
    _find_rows_end,
    only_starts_paragraphs=True,
    has_rows=True,
)


def open_table(text: str, start: int, end: int, _: Sizes) -> Node | None:
    """Return the rows of a table. Those down to the rule below the column names are its head."""
    lines = list(find_lines(text, start, end))
    head = 1
    for number, (left, right) in enumerate(lines[1:_MOST_HEAD_LINES], 1):
        if _RULE.match(text, left, right):
            head = number + 1
    tail = len(lines)
    while tail > head and _RULE.match(text, *lines[tail - 1]):
        tail -= 1
    if tail - head < 2:
        return None
    has_pipes = text[slice(*lines[head])].lstrip().startswith("|")
    rows: list[Node] = []
    for left, right in lines[head:tail]:
        if not _RULE.match(text, left, right):
            rows.append(Node(left, right))
        elif rows:  # a rule belongs to the row above it
            rows[-1].end = right
    return Node(start, end, rows, Series("| ", " |") if has_pipes else Series())
