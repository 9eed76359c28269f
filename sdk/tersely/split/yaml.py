"""YAML, and records of keys and values, opened into keys with everything nested in them."""

from __future__ import annotations

import re

from tersely.split.lines import Format, Lines, find_indent, find_lines
from tersely.split.nodes import DEEPEST, Node, Sizes
from tersely.units import Series

_KEY = re.compile(r"(?:- )?(?!(?:try|else|finally|default)\b)[\w\"'./@-]+:(?:\s|$)", re.MULTILINE)
_YAML = re.compile(r"\s*(?:#.*|-(?:\s.*)?|\"[^\"]*\":.*|[\w'./@-][\w'./@ -]*:(?:\s.*)?)$")
_PARENT = re.compile(r"\s*(?:- )?[\w\"'./@-]+:\s*(?:[|>][+-]?)?\s*$")
_FEWEST_LINES = 3
_BLOCK_SCALAR = re.compile(r".*[|>][+-]?\s*$")
_OPEN_BRACKET = re.compile(r".*[\[{,(]\s*$|.*:\s*[\"'][^\"']*$")
_VALUE = re.compile(r"\s*-\s+[^:]*$|\s*(?:- )?[^:#]+:\s+[^\s#&!]")
_ALIAS = re.compile(r"[:-]\s+[&*]\w")
_IDENTITY = re.compile(r"\s*(?:- )?[\"']?(?:id|name|title|key|path|url|kind|host)[\"']?\s*:\s+\S.{0,80}$")


def _find_yaml_end(lines: Lines, index: int) -> int | None:
    """Return the index after lines that are a mapping or list with something nested; None otherwise."""
    if index < lines.no_yaml_before:
        return None
    end, last, nested = index, index, False
    text_indent = None  # of a block scalar
    while end < len(lines):
        line = lines.texts[end]
        if lines.is_blank(end):
            end += 1
            continue
        indent = lines.indent(end)
        end += 1
        if text_indent is None or indent < text_indent:
            text_indent = None
            if not _YAML.match(line) or (indent == 0 and not _KEY.match(line) and line[:1] not in "-#"):
                break
            if line.rstrip().endswith(("|", ">", "|-", ">-", "|+", ">+")):
                text_indent = indent + 1
            if _PARENT.match(line) and end < len(lines) and not lines.is_blank(end):
                nested |= lines.indent(end) > indent or lines.texts[end].lstrip().startswith("- ")
        last = end
    if nested and last - index >= _FEWEST_LINES:
        return last
    lines.no_yaml_before = last
    return None


YAML = Format("yaml", _KEY, _find_yaml_end, only_starts_paragraphs=True)

def open_yaml(text: str, start: int, end: int, sizes: Sizes) -> Node | None:
    """Return the tree of a YAML text: each line with the deeper ones below it. Small parts are not opened.

    None if aliases lead from one part to another.
    """
    if _ALIAS.search(text, start, end):
        return None
    nodes = _read(text, list(find_lines(text, start, end)), sizes.part, 1)
    return nodes[0] if len(nodes) == 1 else Node(start, end, nodes, Series("# "))


def _read(text: str, lines: list[tuple[int, int]], whole: int, depth: int) -> list[Node]:
    """Return a node for each line of the lowest indent."""
    base = min(find_indent(text, line) for line in lines)
    groups: list[list[tuple[int, int]]] = []
    is_comment = False
    for line in lines:
        body = text[slice(*line)].lstrip()
        starts = find_indent(text, line) <= base and not _is_item_below(groups, text, body, base)
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
    return not first.lstrip().startswith("- ") and find_indent(text, groups[-1][0]) == base


def _make_node(text: str, lines: list[tuple[int, int]], whole: int, depth: int) -> Node:
    node = Node(lines[0][0], lines[-1][1])
    first = text[slice(*lines[0])]
    node.is_anchor = len(lines) == 1 and _IDENTITY.match(first) is not None
    if node.end - node.start <= whole or depth >= DEEPEST or len(lines) < 3:
        return node
    if _BLOCK_SCALAR.match(first) or _OPEN_BRACKET.match(first):
        return node
    if _VALUE.match(first) and find_indent(text, lines[1]) > _column(first):  # the value goes on
        return node
    nested = _read(text, lines[1:], whole, depth + 1)
    if len(nested) > 1:
        node.children, node.series = nested, Series("# ")
    return node


def _column(first: str) -> int:
    """Return the column of the key of a line, also after a dash."""
    body = first.lstrip()
    return len(first) - len(body) + (2 if body.startswith("- ") else 0)
