"""Runs of lines opened by their indentation: a line is the head of the deeper lines below it.

Other lines at the indentation of the head, such as `} else {` and `public:`, are heads inside the block.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from tersely.split.lines import CLOSER, OPENED_COMMENT, Range, find_indent
from tersely.split.markdown import find_closing
from tersely.split.nodes import DEEPEST, Node, Sizes, continues_sentence, mark_name
from tersely.split.scripts import find_directive_depths, find_statement_end, is_sql, starts_statement
from tersely.units import Series

Ranges = Sequence[Range]
"""Lines with their line breaks."""

_CLOSING = re.compile(
    r"\s*(?:[)}\]]|/\s*$|(?:end|fi|done|esac|endif|else|elif|elsif|except|finally|rescue|ensure|catch|when|case(?!.*\bin\s*$)|default)\b"
    r"|(?:END|ELSE|ELSIF|WHEN|EXCEPTION)\b"
    r"|#\s*(?:if|el|endif)|\{[{%][-~]?\s*(?:end|else|elif)"
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
_COMMENT_SIGN = re.compile(r"[\s*#/;%!-]*")
_UNENDED = re.compile(r"[^;{}:>/*\s]\s*$")
"""The end of a line above `{` that is a part of the head of a function."""
_LONGEST_HEAD = 8
_CASES = (
    (re.compile(r"\s*case\b.*\bin\s*(?:#.*)?$"), None, "esac"),
    (re.compile(r"\s*(?:[\w@.]+\s*=\s*)?case\b"), re.compile(r"\s*(?:when|in)\b"), "end"),
    (re.compile(r"\s*(?:switch|select|match)\b.*\{\s*$"), re.compile(r"\s*(?:case|default)\b"), "}"),
)
"""The first line of a statement with arms, the line below it, and its last line: in shells, in Ruby, in C.
In shells, the line below it may be anything."""
_END_TAG = re.compile(r"\s*</[\w.:-]+>\s*")
_FEWEST = 4
"""A block of fewer lines is not opened."""


def open_indented(text: str, lines: Ranges, sizes: Sizes, series: Series) -> list[Node]:
    """Return a node for each block of a run of lines. Large blocks are opened, each into such a series."""
    return _Indented(text, lines, sizes, series).open(lines, 1)


def open_comment(text: str, lines: Ranges, size: int) -> list[Node]:
    """Return the paragraphs of a comment. One of more than `size` code points is cut between lines, but not
    inside a sentence.

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
        is_apart = not nodes or nodes[-1].children or (was_empty and not is_empty)
        is_large = not is_apart and line[1] - nodes[-1].start > size
        if is_apart or (is_large and not _continues_sentence(text, lines[at - 1], line)):
            nodes.append(Node(*line))
        nodes[-1].end = line[1]
        was_empty = is_empty
    return nodes


def _continues_sentence(text: str, above: Range, line: Range) -> bool:
    return continues_sentence(text[slice(*above)], text[slice(*line)], _COMMENT_SIGN)


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
    base = min((find_indent(text, line) for line in lines if not _is_blank(text, line)), default=0)
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


class _Indented:
    """Opens the lines of code. Inside of a here document or a `case`, lines are deeper than they look."""

    def __init__(self, text: str, lines: Ranges, sizes: Sizes, series: Series) -> None:
        self._text, self._sizes, self._series = text, sizes, series
        self._rows = {line: text[slice(*line)].rstrip("\r\n") for line in lines}
        self._depths: dict[Range, float] = {}
        """Depths of lines that differ from their indents."""
        self._closers: set[Range] = set()
        """Lines that close a here document or a `case`."""
        self._documents: dict[Range, Range] = {}
        """The first and the last line of each here document."""
        self._openers: set[Range] = set()
        """Each `#if` that an `#endif` ends."""
        self._directives: set[Range] = set()
        """These, and what belongs to them, such as `#else`."""
        self._find_depths(lines)
        self._find_directives(lines)
        rows = list(self._rows.values())
        self._has_statements = is_sql("\n".join(rows), rows)

    def _find_depths(self, lines: Ranges) -> None:
        """Find the lines in here documents, and the arms of each `case` that are indented like it."""
        places: dict[str, list[int]] = {}
        for at, line in enumerate(lines):
            places.setdefault(self._rows[line].strip().lower(), []).append(at)
        cases: list[tuple[int, str]] = []  # the indents of those around a line, and their last lines
        last = opener = -1  # the last line of the here document around a line, and its first
        for at, line in enumerate(lines):
            indent = find_indent(self._text, line)
            if at <= last:
                self._depths[line] = self._depths.get(lines[opener], find_indent(self._text, lines[opener]))
                if at < last:
                    self._depths[line] += 0.75
                else:
                    self._closers.add(line)
                continue
            is_inside = bool(cases) and indent == cases[-1][0]
            if is_inside and self._rows[line].strip() == cases[-1][1]:
                cases.pop()
                self._closers.add(line)
            elif is_inside:
                self._depths[line] = indent + 0.5
            if closing := self._find_arms(lines, at):
                cases.append((indent, closing))
            if closing := find_closing(self._rows[line]):
                ends = places.get(closing, [])
                below = bisect_right(ends, at)
                last, opener = (ends[below], at) if below < len(ends) else (-1, -1)
                self._documents.update({line: lines[last]} if last >= 0 else {})

    def _find_arms(self, lines: Ranges, at: int) -> str | None:
        """Return the last line of a statement whose arms are indented like it; None for any other line."""
        row = self._rows[lines[at]]
        below = lines[at + 1] if at + 1 < len(lines) else None
        is_flush = below is not None and find_indent(self._text, below) == find_indent(self._text, lines[at])
        next_row = self._rows[below] if below is not None and is_flush else ""
        for first, arm, end in _CASES:
            if first.match(row) and (arm is None or arm.match(next_row)):
                return end
        return None

    def _find_directives(self, lines: Ranges) -> None:
        rows = [self._rows[line] for line in lines]
        are_comments = self._series.before.startswith("#")
        indents = [self._depth(line) for line in lines]
        depths, conditions = find_directive_depths(rows, indents, are_comments=are_comments)
        self._depths = dict(zip(lines, depths, strict=True))
        self._openers = {lines[places[0]] for places in conditions}
        self._directives = {lines[at] for places in conditions for at in places}

    def open(self, lines: Ranges, depth: int) -> list[Node]:
        """Return a node for each block of lines."""
        blocks = (_strip(self._text, block) for block in self._split(lines))
        return [node for block in blocks for node in self._open_block(block, depth)]

    def _open_block(self, lines: Ranges, depth: int) -> list[Node]:
        """Return one leaf for a small block. Otherwise a long comment above it has nodes of its own."""
        node = Node(lines[0][0], lines[-1][1])
        if node.end - node.start <= self._sizes.whole or depth >= DEEPEST or len(lines) < _FEWEST:
            return [node]
        first = 0
        while first < len(lines) and self._is_above(lines, first):
            last = self._documents.get(lines[first])
            first = lines.index(last) + 1 if last else _find_closed(self._text, lines, first) or first + 1
        if first == len(lines):
            return open_comment(self._text, lines, self._sizes.part)
        node = self._open_declaration(lines[first:], depth)
        if lines[first][0] - lines[0][0] <= self._sizes.part:
            node.start = lines[0][0]
            return [node]
        comment = open_comment(self._text, lines[:first], self._sizes.part)
        for part in comment:
            part.wants = [node]
        return [*comment, node]

    def _is_above(self, lines: Ranges, at: int) -> bool:
        """Return whether a line belongs to the declaration below it. A line with `@` above deeper lines does
        not: it is their head."""
        if not self._matches_above(lines[at]):
            return False
        below = [line for line in lines[at + 1 : at + 2] if not _is_blank(self._text, line)]
        is_head = any(self._depth(line) > self._depth(lines[at]) for line in below)
        is_head = is_head and lines[at] not in self._documents
        return not is_head or COMMENT.match(self._text, *lines[at]) is not None

    def _open_declaration(self, lines: Ranges, depth: int) -> Node:
        """Return the node of a line with the deeper lines below it, and the line that closes it."""
        node = Node(lines[0][0], lines[-1][1])
        if node.end - node.start <= self._sizes.whole or len(lines) < _FEWEST:
            return node
        base = self._depth(lines[0])
        stop = len(lines) - 1 if self._depth(lines[-1]) <= base else len(lines)
        rows = [self._rows[line].strip() for line in lines[: min(stop, _LONGEST_HEAD)]]
        brace = rows.index("{", 1) if "{" in rows[1:] else 0
        first = brace + 1 if self._depth(lines[brace]) <= base else 1
        inner = [at for at in range(first, stop) if not _is_blank(self._text, lines[at])]
        heads = [at for at in inner if self._depth(lines[at]) <= base and not self._closes(lines[at])]
        ends = [*heads, stop]
        children = self.open(lines[first : ends[0]], depth + 1) if ends[0] > first else []
        mark_name(self._text, children)
        for head, end in pairwise(ends):
            children.append(self._open_declaration(_strip(self._text, lines[head:end]), depth + 1))
        node.open(children, replace(self._series))
        return node

    def _split(self, lines: Ranges) -> list[list[Range]]:
        """Return the blocks. Each begins at the lowest depth, with the deeper and closing lines below it."""
        base = min((self._depth(line) for line in lines if not _is_blank(self._text, line)), default=0)
        blocks: list[list[Range]] = []
        is_above = False
        inside = -1  # the last line of the statement or the block comment around a line
        rows = [self._rows[line] for line in lines] if self._has_statements else []
        for at, line in enumerate(lines):
            if at <= inside:
                blocks[-1].append(line)
                continue
            row = self._rows[line]
            closes = line not in self._openers and (_CLOSING.match(row) or _END_TAG.fullmatch(row))
            closes = closes or line in self._closers
            starts = row.strip() != "" and self._depth(line) <= base and not closes
            if at and starts and _BEGIN.match(self._text, *line):
                starts = self._depth(lines[at - 1]) <= base
            if starts and row.strip() == "{":
                self._join_head(blocks)
            elif not blocks or (starts and not is_above):
                blocks.append([])
            blocks[-1].append(line)
            is_document = is_above and (line in self._closers or self._depth(line) > base)
            is_above = is_document or (starts and self._matches_above(line))
            if rows and starts_statement(row):
                end = find_statement_end(rows, at)
                rows = rows if end else []  # if it does not end, nothing below is looked at again
            else:
                end = _find_closed(self._text, lines, at)
            inside = end - 1 if end else inside
        return blocks

    def _join_head(self, blocks: list[list[Range]]) -> None:
        """Join the last blocks if they are the head of the function whose `{` is in the line below them."""
        if not blocks:
            blocks.append([])
        while len(blocks) > 1 and not _is_blank(self._text, blocks[-1][-1]):
            above = blocks[-2][-1]
            is_head = _UNENDED.search(self._rows[above]) and not self._matches_above(above)
            if not is_head or above in self._directives or len(blocks[-2]) + len(blocks[-1]) > _LONGEST_HEAD:
                break
            last = blocks.pop()
            blocks[-1] += last

    def _matches_above(self, line: Range) -> bool:
        return line not in self._directives and _ABOVE.match(self._text, *line) is not None

    def _depth(self, line: Range) -> float:
        """Return the indent of a line. Inside of a here document or a `case`, its first line has less."""
        return self._depths.get(line, find_indent(self._text, line))

    def _closes(self, line: Range) -> bool:
        """Return whether a line only closes what is above it."""
        row = self._rows[line]
        return line in self._closers or bool(CLOSER.fullmatch(row) or _END_TAG.fullmatch(row))


def _strip(text: str, lines: Ranges) -> Ranges:
    """Return the lines without the blank ones at the end."""
    stop = len(lines)
    while stop > 1 and _is_blank(text, lines[stop - 1]):
        stop -= 1
    return lines[:stop]


def _is_blank(text: str, line: Range) -> bool:
    return not text[slice(*line)].strip()
