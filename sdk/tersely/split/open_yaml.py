"""YAML: keys, each with what is nested in it."""

from __future__ import annotations

import re

from tersely.split.open_lines import find_lines
from tersely.split.parts import DEEPEST, Node
from tersely.units import Series

_BLOCK_SCALAR = re.compile(r".*[|>][+-]?\s*$")
_OPEN_BRACKET = re.compile(r".*[\[{,(]\s*$|.*:\s*[\"'][^\"']*$")
_VALUE = re.compile(r"\s*-\s+[^:]*$|\s*(?:- )?[^:#]+:\s+[^\s#&!]")
_ALIAS = re.compile(r"[:-]\s+[&*]\w")
_IDENTITY = re.compile(r"\s*(?:- )?[\"']?(?:id|name|title|key|path|url|kind|host)[\"']?\s*:\s+\S.{0,80}$")


def open_yaml(text: str, start: int, end: int, whole: int) -> Node | None:
    """The tree of a YAML text: each line with the deeper ones below it. What is small is not opened.

    None where aliases lead from one part to another.
    """
    if _ALIAS.search(text, start, end):
        return None
    lines = list(find_lines(text, start, end))
    nodes = _read(text, lines, whole, 1)
    if len(nodes) == 1:
        return nodes[0]
    return Node(start, end, nodes, Series("# "))


def _read(text: str, lines: list[tuple[int, int]], whole: int, depth: int) -> list[Node]:
    """A node for each line of the lowest indent."""
    if not lines:
        return []
    base = min(_indent(text, line) for line in lines)
    groups: list[list[tuple[int, int]]] = []
    is_comment = False
    for line in lines:
        body = text[slice(*line)].lstrip()
        starts = _indent(text, line) <= base and not _is_item_below(groups, text, body, base)
        if not groups or (starts and not is_comment):
            groups.append([])
        groups[-1].append(line)
        is_comment = body.startswith("#")
    return [_make_node(text, group, whole, depth) for group in groups]


def _is_item_below(groups: list[list[tuple[int, int]]], text: str, body: str, base: int) -> bool:
    """Whether a line is an item of the key above it, though it is not indented more: `key:` and `- item`."""
    if not groups or not body.startswith("- "):
        return False
    first = text[slice(*groups[-1][0])]
    return not first.lstrip().startswith("- ") and _indent(text, groups[-1][0]) == base


def _make_node(text: str, lines: list[tuple[int, int]], whole: int, depth: int) -> Node:
    node = Node(lines[0][0], lines[-1][1])
    first = text[slice(*lines[0])]
    node.is_anchor = len(lines) == 1 and _IDENTITY.match(first) is not None
    if node.end - node.start <= whole or depth >= DEEPEST or len(lines) < 3:
        return node
    if _BLOCK_SCALAR.match(first) or _OPEN_BRACKET.match(first):
        return node
    inner = lines[1:]
    if _VALUE.match(first) and _indent(text, inner[0]) > _column(first):  # the value goes on
        return node
    nested = _read(text, inner, whole, depth + 1)
    if len(nested) > 1:
        node.children, node.series = nested, Series("# ")
    return node


def _column(first: str) -> int:
    """Where the key of a line stands, also behind a dash."""
    body = first.lstrip()
    return len(first) - len(body) + (2 if body.startswith("- ") else 0)


def _indent(text: str, line: tuple[int, int]) -> int:
    body = text[slice(*line)]
    return len(body) - len(body.lstrip())
