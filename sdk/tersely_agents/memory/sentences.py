"""Sentences of messages: where they are, which of them ask, and how many fit."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable

from tersely.split.sentences import split_units
from tersely_agents.memory.values import MONTH

Range = tuple[int, int]
"""Start and end of a part of a text."""

_ORDINAL = re.compile(r"(?<![\w.,/-])\d{1,2}\.\s*\Z")
_STARTS_WITH_MONTH = re.compile(rf"\s*{MONTH}\b", re.IGNORECASE)
"""A German date that was taken for the end of a sentence, as in "am 19. Juni"."""
_QUESTION_MARKS = ("?", "？")
_MARK = "…"
"""End of a sentence that was cut."""
_SPACE = re.compile(r"\s+")


def find_sentences(text: str) -> list[Range]:
    """Return the sentences of a text. German dates stay whole."""
    sentences: list[Range] = []
    begin: int | None = None
    for unit in split_units(text):
        begin = unit.start if begin is None else begin
        if _ORDINAL.search(text[begin : unit.end]) and _STARTS_WITH_MONTH.match(text, unit.end):
            continue
        sentences.append((begin, unit.end))
        begin = None
    return sentences


def find_questions(text: str) -> list[Range]:
    """Return the sentences of a text that end with a question mark."""
    return [
        (start, end)
        for start, end in find_sentences(text)
        if text[start:end].rstrip().endswith(_QUESTION_MARKS)
    ]


def cut_sentences(text: str, limit: int, count: Callable[[str], int]) -> str:
    """Return as many sentences from the beginning as fit. If the first does not fit, return its first words
    and a mark."""
    ends = [end for _, end in find_sentences(text)] or [len(text)]
    fitting = bisect_right(ends, limit, key=lambda end: count(text[:end]))
    if fitting:
        return text[: ends[fitting - 1]]
    words = [space.start() for space in _SPACE.finditer(text, 0, ends[0])]
    for places in (words, range(ends[0])):  # a first word that does not fit is cut
        fitting = bisect_right(places, limit, key=lambda end: count(_cut(text, end)))
        if fitting:
            return _cut(text, places[fitting - 1])
    return ""


def _cut(text: str, end: int) -> str:
    """Return the text up to `end`, with a mark."""
    begin = text[:end].rstrip()
    return f"{begin} {_MARK}" if text[end : end + 1].isspace() else begin + _MARK
