"""Tables with drawn columns, or with a rule below the names of their columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from tersely.split.columns import skip_rows
from tersely.split.lines import LONGEST_LINE, Format, Lines, find_lines, skip_while
from tersely.split.nodes import Node, Sizes
from tersely.split.rows import FENCED, open_fenced
from tersely.units import Series

_DELIMITER_ROW = re.compile(
    r"\s*+[|+]?\s*+:?-++:?\s*+(?:[|+]\s*+:?-++:?\s*+)++[|+]?\s*$|\s*+\|\s*+:?-++:?\s*+\|\s*$"
)
_GRID_LINE = re.compile(
    r"\s*(?:\+[-=+:]{2,}+(?![^\S\n]+\w.*[^\s+]\s*$)|[\u2500\u2501\u250c\u250f\u2552-\u2554\u256d])"
)
"""The first line of a grid, but not that of a tree such as `+--- crane`."""
_GRID_ROW = re.compile(r"\s*(?:[|+]|[\u2500-\u257f])")
_TITLE = re.compile(r"[ \t]*(\|++)(?=[^|\n]*\w)[^|\n]*+\1[ \t]*\n[ \t]*\|*\+-[-+|]*[ \t]*$", re.MULTILINE)
"""The title of a box in a table of AWS. Titles with more bars are deeper."""
_PIPED_ROW = re.compile(r"\s*\|.*\|\s*$")
_DASHES = re.compile(r"-{10,}\s*$")
_DASHED_ROW = re.compile(rf"{_PIPED_ROW.pattern}|{_DASHES.pattern}")
_REST_BORDER = re.compile(r"\s*={2,}(?: +={2,})+\s*$")
_RULER = re.compile(r"[ \t]*(?:\+\+\+-=[-=]+|-{2,}(?:[ \t]+-{2,})+)[ \t]*$", re.MULTILINE)
_COUNT = re.compile(r"\(\d+ rows?\)\s*$")
"""The line that psql prints below a table."""
_RULE = re.compile(r"[\s|+:=\u2500-\u257f-]+$")
_CONTINUED = re.compile(r"[^\n]*\+(?:\||[ \t]*$)")
_MOST_HEAD_LINES = 6
_LONGEST_SIMPLE = 200
"""Largest number of lines of a simple table of reStructuredText."""


def _find_title_end(lines: Lines, index: int) -> int | None:
    """Return the index after a boxed title and its rule. It has over two bars, or fewer than the next row."""
    bars = [line.count("|") for line in lines.texts[index : index + 3 : 2]]
    is_title = _TITLE.match(lines.text, lines.starts[index]) and (bars[0] > 2 or bars[0] < bars[-1])
    return index + 2 if is_title else None


def _find_table_end(lines: Lines, index: int) -> int | None:
    """Return the index after a table with drawn columns: Markdown, reST, or a grid of characters."""
    texts = lines.texts
    first = texts[index]
    second = texts[index + 1] if "|" in first and index + 1 < len(lines) else ""
    if "-" in second and _DELIMITER_ROW.match(second[:LONGEST_LINE]):
        end = skip_while(lines, index + 2, lambda line: "|" in line)
        return end + (end < len(lines) and _COUNT.match(texts[end]) is not None)
    for start, row in ((_GRID_LINE, _GRID_ROW), (_PIPED_ROW, _PIPED_ROW), (_DASHES, _DASHED_ROW)):
        if start.match(first):
            end = index + 1
            while end < len(lines) and row.match(lines.texts[end]) and not _find_title_end(lines, end):
                end += 1
            return end if end - index >= 2 else None
    return _find_simple_end(lines, index) if _REST_BORDER.match(first) else None


def _find_simple_end(lines: Lines, index: int) -> int | None:
    """Return the index after a simple table of reST. The last border has a blank line below it."""
    borders = 0
    for end in range(index + 1, min(len(lines), index + _LONGEST_SIMPLE)):
        if _REST_BORDER.match(lines.texts[end]):
            borders += 1
            if end > index + 1 and (end + 1 == len(lines) or lines.is_blank(end + 1)):
                return end + 1
    if not borders:
        return None
    end = lines.find_blank(index)
    while not _REST_BORDER.match(lines.texts[end - 1]):
        end -= 1
    return end if end - index >= 3 else None


def _find_ruled_end(lines: Lines, index: int) -> int | None:
    """Return the index after rows with a ruler below the names of their columns."""
    ruler = _find_ruler(lines, index)
    if ruler is None:
        return None
    return skip_rows(lines, ruler + 1, str.strip, lambda row: _find_ruler(lines, row) is not None)


def _find_ruler(lines: Lines, index: int) -> int | None:
    """Return the index of the ruler a few lines below the names of columns that start at a line."""
    for ruler in range(index + 1, min(len(lines), index + _MOST_HEAD_LINES)):
        if lines.is_blank(ruler):
            return None
        if _RULER.match(lines.texts[ruler]):
            return ruler
    return None


TABLES = (
    Format("heading", _TITLE, _find_title_end),
    Format(
        "table",
        re.compile(r"[^\n|]*\||[^\S\n]*(?:\+[-=+:]{2}|[\u2500-\u257f]|==+ +==|-{10,}[ \t]*\n[ \t]*\|)"),
        _find_table_end,
    ),
    Format(
        "table",
        re.compile(rf"Desired=[^\n]*+\n|[^\S\n]*+\S[^\n]*+\n{_RULER.pattern}", re.MULTILINE),
        _find_ruled_end,
    ),
)


def open_table(text: str, start: int, end: int, _: Sizes) -> Node | None:
    """Return the rows of a table. The lines down to the rule below the column names are its head."""
    if FENCED.start.match(text, start):
        return open_fenced(text, start, end)
    lines = list(find_lines(text, start, end))
    texts = [text[left:right] for left, right in lines]
    rules = [number for number, line in enumerate(texts) if _RULE.match(line) or _RULER.match(line)]
    head = _find_head(texts, rules)
    tail = len(lines)
    while tail > head and (tail - 1 in rules[-2:] or _COUNT.match(texts[tail - 1])):
        tail -= 1
    if tail - head < 2:
        return None
    has_pipes = texts[head].lstrip().startswith("|")
    continues = _find_continued(texts, head, [rule for rule in rules if head <= rule < tail])
    rows: list[Node] = []
    for number in range(head, tail):
        if rows and continues(number):
            rows[-1].end = lines[number][1]
        else:
            rows.append(Node(*lines[number]))
    if len(rows) < 2:
        return None
    return Node(start, end, rows, Series("| ", " |") if has_pipes else Series())


def _find_head(texts: Sequence[str], rules: Sequence[int]) -> int:
    """Return the number of lines down to the rule below the names of the columns."""
    inner = [rule for rule in rules if 0 < rule < len(texts) - 1]
    if not rules or rules[0] > 0:
        return inner[0] + 1 if inner and inner[0] < _MOST_HEAD_LINES else 1
    if double := [rule for rule in inner if "=" in texts[rule]]:
        return double[0] + 1
    # One rule ends the head. Several are between all rows. Then the first row has names if it has no digit,
    # but all other rows have one.
    rows = ["".join(texts[left + 1 : right]) for left, right in pairwise(rules)]
    has_names = [any(map(str.isdigit, row)) for row in rows] == [False] + [True] * (len(rows) - 1)
    return inner[0] + 1 if len(inner) == 1 or (inner and has_names) else 1


def _find_continued(texts: Sequence[str], head: int, rules: Sequence[int]) -> Callable[[int], bool]:
    """Return a test for lines that belong to the row above: its other lines, and the rule below it."""
    is_grid = texts[0].lstrip().startswith(("+", "\u250c")) and (bool(rules) or "=" in texts[head - 1])
    first_column = 0
    if _REST_BORDER.match(texts[0]):
        border = texts[head - 1]
        first_column = len(border) - len(border.lstrip()) + len(border.split()[0])
    ruled = set(rules)

    def continues(number: int) -> bool:
        if number in ruled:
            return True
        if is_grid:
            return number - 1 not in ruled
        if first_column:
            return not texts[number][:first_column].strip()
        return _CONTINUED.match(texts[number - 1]) is not None and not texts[0].lstrip().startswith("|")

    return continues
