"""Statements of figures: labels with amounts in columns on the right, often in groups with a line above each.

The title, and the names of the columns, such as years and units, are above the amounts.
"""

from __future__ import annotations

import re

from tersely.split.column_names import LONGEST_LINE, find_words
from tersely.split.lines import Format, Lines, find_indent, find_lines
from tersely.split.nodes import DEEPEST, Node
from tersely.units import Series

_AMOUNT = re.compile(r"\(?[-+–−]?(?:[A-Z]{0,3}[$€£¥])?\d[\d.,']*%?\)?|[-–—]|n/?a")
_RULE = re.compile(r"[-=_]{3,}(?:\s+[-=_]{3,})*")
_NOTE = re.compile(r"\(.*\)")
_FAR = 16
"""Smallest indent of a line with names of columns."""
_MOST_NAME_LINES, _FEWEST_ROWS, _MOST_LABEL_WORDS, _MOST_BLANK = 8, 3, 12, 2
_MOST_LABELS = 5
"""Number of lines below the names among which the first row is."""


def _find_edge(line: str) -> int | None:
    """Return the column in which the last amount of a row ends, without its bracket; None for other lines."""
    words = find_words(line.rstrip())
    texts = line[:LONGEST_LINE].split()
    first = len(texts)
    while first and _AMOUNT.fullmatch(texts[first - 1]):
        first -= 1
    if not 0 < first < len(texts) or words[first][0] - words[first - 1][1] < 2:
        return None
    return words[-1][1] - texts[-1].endswith((")", "%")) if any(map(str.isalpha, texts[0])) else None


def _is_label(line: str) -> bool:
    """Return whether a line may be the label of a group of rows."""
    words = line.split()
    return words[0][0].isalpha() and len(words) <= _MOST_LABEL_WORDS and words[-1][-1] not in ".;,"


class _Reader:
    """A reader of the lines of a statement."""

    def __init__(self, texts: list[str], first: int) -> None:
        self._texts = texts
        self.begin = first
        """The index of the first line below the title and the names of the columns."""
        for at in range(first, min(len(texts), first + _MOST_NAME_LINES)):
            if self._names_columns(at):
                self.begin = at + 1
            elif texts[at].strip() or self.begin < at:
                break
        names = [line for line in texts[first : self.begin] if not _NOTE.fullmatch(line.strip())]
        ends = [words[-1][1] for line in names if (words := find_words(line))]
        edges = map(_find_edge, texts[self.begin : self.begin + _MOST_LABELS])
        self.edge = next(filter(None, edges), 0)
        self.is_named = any(abs(end - self.edge) <= 2 for end in ends)

    def _names_columns(self, at: int) -> bool:
        line = self._texts[at]
        is_far = len(line) - len(line.lstrip()) >= _FAR or line[:1] == "\t"
        return bool(line.strip()) and (is_far or _NOTE.fullmatch(line.strip()) is not None)

    def is_row(self, at: int) -> bool:
        """Return whether a line has a label, and amounts that end where those of the first row end."""
        edge = _find_edge(self._texts[at]) if at < len(self._texts) else None
        return edge is not None and abs(edge - self.edge) <= 1

    def is_rule(self, at: int) -> bool:
        return _RULE.fullmatch(self._texts[at].strip()) is not None

    def is_group(self, at: int) -> bool:
        """Return whether a line is the label of the rows below it. Between them may be one more label."""
        if not self._texts[at].strip() or not _is_label(self._texts[at]) or _find_edge(self._texts[at]):
            return False
        below = [line for line in range(at + 1, min(at + 3, len(self._texts))) if self._texts[line].strip()]
        if not below or self.is_row(below[0]):
            return bool(below)
        return _is_label(self._texts[below[0]]) and self.is_row(below[-1])


def _find_end(lines: Lines, index: int) -> int | None:
    """Return the index after a statement with column names that begin at a line; None without a statement."""
    reader = _Reader(lines.texts, index)
    if reader.begin == index or not reader.edge or not reader.is_named:
        return None
    end = at = reader.begin
    rows = 0
    while at < len(lines) and at - end <= _MOST_BLANK:
        if lines.is_blank(at):
            at += 1
            continue
        if not (reader.is_row(at) or reader.is_rule(at) or reader.is_group(at)):
            break
        rows += reader.is_row(at)
        at = end = at + 1
    return end if rows >= _FEWEST_ROWS else None


FIGURES = Format("row", re.compile(rf"[ ]{{{_FAR},}}\S|\t+\S|\([^()\n]*\)[ \t]*\n[ \t]{{2}}"), _find_end)


def open_figures(text: str, start: int, end: int) -> Node | None:
    """Return the tree of a statement: the names of the columns are its head, and groups hold rows.

    Return None if another kind of table begins at `start`.
    """
    begin = text.rfind("\n", 0, start) + 1
    spans = list(find_lines(text, begin, end))
    rows = [text[slice(*span)] for span in spans]
    reader = _Reader(rows, 0)
    if not reader.begin or not reader.edge or not reader.is_named:
        return None
    root = Node(begin, end, [], Series())
    groups: list[tuple[int, Node]] = [(-1, root)]
    """The indent of each open group, and its node."""
    for at in range(reader.begin, len(rows)):
        indent, parent = find_indent(text, spans[at]), groups[-1][1]
        if reader.is_rule(at) and parent.children:
            parent.children[-1].end = spans[at][1]
            continue
        is_group = len(groups) <= DEEPEST and reader.is_group(at)
        first = parent.children[0] if parent.children else None
        is_flat = not is_group and first is not None and find_indent(text, (first.start, first.end)) == indent
        while len(groups) > 1 and (groups[-1][0] > indent or (groups[-1][0] == indent and not is_flat)):
            if not groups[-1][1].children and not is_group:
                break  # its first row is not indented more
            groups.pop()
        node = Node(*spans[at])
        groups[-1][1].children.append(node)
        if is_group:
            node.series = Series()
            groups.append((indent, node))
    _set_ends(root)
    return root if len(root.children) > 1 or any(child.children for child in root.children) else None


def _set_ends(node: Node) -> None:
    """Set the end of each group to that of its last row."""
    for child in node.children:
        _set_ends(child)
    if node.children:
        node.end = max(node.end, node.children[-1].end)
