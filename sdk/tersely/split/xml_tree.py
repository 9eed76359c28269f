"""XML opened into elements: a start tag is the head, an end tag the tail, and the elements between a series.

A mark is a comment, and parts of a text do not begin or end inside an element, so the kept parts still parse.
Comments belong to the element after them. The XML declaration is left out, as it says nothing to a reader.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tersely.split.html import blank
from tersely.split.lines import find_lines, strip
from tersely.split.nodes import DEEPEST, Node, Sizes, join_lines, mark_identities
from tersely.split.sentences import split_units
from tersely.split.xml import Sort, Token, is_xml, scan
from tersely.units import Series

_LONG_COMMENT = 80
"""Smallest number of code points of a comment above the root that is a separate part."""
_SPACE = re.compile(r"\sxml:space\s*=\s*[\"'](\w*)")
_LINE_BREAK, _CHARACTER = re.compile(r"[\r\n]"), re.compile(r".", re.DOTALL)
_DECLARATION = re.compile(r"<\?xml\s")
_LINED = frozenset({"code", "log", "line", "row", "list_item"})
"""Kinds of text that may be opened into lines."""


@dataclass(slots=True)
class _Element:
    """An element that is not closed yet."""

    token: Token
    is_verbatim: bool
    """True if all white space in it is to be preserved."""
    items: list[tuple[Sort, Node]] = field(default_factory=list[tuple[Sort, Node]])
    """The markup in it, with its sort. A closed element has the sort "empty", regardless of its content."""
    has_text: bool = False
    inner_end: int = 0


def open_xml(text: str, start: int, end: int, sizes: Sizes) -> Node | None:
    """Return the tree of the XML document in `text[start:end]`; None if it is not XML.

    Small elements are not opened.
    """
    if not is_xml(text[start:end]):
        return None
    root, prolog = _Reader(text, sizes).read(start, end)
    comments: list[Node] = []
    others: list[Node] = []
    """Anything else above the root, such as a DOCTYPE."""
    is_embedded = start > 0 and not text[:start].isspace()  # then the declaration separates it from the rest
    for sort, node in prolog:
        if not is_embedded and node.start == start and _DECLARATION.match(text, start):
            node.role, node.items = "markup", 0
        elif sort == "comment" and node.end - node.start >= _LONG_COMMENT:
            comments.append(node)
        else:
            node.role, node.items = "frame", 0
            others.append(node)
    root.end = end
    root.wants = others
    for comment in comments:
        comment.wants = [root, *others]
    # With one series, a mark counts the content of the root even if only a comment above it is kept.
    series = root.series if root.series and root.series.before else Series("<!-- ", " -->")
    return Node(start, end, [*(node for _, node in prolog), root], series)


class _Reader:
    def __init__(self, text: str, sizes: Sizes) -> None:
        self._text, self._size = text, sizes.part

    def read(self, start: int, end: int) -> tuple[Node, list[tuple[Sort, Node]]]:
        """Return the root, and the markup before it."""
        stack: list[_Element] = []
        prolog: list[tuple[Sort, Node]] = []
        root = Node(start, end)
        position = start
        for token in scan(self._text, start, end):
            if stack:
                parent = stack[-1]
                parent.has_text |= token.sort == "data" or self._text[position : token.start].strip() != ""
            position = token.end
            if token.sort == "open":
                space = _SPACE.search(token.attributes)
                inherited = bool(stack) and stack[-1].is_verbatim
                stack.append(_Element(token, space[1] == "preserve" if space else inherited))
                continue
            sort, node = token.sort, Node(token.start, token.end)
            if token.sort == "close":
                element = stack.pop()
                element.inner_end = token.start
                sort, node = "empty", self._close(element, token.end, len(stack))
            if stack:
                stack[-1].items.append((sort, node))
            elif sort == "empty":
                root = node
                break
            else:
                prolog.append((sort, node))
        return root, prolog

    def _close(self, element: _Element, end: int, depth: int) -> Node:
        node = Node(element.token.start, end)
        if end - node.start <= self._size or depth >= DEEPEST:
            return node
        if element.has_text or not element.items:
            return node if element.is_verbatim else self._open_content(element, node)
        node.children = self._join(element)
        node.series = Series("<!-- ", " -->")
        mark_identities(node.children, self._find_key)
        return node

    def _join(self, element: _Element) -> list[Node]:
        """Return the elements, each with the comments before it and a comment after it on its line.

        In a property list, a key and its value are one.
        """
        joined: list[Node] = []
        start: int | None = None  # of the comments that wait for an element
        for sort, node in element.items:
            last = joined[-1] if joined else None
            if sort == "empty" or node.end - node.start > self._size:
                if start is None and last and element.token.name == "dict" and not last.children:
                    is_key = self._text.startswith("</key", self._text.rfind("<", last.start, last.end))
                    start = joined.pop().start if is_key else None
                node.start = node.start if start is None else start
                start = None
                joined.append(node)
            elif start is None and last and not _LINE_BREAK.search(self._text, last.end, node.start):
                last.end = node.end
            elif start is None:
                start = node.start
        if start is not None:
            joined.append(Node(start, element.items[-1][1].end))
        return joined

    def _find_key(self, member: Node) -> str | None:
        """Return the name of an element that contains no other elements, so that it has exactly two tags."""
        tags = [] if member.children else [t for t in scan(self._text, member.start, member.end) if t.name]
        return tags[0].name if len(tags) == 2 else None

    def _open_content(self, element: _Element, node: Node) -> Node:
        """Cut the text in an element. Opened elements in it become parts; others stay in a sentence."""
        start, end = element.token.end, element.inner_end
        items = element.items
        series = Series("<!-- ", " -->")
        if len(items) == 1 and items[0][0] == "data":
            data = items[0][1]
            if not self._text[start : data.start].strip() and not self._text[data.end : end].strip():
                start, end = data.start + len("<![CDATA["), data.end - len("]]>")
                items, series = [], Series()
        parts: list[Node] = []
        inside: list[Node] = []
        for _, item in items:
            if item.children:
                parts += self._cut_text(start, item.start, inside, series)
                parts.append(item)
                start, inside = item.end, []
            else:
                inside.append(item)
        parts += self._cut_text(start, end, inside, series)
        if len(parts) > 1:
            node.children, node.series = parts, series
        return node

    def _cut_text(self, start: int, end: int, inside: list[Node], series: Series) -> list[Node]:
        """Return the parts of a text. They do not begin or end inside the elements and comments in it."""
        body = strip(self._text, start, end)
        if body is None:
            return []
        start, end = body
        plain = self._text[start:end]
        if inside:
            tags = scan(plain, 0, len(plain))
            plain = blank(plain, [(tag.start, tag.end) for tag in tags], _CHARACTER)
        units = split_units(plain)
        nodes: list[Node] = []
        places: list[int] = []
        """Index of the node of each unit."""
        at, reached = 0, start
        for unit in units:
            cut = start + unit.start
            while at < len(inside) and inside[at].end <= cut:
                at += 1
            crossed = at < len(inside) and inside[at].start < cut
            if crossed:
                cut = inside[at].start
            if nodes and cut < reached:  # it begins in an element that the one before ends in
                nodes[-1].end = reached = start + unit.end
            else:
                if nodes:
                    nodes[-1].end = cut
                nodes.append(Node(cut, start + unit.end, role=unit.link.role))
                reached = start + unit.end
                if unit.kind in _LINED and unit.end - unit.start > self._size and not inside:
                    lines = list(find_lines(self._text, nodes[-1].start, nodes[-1].end))
                    nodes[-1].open(join_lines(lines, self._size // 4), series)
            places.append(len(nodes) - 1)
        if not nodes:
            return [Node(start, end)]
        nodes[0].start, nodes[-1].end = start, end
        for unit, place in zip(units, places, strict=True):
            nodes[place].wants += [nodes[places[need]] for need in unit.link.needs if places[need] != place]
        return nodes
