"""Heads of tables: the lines that name the columns of rows below them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from tersely.split.column_names import GAP, are_names, count_values, find_words, may_name
from tersely.split.columns import fits
from tersely.split.lines import Lines, Range
from tersely.split.places import Place

_RULER = re.compile(r"[#;%/ \t]*(?:([-=.\u2500])\1+[ \t]+){2,}([-=.\u2500])\2+\s*$")
"""A rule below the names of at least three columns. It may be in a comment."""
_SOLID_RULE = re.compile(r"[ \t]*([-=\u2500])\1{19,}[ \t]*")
"""A rule that may be below the names of columns as a whole."""
_CELL = re.compile(r"\S+(?: \S+)*")
_TITLE = re.compile(r"\s*(?:Table|Tab\.|Tabelle|Tableau|Tabla)\s+\w+(?:\.\d+)*[.:]", re.IGNORECASE)
"""The title of a table with a number."""
_MOST_LINES = 6
"""Largest number of lines of a block to read."""


def find_headers(
    places: Sequence[Place], lines: Lines, comments: dict[Place, Place]
) -> dict[Place, Sequence[Place]]:
    """Map each row of a table to the lines above that name its columns, even across blank lines or comments.
    Also map each line to the comment right above it.

    A rule is below the names. A run below belongs to the table if a line at the start of one of its blocks
    fits the rule or has enough cells. Without a rule, the next blocks of the first row's run may belong to
    it, and so do the runs right below if their cells begin at the same columns.
    """
    found: dict[Place, Sequence[Place]] = dict([*_find_spaced(places), *_find_listed(places)])
    header: Sequence[Place] = ()
    columns: Sequence[Range] = ()
    run: list[Place] = []
    table: int | None = None  # the run of a table that names its columns in the first row
    for number, place in enumerate(places):
        above, ruler = place.above, lines.texts[place.block.last - 1]
        if _RULER.match(ruler):
            is_below = above and above.block.last == place.block.first and place.block.is_one_line
            header = (above, place) if above and is_below else (place,)
            columns, run, table = find_words(ruler), [], None
            continue
        if above and _SOLID_RULE.fullmatch(place.line) and (cells := _find_cells(above, place)):
            header, columns, run, table = (above, place), cells, [], None
            continue
        if _names_columns(place, lines):
            header, columns, run, table = (place,), find_words(place.line), [], place.run
            continue
        if table not in (None, place.run):
            goes_on = place.run == table + 1 and _has_all_cells(place, columns)
            header, table = (header, place.run) if goes_on else ((), None)
        if not header:
            continue
        run.append(place)
        below = places[number + 1] if number + 1 < len(places) else None
        if below is not None and below.run == place.run:
            continue
        are_rows = [_fits(row, lines, columns) for row in run]
        if table is not None:  # without a rule, the table ends above two blocks that do not fit
            ends = (at for at, pair in enumerate(pairwise([*are_rows, False])) if not any(pair))
            run = run[: next(ends, None)]
        if any(are_rows[: len(run)]):
            found.update(dict.fromkeys(run, header))
        run = []
    return found | {place: (*found.get(place, ()), comment) for place, comment in comments.items()}


def _names_columns(place: Place, lines: Lines) -> bool:
    """Return whether a block is a table that names its columns in the first row."""
    below = lines.texts[place.block.first + 1 : place.block.last]
    return place.kind == "row" and are_names(place.line, below[:2])


def _find_cells(names: Place, rule: Place) -> Sequence[Range]:
    """Return the cells of the line right above a rule if they name the columns of the line below it."""
    below = rule.below
    if names.kind != "line" or below is None or below.block.first != rule.block.last:
        return []
    cells = [cell.span() for cell in _CELL.finditer(names.line)]
    is_near = names.block.last == rule.block.first
    return cells if is_near and len(cells) > 2 and are_names(names.line, [below.line]) else []


def _find_listed(places: Sequence[Place]) -> Iterator[tuple[Place, Sequence[Place]]]:
    """Yield each row of a table, and the lines above that name its columns, one word on each line.

    There are at least three names, and right below them at least three rows with as many words.
    """
    words = {place: len(place.line.split()) for place in places}
    grouped = groupby(places, lambda place: (place.run, place.indent, words[place]))
    groups = [list(group) for _, group in grouped]
    for names, rows in pairwise(groups):
        are_near = (names[0].run, names[0].indent) == (rows[0].run, rows[0].indent)
        are_names = words[names[0]] == 1 and 2 < len(names) == words[rows[0]]
        if are_near and are_names and len(rows) > 2:
            yield from ((row, names) for row in rows)


def _find_spaced(places: Sequence[Place]) -> Iterator[tuple[Place, Sequence[Place]]]:
    """Yield each row of a table without gaps, as in the text of a PDF, and the lines that name its columns.

    At least two rows right below each other end with two values or more. Above them is a line with at least
    as many words and no value, perhaps below a line such as `Table 2: Cranes`.
    """
    for is_row, group in groupby(places, lambda place: place.kind == "line" and count_values(place.line) > 1):
        rows = list(group)
        names = rows[0].above
        if not is_row or names is None or len(rows) < 2 or names.block.last != rows[0].block.first:
            continue
        if names.kind != "line" or not may_name(names.line):
            continue
        title = names.above
        header = [title, names] if title and _TITLE.match(title.line) else [names]
        for row in rows:
            if row.run == names.run and count_values(row.line) <= len(names.line.split()):
                yield row, header


def _fits(place: Place, lines: Lines, columns: Sequence[Range]) -> bool:
    """Return whether one of the first lines of a block fits the columns, or has at least three cells and
    lacks at most one: a cell seems to be missing if only one space divides it from the next."""
    rows = lines.texts[place.block.first : place.block.last][:_MOST_LINES]
    fewest = max(3, len(columns) - 1)
    fitting = (fits(columns, row) or len(GAP.split(row.strip())) >= fewest for row in rows)
    return place.kind != "sentence" and any(fitting)


def _has_all_cells(place: Place, columns: Sequence[Range]) -> bool:
    """Return whether a cell, after a gap or at the margin, begins at all columns, or all but one."""
    starts = {cell.start() for cell in _CELL.finditer(place.line)}
    cells = [start for start, _ in columns if start in starts]
    return place.kind in ("row", "line") and len(cells) > 1 and len(starts) <= len(cells) + 1
