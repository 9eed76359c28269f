"""Tables: drawn ones, and columns that are aligned with spaces."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tersely.split.csv_rows import VALUE, Record, make_table, open_csv
from tersely.split.lines import Format, Lines, find_lines
from tersely.split.nodes import Node, Sizes
from tersely.units import Series

_DELIMITER_ROW = re.compile(
    r"\s*+[|+]?\s*+:?-++:?\s*+(?:[|+]\s*+:?-++:?\s*+)++[|+]?\s*$|\s*+\|\s*+:?-++:?\s*+\|\s*$"
)
_GRID_LINE = re.compile(r"\s*(?:\+[-=+:]{2,}|[\u2500-\u257f])")
_GRID_ROW = re.compile(r"\s*(?:[|+]|[\u2500-\u257f])")
_PIPED_ROW = re.compile(r"\s*\|.*\|\s*$")
_REST_BORDER = re.compile(r"\s*={2,}(?: +={2,})+\s*$")
_RULER = re.compile(r"[ \t]*(?:\+\+\+-=[-=]+|-{2,}(?:[ \t]+-{2,})+)[ \t]*$", re.MULTILINE)
_GAP = re.compile(r"(?<=\S)(?: {2,}|\t+)(?=\S)")
_WIDE_GAP = re.compile(r"(?<=\S)(?: {3,}|\t+)(?=\S)")
_RULE = re.compile(r"[\s|+:=\u2500-\u257f-]+$")
_WORD = re.compile(r"\S+")
_LOWER = re.compile(r"[^\W\d_A-Z]")
_CONTINUED = re.compile(r"[^\n]*\+(?:\||[ \t]*$)")
_MOST_HEAD_LINES = 6
_LONGEST_SIMPLE = 200
"""Lines of a simple table of reStructuredText."""
_LONGEST_LINE = 2000


def _find_table_end(lines: Lines, index: int) -> int | None:
    """Return the index after a table with drawn columns: Markdown, reST, or a grid of characters."""
    texts = lines.texts
    first = texts[index]
    second = texts[index + 1] if "|" in first and index + 1 < len(lines) else ""
    if "-" in second and _DELIMITER_ROW.match(second[:_LONGEST_LINE]):
        return _skip_while(lines, index + 2, lambda line: "|" in line)
    for start, row in ((_GRID_LINE, _GRID_ROW), (_PIPED_ROW, _PIPED_ROW)):
        if start.match(first):
            end = _skip_while(lines, index + 1, lambda line, row=row: row.match(line) is not None)
            return end if end - index >= 2 else None
    if _REST_BORDER.match(first):
        # The last border has a blank line below it. There may be others between the rows.
        for end in range(index + 2, min(len(lines), index + _LONGEST_SIMPLE)):
            is_last = end + 1 == len(lines) or lines.is_blank(end + 1)
            if is_last and _REST_BORDER.match(texts[end]):
                return end + 1
    return None


def _find_ruled_end(lines: Lines, index: int) -> int | None:
    """Return the index after rows with a ruler below the names of their columns."""
    end = _skip_while(lines, index, lambda line: _RULER.match(line) is None)
    if end == index or end - index >= _MOST_HEAD_LINES or end == len(lines) or lines.is_blank(end):
        return None
    return _skip_while(lines, end, lambda _: True)


def _find_columns_end(lines: Lines, index: int) -> int | None:
    """Return the index after two or more rows that are aligned with the names of their columns."""
    texts = lines.texts
    names = _find_words(texts[index])
    below = texts[index + 1 : index + 3]
    if len(below) < 2 or not all(_fits(names, row) and _GAP.search(row[:_LONGEST_LINE]) for row in below):
        return None
    if not _are_names(texts[index], below):
        return None
    return _skip_while(
        lines,
        index + 3,
        lambda row: _fits(names, row) or len(row.split()) >= len(names) or _continues(names, row),
    )


def _find_words(line: str) -> list[tuple[int, int]]:
    return [word.span() for word in _WORD.finditer(line[:_LONGEST_LINE].expandtabs())]


def _fits(names: Sequence[tuple[int, int]], row: str) -> bool:
    """Whether half of the names have a value below them that starts or ends with them."""
    words = _find_words(row)
    starts, ends = {start for start, _ in words}, {end for _, end in words}
    fitting = sum(start in starts or end in ends for start, end in names)
    return fitting >= 2 and fitting * 2 >= len(names)


def _continues(names: Sequence[tuple[int, int]], row: str) -> bool:
    """Whether a row has nothing in its first column, so that it continues the row above."""
    words = _find_words(row)
    return len(names) > 1 and bool(words) and words[0][0] >= names[1][0] and words[0][0] > names[0][0]


def _are_names(first: str, below: Sequence[str]) -> bool:
    """Whether a row differs from those below as names of columns do: in capitals, or without numbers."""
    words = first.split()
    if len(words) < 2 or not _GAP.search(first[:_LONGEST_LINE]) or any(map(VALUE.fullmatch, words)):
        return False
    if not _LOWER.search(first):
        return True
    return all(any(map(VALUE.fullmatch, row.split())) for row in below)


def _find_aligned_end(lines: Lines, index: int) -> int | None:
    """Return the index after three or more rows that are aligned with spaces."""
    end = _skip_while(lines, index, _is_aligned)
    return end if end - index >= 3 else None


def _is_aligned(line: str) -> bool:
    line = line[:_LONGEST_LINE].strip()
    return len(_GAP.findall(line)) >= 2 and _WIDE_GAP.search(line) is not None


def _skip_while(lines: Lines, index: int, holds: Callable[[str], bool]) -> int:
    """Return the index of the first line from `index` on that is blank or for which `holds` is false."""
    while index < len(lines) and not lines.is_blank(index) and holds(lines.texts[index]):
        index += 1
    return index


TABLE = Format(
    "table", re.compile(r"[^\n|]*\||[^\S\n]*(?:\+[-=+:]{2}|[\u2500-\u257f]|==+ +==)"), _find_table_end
)
RULED_TABLE = Format(
    "table", re.compile(rf"Desired=|[^\n]*\S[^\n]*\n{_RULER.pattern}", re.MULTILINE), _find_ruled_end
)
COLUMNS = Format("row", re.compile(r"[^\n]*\S(?:  |\t)[^\n]*\n[^\n]*(?:  |\t)"), _find_columns_end)
ALIGNED = Format("row", re.compile(r"[^\n]*(?:\t|   )"), _find_aligned_end, only_starts_paragraphs=True)


def open_rows(text: str, start: int, end: int, sizes: Sizes) -> Node | None:
    """Return the rows of a table without rules. The names of its columns are its head."""
    if table := open_csv(text, start, end, sizes):
        return table
    lines = list(find_lines(text, start, end))
    first = text[lines[0][0] : lines[0][1]]
    below = [text[left:right] for left, right in lines[1:3]]
    indent = start - (text.rfind("\n", 0, start) + 1)
    names = _find_words(" " * indent + first)
    if not _are_names(first, below):
        records = [Record(*line, text[slice(*line)].split()) for line in lines]
        return make_table(start, end, records)
    rows: list[Node] = []
    for left, right in lines[1:]:
        if rows and _continues(names, text[left:right]) and not _fits(names, text[left:right]):
            rows[-1].end = right
        else:
            rows.append(Node(left, right))
    return Node(start, end, rows, Series())


def open_table(text: str, start: int, end: int, _: Sizes) -> Node | None:
    """Return the rows of a table. Those down to the rule below the column names are its head."""
    lines = list(find_lines(text, start, end))
    head = 1
    for number, line in enumerate(lines[1:_MOST_HEAD_LINES], 1):
        if _is_rule(text, line):
            head = number + 1
    tail = len(lines)
    while tail > head and _is_rule(text, lines[tail - 1]):
        tail -= 1
    if tail - head < 2:
        return None
    has_pipes = text[slice(*lines[head])].lstrip().startswith("|")
    rows = _join_rows(text, lines, head, tail)
    return Node(start, end, rows, Series("| ", " |") if has_pipes else Series())


def _is_rule(text: str, line: tuple[int, int]) -> bool:
    return _RULE.match(text, *line) is not None or _RULER.match(text[slice(*line)]) is not None


def _join_rows(text: str, lines: Sequence[tuple[int, int]], head: int, tail: int) -> list[Node]:
    """Return a node for each row, with the lines that continue it and the rule below it."""
    has_rules = any(_is_rule(text, line) for line in lines[head:tail])
    is_grid = text[slice(*lines[0])].lstrip().startswith("+") and (
        has_rules or "=" in text[slice(*lines[head - 1])]
    )
    first_column = 0
    if _REST_BORDER.match(text[slice(*lines[0])]):
        border = text[slice(*lines[head - 1])]
        first_column = len(border) - len(border.lstrip()) + len(border.split()[0])
    is_psql = not text[slice(*lines[head])].lstrip().startswith("|")
    rows: list[Node] = []
    is_open = False
    for line in lines[head:tail]:
        body = text[slice(*line)]
        is_rule = _is_rule(text, line)
        if rows and (is_open or is_rule or (first_column and not body[:first_column].strip())):
            rows[-1].end = line[1]
        else:
            rows.append(Node(*line))
        is_open = not is_rule and (is_grid or (is_psql and _CONTINUED.match(body) is not None))
    return rows
