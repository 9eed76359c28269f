"""Render kept units as text. This module alone decides how documents look in a prompt.

A blank line separates documents. A title has a line of its own. Between two kept units that are
neighbours, the white space of the source stays as it is. If something was dropped between two kept units,
the separator is a blank line if there is one between them, otherwise the last line break before the second
one. The indentation of that unit stays. Without a line break, the separator is a space. If the source has no
white space there (Chinese, Japanese, Thai), there is no separator. Outside running text, and wherever a unit
was cut, a mark shows the gap (see `pack.marks`). No separator and no mark is longer than the text that it
replaces, so no compression is longer than its source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple, TypeVar

from tersely.pack.marks import (
    BLANK_LINE,
    Omission,
    are_empty,
    find_omissions,
    keep_short_runs,
    mark_after,
    mark_before,
    mark_between,
    shorten,
)
from tersely.split.documents import BETWEEN_DOCUMENTS, Split, title_line
from tersely.split.lines import line_start
from tersely.types import Citation, Document, Mark
from tersely.units import Unit

Shifted = TypeVar("Shifted", Citation, Mark)

Range = tuple[int, int]
"""(start, end) in code points of a document's text."""


class RenderedDocument(NamedTuple):
    """The kept units of one document as text."""

    text: str
    citations: tuple[Citation, ...]
    """The source of each excerpt in `text`, in order. `doc` is 0 until the documents are joined."""
    marks: tuple[Mark, ...]
    """Each mark in `text`. `doc` is 0 until the documents are joined."""


class Rendered(NamedTuple):
    """The kept units of all documents as text."""

    text: str
    citations: tuple[Citation, ...]
    marks: tuple[Mark, ...]
    bodies: tuple[str, ...]
    """Texts of the documents in `text`, without their titles."""
    starts: tuple[tuple[int, int], ...]
    """Index of each document in `text`, and the offset in `text` at which the document's text begins."""


class Renderer:
    """A renderer of the selections of one request. It caches the rendered documents.

    Args:
        count: returns the tokens of a text.
        sequence: the documents that may be in the text, in the order of the text.
        marks_everywhere: True to mark every gap.
    """

    def __init__(
        self, split: Split, count: Callable[[str], int], sequence: Sequence[int], *, marks_everywhere: bool
    ) -> None:
        self._split, self._count, self._sequence = split, count, sequence
        self._everywhere = marks_everywhere
        self._documents: dict[tuple[int, ...], RenderedDocument] = {}
        self._tokens: dict[str, int] = {}
        self._has_series = [
            any(split.units[at].link.series is not None for at in positions)
            for positions in map(split.positions, range(len(split.documents)))
        ]

    def group(self, kept: Iterable[int]) -> dict[int, list[int]]:
        """Return the kept positions by document, ascending."""
        grouped: dict[int, list[int]] = {}
        for position in sorted(kept):
            grouped.setdefault(self._split.units[position].doc, []).append(position)
        return grouped

    def complete(self, kept: frozenset[int]) -> frozenset[int]:
        """Return `kept`, and the positions of the dropped units that are shorter than the mark for them."""
        if not any(self._has_series):
            return kept
        split, completed = self._split, set(kept)
        for doc, kept_here in self.group(kept).items():
            if self._has_series[doc]:
                completed.update(keep_short_runs(split.units, split.positions(doc), kept_here))
        return frozenset(completed)

    def document(self, doc: int, kept: Sequence[int]) -> RenderedDocument:
        """Render the kept units of one document, at ascending positions."""
        key = tuple(kept)
        rendered = self._documents.get(key)
        if rendered is None:
            text, positions = self._split.documents[doc].text, self._split.positions(doc)
            rendered = render_document(
                text, self._split.units, positions, kept, marks_everywhere=self._everywhere
            )
            self._documents[key] = rendered
        return rendered

    def render(self, kept: frozenset[int]) -> Rendered:
        """Render the units at these positions."""
        grouped = self.group(kept)
        documents = self._split.documents
        kept_documents = [doc for doc in self._sequence if doc in grouped]
        return join_documents(
            (doc, documents[doc], self.document(doc, grouped[doc])) for doc in kept_documents
        )

    def measure(self, kept: frozenset[int]) -> int:
        """Return the tokens of the text of a selection."""
        grouped = self.group(kept)
        documents = self._split.documents
        return self.count(
            BETWEEN_DOCUMENTS.join(
                title_line(documents[doc]) + self.document(doc, grouped[doc]).text
                for doc in self._sequence
                if doc in grouped
            )
        )

    def count(self, text: str) -> int:
        """Return the tokens of a rendered text. Each text is counted once."""
        tokens = self._tokens.get(text)
        if tokens is None:
            tokens = self._tokens[text] = self._count(text)
        return tokens


def render_document(
    text: str, units: Sequence[Unit], document: range, kept: Sequence[int], *, marks_everywhere: bool = False
) -> RenderedDocument:
    """Render the kept units of one document.

    Args:
        text: the text of the document.
        units: all units of the request.
        document: the positions of the document's units.
        kept: the positions of its kept units, ascending.
    """
    builder = _Builder(text)
    found = find_omissions(units, document, kept)
    omissions = [own for own in found if not are_empty(text, units[own.first : own.last + 1])]
    marked_count = 0  # number of omissions that have a mark
    previous: int | None = None
    for position in kept:
        unit = units[position]
        if previous is not None and previous == position - 1:
            builder.extend_source(unit.end)
            previous = position
            continue
        marked: list[Omission] = []
        while marked_count < len(omissions) and omissions[marked_count].last < position:
            marked.append(omissions[marked_count])
            marked_count += 1
        before = None if previous is None else units[previous].end
        start = line_start(text, unit.start)
        if marked:
            _mark_omissions(builder, text, units, before, marked, start)
        elif previous is None or before is None:
            mark = mark_before(units, document, position, everywhere=marks_everywhere)
            builder.add_mark(mark, 0, start)
        elif mark := mark_between(text, units, previous, position, everywhere=marks_everywhere):
            builder.add_mark(mark, before, start)
        else:
            separator = "\n"
            if not _has_break(units, previous + 1, position):
                separator = _choose_separator(text, before, start)
                separator = separator or " " * _has_space(units, previous, position)
            builder.add(separator)
        builder.add_source(start, unit.end)
        previous = position
    if previous is not None:
        if marked_count < len(omissions):
            _mark_omissions(builder, text, units, units[previous].end, omissions[marked_count:], None)
        else:
            mark = mark_after(units, document, previous, everywhere=marks_everywhere)
            builder.add_mark(mark, units[previous].end, len(text))
    return builder.finish()


def render_ranges(text: str, ranges: Sequence[Range], kept: Sequence[int]) -> RenderedDocument:
    """Render plain ranges of `text`, without marks."""
    units = [Unit(*span, "sentence", divisible=True, parent=number) for number, span in enumerate(ranges)]
    return render_document(text, units, range(len(units)), kept)


def _has_break(units: Sequence[Unit], start: int, stop: int) -> bool:
    """Return whether a line break replaces any of the dropped units at start..stop-1."""
    return any(units[at].link.breaks for at in range(start, stop))


def _has_space(units: Sequence[Unit], first: int, last: int) -> bool:
    """Return whether white space is between tags that divide the units `first` and `last`."""
    is_divided = any(unit.link.role == "markup" for unit in units[first + 1 : last])
    return is_divided and any(left.end < right.start for left, right in pairwise(units[first : last + 1]))


def _mark_omissions(
    builder: _Builder,
    text: str,
    units: Sequence[Unit],
    before: int | None,
    omissions: Sequence[Omission],
    after: int | None,
) -> None:
    """Add the marks of `omissions`, with separators, between `text[:before]` and `text[after:]`.

    `before` is None if the text begins with the marks, and `after` is None if it ends with them.
    """
    for first, last, mark in omissions:
        start, end = line_start(text, units[first].start), units[last].end
        if before is not None:
            builder.add(_choose_separator(text, before, start))
        indent = text[start : units[first].start]
        builder.add_mark(indent + shorten(mark, end - units[first].start), start, end)
        before = end
    if after is not None and before is not None:
        builder.add(_choose_separator(text, before, after))


class _Builder:
    """A builder of a document's text, with the source of each excerpt."""

    def __init__(self, text: str) -> None:
        self._source = text
        self._texts: list[str] = []
        self._length = 0
        self._citations: list[Citation] = []
        self._marks: list[Mark] = []

    def add(self, text: str) -> None:
        """Append text without a source, such as a separator."""
        self._texts.append(text)
        self._length += len(text)

    def add_source(self, start: int, end: int) -> None:
        """Append `source[start:end]` and its citation."""
        self._citations.append(Citation(self._length, self._length + end - start, 0, start, end))
        self.add(self._source[start:end])

    def extend_source(self, end: int) -> None:
        """Continue the last excerpt up to `end`."""
        last = self._citations.pop()
        self._citations.append(Citation(last.text_start, last.text_end + end - last.end, 0, last.start, end))
        self.add(self._source[last.end : end])

    def add_mark(self, mark: str, start: int, end: int) -> None:
        """Add a mark, which may have line breaks, for the dropped `source[start:end]`. Add nothing for ""."""
        if mark:
            lead = len(mark) - len(mark.lstrip())
            at = self._length + lead
            self._marks.append(Mark(at, at + len(mark.strip()), 0, start, end))
            self.add(mark)

    def finish(self) -> RenderedDocument:
        return RenderedDocument("".join(self._texts), tuple(self._citations), tuple(self._marks))


def join_documents(rendered: Iterable[tuple[int, Document, RenderedDocument]]) -> Rendered:
    """Join (index, document, its rendered units) into one text with titles. Empty documents are left out."""
    texts: list[str] = []
    citations: list[Citation] = []
    marks: list[Mark] = []
    bodies: list[str] = []
    starts: list[tuple[int, int]] = []
    length = 0
    for index, document, body in rendered:
        if not body.citations:
            continue
        head = (BETWEEN_DOCUMENTS if texts else "") + title_line(document)
        length += len(head)
        citations += (_shift(entry, index, length) for entry in body.citations)
        marks += (_shift(mark, index, length) for mark in body.marks)
        bodies.append(body.text)
        starts.append((index, length))
        texts.append(head + body.text)
        length += len(body.text)
    return Rendered("".join(texts), tuple(citations), tuple(marks), tuple(bodies), tuple(starts))


def _shift(entry: Shifted, doc: int, offset: int) -> Shifted:
    """Return the citation or mark with the document `doc`, moved by `offset` characters."""
    return replace(entry, doc=doc, text_start=entry.text_start + offset, text_end=entry.text_end + offset)


def _choose_separator(text: str, before: int, after: int) -> str:
    """Return the separator between `text[:before]` and `text[after:]`: the whole gap if it is white space."""
    if not (gap := text[before:after]) or gap.isspace():
        return gap
    if paragraph := BLANK_LINE.search(gap):
        return paragraph[1] * 2
    if gap.endswith("\r\n"):
        return "\r\n"
    if gap[-1] in "\r\n":
        return gap[-1]
    if "\n" in gap or "\r" in gap:
        return "\n"
    return " " if gap[:1].isspace() or gap[-1:].isspace() else ""
