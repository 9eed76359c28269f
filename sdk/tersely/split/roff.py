"""Roff: the source of manual pages, opened into sections and paragraphs of whole lines.

A request such as `.TP` or `.PP` begins a paragraph, `.SH` a section. A paragraph comes with its section, the
text of an option with its name. A mark is a comment.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from tersely.split.lines import Format, Lines, Range, find_lines
from tersely.split.nodes import Node, Sizes, join_lines
from tersely.units import Series

_SECTION = re.compile(r"['.]\s*S(?P<level>[HhSs])\b")
_PARAGRAPH = re.compile(r"['.]\s*(?:TP|TQ|IP|HP|PP|LP|P|It|Pp|RS|RE|TH|Dd)\b")
_TERM = re.compile(r"['.]\s*T[PQ]\b")
_INDENT, _RETURN = re.compile(r"['.]\s*RS\b"), re.compile(r"['.]\s*RE\b")
"""The requests around lines that are indented more."""
_BARE = re.compile(r"['.]\s*[A-Za-z]{1,2}(?:\s+\S+)?\s*")
"""A request that shows no text."""
_COMMENT = '.\\" '
_FEWEST_SECTIONS = 2
_DEEPEST = 4
"""Most indented lines inside each other that are opened."""


def _find_roff_end(lines: Lines, index: int) -> int | None:
    """Return the index after the source of a page, which goes up to a fence or the end of the text."""
    if index < lines.none_before["roff"]:
        return None
    end, sections = index, 0
    while end < len(lines) and not lines.texts[end].startswith(("```", "~~~")):
        sections += _SECTION.match(lines.texts[end]) is not None
        end += 1
    if sections < _FEWEST_SECTIONS:
        lines.none_before["roff"] = end
        return None
    while end > index and lines.is_blank(end - 1):
        end -= 1
    return end


ROFF = Format("roff", re.compile(r"['.](?:\\\"|TH\s|Dd\s|SH\s|Sh\s)"), _find_roff_end)


def open_roff(text: str, start: int, end: int, sizes: Sizes) -> Node | None:
    """Return the tree of a page: its sections, with their paragraphs and subsections."""
    nodes = _read(text, list(find_lines(text, start, end)), sizes, "Hh")
    return Node(start, end, nodes, Series(_COMMENT)) if len(nodes) > 1 else None


def _read(text: str, lines: Sequence[Range], sizes: Sizes, level: str) -> list[Node]:
    """Return the parts of some lines: what is before the first section of a level, and these sections."""
    starts = [
        number
        for number, line in enumerate(lines)
        if (found := _SECTION.match(text, *line)) and found["level"] in level
    ]
    above = lines[: starts[0]] if starts else lines
    if level == "Hh":
        nodes = [Node(above[0][0], above[-1][1])] if above else []
    else:
        nodes = _read_paragraphs(text, above, sizes)
    for begin, stop in pairwise([*starts, len(lines)]):
        node = Node(lines[begin][0], lines[stop - 1][1])
        if inside := lines[begin + 1 : stop]:
            node.children = _read(text, inside, sizes, "Ss" if level == "Hh" else "")
            node.series = Series(_COMMENT)
        nodes.append(node)
    return nodes


def _read_paragraphs(text: str, lines: Sequence[Range], sizes: Sizes, depth: int = 0) -> list[Node]:
    """Return the paragraphs of some lines.

    Indented lines below a paragraph, such as the text of an option, are a part of it.
    """
    nodes: list[Node] = []
    group: list[Range] = []
    at = 0
    while at < len(lines):
        is_indented = depth < _DEEPEST and _INDENT.match(text, *lines[at]) and not _is_bare(text, group)
        if group and (is_indented or _PARAGRAPH.match(text, *lines[at])):
            nodes.append(_make_paragraph(text, group, sizes))
            group = []
        if is_indented:
            end = _find_return(text, lines, at)
            _add_indented(text, nodes[-1], lines[at:end], sizes, depth)
            at = end
        else:
            group.append(lines[at])
            at += 1
    return [*nodes, _make_paragraph(text, group, sizes)] if group else nodes


def _is_bare(text: str, lines: Sequence[Range]) -> bool:
    """Return whether lines show no text."""
    return all(_BARE.fullmatch(text, *line) for line in lines)


def _find_return(text: str, lines: Sequence[Range], index: int) -> int:
    """Return the index after the `.RE` that ends the indented lines from `index` on."""
    depth = 0
    for end in range(index, len(lines)):
        depth += (_INDENT.match(text, *lines[end]) is not None) - (
            _RETURN.match(text, *lines[end]) is not None
        )
        if not depth:
            return end + 1
    return len(lines)


def _add_indented(text: str, node: Node, lines: Sequence[Range], sizes: Sizes, depth: int) -> None:
    """Add indented lines, from `.RS` to `.RE`, to the paragraph above them."""
    inner = Node(lines[0][0], lines[-1][1])
    body = lines[1:-1] if _RETURN.match(text, *lines[-1]) else lines[1:]
    if inner.end - inner.start > sizes.part and body:
        inner.children = _read_paragraphs(text, body, sizes, depth + 1)
        inner.series = Series(_COMMENT)
    node.end = inner.end
    if node.end - node.start > sizes.part:
        node.children, node.series = [*node.children, inner], node.series or Series(_COMMENT)


def _make_paragraph(text: str, lines: Sequence[Range], sizes: Sizes) -> Node:
    node = Node(lines[0][0], lines[-1][1])
    node.role = "frame" if _is_bare(text, lines) else "content"
    head = 2 if _TERM.match(text, *lines[0]) else 1
    if node.end - node.start > sizes.part and len(lines) > head + 1:
        node.children, node.series = join_lines(lines[head:], sizes.part), Series(_COMMENT)
    return node
