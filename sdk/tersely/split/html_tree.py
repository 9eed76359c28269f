"""HTML opened into sentences, lines and rows, each with its heads.

A page keeps its text: tags inside a sentence are left out, and those around a block become line breaks. Only
rows of tables keep their tags. Heads are headings, names above comments, terms, summaries, captions, the item
around a list, a line that announces it, and the head rows of a table. Menus are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from tersely.split.html import Closings
from tersely.split.html_parts import TAG, Rows, cut, cut_lines, cut_sentences, find_row
from tersely.split.lines import LONGEST_ITEM, Range
from tersely.split.nodes import DEEPEST, Node, Sizes
from tersely.units import Series

_TAG = re.compile(rf"{TAG.pattern}|<!--|<[!?][^>]*>")
_UNSEEN = frozenset(
    "script style noscript svg template head nav footer iframe object select textarea".split()  # noqa: SIM905
)
"""Elements to leave out with everything in them."""
_INLINE = re.compile(
    r"a|abbr|acronym|b|bdi|bdo|big|cite|code|data|del|dfn|em|font|i|img|input|ins|kbd|label|mark|math|output|q|s"
    r"|samp|small|span|strike|strong|sub|sup|time|tt|u|var|wbr"
)
_NAVIGATION = re.compile(
    r"\srole\s*=\s*[\"']?(?:navigation|search|contentinfo)\b"
    r"|\s(?:id|class)\s*=\s*[\"'][^\"']*\b(?:cookie|consent)[-_]?(?:banner|bar|consent|notice|popup)",
    re.IGNORECASE,
)
_HEADING = re.compile(r"h[1-6]")
_BODY = frozenset({"p", "div", "ul", "ol", "dl", "table", "pre"})
_SCOPES = frozenset("dl dt dd ul ol li details summary figure figcaption table caption thead".split())  # noqa: SIM905
_ENDS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "li": (frozenset({"li"}), frozenset({"ul", "ol"})),
    "dt": (frozenset({"dt", "dd"}), frozenset({"dl"})),
    "dd": (frozenset({"dt", "dd"}), frozenset({"dl"})),
}
"""For each tag: the open elements that it closes, and those at which the search for them stops."""
_LABELLED = {"dt": "dl", "summary": "details", "figcaption": "figure", "caption": "table"}
"""The element of each label, such as the table of a caption. The label is a head of its content."""
_LABELS = frozenset({"li", *_LABELLED})
"""Elements with text that is not cut unless it is long."""
_BYLINE = re.compile(r"\bclass\s*=\s*[\"'][^\"']*\b(?:author|byline|meta|poster|username)\b", re.IGNORECASE)
_LONGEST_BYLINE, _STOPS = 120, (".", "!", "?")
_WORD = re.compile(r"\w+")
_SENTENCE_END = re.compile(r"[.!?:;][\"'”’»)\]]*\s*\Z")
_MOST_HEADS = 8
_MOST_FIGURES = 4
"""Largest number of nested figures that come with their captions."""
_FEW_WORDS = 3


@dataclass(slots=True)
class _Scope:
    """An open element, with the heads of its content."""

    name: str
    first: int
    """Index of the first node in it."""
    heads: list[Node] = field(default_factory=list[Node])
    announcer: list[Node] = field(default_factory=list[Node])
    """The sentence above it that ends with a colon."""
    is_described: bool = False
    """True if the current terms of a description list have a description."""
    rows: Rows = field(default_factory=Rows)


def open_html(text: str, start: int, end: int, sizes: Sizes) -> Node:
    """Return the tree of a page: blocks of text, rows of tables, and markup, which is never kept."""
    return _Reader(text, end, sizes.part).read(start)


class _Reader:
    def __init__(self, text: str, end: int, size: int) -> None:
        self._text, self._end, self._size = text, end, size
        self._closings = Closings(text, end)
        self._nodes: list[Node] = []
        self._markup: list[Node] = []
        self._ranges: list[Range] = []
        """The text of the open block, between its tags."""
        self._linked_ranges = 0
        """Number of these ranges that are links."""
        self._links = 0
        self._in_pre = False
        self._is_unfinished = False
        """True if the last block is a line that continues in the next one, so that it is not cut."""
        self._heading = ""
        """The heading that is open."""
        self._headings: list[tuple[str, list[Node]]] = []
        self._scopes: list[_Scope] = []
        self._open = Counter[str]()
        self._announcer: list[Node] = []
        """The sentence right above, if it ends with a colon."""
        self._heads = set[int]()
        """Identities of heads that say nothing alone."""
        self._has_byline = False
        """True if the open block is a byline: it says who wrote the text below it, or when."""
        self._byline: list[Node] = []
        """The nodes of the last byline. They are heads up to a heading or the end of the section."""
        self._is_below_byline = False
        """True if the last block was a byline."""
        self._bylines: list[list[Node]] = []
        """All bylines of the page. A single one is not used as a head."""
        self._link_blocks: list[Node] = []
        """Short blocks that are only links."""

    def read(self, start: int) -> Node:
        position, text = start, self._text
        last = text.rfind(">", start, self._end) + 1  # no tag ends after it
        while position < self._end:
            tag = _TAG.search(text, position, last)
            stop = tag.start() if tag else self._end
            if text[position:stop].strip():
                self._ranges.append((position, stop))
                self._linked_ranges += self._links > 0
            if tag is None:
                break
            position = self._read_tag(tag)
        self._close_block("")
        while self._scopes:
            self._close_scope()
        if len(self._bylines) == 1:
            own = {*map(id, self._bylines[0])}
            for node in self._nodes:
                node.wants = [head for head in node.wants if id(head) not in own]
        self._set_frames()
        nodes = sorted([*self._nodes, *self._markup], key=lambda node: node.start)
        return Node(start, self._end, nodes, Series("\n", "\n"))

    def _read_tag(self, tag: re.Match[str]) -> int:
        """Act on a tag, and return the offset at which reading continues."""
        name, position = (tag[2] or "").lower(), tag.end()
        is_opening = bool(name) and not tag[1]
        if name == "tr" and is_opening and (end := self._read_row(tag.start(), position)):
            return end
        if not name:
            if tag[0] == "<!--":
                position = self._closings.find("-->", position) or min(position, self._end)
        elif is_opening and name in _UNSEEN:
            position = self._closings.find(name, position) or position
        elif is_opening and _NAVIGATION.search(tag[3]):
            position = self._closings.find_balanced(name, position) or position
        breaks = bool(name) and not _INLINE.fullmatch(name)
        if breaks:
            self._close_block(name if tag[1] or name == "br" else "")
        self._markup.append(Node(tag.start(), position, items=0, role="markup", breaks=breaks))
        if position == tag.end():
            self._follow(name, tag[3] or "", is_opening)
        return position

    def _follow(self, name: str, attributes: str, is_opening: bool) -> None:
        """Note that an element opens or ends."""
        if is_opening:
            self._has_byline |= name in ("time", "cite") or _BYLINE.search(attributes) is not None
        elif name in ("article", "section", "main"):
            self._byline = []
        if is_opening and name in _BODY:
            self._heading = ""  # it was not closed
        if name in ("a", "button"):
            self._links = max(0, self._links + (1 if is_opening else -1))
        elif name == "pre":
            self._in_pre = is_opening
        elif _HEADING.fullmatch(name):
            self._heading = name if is_opening else ""
            if is_opening:
                self._byline = []
                self._headings = [heading for heading in self._headings if heading[0] < name]
        elif name in _SCOPES and is_opening and not attributes.endswith("/>"):
            self._open_scope(name)
        elif name in _SCOPES and self._open[name]:
            while self._close_scope() != name:
                pass

    def _open_scope(self, name: str) -> None:
        closed, bounds = _ENDS.get(name, (frozenset[str](), frozenset[str]()))
        for above in self._scopes[-1:-DEEPEST:-1]:
            if above.name in bounds:
                break
            if above.name in closed:
                while self._close_scope() not in closed:
                    pass
                break
        parent = self._scopes[-1] if self._scopes else None
        if parent and parent.name == "dl":
            if name == "dt" and parent.is_described:
                parent.heads, parent.is_described = parent.announcer, False
            parent.is_described |= name == "dd"
        scope = _Scope(name, len(self._nodes))
        if name in ("ul", "ol", "dl", "table"):
            scope.heads = scope.announcer = self._announcer
        self._announcer = []
        self._scopes.append(scope)
        self._open[name] += 1

    def _close_scope(self) -> str:
        scope = self._scopes.pop()
        self._open[scope.name] -= 1
        parent = next((s for s in self._scopes[-1:-DEEPEST:-1] if s.name == _LABELLED.get(scope.name)), None)
        if parent:
            own = self._nodes[scope.first :][:_MOST_HEADS]
            parent.heads = [*parent.heads, *own][-_MOST_HEADS:]
            self._heads.update(map(id, own))
        if scope.name == "figure" and self._open["figure"] < _MOST_FIGURES:  # its caption may be below
            own = set(map(id, scope.heads))
            for node in self._nodes[scope.first :]:
                if id(node) not in own:
                    node.wants = _unite([*node.wants, *scope.heads])
        return scope.name

    def _find_heads(self) -> list[Node]:
        """Return the heads of a block at this point."""
        heads = [*(node for _, nodes in self._headings for node in nodes), *self._byline]
        scopes = self._scopes[:DEEPEST]
        for at, scope in enumerate(scopes):
            inside = scopes[at + 1].name if at + 1 < len(scopes) else ""
            if _LABELLED.get(inside) != scope.name:
                heads += scope.heads
        if self._in_pre:
            heads += self._announcer
        # If only some pieces of a long sentence are heads, they need its other pieces too.
        return _unite([*heads, *(other for head in heads for other in head.wants)])

    def _close_block(self, closed: str) -> None:
        """Make nodes of the text since the last block; `closed` is the element that ends with it, or "br"."""
        ranges, linked = self._ranges, self._linked_ranges
        self._ranges, self._linked_ranges = [], 0
        if not ranges:
            return
        text = self._text
        scope = self._scopes[-1] if self._scopes else None
        first, last = ranges[0][0], ranges[-1][1]
        is_short = last - first <= _LONGEST_BYLINE and text[first:last].rstrip()[-1:] not in _STOPS
        is_byline = self._has_byline and is_short and not (scope or self._heading or self._in_pre)
        if is_byline and (not self._is_below_byline or len(self._byline) >= _MOST_HEADS):
            self._byline = []
            self._bylines.append(self._byline)
        heads = self._find_heads()
        is_label = self._heading or (scope and scope.name in _LABELS and closed != "p")
        is_unfinished = closed == "br" and not _SENTENCE_END.search(text, max(first, last - 9), last)
        if self._in_pre:
            sentences = cut_lines(text, ranges, self._size)
        elif is_unfinished or self._is_unfinished or (is_label and last - first <= LONGEST_ITEM):
            sentences = cut(text, ranges, [last])
        else:
            sentences = cut_sentences(text, ranges)
        self._is_unfinished = is_unfinished
        nodes = [piece for pieces in sentences for piece in pieces]
        for node in nodes:
            node.wants = _unite([*heads, *node.wants])
        self._nodes += nodes
        self._announcer = []
        if is_byline:
            self._byline += nodes
        self._has_byline, self._is_below_byline = False, is_byline
        if self._heading and len(self._headings) < _MOST_HEADS and not (scope and scope.name in _LABELLED):
            self._headings.append((self._heading, nodes[:_MOST_HEADS]))
            self._heads.update(map(id, nodes))
        elif not self._in_pre:
            final = sentences[-1]
            if text[final[-1].start : final[-1].end].rstrip().endswith(":") and len(final) <= _MOST_HEADS:
                self._announcer = final
                self._heads.update(map(id, final))
            elif (
                linked == len(ranges)
                and sum(len(_WORD.findall(text, *span)) for span in ranges) <= _FEW_WORDS
            ):
                self._link_blocks += nodes
        if scope and scope.name == "li" and not scope.heads:
            scope.heads = sentences[0][:_MOST_HEADS]

    def _read_row(self, start: int, inner: int) -> int | None:
        """Add a row as a node and return its end; None if it is to be read as text."""
        found = find_row(self._text, start, inner, self._end, 4 * self._size)
        table = next((scope for scope in self._scopes[-1:-DEEPEST:-1] if scope.name == "table"), None)
        # A single cell is layout, not a row of values.
        if not found or (found.cells == 1 and not found.is_title and not (table and table.rows.spans)):
            return None
        self._close_block("")
        if table is None:
            self._open_scope("table")
            table = self._scopes[-1]
        node = Node(start, found.end)
        is_head = self._scopes[-1].name == "thead"
        wants, is_head = table.rows.add(node, found, is_head=is_head)
        node.wants = _unite([*self._find_heads(), *wants])
        if is_head:
            self._heads.add(id(node))
        self._nodes.append(node)
        return found.end

    def _set_frames(self) -> None:
        """Make frames of the heads that have something under them, and of links in a page of text."""
        if len(self._bylines) > 1:
            self._heads.update(id(node) for byline in self._bylines for node in byline)
        wanted = {id(head) for node in self._nodes for head in node.wants}
        for node in self._nodes:
            node.role = "frame" if id(node) in self._heads and id(node) in wanted else "content"
        length = sum(node.end - node.start for node in self._nodes)
        if 2 * sum(node.end - node.start for node in self._link_blocks) <= length:
            for node in self._link_blocks:
                node.role = "frame"


def _unite(nodes: list[Node]) -> list[Node]:
    """Return each node once."""
    return list({id(node): node for node in nodes}.values())
