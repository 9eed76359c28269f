"""Find code: fenced blocks, front matter and unfenced runs of program text.

Each recogniser takes lines and the index where a block may start. It returns the index after the block's last
line, or None if no block starts there.
"""

from __future__ import annotations

import re

from tersely.split.likeness import Likeness, is_code
from tersely.split.lines import Lines
from tersely.split.wrapping import QUOTE

LONGEST_RUN = 80
"""Lines after which an unfenced code block is cut, so that a source file is not one unit."""

_FENCE = re.compile(r" {0,8}(`{3,}|~{3,})([^`\n]*)$")


class Fences:
    """Finds fenced code blocks in linear time: it knows for each line which closing fences follow."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        has_fences = "```" in lines.text or "~~~" in lines.text
        self._ahead = self._find_closing_fences() if has_fences else None

    def find_end(self, index: int) -> int | None:
        """End of the fenced block that starts at `index`."""
        texts = self._lines.texts
        if self._ahead is None or not (opening := _FENCE.match(texts[index])):
            return None
        mark = opening[1]
        if self._ahead[index + 1][mark[0] == "~"] < len(mark):
            # No fence closes it: the text ends inside the block, or starts inside it and this line closes it.
            rest = index + 1
            while rest < len(texts) and not self._lines.is_blank(rest):
                rest += 1
            return rest if opening[2].strip() and rest > index + 1 else index + 1
        end = index + 1
        while not self._closes(end, mark):
            end += 1
        return end + 1

    def _closes(self, index: int, mark: str) -> bool:
        fence = _FENCE.match(self._lines.texts[index])
        return fence is not None and fence[1].startswith(mark) and not fence[2].strip()

    def _find_closing_fences(self) -> list[tuple[int, int]]:
        """For each line, the length of the longest closing fence at or after it: of backticks, of tildes."""
        ahead = [(0, 0)]
        for line in reversed(self._lines.texts):
            fence = _FENCE.match(line)
            ticks, tildes = ahead[-1]
            if fence and not fence[2].strip():
                length = len(fence[1])
                if line.lstrip()[0] == "`":
                    ticks = max(ticks, length)
                else:
                    tildes = max(tildes, length)
            ahead.append((ticks, tildes))
        ahead.reverse()
        return ahead


def find_quoted_end(lines: Lines, index: int) -> int | None:
    """End of a fenced block or a table in a block quote, with the marker of the quote on each line."""
    marker = QUOTE.match(lines.texts[index])
    if marker is None:
        return None
    body = lines.texts[index][marker.end() :]
    opening = _FENCE.match(body)
    if opening is None and not body.lstrip().startswith("|"):
        return None
    end = index + 1
    while end < len(lines) and (marker := QUOTE.match(lines.texts[end])):
        body = lines.texts[end][marker.end() :]
        if opening is None and not body.lstrip().startswith("|"):
            break
        end += 1
        closing = _FENCE.match(body)
        if opening and closing and closing[1].startswith(opening[1]) and not closing[2].strip():
            break
    return end if end - index >= 2 else None


def find_front_matter_end(lines: Lines, index: int) -> int | None:
    """End of the settings between two lines `---` with which a document starts."""
    if index or lines.texts[0].rstrip() != "---":
        return None
    for end in range(1, min(len(lines), LONGEST_RUN)):
        if lines.texts[end].rstrip() == "---":
            return end + 1 if end > 1 else None
        if lines.likeness(end) is Likeness.PROSE:
            return None
    return None


def find_code_end(lines: Lines, index: int) -> int | None:
    """End of a run of unfenced code. After blank lines it continues as long as it is indented more deeply."""
    if lines.likeness(index) is Likeness.PROSE:
        return None
    base = lines.indent(index)
    end = _find_run_end(lines, index, index, base)
    kinds = [lines.likeness(line) for line in range(index, end)]
    if not is_code(kinds, indented=base >= 4):
        return None
    while end - index < LONGEST_RUN:
        following = end
        while following < len(lines) and lines.is_blank(following):
            following += 1
        if following == len(lines) or lines.indent(following) <= base:
            break
        longer = _find_run_end(lines, following, index, base + 1)
        kinds = [lines.likeness(line) for line in range(following, longer)]
        if kinds.count(Likeness.PROSE) * 2 > len(kinds) or max(kinds) < Likeness.MAYBE:
            break
        end = longer
    return end


def _find_run_end(lines: Lines, index: int, first: int, indent: int) -> int:
    """End of the non-blank lines from `index` on that are indented by at least `indent`.

    The run ends at a fence and `LONGEST_RUN` lines after `first`. It has at least one line.
    """
    end = index
    while end < len(lines) and end - first < LONGEST_RUN and not lines.is_blank(end):
        if lines.indent(end) < indent or _FENCE.match(lines.texts[end]):
            break
        end += 1
    return max(end, index + 1)
