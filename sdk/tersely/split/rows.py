"""Rows of values with a separator between them, as in CSV files: RFC 4180, also with `;`, tabs or `|`.

A record is one row, even if its quoted cells have several lines. Also tables of AsciiDoc, records of
databases with each value on a separate line, and branches below a row, as `├─` draws them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tersely.split.likeness import Likeness
from tersely.split.lines import Format, Lines, find_closing_line, find_lines
from tersely.split.nodes import DEEPEST, Node, Sizes
from tersely.units import Series

_SEPARATORS = "\t,;|"
_FEWEST = 3
_LONGEST_CELL = 5000
_MOST_COMMENTS = 10
_CLAUSE_NUMBER = re.compile(r"\d{1,3}(?:\.\d{1,3})*[.)]?|\(?[a-z\d]{1,3}[.)]")
_SAMPLE = 20
"""Number of rows to read to see whether the first one has the names of the columns."""
_DATABASE_RECORD = re.compile(r"-\[ RECORD \d+ \][-+]*[ \t]*$|\*{9,} \d+\. row \*{9,}[ \t]*$", re.MULTILINE)
"""The line above each record of a database."""
_VALUE_LINE = re.compile(r"[ \t]*[^\s|:][^|:\n]*(?:\||:[ \t]|:$)")

RECORDS = Format("row", _DATABASE_RECORD, Lines.find_blank)
GUTTER = ("|", "│", "├", "└")
"""Signs that begin a gutter. A line with a gutter is a branch of the row above it."""


def _compile(separator: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    sign = re.escape(separator)
    quoted = rf'"(?:[^"]|""){{0,{_LONGEST_CELL}}}+"(?={sign}|[ \r]*(?:\n|\Z))'
    cell = rf"(?:{quoted}|[^\n\"{sign}][^\n{sign}]*+|)"
    return re.compile(rf"{cell}(?:{sign}{cell})*+(?=\n|\Z)"), re.compile(rf"(?:^|{sign})({cell})")


_PATTERNS = {separator: _compile(separator) for separator in _SEPARATORS}
_COMMENT = re.compile(r"#[^\n]*\n")
_THOUSANDS = re.compile(r"\d{1,3},\d{3}\s*")

VALUE = re.compile(
    r"""[-+(<>=~$€£]*\d[\d.,:/%+_-]*(?:[\dTZe:.+-]*|[A-Za-zµ%]{0,3}|\ ?[kKMGTP]?i?B)\)?
    | -+ | true | false | null | none | n/?a""",
    re.VERBOSE | re.IGNORECASE,
)
"""A number, a date, a size or an empty value, which is never the name of a column."""
_NAME = re.compile(r"[^\W\d][\w .()/%#-]{0,39}")
_YEAR = re.compile(r"(?:19|20)\d\d")


class Record(NamedTuple):
    """A row in `text[start:end]`, with the texts of its cells."""

    start: int
    end: int
    cells: list[str]


def _read(text: str, start: int, end: int, separator: str) -> Iterator[Record]:
    """Yield the records from `start` on, up to the first text that is not a record."""
    record, cell = _PATTERNS[separator]
    while start < end and (match := record.match(text, start, end)) and match.end() > start:
        row = match[0]
        yield Record(start, match.end(), [c.strip().strip('"').strip() for c in cell.findall(row)])
        start = match.end() + 1


def _find_end(lines: Lines, index: int) -> int | None:
    """Return the index after three or more records with the same number of cells."""
    start, stop = lines.starts[index], len(lines.text)
    for _ in range(_MOST_COMMENTS):
        if comment := _COMMENT.match(lines.text, start):
            start = comment.end()
    for separator in _SEPARATORS:
        if lines.csv_budget <= 0 or start >= stop:
            return None
        records = _read_table(lines.text, start, stop, separator)
        if not records:
            lines.csv_budget -= 50
            continue
        end = records[-1].end
        if len(records) < _FEWEST or not _is_table(lines, index, records, separator):
            lines.csv_budget -= end - start
            continue
        return lines.find(end) + 1
    return None


def _read_table(text: str, start: int, stop: int, separator: str) -> list[Record]:
    """Return the records that have as many cells as the first, and single others between two of them."""
    records: list[Record] = []
    odd: Record | None = None
    for record in _read(text, start, stop, separator):
        if not records and len(record.cells) < 2:
            break
        if not records or len(record.cells) == len(records[0].cells):
            records += [record] if odd is None else [odd, record]
            odd = None
        elif odd is not None or len(record.cells) < 2:
            break
        else:
            odd = record
    return records


def _is_table(lines: Lines, index: int, records: Sequence[Record], separator: str) -> bool:
    """Return whether records are rows of values, and not code or prose with commas."""
    sample = records[:_SAMPLE]
    if separator == "\t":
        if all(_is_clause(record.cells) for record in sample):
            return False
        if any(record.cells[0] for record in sample):
            return True
        # All first cells are empty, so the tabs may be indentation.
        is_inside = index > 0 and lines.texts[index - 1].strip() != "" and not lines.indent(index - 1)
        return not is_inside and len(records[0].cells) > 2
    text = [lines.text[record.start : record.end] for record in sample]
    if separator == "|" and any(row.lstrip().startswith("|") for row in text):
        return False
    # Prose has a space after each comma, most rows of values do not.
    signs = sum(len(record.cells) - 1 for record in sample)
    unquoted = [re.sub(r'"[^"]*"', "", row) for row in text]
    if sum(row.count(separator + " ") for row in unquoted) * 2 >= signs:
        return False
    if sum(lines.likeness(at) is Likeness.CODE for at in range(index, index + len(sample))) * 2 > len(sample):
        return False
    if len(records[0].cells) > 2:
        return True
    return has_names(sample) is True and not all(map(_THOUSANDS.fullmatch, text[1:]))


def _is_clause(cells: Sequence[str]) -> bool:
    """Return whether two cells are the number of a clause and its text."""
    ends = len(cells) == 2 and cells[1].rstrip().endswith((".", ":", ";"))
    return ends and _CLAUSE_NUMBER.fullmatch(cells[0].strip()) is not None


CSV = Format(
    "row", re.compile(r"#[^\n]*\n|[^\n\"]*[\t,;|]|\"", re.MULTILINE), _find_end, only_starts_paragraphs=True
)


def _find_fence_end(lines: Lines, index: int) -> int | None:
    """Return the index after an AsciiDoc table, which begins and ends with a line such as `|===`."""
    fence = lines.texts[index].rstrip()
    return find_closing_line(lines, index, index, lambda line: line.rstrip() == fence)


FENCED = Format("table", re.compile(r"\|={3,}[ \t]*$", re.MULTILINE), _find_fence_end)


def open_fenced(text: str, start: int, end: int) -> Node:
    """Return the rows of a table of AsciiDoc. A row may have several lines, and each cell begins with a bar.

    If a blank line follows the first row, that row has the names of the columns.
    """
    lines = list(find_lines(text, start, end))[1:-1]
    rows: list[Node] = []
    cells = columns = 0
    for left, right in lines:
        count = text.count("|", left, right)
        columns = columns or count
        if rows and (cells < columns or not count):
            rows[-1].end = right
        else:
            rows.append(Node(left, right))
            cells = 0
        cells += count
    has_names = len(rows) > 1 and text.count("\n", rows[0].end, rows[1].start) > 1
    return Node(start, end, rows[1:] if has_names else rows, Series("// "))


def has_names(records: Sequence[Record]) -> bool | None:
    """Return whether the first record has the names of the columns; None if that is not clear."""
    first, rest = records[0].cells, records[1:]
    columns = [[r.cells[at] for r in rest if at < len(r.cells) and r.cells[at]] for at in range(len(first))]
    counts = [sum(VALUE.fullmatch(cell) is not None for cell in column) for column in columns]
    is_value = [2 * count > len(column) for count, column in zip(counts, columns, strict=True)]
    named = [not VALUE.fullmatch(cell) for cell in first]
    if any(_YEAR.fullmatch(cell) for cell in first) and named[0]:
        vary = [not all(map(_YEAR.fullmatch, column)) for column in columns]
        years = [_YEAR.fullmatch(cell) is not None and v for cell, v in zip(first, vary, strict=True)]
        named = list(map(any, zip(named, years, strict=True)))
    if not all(named):
        return False if any(v and not n for v, n in zip(is_value, named, strict=True)) else None
    if any(is_value):
        return True
    cells = zip(first, columns, strict=True)
    are_names = all(_NAME.fullmatch(cell) and cell not in column for cell, column in cells)
    return True if are_names and len(first) > 1 else None


def open_csv(text: str, start: int, end: int) -> Node | None:
    """Return the records of a table; None if a row is not a record. The names of the columns are the head."""
    at = start
    while (comment := _COMMENT.match(text, at, end)) is not None:
        at = comment.end()
    body = text.replace("\r", " ")
    for separator in _SEPARATORS:
        records = list(_read(body, at, end, separator))
        if len(records) >= _FEWEST and records[-1].end == end and len(records[0].cells) > 1:
            return make_table(start, end, records)
    return None


def make_table(start: int, end: int, records: Sequence[Record]) -> Node:
    """Return a node for each record. The names of the columns are kept with every row, and never alone."""
    names = has_names(records[:_SAMPLE])
    rows = [Node(record.start, record.end) for record in (records[1:] if names else records)]
    if names is None:
        rows[0].is_anchor = True
    return Node(start, end, rows, Series())


def open_records(text: str, start: int, end: int, sizes: Sizes) -> Node:
    """Return the records. Only large records have their values as children."""
    records: list[Node] = []
    series = Series()
    for left, right in find_lines(text, start, end):
        if not records or _DATABASE_RECORD.match(text, left):
            records.append(Node(left, right, series=series))
            continue
        record = records[-1]
        if record.children and not _VALUE_LINE.match(text, left, right):  # the value goes on
            record.children[-1].end = right
        else:
            record.children.append(Node(left, right))
        record.end = right
    for record in records:
        if record.end - record.start <= sizes.part or len(record.children) < 2:
            record.children = []
    return Node(start, end, records, Series())


def hang(text: str, row: Node, below: Node) -> None:
    """Add the line `below` to the row, or to the nearest branch of the row that has a shorter gutter.

    Several lines with the gutter `|` are one branch, which ends at the line with `|_`. The first line is
    the parent of the others.
    """
    indent = _find_gutter(text, below)
    last = text[text.rfind("\n", row.start, row.end) + 1 : row.end].lstrip()
    is_bar = last.startswith("|") and not last.startswith("|_")
    if row.children and is_bar and text[below.start : below.end].lstrip().startswith("|"):
        row.end = below.end
        row = row.children[-1]
    for _ in range(DEEPEST):
        row.end = below.end
        if not row.children or _find_gutter(text, row.children[-1]) >= indent:
            break
        row = row.children[-1]
    row.end = below.end
    row.children.append(below)
    row.series = row.series or Series()


def _find_gutter(text: str, line: Node) -> int:
    """Return the number of gutter signs and spaces at the start of a line."""
    first = text[line.start : line.end].split("\n", 1)[0]
    return len(first) - len(first.lstrip(" \t\xa0|_│├└─"))
