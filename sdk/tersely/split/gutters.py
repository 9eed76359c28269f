"""Gutters: signs such as `|` or `├─` at the start of the lines below a row of a table."""

from __future__ import annotations

from tersely.split.nodes import DEEPEST, Node
from tersely.units import Series

GUTTER = ("|", "│", "├", "└")
"""Signs that begin a gutter. A line with a gutter is a branch of the row above it."""


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
    return len(first) - len(first.lstrip(" \t|_│├└─"))
