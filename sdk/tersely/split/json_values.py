"""JSON: values that fill whole lines, opened into elements and members.

Arrays keep the elements that matter, objects the keys that lead to them. A value that is small enough is one
part. A larger one is opened, and so is a long string, into its sentences. An element is dropped with
the comma after it, and a mark is itself an element or a member, so the text that is kept still parses.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from tersely.split.lines import Format, Lines, Range
from tersely.split.nodes import DEEPEST, Node, Sizes, mark_identities
from tersely.units import Series

_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, strict=False)
_START = re.compile(
    r"[^\S\n]*+(?P<label>[^\W\d_][^\[\]{}\n.!?]{0,79}[:=][ \t]*+\n?[ \t]*+)?(?P<value>[\[{])",
)
"""The start of a value, or of a label and a value: `Observation: [` on one line, or on two."""
_SMALL = 80
"""Code points of a value below which a label and the value are prose, as in `Sources: [1]`."""
_WINDOW = 4096
"""Number of code points to read first as JSON. More are read if a value continues after them."""
_LONGEST_TOKEN = 16
"""Largest number of code points of a constant or an escape, which the end of a window may cut."""

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{},]', re.DOTALL)
_SPACE = re.compile(r"\s*")
_WORDS = re.compile(r"\\u[0-9a-fA-F]{4}|\\[^nrt]|((?:\\[nrt]|\s)+)|[^\\\s]+", re.DOTALL)
_OPENING = re.compile(r"[\[{]")
_KEY = re.compile(r'"((?:[^"\\]|\\.)*+)"\s*:')
_SCALAR = re.compile(r"[^\[{]*$")

_LONG_STRING = 400
_SENTENCE, _LONGEST_SENTENCE = 80, 320
"""Code points after which a part of a string may end after a sentence, and must end after a word."""
_MANY, _TINY, _TOGETHER = 200, 24, 60
"""In an array of more than `_MANY` elements, neighbours of at most `_TINY` code points share a part of up to
`_TOGETHER`."""


def find_json_end(lines: Lines, index: int) -> int | None:
    """Return the index after the last line of the value that starts at `index`, or None."""
    begin = _START.match(lines.text, lines.starts[index])
    if begin is None or lines.json_budget <= 0:
        return None
    start = begin.start("value")
    stop = _find_value_end(lines, start)
    if stop is None or (begin["label"] and stop - start < _SMALL):
        return None
    end = lines.find(stop)
    rest = lines.text[stop : lines.end_of(end)].strip()
    if rest not in ("", ",", ";", "]", "],"):
        lines.json_budget -= stop - start
        return None
    return end + 1


def _find_value_end(lines: Lines, start: int) -> int | None:
    """Return the offset after the value at `start`; None if it is not JSON.

    At an error, the decoder takes time to count all lines above it, so it gets no more text than it needs.
    """
    size = _WINDOW
    while True:
        part = lines.text[start : start + size]
        try:
            return start + _DECODER.raw_decode(part)[1]
        except json.JSONDecodeError as error:
            is_open = error.msg.startswith("Unterminated string")
            lines.json_budget -= len(part) if is_open else error.pos + 10
            is_cut = is_open or error.pos > len(part) - _LONGEST_TOKEN
            if not is_cut or start + size >= len(lines.text):
                return None
        except RecursionError:
            lines.json_budget -= 20_000
            return None
        size *= 16


JSON = Format("json", _START, find_json_end)


def open_json(text: str, start: int, end: int, sizes: Sizes) -> Node | None:
    """Return the tree of the JSON value in `text[start:end]`.

    There may be a label before it and a comma after it. Small values are not opened. None if it is not JSON.
    """
    opening = _OPENING.search(text, start, end)
    if opening is None:
        return None
    at = opening.start()
    try:
        _, stop = _DECODER.raw_decode(text, at)
    except (json.JSONDecodeError, RecursionError):
        return None
    if stop > end:
        return None
    root = _Reader(text, sizes.part).read(at, stop)
    return None if root is None else Node(start, end, root.children, root.series)


@dataclass(slots=True)
class _Container:
    """A container that is being read. The child that is being read may hold a container and strings."""

    start: int
    is_object: bool
    child_start: int
    inner: Node | None = None
    string: Range | None = None
    """The last string in the child."""
    children: list[Node] = field(default_factory=list[Node])


class _Reader:
    def __init__(self, text: str, size: int) -> None:
        self._text = text
        self._size = size

    def read(self, start: int, stop: int) -> Node | None:
        """Return the container in `text[start:stop]`, which is valid JSON; None if it is empty or small."""
        stack: list[_Container] = []
        for token in _TOKEN.finditer(self._text, start, stop):
            sign = token[0][0]
            if sign == '"':
                stack[-1].string = token.span()
            elif sign in "[{":
                stack.append(_Container(token.start(), sign == "{", token.end()))
            elif sign == ",":
                self._close_child(stack[-1], token.end(), len(stack))
                stack[-1].child_start = token.end()
            else:
                self._close_child(stack[-1], token.start(), len(stack))
                node = self._close(stack.pop(), token.end())
                if not stack:
                    return node if node.children else None
                stack[-1].inner = node
        return None

    def _close_child(self, parent: _Container, end: int, depth: int) -> None:
        blank = _SPACE.match(self._text, parent.child_start, end)
        start = blank.end() if blank else end
        if start == end:  # nothing before the end of the container
            return
        child = Node(start, end)
        if end - start > self._size and depth < DEEPEST:
            if parent.inner is not None:
                child.children, child.series = parent.inner.children, parent.inner.series
            elif parent.string and parent.string[1] - parent.string[0] > _LONG_STRING:
                self._open_string(child, *parent.string)
        parent.children.append(child)
        parent.inner = parent.string = None

    def _close(self, done: _Container, end: int) -> Node:
        if end - done.start <= self._size:
            return Node(done.start, end)
        if done.is_object:
            mark_identities(done.children, self._find_key)
            series = Series('"', '": "…"', ",", is_numbered=True)
            return Node(done.start, end, done.children, series)
        return Node(done.start, end, self._join_tiny(done.children), Series('"', '"', ","))

    def _find_key(self, member: Node) -> str | None:
        key = _KEY.match(self._text, member.start, member.end)
        return key[1] if key and _SCALAR.match(self._text, key.end(), member.end) else None

    def _join_tiny(self, elements: list[Node]) -> list[Node]:
        if len(elements) <= _MANY:
            return elements
        joined: list[Node] = []
        for element in elements:
            last = joined[-1] if joined else None
            is_tiny = not element.children and element.end - element.start <= _TINY
            if last and is_tiny and not last.children and element.end - last.start <= _TOGETHER:
                last.end = element.end
                last.items += 1
            else:
                joined.append(element)
        return joined

    def _open_string(self, child: Node, start: int, end: int) -> None:
        """Cut a string into sentences; the key and the quotation marks are not part of them."""
        parts: list[Node] = []
        begin = start + 1
        previous = begin
        for token in _WORDS.finditer(self._text, start + 1, end - 1):
            if token[1] is None:
                previous = token.end()
                continue
            ends_sentence = "\\" in token[1] or self._text[previous - 1] in ".!?;:"
            length = previous - begin
            if (ends_sentence and length >= _SENTENCE) or length >= _LONGEST_SENTENCE:
                parts.append(Node(begin, token.end()))
                begin = previous = token.end()
        if begin < end - 1:
            parts.append(Node(begin, end - 1))
        child.open(parts, Series())
