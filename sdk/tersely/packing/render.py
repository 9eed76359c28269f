"""Render kept units as text. This module alone decides how documents look in a prompt.

A blank line separates documents. A title has a line of its own. Between two kept neighbours stands the source
text, byte for byte. Where something was dropped between two kept units, the separator is the last line break
before the second unit, with its indentation; a space if there is no line break; and nothing if the source
has no whitespace there (Chinese, Japanese, Thai). No separator is longer than the text it replaces, so no
compression is longer than its source.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tersely.text.sentences import Unit
from tersely.types import Citation, Document

BETWEEN_DOCUMENTS = "\n\n"

Range = tuple[int, int]
"""(start, end) in code points of a document's text."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """Kept units as text."""

    text: str
    citations: tuple[Citation, ...]
    """Where each part of `text` comes from, in its order."""
    bodies: list[str]
    """The text of each document in it, without the title."""


def render_documents(
    documents: Sequence[Document],
    units: Sequence[Sequence[Unit]],
    kept: Sequence[Sequence[int]],
    sequence: Sequence[int],
) -> Rendered:
    """The kept units of the documents in `sequence`, in that order.

    `kept` holds, per document, ascending positions among its `units`.
    """
    present = [doc for doc in sequence if kept[doc]]
    parts = [
        render_document(documents[doc].text, [(u.start, u.end) for u in units[doc]], kept[doc])
        for doc in present
    ]
    text, citations = join_documents(
        (doc, documents[doc], body, own) for doc, (body, own) in zip(present, parts, strict=True)
    )
    return Rendered(text, citations, [body for body, _ in parts])


def render_document(text: str, units: Sequence[Range], kept: Iterable[int]) -> tuple[str, list[Citation]]:
    """The kept units of one document as text, and where each part of it comes from (as document 0).

    `kept` holds ascending positions in `units`, which are sorted ranges of `text`.
    """
    parts: list[str] = []
    citations: list[Citation] = []
    length = 0
    previous = -2
    for index in kept:
        start, end = units[index]
        if index == previous + 1:
            start = units[previous][1]  # the whitespace between neighbours is source text too
        else:
            start = _line_start(text, start)
            separator = _separator(text, units[previous][1], start) if citations else ""
            parts.append(separator)
            length += len(separator)
        if index == previous + 1 and citations:
            last = citations.pop()
            citations.append(Citation(last.text_start, last.text_end + end - start, 0, last.start, end))
        else:
            citations.append(Citation(length, length + end - start, 0, start, end))
        parts.append(text[start:end])
        length += end - start
        previous = index
    return "".join(parts), citations


def join_documents(
    parts: Iterable[tuple[int, Document, str, Sequence[Citation]]],
) -> tuple[str, tuple[Citation, ...]]:
    """One text of (index, document, body, citations of the body) with titles. Empty bodies are left out."""
    texts: list[str] = []
    citations: list[Citation] = []
    length = 0
    for index, document, text, own in parts:
        if not own:
            continue
        head = (BETWEEN_DOCUMENTS if texts else "") + title_line(document)
        length += len(head)
        citations.extend(
            Citation(length + p.text_start, length + p.text_end, index, p.start, p.end) for p in own
        )
        texts.append(head + text)
        length += len(text)
    return "".join(texts), tuple(citations)


def title_line(document: Document) -> str:
    return f"{document.title}\n" if document.title and not document.title.isspace() else ""


def _line_start(text: str, start: int) -> int:
    """The start of the line if only blanks stand before `start`, so that code keeps its indentation."""
    first = start
    while first and text[first - 1] in " \t":
        first -= 1
    return first if not first or text[first - 1] in "\r\n" else start


def _separator(text: str, end: int, start: int) -> str:
    """The separator in place of the dropped `text[end:start]`."""
    if text[start - 1] in "\r\n":
        return text[start - 2 : start] if text[start - 2 : start] == "\r\n" else text[start - 1]
    gap = text[end:start]
    if "\n" in gap or "\r" in gap:
        return "\n"
    return " " if gap[:1].isspace() or gap[-1:].isspace() else ""
