"""Find tables: Markdown, grids of ASCII or box characters, reST, and rows of values.

Each recogniser takes the lines of a document and the index where a table may start. It returns the index
after the table's last line, or None if no table starts there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

_DELIMITER_ROW = re.compile(
    r"\s*+[|+]?\s*+:?-++:?\s*+(?:[|+]\s*+:?-++:?\s*+)++[|+]?\s*$|\s*+\|\s*+:?-++:?\s*+\|\s*$"
)
_GRID_LINE = re.compile(r"\s*(?:\+[-=+:]{2,}|[\u2500-\u257f])")
_GRID_ROW = re.compile(r"\s*(?:[|+]|[\u2500-\u257f])")
_PIPED_ROW = re.compile(r"\s*\|.*\|\s*$")
_REST_BORDER = re.compile(r"\s*={2,}(?: +={2,})+\s*$")
_GAP = re.compile(r"(?<=\S)(?: {2,}|\t+)(?=\S)")
_WIDE_GAP = re.compile(r"(?<=\S)(?: {3,}|\t+)(?=\S)")


def find_table_end(lines: Sequence[str], start: int) -> int | None:
    """End of a table with drawn columns."""
    first = lines[start]
    second = lines[start + 1] if "|" in first and start + 1 < len(lines) else ""
    if "-" in second and _DELIMITER_ROW.match(second[:2000]):
        return _skip_while(lines, start + 2, lambda line: "|" in line)
    if _GRID_LINE.match(first):
        end = _skip_while(lines, start + 1, lambda line: _GRID_ROW.match(line) is not None)
        return end if end - start >= 2 else None
    if _PIPED_ROW.match(first):
        end = _skip_while(lines, start + 1, lambda line: _PIPED_ROW.match(line) is not None)
        return end if end - start >= 2 else None
    if _REST_BORDER.match(first):
        end = _skip_while(lines, start + 1, lambda line: bool(line.strip()))
        while end > start and not _REST_BORDER.match(lines[end - 1]):
            end -= 1
        return end if end - start >= 3 else None
    return None


def find_rows_end(lines: Sequence[str], start: int) -> int | None:
    """End of three or more rows of values, separated by commas, semicolons or tabs or aligned with spaces."""
    first = lines[start]
    for separator in ("\t", ",", ";"):
        count = first.strip().count(separator)
        if count >= (1 if separator == "\t" else 2) and _are_values(first, separator):
            end = _skip_while(
                lines,
                start + 1,
                lambda line, mark=separator, wanted=count: (
                    line.strip().count(mark) == wanted and _are_values(line, mark)
                ),
            )
            if end - start >= 3:
                return end
    if _is_aligned(first):
        end = _skip_while(lines, start + 1, _is_aligned)
        if end - start >= 3:
            return end
    return None


def _are_values(line: str, separator: str) -> bool:
    if separator == "\t":
        return True
    # Prose has a space after each comma, most rows of values do not.
    return line.count(separator + " ") * 2 < line.count(separator)


def _is_aligned(line: str) -> bool:
    line = line[:2000].strip()
    return len(_GAP.findall(line)) >= 2 and _WIDE_GAP.search(line) is not None


def _skip_while(lines: Sequence[str], index: int, holds: Callable[[str], bool]) -> int:
    """Index of the first line from `index` on that is blank or for which `holds` is false."""
    while index < len(lines) and lines[index].strip() and holds(lines[index]):
        index += 1
    return index
