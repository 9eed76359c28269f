"""Records of a database with each value on a separate line, as psql and MySQL print them on request."""

from __future__ import annotations

import re

from tersely.split.lines import Format, Lines, find_lines
from tersely.split.nodes import Node, Sizes
from tersely.units import Series

RECORD = re.compile(r"-\[ RECORD \d+ \][-+]*[ \t]*$|\*{9,} \d+\. row \*{9,}[ \t]*$", re.MULTILINE)
"""The line above each record."""
_FIELD = re.compile(r"[ \t]*[^\s|:][^|:\n]*(?:\||:[ \t]|:$)")

RECORDS = Format("row", RECORD, Lines.find_blank)


def open_records(text: str, start: int, end: int, sizes: Sizes) -> Node:
    """Return the records. Only large records have their values as children."""
    records: list[Node] = []
    series = Series()
    for left, right in find_lines(text, start, end):
        if not records or RECORD.match(text, left):
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
