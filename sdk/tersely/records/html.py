"""Web pages: their text and their tables, without the markup around them.

Text is cut into sentences; tags inside a sentence are left out and those around a block become line breaks. A
row of a table keeps its tags, and comes with the row of the column names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from tersely.records.parts import Node, Series
from tersely.text.prose import find_sentence_starts

_TAG = re.compile(
    r"<!--.*?-->|<(script|style|noscript|svg|template|head|nav|footer|iframe)\b.*?</\1\s*>"
    r"|<(/?)([a-zA-Z][\w:-]*)[^>]*>|<![^>]*>|<\?[^>]*>",
    re.DOTALL | re.IGNORECASE,
)
_ROW = re.compile(r"<tr\b.*?</tr\s*>", re.DOTALL | re.IGNORECASE)
_INLINE = re.compile(
    r"a|abbr|b|bdi|cite|code|del|em|font|i|img|ins|kbd|label|mark|q|s|small|span|strong|sub|sup|time|tt|u|var|wbr"
)


def open_html(text: str, start: int, end: int, form: str) -> Node:
    """The tree of a page: blocks of text, rows of tables, and markup, which is never kept."""
    children: list[Node] = []
    words: list[tuple[int, int]] = []
    position = start
    header: Node | None = None

    def close_block() -> None:
        children.extend(_make_sentences(text, words))
        words.clear()

    while position < end:
        tag = _TAG.search(text, position, end)
        stop = tag.start() if tag else end
        if text[position:stop].strip():
            words.append((position, stop))
        if tag is None:
            break
        name = (tag[3] or "").lower()
        row = _ROW.match(text, tag.start(), end) if name == "tr" and not tag[2] else None
        position = row.end() if row else tag.end()
        if row:
            close_block()
            node = Node(row.start(), row.end())
            is_header = re.search(r"<th\b", row[0], re.IGNORECASE) is not None
            if is_header:
                header = node
            elif header is not None:
                node.wants = [header]
            children.append(node)
        elif name == "table" and tag[2]:
            header = None
        if not row:
            if not _INLINE.fullmatch(name):
                close_block()
            children.append(
                Node(tag.start(), tag.end(), items=0, is_markup=True, breaks=not _INLINE.fullmatch(name))
            )
    close_block()
    children.sort(key=lambda node: node.start)
    return Node(start, end, children, Series(form, "\n", "\n"))


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
