"""HTML: web pages, and comments in prose, which readers never see.

A page keeps its text, cut into sentences: tags inside a sentence are left out, and those around a block
become line breaks. A row of a table keeps its tags, and comes with the row of the column names.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from tersely.split.fences import find_fence_end
from tersely.split.lines import Lines
from tersely.split.nodes import Node, Sizes
from tersely.split.prose import find_sentence_starts
from tersely.units import Series

Range = tuple[int, int]
"""(start, end) in code points."""

PAGE = re.compile(
    r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?:(?!-->).)*+-->\s*+)*+<(?:!doctype\s+html|html|head|body|table|div|main|article|section)\b",
    re.IGNORECASE | re.DOTALL,
)
"""Matches the start of a text that is a web page."""
_TAG = re.compile(r"<(/?)([a-zA-Z][\w:-]*)[^>]*>|<[!?][^>]*>")
_COMMENT = "<!--"
_UNSEEN = frozenset({"script", "style", "noscript", "svg", "template", "head", "nav", "footer", "iframe"})
"""Elements that are left out with everything in them."""
_INLINE = re.compile(
    r"a|abbr|b|bdi|cite|code|del|em|font|i|img|ins|kbd|label|mark|q|s|small|span|strong|sub|sup|time|tt|u|var|wbr"
)
_HEADER_CELL = re.compile(r"<th\b", re.IGNORECASE)
_COMMENT_OR_CODE = re.compile(r"`[^`\n]*`|<!--")
_COMMENT_END = "-->"
_INK = re.compile(r"[^\n]")


def find_comments(text: str) -> list[Range]:
    """Return the comments of a masked text (`lines.mask`), in order; none in fenced blocks and code spans.

    Takes time linear in the length of the text.
    """
    lines = Lines(text)
    found: list[Range] = []
    index = position = 0
    while index < len(lines):
        starts_here = position <= lines.starts[index]
        if starts_here and (end := find_fence_end(lines, index)):
            index = end
            continue
        opening = _COMMENT_OR_CODE.search(text, max(position, lines.starts[index]), lines.end_of(index))
        if opening is None:
            index += 1
        elif opening[0] != _COMMENT:
            position = opening.end()
        elif (closing := text.find(_COMMENT_END, opening.end())) < 0:
            break
        else:
            position = closing + len(_COMMENT_END)
            found.append((opening.start(), position))
            index = bisect_right(lines.starts, position - 1) - 1
    return found


def blank(text: str, ranges: Sequence[Range]) -> str:
    """Return `text` with spaces in these ranges; line breaks stay."""
    parts: list[str] = []
    done = 0
    for start, end in ranges:
        parts += [text[done:start], _INK.sub(" ", text[start:end])]
        done = end
    return "".join([*parts, text[done:]])


def open_html(text: str, start: int, end: int, _: Sizes) -> Node:
    """Return the tree of a page: blocks of text, rows of tables, and markup, which is never kept."""
    children: list[Node] = []
    words: list[tuple[int, int]] = []
    position = start
    header: Node | None = None

    def close_block() -> None:
        children.extend(_make_sentences(text, words))
        words.clear()

    closings = _Closings(text, end)
    last = text.rfind(">", start, end) + 1  # no tag ends after it
    while position < end:
        tag = _TAG.search(text, position, last)
        stop = tag.start() if tag else end
        if text[position:stop].strip():
            words.append((position, stop))
        if tag is None:
            break
        name = (tag[2] or "").lower()
        is_opening = not tag[1]
        position = tag.end()
        if name == "tr" and is_opening and (row_end := closings.find(name, position)):
            position = row_end
            close_block()
            node = Node(tag.start(), position)
            if _HEADER_CELL.search(text, tag.start(), position):
                header = node
            elif header is not None:
                node.wants = [header]
            children.append(node)
            continue
        if name == "table" and not is_opening:
            header = None
        if tag[0].startswith(_COMMENT):
            position = closings.find(_COMMENT, tag.start() + len(_COMMENT)) or position
        elif name in _UNSEEN and is_opening:
            position = closings.find(name, position) or position
        breaks = not _INLINE.fullmatch(name)
        if breaks:
            close_block()
        children.append(Node(tag.start(), position, items=0, is_markup=True, breaks=breaks))
    close_block()
    children.sort(key=lambda node: node.start)
    return Node(start, end, children, Series("\n", "\n"))


class _Closings:
    """Finds the ends of elements and comments. If an element is not closed any more, it looks once."""

    def __init__(self, text: str, end: int) -> None:
        self._text = text
        self._end = end
        self._missing: set[str] = set()

    def find(self, name: str, position: int) -> int | None:
        """Return the offset after the first closing from `position` on, which grows from call to call."""
        if name in self._missing:
            return None
        pattern = "-->" if name == _COMMENT else rf"</{name}\s*>"
        closing = re.compile(pattern, re.IGNORECASE).search(self._text, position, self._end)
        if closing is None:
            self._missing.add(name)
            return None
        return closing.end()


def _make_sentences(text: str, words: list[tuple[int, int]]) -> Iterator[Node]:
    """Yield the sentences of a block that consists of ranges. Ranges of one sentence need each other."""
    if not words:
        return
    first, last = words[0][0], words[-1][1]
    plain = [" "] * (last - first)
    for left, right in words:
        plain[left - first : right - first] = text[left:right]
    prose = re.sub(r"\s", " ", "".join(plain).replace("\0", " ").encode("utf-8", "replace").decode("utf-8"))
    ends = [*(first + start for start in find_sentence_starts(prose)), last]
    sentences: list[list[Node]] = [[] for _ in ends]
    number = 0
    for left, right in words:
        while left < right:
            while ends[number] <= left:
                number += 1
            stop = min(right, ends[number])
            if text[left:stop].strip():
                sentences[number].append(Node(left, stop, items=0 if sentences[number] else 1))
            left = stop
    for pieces in sentences:
        for piece in pieces:
            piece.wants = [other for other in pieces if other is not piece]
        yield from pieces
