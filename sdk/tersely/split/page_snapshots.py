"""Snapshots of web pages: their accessibility trees, which browser tools return as lists in YAML.

A heading is a sibling of what it heads, and a table names its columns in its first row. Here, the nodes of
the tree are tied to these.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tersely.split.nodes import Node

_SNAPSHOT = re.compile(r"^[ \t]*- (?:heading|row) \"[^\n]*\"", re.MULTILINE)
"""Matches a line of each snapshot with headings or tables."""
_HEADING = re.compile(r"\s*- heading \"[^\n]*\"(?:[^\n]*?\[level=(?P<level>\d)\])?")
_TABLE = re.compile(r"\s*- (?:table|grid|treegrid)\b")
_ROW = re.compile(r"\s*- row\b")
_NAME = re.compile(r"\s*- columnheader\b", re.MULTILINE)


def tie_snapshot(text: str, root: Node) -> Node:
    """Make each node below a heading need it, and each row of a table the row that names the columns.

    Return the root.
    """
    if _SNAPSHOT.search(text, root.start, root.end):
        _tie(text, root)
    return root


def _tie(text: str, root: Node) -> None:
    headings: list[tuple[int, Node]] = []
    for child in root.children:
        heading = _HEADING.match(text, child.start)
        level = int(heading["level"] or 1) if heading else 0
        while heading and headings and headings[-1][0] >= level:
            headings.pop()
        child.wants += [node for _, node in headings]
        if headings and headings[-1][1].role != "frame":
            _make_frame(headings[-1][1])
        if heading:
            headings.append((level, child))
        if _TABLE.match(text, child.start):
            _tie_rows(text, child)
        _tie(text, child)


def _tie_rows(text: str, table: Node) -> None:
    """Make each row of a table need the first one, if that names the columns. It is not kept alone."""
    rows = list(_list_rows(text, table, ()))
    names = rows[0] if len(rows) > 1 else ()
    if names and _NAME.search(text, names[-1].start, names[-1].end):
        _make_frame(names[-1])
        for *_, row in rows[1:]:
            row.wants += [*names, *names[-1].children]  # its child, if it was opened, has its name


def _make_frame(node: Node) -> None:
    """Make a node and all nodes in it frames."""
    node.role = "frame"
    for child in node.children:
        _make_frame(child)


def _list_rows(text: str, node: Node, above: Sequence[Node]) -> Iterator[Sequence[Node]]:
    """Yield each row below a node, after the nodes around it."""
    for child in node.children:
        path = (*above, child)
        if _ROW.match(text, child.start):
            yield path
        else:
            yield from _list_rows(text, child, path)
