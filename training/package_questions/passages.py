"""Passages of a text: whole blocks up to a size, cut at headings and blank lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tersely.metrics import Range

PASSAGE = 1500
"""Maximum number of characters of a passage."""

SMALL = 300
"""Smallest number of characters of a passage that a heading ends."""

_BLOCK = re.compile(r"[^\n]*\S[^\n]*(?:\n[^\n]*\S[^\n]*)*")
"""Lines without a blank line between them."""

_FENCE = re.compile(r"^[ ]{0,3}(?:```|~~~)", re.MULTILINE)
_HASHES = re.compile(r"#{1,6}[ \t]+(.+)")
_UNDERLINED = re.compile(r"(?:([=\-~^\"'*+#])\1{2,}\n)?[ ]?(\S.*)\n([=\-~^\"'*+#])\3{2,}[ \t]*(?:\n|$)")


@dataclass(frozen=True, slots=True)
class TextPassage:
    start: int
    text: str
    heading: str | None
    """The last heading at or above its start."""

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    def find_spans(self, ranges: Sequence[Range]) -> list[Range]:
        """Return the parts of these ranges of the text that are in the passage, relative to its start."""
        spans: list[Range] = []
        for a, b in ranges:
            start, end = max(a - self.start, 0), min(b - self.start, len(self.text))
            inside = self.text[start:end] if start < end else ""
            if inside.strip():
                start += len(inside) - len(inside.lstrip())
                spans.append((start, start + len(inside.strip())))
        return spans


def split_text(text: str, marks_headings: bool) -> list[TextPassage]:
    """Split a text into passages. `marks_headings`: whether it is in Markdown or reStructuredText."""
    passages: list[TextPassage] = []
    heading = above = None
    start = end = -1
    fences = 0

    def close() -> None:
        if start >= 0:
            passages.append(TextPassage(start, text[start:end], above))

    for match in _BLOCK.finditer(text):
        found = _find_heading(match[0]) if marks_headings and fences % 2 == 0 else None
        fences += len(_FENCE.findall(match[0]))
        heading = found or heading
        for a, b in _cut(text, *match.span()):
            starts_section = found and a == match.start() and end - start >= SMALL
            if start < 0 or starts_section or b - start > PASSAGE:
                close()
                start, above = a, heading
            end = b
    close()
    return passages


def _find_heading(block: str) -> str | None:
    """Return the heading that a block begins with, if it does."""
    hashes = _HASHES.match(block)
    if hashes:
        return hashes[1].strip(" \t#")
    underlined = _UNDERLINED.match(block)
    return underlined[2].strip() if underlined else None


def _cut(text: str, start: int, end: int) -> Iterator[Range]:
    """Yield the parts of a block that fit a passage, cut after a line, else a sentence, else a word."""
    while end - start > PASSAGE:
        limit = start + PASSAGE
        cuts = (text.rfind(mark, start + SMALL, limit) for mark in ("\n", ". ", " "))
        cut = next((at + 1 for at in cuts if at >= 0), limit)
        yield start, cut
        start = cut
    yield start, end
