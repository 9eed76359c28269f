"""Opened blocks: a tree of nodes, which becomes a flat list of units.

A container has a head, children and a tail, as in `{"results": [`, the records, `]}`. Its children are one
series. Head and tail are kept with every child that is kept, so that the text is well formed and says where a
child belongs. If children are left out, a mark with their number takes their place, in a form that still
parses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NamedTuple

from tersely.split.lines import CLOSER, PREFIX, Lines, Range, find_lines, is_wordy, strip
from tersely.split.sentence_starts import CLOSING
from tersely.units import Kind, Link, Role, Series, Unit

_NAME = re.compile(r"\s*[\"']?(?:name|id|title|key)[\"']?\s*[=:]\s*[\"']", re.IGNORECASE)
_LONGEST_NAME = 200
_WRAPPED = 24
"""Smallest size in code points of a line of a comment or quotation that may wrap into the next line."""
DEEPEST = 40
"""Largest number of nested containers to open. Anything deeper is one part."""
_MOST_IDENTITIES = 2
"""Largest number of keys that identify a record, and are kept with each of its other keys."""
LONGEST_IDENTITY = 140
"""Largest number of code points of such a key with its value."""
_IDENTITY = re.compile(
    r"(?:.*[:_-])?(?:id|uid|uuid|guid|dn|sku|name|title|label|subject|symbol|key|code|kind|path|file|filename|url|loc"
    r"|host|hostname|email|username|(?:group|artifact|package|bundle|module|operation)-?id)",
    re.IGNORECASE,
)


class Sizes(NamedTuple):
    """Largest sizes, in code points, of parts of a block that are not opened."""

    part: int
    """The size for a value, a row or a sentence."""
    whole: int
    """The size for a function, a hunk, or a key with everything nested in it."""


@dataclass(slots=True)
class Node:
    """A range of a text: a leaf, or a container with the children in it. Offsets are code points."""

    start: int
    end: int
    children: list[Node] = field(default_factory=list["Node"])
    series: Series | None = None
    """The series of its children."""
    items: int = 1
    is_anchor: bool = False
    """True if its siblings need it, as the members of a record need its name. If it is a container, they need
    only the anchors in it."""
    wants: list[Node] = field(default_factory=list["Node"])
    """Nodes elsewhere in the tree that it needs, as `else` needs `if`. If one is a container, it needs only
    the head and the tail of that container."""
    role: Role = "content"
    """A frame is never kept alone: the nodes that want it come with it. Markup is never kept."""
    breaks: bool = False
    """True if a line break replaces it; only for markup."""

    def open(self, children: list[Node], series: Series) -> None:
        """Set the children if there are several, or one that has children itself."""
        if len(children) > 1 or any(child.children for child in children):
            self.children, self.series = children, series


def continues_sentence(line: str, below: str, signs: re.Pattern[str] = PREFIX) -> bool:
    """Return whether a sentence of a comment or quotation continues in the line below.

    Both lines must begin with the same sign, which `signs` matches.
    """
    sign, next_sign = signs.match(line), signs.match(below)
    if sign is None or next_sign is None or sign[0].strip() != next_sign[0].strip():
        return False
    body, rest = line[sign.end() :].rstrip(), below[next_sign.end() :]
    ends = body.rstrip(CLOSING).endswith((".", "!", "?", ":", ";"))
    return len(body) >= _WRAPPED and not ends and rest[:1].isalnum() and is_wordy(body)


def join_wrapped(text: str, lines: Sequence[Range]) -> list[Range]:
    """Join lines of comments and quotations if a sentence continues from one to the next."""
    joined: list[Range] = []
    last = (0, 0)
    for line in lines:
        if joined and continues_sentence(text[slice(*last)], text[slice(*line)]):
            joined[-1] = (joined[-1][0], line[1])
        else:
            joined.append(line)
        last = line
    return joined


def join_lines(lines: Sequence[Range], size: int) -> list[Node]:
    """Return a node for each line. Neighbours share one if they have at most `size` code points together."""
    nodes: list[Node] = []
    for left, right in lines:
        if nodes and right - nodes[-1].start <= size:
            nodes[-1].end = right
            nodes[-1].items += 1
        else:
            nodes.append(Node(left, right))
    return nodes


def mark_name(text: str, nodes: Sequence[Node]) -> None:
    """Make the first node of a block an anchor if it is short and names the block, as `name = "a"` does."""
    if nodes and _NAME.match(text, nodes[0].start) and nodes[0].end - nodes[0].start <= _LONGEST_NAME:
        nodes[0].is_anchor = not nodes[0].children


def is_identity(key: str) -> bool:
    """Return whether a key, such as `id` or `hostname`, identifies its record."""
    return _IDENTITY.fullmatch(key) is not None


def mark_identities(members: Sequence[Node], find_key: Callable[[Node], str | None]) -> None:
    """Make anchors of the first short members that identify their record.

    `find_key` returns the key of a member; None for a member that holds other members.
    """
    short = (member for member in members if member.end - member.start <= LONGEST_IDENTITY)
    named = (member for member in short if (key := find_key(member)) and is_identity(key))
    for member in islice(named, _MOST_IDENTITIES):
        member.is_anchor = True


def join_lines_below(text: str, start: int, end: int, size: int) -> list[Node]:
    """Return the nodes of the lines below the first line of a block, joined like `join_lines`."""
    return join_lines(join_wrapped(text, list(find_lines(text, start, end)))[1:], size)


def open_lines(text: str, start: int, end: int, sizes: Sizes) -> Node | None:
    """Return the lines of a block; short neighbours share a part.

    The first line is their head, except in a quotation or comment. A last line that only closes the block is
    not a separate part.
    """
    lines = join_wrapped(text, list(find_lines(text, start, end)))
    if len(lines) < 2:
        return None
    lines = lines if PREFIX.match(text, start) else lines[1:]
    if len(lines) > 1 and CLOSER.fullmatch(text, *lines[-1]):
        lines.pop()
    nodes = join_lines(lines, sizes.part // 4)
    return Node(start, end, nodes, Series())


def split_comments(lines: Lines, offset: int, index: int, end: int, longest: int) -> tuple[list[Node], int]:
    """Return the separate comments in the lines `index` to `end`, and the first line of the part below them.

    Blank lines separate comments. That part begins at `end`, or with the last comment if no blank line is
    between them and the comment has at most `longest` code points.

    Args:
        offset: offset of the lines in the text of the nodes.
    """
    nodes: list[Node] = []
    while (start := lines.skip_blank(index)) < end:
        index = start
        while index < end and not lines.is_blank(index):
            index += 1
        node = Node(offset + lines.starts[start], offset + lines.end_of(index - 1))
        if index == end and node.end - node.start <= longest:
            return nodes, start
        nodes.append(node)
    return nodes, end


def flatten(text: str, root: Node, kind: Kind, series: Series | None, first: int) -> list[Unit]:
    """Return the units of a tree, in order. They contain each of its non-blank code points exactly once.

    Args:
        series: the series of the root.
        first: the position that the first unit will have in its document.
    """
    spans: list[Range] = []
    links: list[Link] = []
    needs: list[set[int]] = []
    places: list[tuple[Node, range]] = []
    names: dict[int, list[int]] = {}
    """Positions that identify a node, by its id: of a leaf, or of the frame and anchors of a container.
    Empty for a container without anchors."""
    frames: dict[int, list[int]] = {}
    """Positions of the head and the tail of a container, or of a leaf, by the id of the node."""

    def append(start: int, end: int, link: Link) -> list[int]:
        """Append a unit unless it is blank; return its position, if there is one."""
        span = strip(text, start, end)
        if span is None:
            return []
        spans.append(span)
        links.append(link)
        needs.append(set())
        return [len(spans) - 1]

    def add(node: Node, series: Series | None) -> range:
        """Append the units of a node, which is a member of `series`; return their positions."""
        begin, children = len(spans), node.children
        if children:
            head = append(node.start, children[0].start, Link(series, node.items, (), "frame"))
            frame = list(head)
            has_anchor = False
            for child in children:
                add(child, node.series)
                if child.is_anchor and (own := names[id(child)]):
                    frame += own
                    has_anchor = True
            tail = append(children[-1].end, node.end, Link(series, 0, (), "frame"))
            frames[id(node)] = head + tail
            frame += tail
            names[id(node)] = frame if has_anchor else []
            for own in needs[begin:]:
                own.update(frame)
        else:
            link = Link(series, node.items, (), node.role, node.breaks)
            names[id(node)] = frames[id(node)] = append(node.start, node.end, link)
        place = range(begin, len(spans))
        places.append((node, place))
        return place

    add(root, series)
    for node, place in places:
        wanted = [at for other in node.wants for at in frames[id(other)]]
        for at in place:
            needs[at].update(wanted)
    return [
        Unit(*span, kind, True, link=replace(link, needs=tuple(first + need for need in sorted(own - {at}))))
        for at, (span, link, own) in enumerate(zip(spans, links, needs, strict=True))
    ]
