"""Runs of lines opened by their indentation: a line is the head of the deeper lines below it.

Other lines at the indentation of the head, such as `} else {` and `public:`, are heads inside of the block.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from tersely.split.lines import OPENED_COMMENT, Range, find_indent
from tersely.split.markdown import find_closing
from tersely.split.nodes import DEEPEST, Node, Sizes, mark_name
from tersely.units import Series

Ranges = Sequence[Range]
"""Lines with their line breaks."""

_CLOSING = re.compile(
    r"\s*(?:[)}\]]|/\s*$|(?:end|fi|done|esac|endif|else|elif|elsif|except|finally|rescue|ensure|catch|when|case|default)\b"
    r"|#\s*(?:if|el|endif)"
    r"|(?:public|private|protected)\b[^;(]*:\s*$)"
)
"""The start of a line that belongs to the block above it."""
_ENTRY = re.compile(r"\s*(?:[-*+•]|\d+[.)]|:\w[^:]*:|[\w.*`]+(?: ?\([^()]*\))? ?:)(?:\s|$)")
"""The start of an entry in a docstring: an item, or a name and what it means."""
_BEGIN = re.compile(r"\s*begin\b", re.IGNORECASE)
"""The start of a line that belongs to the block above it if that block has deeper lines right above."""
COMMENT = re.compile(r"\s*(?:#(?!(?:if|el|en|de|un|in|pr)\w+\b)|//|/\*|\*|(?:--|;+|%+|!)\s)")
"""The start of a comment line. Directives of C are not comments."""
_ABOVE = re.compile(rf"{COMMENT.pattern}|\s*@(?!.*\{{[^}}]*$)")
"""The start of a line that belongs to the declaration below it: a comment, or an annotation. `@media (...) {`
of CSS and `@article{...,` of BibTeX are heads themselves."""
_EMPTY_COMMENT = re.compile(r"\s*+(?:#+|//+|/\*+|\*+/?)?\s*")
_FEWEST = 4
"""A block of fewer lines is not opened."""


def open_indented(text: str, lines: Ranges, sizes: Sizes, before: str, depth: int = 1) -> list[Node]:
    """Return a node for each block of a run of lines. Large blocks are opened.

    Args:
        before: the comment sign in front of a mark.
    """
    return [
        node
        for block in _split_blocks(text, lines)
        for node in _open_block(text, _strip(text, block), sizes, before, depth)
    ]


def open_comment(text: str, lines: Ranges, size: int) -> list[Node]:
    """Return the paragraphs of a comment. One of more than `size` code points is cut between lines.

    The first and the last line of a block comment are the head and the tail of all of it.
    """
    nodes: list[Node] = []
    start = 0
    was_empty = True
    for at, line in enumerate(lines):
        if at < start:
            continue
        is_empty = _EMPTY_COMMENT.fullmatch(text, *line) is not None
        if end := _find_closed(text, lines, at):
            inner = open_comment(text, lines[at + 1 : end - 1], size)
            nodes.append(Node(line[0], lines[end - 1][1], inner, Series() if inner else None))
            start, was_empty = end, True
            continue
        if (
            not nodes
            or (was_empty and not is_empty)
            or nodes[-1].children
            or line[1] - nodes[-1].start > size
        ):
            nodes.append(Node(*line))
        nodes[-1].end = line[1]
        was_empty = is_empty
    return nodes


def _find_closed(text: str, lines: Ranges, at: int) -> int | None:
    """Return the index after a block comment that starts in line `at`; None if text follows in its line."""
    if not OPENED_COMMENT.match(text, *lines[at]):
        return None
    end = text.find("*/", lines[at][0], lines[-1][1])
    while at < len(lines) and end >= lines[at][1]:
        at += 1
    return at + 1 if end >= 0 and at < len(lines) and not text[end + 2 : lines[at][1]].strip() else None


def open_text(text: str, lines: Ranges, size: int, depth: int = 1) -> list[Node]:
    """Return a node for each paragraph and entry of a text. Those of more than `size` are opened."""
    base = _find_base(text, lines)
    blocks: list[list[Range]] = []
    was_apart = True
    for line in lines:
        is_blank = _is_blank(text, line)
        is_deeper = find_indent(text, line) > base
        if not is_blank and not is_deeper and (was_apart or _ENTRY.match(text, *line)):
            blocks.append([])
        if blocks:
            blocks[-1].append(line)
        was_apart = is_blank or is_deeper
    return [_open_entry(text, _strip(text, block), size, depth) for block in blocks]


def _open_entry(text: str, lines: Ranges, size: int, depth: int) -> Node:
    """Return the node of an entry: its first line is the head of the deeper lines below it."""
    node = Node(lines[0][0], lines[-1][1])
    base = find_indent(text, lines[0])
    inner = [line for line in lines[1:] if not _is_blank(text, line)]
    is_entry = inner and all(find_indent(text, line) > base for line in inner)
    if node.end - node.start > size and is_entry and depth < DEEPEST:
        node.open(open_text(text, lines[1:], size, depth + 1), Series())
    return node


def _open_block(text: str, lines: Ranges, sizes: Sizes, before: str, depth: int) -> list[Node]:
    """Return the nodes of a block: one leaf if it is small; otherwise a long comment above it is separate."""
    node = Node(lines[0][0], lines[-1][1])
    if node.end - node.start <= sizes.whole or depth >= DEEPEST or len(lines) < _FEWEST:
        return [node]
    first = 0
    while first < len(lines) and _is_above(text, lines, first):
        first = _find_closed(text, lines, first) or first + 1
    if first == len(lines):
        return open_comment(text, lines, sizes.part)
    node = _open_declaration(text, lines[first:], sizes, before, depth)
    if lines[first][0] - lines[0][0] <= sizes.part:
        node.start = lines[0][0]
        return [node]
    comment = open_comment(text, lines[:first], sizes.part)
    for part in comment:
        part.wants = [node]
    return [*comment, node]


def _is_above(text: str, lines: Ranges, at: int) -> bool:
    """Return whether a line belongs to the declaration below it. A line with `@` above deeper lines does not:
    it is their head."""
    if not _ABOVE.match(text, *lines[at]):
        return False
    below = [line for line in lines[at + 1 : at + 2] if not _is_blank(text, line)]
    is_head = any(find_indent(text, line) > find_indent(text, lines[at]) for line in below)
    return not is_head or COMMENT.match(text, *lines[at]) is not None


def _open_declaration(text: str, lines: Ranges, sizes: Sizes, before: str, depth: int) -> Node:
    node = Node(lines[0][0], lines[-1][1])
    if node.end - node.start <= sizes.whole or len(lines) < _FEWEST:
        return node
    base = find_indent(text, lines[0])
    stop = len(lines) - 1 if find_indent(text, lines[-1]) <= base else len(lines)
    inner = [at for at in range(1, stop) if not _is_blank(text, lines[at])]
    ends = [*(at for at in inner if find_indent(text, lines[at]) <= base), stop]
    children = open_indented(text, lines[1 : ends[0]], sizes, before, depth + 1) if ends[0] > 1 else []
    mark_name(text, children)
    for head, end in pairwise(ends):
        children.append(_open_declaration(text, _strip(text, lines[head:end]), sizes, before, depth + 1))
    node.open(children, Series(before))
    return node


def _split_blocks(text: str, lines: Ranges) -> list[list[Range]]:
    """Return the blocks: each begins at the lowest indent, and has the deeper and closing lines below it."""
    base = _find_base(text, lines)
    blocks: list[list[Range]] = []
    is_above = False
    last = {text[slice(*line)].strip().lower(): at for at, line in enumerate(lines)}
    here = -1  # the last line of the here document or the block comment around a line
    for at, line in enumerate(lines):
        if at <= here:
            blocks[-1].append(line)
            continue
        is_blank = _is_blank(text, line)
        starts = not is_blank and find_indent(text, line) <= base and not _CLOSING.match(text, *line)
        if at and starts and _BEGIN.match(text, *line):
            starts = find_indent(text, lines[at - 1]) <= base
        if not blocks or (starts and not is_above):
            blocks.append([])
        blocks[-1].append(line)
        is_above = starts and _ABOVE.match(text, *line) is not None
        if closing := find_closing(text[slice(*line)].rstrip()):
            here = last.get(closing, -1)
        elif end := _find_closed(text, lines, at):
            here = end - 1
    return blocks


def _strip(text: str, lines: Ranges) -> Ranges:
    """Return the lines without the blank ones at the end."""
    stop = len(lines)
    while stop > 1 and _is_blank(text, lines[stop - 1]):
        stop -= 1
    return lines[:stop]


def _find_base(text: str, lines: Ranges) -> int:
    """Return the lowest indent of the lines that are not blank."""
    return min((find_indent(text, line) for line in lines if not _is_blank(text, line)), default=0)


def _is_blank(text: str, line: Range) -> bool:
    return not text[slice(*line)].strip()
