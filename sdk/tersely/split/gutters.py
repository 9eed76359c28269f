"""Lines below a row of a table that begin with a gutter, such as `|` or `├─`."""

from __future__ import annotations

from tersely.split.nodes import DEEPEST, Node
from tersely.units import Series

GUTTER = ("|", "│", "├", "└")
"""The first signs of lines that are branches of the row above."""


def hang(text: str, row: Node, below: Node) -> None:
    """Add a line with a gutter to the row, or to the last line below the row that has a shorter gutter.

    Lines with the gutter `|` belong to the first of them, down to the line with `|_`.
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
    row.children.append(below)
    row.series = row.series or Series()


def _find_gutter(text: str, line: Node) -> int:
    """Return the columns of gutter and white space before a line."""
    first = text[line.start : line.end].split("\n", 1)[0]
    return len(first) - len(first.lstrip(" \t|_│├└─"))
