"""Web pages: their text and their tables, without the markup around them.

Text is cut into sentences; tags inside a sentence are left out and those around a block become line breaks. A
row of a table keeps its tags, and comes with the row of the column names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from tersely.split.parts import Node
from tersely.split.prose import find_sentence_starts
from tersely.units import Series

_TAG = re.compile(r"<(/?)([a-zA-Z][\w:-]*)[^>]*>|<[!?][^>]*>")
_COMMENT = "<!--"
_UNSEEN = frozenset({"script", "style", "noscript", "svg", "template", "head", "nav", "footer", "iframe"})
"""Elements that are left out with all that is in them."""
_INLINE = re.compile(
    r"a|abbr|b|bdi|cite|code|del|em|font|i|img|ins|kbd|label|mark|q|s|small|span|strong|sub|sup|time|tt|u|var|wbr"
)


def open_html(text: str, start: int, end: int) -> Node:
    """The tree of a page: blocks of text, rows of tables, and markup, which is never kept."""
    children: list[Node] = []
    words: list[tuple[int, int]] = []
    position = start
    header: Node | None = None

    def close_block() -> None:
        children.extend(_make_sentences(text, words))
        words.clear()

    closings = _Closings(text, end)
    last = text.rfind(">", start, end) + 1  # no tag ends behind it
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
            is_header = re.search(r"<th\b", text[tag.start() : position], re.IGNORECASE) is not None
            if is_header:
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
    """Finds what closes an element or a comment. For what nothing closes any more, it looks once."""

    def __init__(self, text: str, end: int) -> None:
        self._text = text
        self._end = end
        self._missing: set[str] = set()

    def find(self, name: str, position: int) -> int | None:
        """The offset behind the first closing from `position` on, which grows from call to call."""
        if name in self._missing:
            return None
        pattern = "-->" if name == _COMMENT else rf"</{name}\s*>"
        closing = re.compile(pattern, re.IGNORECASE).search(self._text, position, self._end)
        if closing is None:
            self._missing.add(name)
            return None
        return closing.end()


def _make_sentences(text: str, words: list[tuple[int, int]]) -> Iterator[Node]:
    """The sentences of a block that consists of these ranges. The ranges of one sentence need each other."""
    if not words:
        return
    first, last = words[0][0], words[-1][1]
    plain = [" "] * (last - first)
    for left, right in words:
        plain[left - first : right - first] = text[left:right]
    prose = re.sub(r"\s", " ", "".join(plain).replace("\0", " ").encode("utf-8", "replace").decode("utf-8"))
    cuts = [0, *find_sentence_starts(prose), len(prose)]
    for begin, end in pairwise(cuts):
        pieces = [
            Node(max(left, first + begin), min(right, first + end))
            for left, right in words
            if max(left, first + begin) < min(right, first + end)
            and text[max(left, first + begin) : min(right, first + end)].strip()
        ]
        for number, piece in enumerate(pieces):
            piece.items = 1 if number == 0 else 0
            piece.wants = [other for other in pieces if other is not piece]
        yield from pieces
