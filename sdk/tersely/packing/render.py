"""Kept units -> text. The one place that decides how documents look in a prompt.

Documents are separated by a blank line; a title stands on a line of its own. Between two kept units that
are neighbours stands what stands there in the source, byte for byte. Where something was dropped between
them stands the last line break before the second one, with its indentation; without a line break a space;
and nothing at all where the source has no whitespace either (Chinese, Japanese, Thai). No separator is
longer than what it replaces, so no compression is longer than its source.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tersely.types import Citation, Document

BETWEEN_DOCUMENTS = "\n\n"

Range = tuple[int, int]
"""(start, end) in code points of a document's text."""


def body(text: str, units: Sequence[Range], kept: Iterable[int]) -> tuple[str, list[Citation]]:
    """The kept units of one document as text, and where each piece of it comes from (document 0, offset 0).

    `kept` holds ascending positions in `units`, which are sorted ranges of `text`.
    """
    parts: list[str] = []
    pieces: list[Citation] = []
    length = 0
    previous = -2
    for index in kept:
        start, end = units[index]
        if index == previous + 1:
            start = units[previous][1]  # the whitespace between neighbours belongs to the piece
        else:
            start = _line_start(text, start)
            separator = _separator(text, units[previous][1], start) if pieces else ""
            parts.append(separator)
            length += len(separator)
        if index == previous + 1 and pieces:
            last = pieces.pop()
            pieces.append(Citation(last.text_start, last.text_end + end - start, 0, last.start, end))
        else:
            pieces.append(Citation(length, length + end - start, 0, start, end))
        parts.append(text[start:end])
        length += end - start
        previous = index
    return "".join(parts), pieces


def join(parts: Iterable[tuple[int, Document, str, Sequence[Citation]]]) -> tuple[str, tuple[Citation, ...]]:
    """Bodies with their document's index and title as one text. Empty bodies are left out."""
    texts: list[str] = []
    pieces: list[Citation] = []
    length = 0
    for index, document, text, own in parts:
        if not own:
            continue
        head = (BETWEEN_DOCUMENTS if texts else "") + title_line(document)
        length += len(head)
        pieces.extend(
            Citation(length + p.text_start, length + p.text_end, index, p.start, p.end) for p in own
        )
        texts.append(head + text)
        length += len(text)
    return "".join(texts), tuple(pieces)


def title_line(document: Document) -> str:
    return f"{document.title}\n" if document.title and not document.title.isspace() else ""


def _line_start(text: str, start: int) -> int:
    """`start`, or the start of its line if only blanks stand before it: code keeps its indentation."""
    first = start
    while first and text[first - 1] in " \t":
        first -= 1
    return first if not first or text[first - 1] in "\r\n" else start


def _separator(text: str, end: int, start: int) -> str:
    """What replaces the dropped `text[end:start]`; `start` is at the indentation if the line begins there."""
    if text[start - 1] in "\r\n":
        return text[start - 2 : start] if text[start - 2 : start] == "\r\n" else text[start - 1]
    gap = text[end:start]
    if "\n" in gap or "\r" in gap:
        return "\n"
    return " " if gap[:1].isspace() or gap[-1:].isspace() else ""
