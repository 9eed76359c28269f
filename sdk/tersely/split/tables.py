"""Tables: drawn ones, and columns that are aligned with spaces."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import takewhile

from tersely.split.csv_rows import FENCED, VALUE, Record, make_table, open_csv, open_fenced
from tersely.split.gutters import GUTTER, hang
from tersely.split.lines import Format, Lines, find_indent, find_lines
from tersely.split.nodes import Node, Sizes
from tersely.units import Series

_DELIMITER_ROW = re.compile(
    r"\s*+[|+]?\s*+:?-++:?\s*+(?:[|+]\s*+:?-++:?\s*+)++[|+]?\s*$|\s*+\|\s*+:?-++:?\s*+\|\s*$"
)
_GRID_LINE = re.compile(r"\s*(?:\+[-=+:]{2,}|[\u2500\u2501\u250c\u250f\u2552-\u2554\u256d])")
_GRID_ROW = re.compile(r"\s*(?:[|+]|[\u2500-\u257f])")
_TITLE = re.compile(r"[ \t]*(\|++)(?=[^|\n]*\w)[^|\n]*+\1[ \t]*\n[ \t]*\|*\+-[-+|]*[ \t]*$", re.MULTILINE)
"""The title of a box in a table of AWS: the more bars, the deeper."""
_PIPED_ROW = re.compile(r"\s*\|.*\|\s*$")
_REST_BORDER = re.compile(r"\s*={2,}(?: +={2,})+\s*$")
_RULER = re.compile(r"[ \t]*(?:\+\+\+-=[-=]+|-{2,}(?:[ \t]+-{2,})+)[ \t]*$", re.MULTILINE)
_GAP = re.compile(r"(?<=\S)(?: {2,}|\t+)(?=\S)")
_WIDE_GAP = re.compile(r"(?<=\S)(?: {3,}|\t+)(?=\S)")
_COUNT = re.compile(r"\(\d+ rows?\)\s*$")
"""The line that psql prints below a table."""
_RULE = re.compile(r"[\s|+:=\u2500-\u257f-]+$")
_WORD = re.compile(r"\S+")
_LOWER = re.compile(r"[^\W\d_A-Z]")
_TIME = re.compile(r"\d+:\d\d:\d\d")
_CONTINUED = re.compile(r"[^\n]*\+(?:\||[ \t]*$)")
_RECORD = re.compile(r"-\[ RECORD \d+ \][-+]*[ \t]*$|\*{9,} \d+\. row \*{9,}[ \t]*$", re.MULTILINE)
"""The line above a record of psql or MySQL, if each value is on a separate line."""
_LABELLED = re.compile(r"[^\W\d_][\w-]*(?: [\w-]+){0,3}: \S")
"""A name with one to four words, a colon and a value."""
_FIELD = re.compile(r"[ \t]*[^\s|:][^|:\n]*(?:\||:[ \t]|:$)")
_MOST_HEAD_LINES = 6
_LONGEST_SIMPLE = 200
"""Lines of a simple table of reStructuredText."""
_LONGEST_LINE = 2000
_MANY_COLUMNS = 4
"""With at least this many columns, a single row below their names makes a table."""
_SAMPLE = 8
"""Rows that show where the cells of a table begin."""


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
    if "-" in second and _DELIMITER_ROW.match(second[:_LONGEST_LINE]):
        end = _skip_while(lines, index + 2, lambda line: "|" in line)
        return end + (end < len(lines) and _COUNT.match(texts[end]) is not None)
    for start, row in ((_GRID_LINE, _GRID_ROW), (_PIPED_ROW, _PIPED_ROW)):
        if start.match(first):
            end = index + 1
            while end < len(lines) and row.match(lines.texts[end]) and not _find_title_end(lines, end):
                end += 1
            return end if end - index >= 2 else None
    if _REST_BORDER.match(first):
        return _find_simple_end(lines, index)
    return None


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
    end = index + 1
    while not _RULER.match(lines.texts[end]):
        end += 1
        if end == len(lines) or end - index >= _MOST_HEAD_LINES or lines.is_blank(end):
            return None
    return lines.find_blank(end)


def _find_columns_end(lines: Lines, index: int) -> int | None:
    """Return the index after rows that are aligned with the names of their columns."""
    texts = lines.texts
    names = find_words(texts[index])
    rows = texts[index + 1 : index + 3]
    below = list(takewhile(lambda row: fits(names, row) and _GAP.search(row[:_LONGEST_LINE]), rows))
    if len(below) < (1 if len(names) >= _MANY_COLUMNS else 2):
        return None
    if not are_names(texts[index], below) or _lacks_first_cell(lines, index):
        return None
    columns = len(_GAP.split(texts[index].strip()))  # a name may have several words

    def is_row(row: str) -> bool:
        has_gap = _GAP.search(row[:_LONGEST_LINE]) is not None
        if not has_gap and _LABELLED.match(row):
            return False
        if fits(names, row) or _continues(names, row) or _is_detail(names, row):
            return True
        count = len(row.split())
        return count >= len(names) or (count >= columns and has_gap)  # shifted by a long value

    return _skip_while(lines, index + 1 + len(below), is_row)


def find_words(line: str) -> list[tuple[int, int]]:
    return [word.span() for word in _WORD.finditer(line[:_LONGEST_LINE].expandtabs())]


def fits(names: Sequence[tuple[int, int]], row: str) -> bool:
    """Return whether at least half of the names, and two, have a value below that starts or ends where they
    do."""
    words = find_words(row)
    starts, ends = {start for start, _ in words}, {end for _, end in words}
    fitting = sum(start in starts or end in ends for start, end in names)
    return fitting >= 2 and fitting * 2 >= len(names)


def _continues(names: Sequence[tuple[int, int]], row: str) -> bool:
    """Return whether a row continues the row above: its first column is empty, or it follows a gutter."""
    words = find_words(row)
    is_deeper = len(names) > 1 and bool(words) and words[0][0] >= names[1][0] and words[0][0] > names[0][0]
    return is_deeper or row.lstrip().startswith(GUTTER)


def _is_detail(names: Sequence[tuple[int, int]], row: str) -> bool:
    """Return whether a line below names of columns begins after the first name and has no cells."""
    return bool(words := find_words(row)) and words[0][0] > names[0][1] and not fits(names, row)


def are_names(first: str, below: Sequence[str]) -> bool:
    """Return whether a row differs from those below as names of columns do: in capitals, or no values."""
    words = first.split()
    if len(words) < 2 or "=" in words or not _GAP.search(first[:_LONGEST_LINE]):
        return False  # an assignment is no row
    if below and _TIME.match(words[0]) and _TIME.match(below[0].lstrip()):
        words = words[1:]  # the time, which is before the values too
    if any("@" in word or VALUE.fullmatch(word) for word in words):
        return False
    if not _LOWER.search(first):
        return True
    return all(any(map(VALUE.fullmatch, row.split())) for row in below)


def _find_aligned_end(lines: Lines, index: int) -> int | None:
    """Return the index after three or more rows that are aligned with spaces."""
    end = _skip_while(lines, index, _is_aligned)
    return end if end - index >= 3 and not _lacks_first_cell(lines, index) else None


def _lacks_first_cell(lines: Lines, index: int) -> bool:
    """Return whether a row belongs to a line above, because rows below it have a cell on its left."""
    below = takewhile(str.strip, lines.texts[index + 1 : index + 1 + _SAMPLE])
    return any(_continues(find_words(row), lines.texts[index]) for row in below)


def _is_aligned(line: str) -> bool:
    line = line[:_LONGEST_LINE].strip()
    return len(_GAP.findall(line)) >= 2 and _WIDE_GAP.search(line) is not None


def _skip_while(lines: Lines, index: int, holds: Callable[[str], bool]) -> int:
    """Return the index of the first line from `index` on that is blank or for which `holds` is false."""
    while index < len(lines) and not lines.is_blank(index) and holds(lines.texts[index]):
        index += 1
    return index


TABLES = (
    Format("heading", _TITLE, _find_title_end),
    Format(
        "table", re.compile(r"[^\n|]*\||[^\S\n]*(?:\+[-=+:]{2}|[\u2500-\u257f]|==+ +==)"), _find_table_end
    ),
    Format(
        "table",
        re.compile(rf"Desired=[^\n]*+\n|[^\S\n]*+\S[^\n]*+\n{_RULER.pattern}", re.MULTILINE),
        _find_ruled_end,
    ),
    Format("row", _RECORD, Lines.find_blank),
)
COLUMNS = Format(
    "row", re.compile(r"(?![^\S\n]*\|)(?=[^\n]*\S(?:  |\t))[^\n]*+\n[^\n]*(?:  |\t)"), _find_columns_end
)
ALIGNED = Format("row", re.compile(r"[^\n]*(?:\t|   )"), _find_aligned_end, only_starts_paragraphs=True)


def open_rows(text: str, start: int, end: int, sizes: Sizes) -> Node | None:
    """Return the rows of a table without rules. The names of its columns are its head."""
    if _RECORD.match(text, start):
        return _open_records(text, start, end, sizes)
    if table := open_csv(text, start, end, sizes):
        return table
    lines = list(find_lines(text, start, end))
    first = text[lines[0][0] : lines[0][1]]
    names = find_words(text[text.rfind("\n", 0, start) + 1 : lines[0][1]])
    below = [row for left, right in lines[1:5] if not _is_detail(names, row := text[left:right])]
    if not are_names(first, below[:2]):
        table = make_table(start, end, [Record(*line, text[slice(*line)].split()) for line in lines])
        table.children = _nest(text, table.children, None)
        return table
    rows = [Node(*line) for line in lines[1:]]
    return Node(start, end, _nest(text, rows, names), Series())


def _nest(text: str, rows: Sequence[Node], names: Sequence[tuple[int, int]] | None) -> list[Node]:
    """Move the rows with an empty first cell into the row above, to which they belong.

    `names`: the places of the names of the columns. Without names, the row above shows where its cells are.
    """
    nested: list[Node] = []
    words: Sequence[tuple[int, int]] = ()
    lines = [text[text.rfind("\n", 0, row.start) + 1 : row.end] for row in rows]
    is_tree = names is not None and _is_tree(names, lines)
    for row, line in zip(rows, lines, strict=True):
        is_branch = is_tree and find_indent(line, (0, len(line))) > find_indent(lines[0], (0, len(lines[0])))
        is_detail = names is not None and _is_detail(names, line)
        if not nested or not (is_branch or is_detail or _continues(words, line)):
            nested.append(row)
            words = names or find_words(line)
        elif is_branch or line.lstrip().startswith(GUTTER):
            hang(text, nested[-1], row)
        elif names is None or fits(names, line):
            nested[-1].children.append(row)
            nested[-1].end, nested[-1].series = row.end, Series()
        else:  # a wrapped cell
            nested[-1].end = row.end
    return nested


def _is_tree(names: Sequence[tuple[int, int]], rows: Sequence[str]) -> bool:
    """Return whether names in the first column are indented below each other."""
    starts = [find_words(row)[0][0] for row in rows]
    is_nested = starts[0] == names[0][0] == min(starts) < max(starts) < names[1][0]
    return is_nested and not any(VALUE.match(row.lstrip()) for row in rows)


def _open_records(text: str, start: int, end: int, sizes: Sizes) -> Node:
    """Return the records of psql or MySQL with their values; those that are small are not opened."""
    records: list[Node] = []
    series = Series()
    for left, right in find_lines(text, start, end):
        if not records or _RECORD.match(text, left):
            records.append(Node(left, right, series=series))
            continue
        record = records[-1]
        if record.children and not _FIELD.match(text, left, right):  # the value goes on
            record.children[-1].end = right
        else:
            record.children.append(Node(left, right))
        record.end = right
    for record in records:
        if record.end - record.start <= sizes.part or len(record.children) < 2:
            record.children = []
    return Node(start, end, records, Series())


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
    # One rule ends the head. Several are between all rows, as in a grid without names.
    return inner[0] + 1 if len(inner) == 1 else 1


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
