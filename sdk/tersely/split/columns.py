"""Tables with columns aligned by spaces."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import takewhile

from tersely.split.column_names import (
    GAP,
    LONGEST_LINE,
    are_aligned,
    are_names,
    find_words,
    has_value,
    has_values,
    has_worded_cells,
    names_values,
)
from tersely.split.figures import open_figures
from tersely.split.lines import Format, Lines, Range, find_indent, find_lines, is_wordy, skip_while
from tersely.split.nodes import Node, Sizes
from tersely.split.rows import GUTTER, RECORDS, VALUE, Record, hang, make_table, open_csv, open_records
from tersely.units import Series

_WIDE_GAP = re.compile(r"(?<=\S)(?: {3,}|\t+)(?=\S)")
_GAP_IN_TEXT = re.compile(r"[^\s.!?:;…\"'”’)](?:\s{2,}|\t)(?=\S)")
_WIDE_GAP_IN_TEXT = re.compile(r"[^\s.!?:;…\"'”’)](?:\s{4,}|\t+)\S|^[A-Z]{3,}\s{2,}\S")
"""A gap that is too wide for justified text, or that follows a word in capitals."""
_SPACES = re.compile(r"(?<=[^\s.!?:;])(?<![.!?:;][\"')])\s+(?=\S)")
"""Gaps between words, without those after the end of a sentence, which may be wider."""
_GAP, _LONG = re.compile(r"\S {2}"), 60
_FEWEST_GAPS, _WORDS_FOR_GAP = 2, 8
"""A line has columns if it has at least `_FEWEST_GAPS` gaps, and one for each `_WORDS_FOR_GAP` words."""
_LABELLED = re.compile(r"[^\W\d_][\w-]*(?: [\w-]+){0,3}: \S")
"""A name with one to four words, a colon and a value."""
_RULE = re.compile(r"[ \t]*([-=])\1{9,}[ \t]*")
"""A rule below all names of columns."""
_MANY_COLUMNS = 4
"""With at least this many columns, a single row below their names makes a table."""
_SAMPLE = 8
"""Number of rows below a row that are checked for a cell on its left."""


def find_edges(lines: Lines) -> set[int]:
    """Return the lengths of long lines that several lines with gaps share, as justified lines do."""
    found = Counter(len(line.expandtabs().rstrip()) for line in lines.texts if _GAP.search(line.rstrip()))
    return {length for length, count in found.items() if count > 1 and length >= _LONG}


def have_gaps(texts: Sequence[str], edges: set[int]) -> bool:
    """Return whether gaps divide a line of a paragraph into columns.

    Justified lines have gaps too, but small ones, and except for the last line they are equally long: as
    each other, or as other justified lines of the text, whose lengths are `edges` (`find_edges`).
    """
    lines = [text.strip()[:LONGEST_LINE] for text in texts]
    full = [len(text[:LONGEST_LINE].expandtabs().rstrip()) for text in texts[:-1]]
    is_justified = len(full) > 1 and max(full) - min(full) <= 1
    is_justified |= bool(full) and not edges.isdisjoint(full)
    if not is_justified:
        return any(_WIDE_GAP_IN_TEXT.search(line) or _is_dense(line) for line in lines)
    lines = [text[:LONGEST_LINE].expandtabs().strip() for text in texts]
    uneven = [line for line in lines[:-1] if not _is_even(line)]
    return any(map(_WIDE_GAP_IN_TEXT.search, [*uneven, *lines[-1:]]))


def _is_even(line: str) -> bool:
    """Return whether the gaps between words differ by at most one space, as in a justified line."""
    gaps = [len(gap) for gap in _SPACES.findall(line)]
    return bool(gaps) and max(gaps) - min(gaps) <= 1


def _is_dense(line: str) -> bool:
    gaps = len(_GAP_IN_TEXT.findall(line))
    return gaps >= _FEWEST_GAPS and gaps * _WORDS_FOR_GAP >= len(line.split())


def _is_justified(lines: Lines, index: int) -> bool:
    """Return whether a long line is justified text: it continues the sentence of a line above that is equally
    long, or it and an equally long line below have even gaps between many words."""
    if _measure(lines, index) < _LONG:
        return False
    if _are_level(lines, index - 1) and lines.texts[index].lstrip()[0].islower():
        return True
    rows = (row[:LONGEST_LINE].expandtabs() for row in lines.texts[index : index + 2])
    return _are_level(lines, index) and all(is_wordy(row) and _is_even(row) for row in rows)


def _are_level(lines: Lines, index: int) -> bool:
    """Return whether a line and the one below begin at the same column, and end at about the same one."""
    if index < 0 or index + 1 >= len(lines) or lines.indent(index) != lines.indent(index + 1):
        return False
    return abs(_measure(lines, index) - _measure(lines, index + 1)) < 2


def _measure(lines: Lines, index: int) -> int:
    return len(lines.texts[index][:LONGEST_LINE].expandtabs().rstrip())


def _find_columns_end(lines: Lines, index: int) -> int | None:
    """Return the index after the rows below the names of columns; None if `index` has no such names."""
    texts = lines.texts
    if _is_justified(lines, index):
        return None
    names = find_words(texts[index])
    columns = len(GAP.split(texts[index].strip()))  # a name may have several words
    start = index + 1 + (_RULE.fullmatch(texts[index + 1]) is not None)
    rows = texts[start : start + 2]
    if len(rows) > 1 and _continues(names, rows[0]) and GAP.search(rows[0][:LONGEST_LINE]):
        rows = texts[start + 1 : start + 3]  # its first cell is empty, as in an opening balance

    def is_aligned(row: str) -> bool:
        return fits(names, row) or (columns > 2 and _has_cells(names, row))

    below = list(takewhile(lambda row: is_aligned(row) and GAP.search(row[:LONGEST_LINE]), rows))
    if len(below) < (1 if len(names) >= _MANY_COLUMNS else 2):
        return None
    if not are_names(texts[index], below) or _lacks_first_cell(lines, index):
        return None

    def is_row(row: str) -> bool:
        has_gap = GAP.search(row[:LONGEST_LINE]) is not None
        if not has_gap and _LABELLED.match(row):
            return False
        if is_aligned(row) or _continues(names, row) or _is_detail(names, row):
            return True
        count = len(row.split())
        return count >= len(names) or (count >= columns and has_gap)  # shifted by a long value

    end = _find_rows_end(lines, index, start, is_row)
    last = texts[end : end + 2] if start > index + 1 else []
    has_total = len(last) == 2 and _RULE.fullmatch(last[0]) and is_row(last[1]) and last[1][:1].strip()
    return end + 2 if has_total else end


def fits(names: Sequence[Range], row: str) -> bool:
    """Return whether a row is aligned with the names of columns.

    At least half of the names, and at least two, start or end at the same column as a word of the row.
    """
    fitting = sum(are_aligned(names, find_words(row)))
    return fitting >= 2 and fitting * 2 >= len(names)


def _has_cells(names: Sequence[Range], row: str) -> bool:
    """Return whether most cells of a row start or end where a name does, although some cells are empty."""
    line = row[:LONGEST_LINE].expandtabs().rstrip()
    edges = [0, *(edge for gap in GAP.finditer(line) for edge in gap.span()), len(line)]
    cells = [*zip(edges[::2], edges[1::2], strict=True)]
    cells[0] = (len(line) - len(line.lstrip()), cells[0][1])
    fitting = sum(are_aligned(cells, names))
    return fitting > 1 and fitting * 3 >= len(cells) * 2


def _continues(names: Sequence[Range], row: str) -> bool:
    """Return whether a row continues the row above: its first cell is empty, or it begins with a gutter."""
    words = find_words(row)
    is_deeper = len(names) > 1 and bool(words) and words[0][0] >= names[1][0] and words[0][0] > names[0][0]
    return is_deeper or row.lstrip().startswith(GUTTER)


def _is_detail(names: Sequence[Range], row: str) -> bool:
    """Return whether a line begins to the right of the first name and is not aligned with the names."""
    return bool(words := find_words(row)) and words[0][0] >= names[0][1] and not fits(names, row)


def _find_labelled_end(lines: Lines, index: int) -> int | None:
    """Return the index after the labelled rows below a row that names their values; None without such rows.

    A blank line may separate the names from the rows, and the rows from each other.
    """
    start = index + 1 + lines.is_blank(index + 1)
    if not names_values(lines.texts[index], lines.texts[start : start + 2]):
        return None
    is_below = index > 0 and not lines.is_blank(index - 1) and lines.indent(index - 1) <= lines.indent(start)
    if is_below and has_value(lines.texts[index]) and not has_worded_cells(lines.texts[index]):
        return None  # it continues the row above
    names, end = find_words(lines.texts[index]), index
    while end < start < len(lines) and has_values(names, lines.texts[start]):
        end = skip_while(lines, start, lambda row: has_values(names, row))
        start = end + (end < len(lines) and lines.is_blank(end))
    return end


def _find_aligned_end(lines: Lines, index: int) -> int | None:
    """Return the index after three or more rows aligned by spaces; None if there are fewer."""
    if _lacks_first_cell(lines, index) or _heads_rows(lines, index):
        return None
    words = find_words(lines.texts[index])
    end = _find_rows_end(lines, index, index, lambda row: _is_aligned(row) or _continues(words, row))
    return end if sum(map(_is_aligned, lines.texts[index:end])) >= 3 else None


def _lacks_first_cell(lines: Lines, index: int) -> bool:
    """Return whether a row continues a line above: a row below has a cell on its left, or it has a gutter."""
    below = takewhile(str.strip, lines.texts[index + 1 : index + 1 + _SAMPLE])
    return any(_continues(find_words(row), lines.texts[index]) for row in below)


def _heads_rows(lines: Lines, index: int) -> bool:
    """Return whether a line is the head of the two lines below it: both are indented more. None of the three
    begins with a number, because numbers are often aligned to the right."""
    rows = range(index, min(index + 3, len(lines)))
    has_number = any(VALUE.match(lines.texts[row].lstrip()) for row in rows)
    are_deeper = all(lines.indent(index) < lines.indent(row) for row in rows[1:])
    return len(rows) > 2 and not has_number and are_deeper


def _is_aligned(line: str) -> bool:
    """Return whether a line has cells, and does not open a bracket."""
    line = line[:LONGEST_LINE].strip()
    has_cells = len(GAP.findall(line)) >= 2 and _WIDE_GAP.search(line) is not None
    return has_cells and not line.endswith(("(", "[", "{"))


def skip_rows(
    lines: Lines, index: int, is_row: Callable[[str], object], begins: Callable[[int], bool]
) -> int:
    """Return the index after the rows from `index` on.

    They continue below a single blank line if the next row is aligned with the last one and does not begin
    another table.
    """
    end = skip_while(lines, index, is_row)
    while index < end < len(lines) - 1 and lines.is_blank(end):
        above, row = lines.texts[end - 1], lines.texts[end + 1]
        if not (is_row(row) and _are_alike(above, row)) or begins(end + 1):
            break
        end = skip_while(lines, end + 1, is_row)
    return end


def _are_alike(above: str, row: str) -> bool:
    """Return whether two rows have gaps between their cells, and are aligned with each other."""
    has_gaps = all(GAP.search(line[:LONGEST_LINE]) for line in (above, row))
    return has_gaps and fits(find_words(above), row) and fits(find_words(row), above)


def _find_rows_end(lines: Lines, first: int, index: int, is_row: Callable[[str], object]) -> int:
    """Return the index after the rows of a table from `index` on.

    If the line `first` names the columns, the rows may continue below a blank line.
    """

    def begins(row: int) -> bool:
        return are_names(lines.texts[row], lines.texts[row + 1 : row + 3])

    if are_names(lines.texts[first], lines.texts[first + 1 : first + 3]):
        return skip_rows(lines, index, is_row, begins)
    return skip_while(lines, index, is_row)


COLUMNS = Format(
    "row", re.compile(r"(?![^\S\n]*\|)(?=[^\n]*\S(?:  |\t))[^\n]*+\n[^\n]*(?:  |\t)"), _find_columns_end
)
RULED = Format("row", re.compile(rf"(?=[^\n]*\S(?:  |\t))[^\n]*+\n{_RULE.pattern}\n"), _find_columns_end)
LABELLED = Format(
    "row", re.compile(r"[ \t]{3,}\S[^\n]*\n\n?(?>[^\n]*?(?:  |\t))[^\n]*\d"), _find_labelled_end
)
ALIGNED = Format("row", re.compile(r"[^\n]*(?:\t|   )"), _find_aligned_end, only_starts_paragraphs=True)


def open_rows(text: str, start: int, end: int, sizes: Sizes) -> Node | None:
    """Open a table with aligned columns, or records of a database: return a node with rows as children.

    The names of the columns, if there are any, are its head.
    """
    if RECORDS.start.match(text, start):
        return open_records(text, start, end, sizes)
    if statement := open_figures(text, start, end):
        return statement
    if table := open_csv(text, start, end):
        return table
    lines = list(find_lines(text, start, end))
    first = text[text.rfind("\n", 0, start) + 1 : lines[0][1]]
    names = find_words(first)
    if len(lines) > 1 and _RULE.fullmatch(text, *lines[1]):
        del lines[1]
    below = [row for left, right in lines[1:5] if not _is_detail(names, row := text[left:right])]
    if not (are_names(first, below[:2]) or names_values(first, below[:2])):
        table = make_table(start, end, [Record(*line, text[slice(*line)].split()) for line in lines])
        table.children = _nest(text, table.children, None)
        return table
    rows: list[Node] = []
    for line in lines[1:]:
        if rows and _RULE.fullmatch(text, *line):  # above the total
            rows[-1].end = line[1]
        else:
            rows.append(Node(*line))
    return Node(start, end, _nest(text, rows, names), Series())


def _nest(text: str, rows: Sequence[Node], names: Sequence[Range] | None) -> list[Node]:
    """Move each row that continues the row above into that row, and return the other rows.

    Args:
        names: start and end of each column name. Without them, compare each row with the words of the one
            above.
    """
    nested: list[Node] = []
    words: Sequence[Range] = ()
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


def _is_tree(names: Sequence[Range], rows: Sequence[str]) -> bool:
    """Return whether the indents of the first cells show a tree: the first row has the smallest."""
    starts = [words[0][0] for row in rows if (words := find_words(row))]
    is_nested = bool(starts) and starts[0] == names[0][0] == min(starts) < max(starts) < names[1][0]
    return is_nested and not any(VALUE.match(row.lstrip()) for row in rows)
