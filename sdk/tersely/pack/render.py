"""Render kept units as text. This module alone decides how documents look in a prompt.

A blank line separates documents. A title has a line of its own. Between two kept neighbours stands the source
text, byte for byte. Where something was dropped between two kept units, the separator is the last line break
before the second unit, with its indentation; a space if there is no line break; and nothing if the source
has no whitespace there (Chinese, Japanese, Thai). Where two apart pieces could be read as one, a mark stands
between them (`marks`). No separator and no mark is longer than the text it replaces, so no compression is
longer than its source.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

from tersely.pack.marks import mark_before, mark_behind, mark_between
from tersely.pack.omissions import Omission, find_omissions
from tersely.split.sentences import Unit
from tersely.split.units import CostedUnit
from tersely.types import Citation, Document, Mark

BETWEEN_DOCUMENTS = "\n\n"

Shifted = TypeVar("Shifted", Citation, Mark)

Range = tuple[int, int]
"""(start, end) in code points of a document's text."""


class RenderedDocument(NamedTuple):
    """The kept units of one document as text."""

    text: str
    citations: tuple[Citation, ...]
    """Where each part of `text` comes from, in its order, as document 0."""
    marks: tuple[Mark, ...]
    """Where something was left out that readers must know of, as document 0."""


class Rendered(NamedTuple):
    """The kept units of all documents as text."""

    text: str
    citations: tuple[Citation, ...]
    marks: tuple[Mark, ...]
    bodies: tuple[str, ...]
    """The text of each document in it, without the title."""


def render_documents(
    documents: Sequence[Document],
    units: Sequence[Sequence[CostedUnit]],
    kept: Sequence[Sequence[int]],
    sequence: Sequence[int],
) -> Rendered:
    """The kept units of the documents in `sequence`, in that order.

    `kept` holds, per document, ascending positions among its `units`.
    """
    return join_documents(
        (doc, documents[doc], render_document(documents[doc].text, units[doc], kept[doc])) for doc in sequence
    )


def render_document(text: str, units: Sequence[CostedUnit], kept: Sequence[int]) -> RenderedDocument:
    """The kept units of one document. `kept` holds ascending positions in `units`, which are sorted."""
    builder = _Builder(text)
    omissions = find_omissions(units, kept)
    done = 0  # omissions that are marked
    for index, position in enumerate(kept):
        unit = units[position]
        before = units[kept[index - 1]].end if index else None
        marked: list[Omission] = []
        while done < len(omissions) and omissions[done].last < position:
            marked.append(omissions[done])
            done += 1
        if before is not None and kept[index - 1] == position - 1:
            builder.extend_source(unit.end)
            continue
        start = _line_start(text, unit.start)
        if marked:
            _mark_omissions(builder, text, units, before, marked, start)
        elif before is None:
            builder.add_mark(mark_before(text, units, position), 0, start)
        elif mark := mark_between(text, units, kept[index - 1], position):
            builder.add_mark(mark, before, start)
        else:
            breaks = _has_break(units, kept[index - 1] + 1, position)
            builder.add_separator("\n" if breaks else _separator(text, before, start))
        builder.add_source(start, unit.end)
    if done < len(omissions):
        _mark_omissions(builder, text, units, units[kept[-1]].end, omissions[done:], None)
    elif kept:
        builder.add_mark(mark_behind(text, units, kept[-1]), units[kept[-1]].end, len(text))
    return builder.finish()


def _has_break(units: Sequence[CostedUnit], start: int, stop: int) -> bool:
    """Whether one of the dropped units start..stop-1 is markup in whose place a line breaks."""
    return any((link := units[at].link) is not None and link.breaks for at in range(start, stop))


def _mark_omissions(
    builder: _Builder,
    text: str,
    units: Sequence[CostedUnit],
    before: int | None,
    omissions: Sequence[Omission],
    after: int | None,
) -> None:
    """Add marks, with their separators, between the source up to `before` and that from `after` on.

    None: the document begins or ends there.
    """
    for first, last, mark in omissions:
        start, end = _line_start(text, units[first].start), units[last].end
        if before is not None:
            builder.add_separator(_separator(text, before, start))
        indent = text[start : units[first].start]
        builder.add_mark(indent + mark, start, end)
        before = end
    if after is not None and before is not None:
        builder.add_separator(_separator(text, before, after))


def render_ranges(text: str, ranges: Sequence[Range], kept: Sequence[int]) -> RenderedDocument:
    """`render_document` for plain ranges of `text`, without marks."""
    units = [CostedUnit.whole(Unit(*span, "sentence", atomic=True), n) for n, span in enumerate(ranges)]
    return render_document(text, units, kept)


class _Builder:
    """Puts a document's text together, and notes where each part of it comes from."""

    def __init__(self, text: str) -> None:
        self._source = text
        self._parts: list[str] = []
        self._length = 0
        self._citations: list[Citation] = []
        self._marks: list[Mark] = []

    def add_source(self, start: int, end: int) -> None:
        self._citations.append(Citation(self._length, self._length + end - start, 0, start, end))
        self._add(self._source[start:end])

    def extend_source(self, end: int) -> None:
        """Go on to `end`, with the whitespace between."""
        last = self._citations.pop()
        self._citations.append(Citation(last.text_start, last.text_end + end - last.end, 0, last.start, end))
        self._add(self._source[last.end : end])

    def add_separator(self, separator: str) -> None:
        self._add(separator)

    def add_mark(self, mark: str, start: int, end: int) -> None:
        """A mark for the dropped `source[start:end]`, with line breaks around it; nothing for ""."""
        if mark:
            lead = len(mark) - len(mark.lstrip())
            at = self._length + lead
            self._marks.append(Mark(at, at + len(mark.strip()), 0, start, end))
            self._add(mark)

    def finish(self) -> RenderedDocument:
        return RenderedDocument("".join(self._parts), tuple(self._citations), tuple(self._marks))

    def _add(self, part: str) -> None:
        self._parts.append(part)
        self._length += len(part)


def join_documents(parts: Iterable[tuple[int, Document, RenderedDocument]]) -> Rendered:
    """One text of (index, document, its rendered units) with titles. Empty documents are left out."""
    texts: list[str] = []
    citations: list[Citation] = []
    marks: list[Mark] = []
    bodies: list[str] = []
    length = 0
    for index, document, body in parts:
        if not body.citations:
            continue
        head = (BETWEEN_DOCUMENTS if texts else "") + title_line(document)
        length += len(head)
        citations += (_shift(entry, index, length) for entry in body.citations)
        marks += (_shift(mark, index, length) for mark in body.marks)
        bodies.append(body.text)
        texts.append(head + body.text)
        length += len(body.text)
    return Rendered("".join(texts), tuple(citations), tuple(marks), tuple(bodies))


def _shift(entry: Shifted, doc: int, offset: int) -> Shifted:
    """The citation or mark of document `doc`, `offset` characters further on."""
    return replace(entry, doc=doc, text_start=entry.text_start + offset, text_end=entry.text_end + offset)


def title_line(document: Document) -> str:
    return f"{document.title}\n" if document.title and not document.title.isspace() else ""


def _line_start(text: str, start: int) -> int:
    """The start of the line if only blanks stand before `start`, so that code keeps its indentation."""
    first = start
    while first and text[first - 1] in " \t":
        first -= 1
    return first if not first or text[first - 1] in "\r\n" else start


def _separator(text: str, end: int, start: int) -> str:
    """The separator in place of `text[end:start]`: all of it if it is blank."""
    if not (gap := text[end:start]) or gap.isspace():
        return gap
    if text[start - 1] in "\r\n":
        return text[start - 2 : start] if text[start - 2 : start] == "\r\n" else text[start - 1]
    if "\n" in gap or "\r" in gap:
        return "\n"
    return " " if gap[:1].isspace() or gap[-1:].isspace() else ""
