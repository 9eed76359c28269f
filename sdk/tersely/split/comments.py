"""HTML comments in prose: readers of the page never see them, so they are no content."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from tersely.split.code import Fences
from tersely.split.lines import Lines

Range = tuple[int, int]
"""(start, end) in code points."""

_OPENING = re.compile(r"`[^`\n]*`|<!--")
_CLOSING = "-->"
_INK = re.compile(r"[^\n]")


def find_comments(text: str) -> list[Range]:
    """The comments of a masked text (`lines.mask`), in order; none in fenced blocks and in code spans.

    What is not closed is no comment. Takes time linear in the length of the text.
    """
    if "<!--" not in text or _CLOSING not in text:
        return []
    lines = Lines(text)
    fences = Fences(lines)
    found: list[Range] = []
    index = position = 0
    while index < len(lines):
        starts_here = position <= lines.starts[index]
        if starts_here and (end := fences.find_end(index)):
            index = end
            continue
        opening = _OPENING.search(text, max(position, lines.starts[index]), lines.end_of(index))
        if opening is None:
            index += 1
        elif opening[0] != "<!--":
            position = opening.end()
        elif (closing := text.find(_CLOSING, opening.end())) < 0:
            break
        else:
            position = closing + len(_CLOSING)
            found.append((opening.start(), position))
            index = bisect_right(lines.starts, position - 1) - 1
    return found


def blank(text: str, ranges: Sequence[Range]) -> str:
    """`text` with spaces in these ranges; line breaks stay."""
    parts: list[str] = []
    done = 0
    for start, end in ranges:
        parts += [text[done:start], _INK.sub(" ", text[start:end])]
        done = end
    return "".join([*parts, text[done:]])
