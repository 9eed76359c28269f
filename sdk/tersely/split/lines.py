"""The lines of a text: where each starts, how far it is indented and how much it looks like code."""

from __future__ import annotations

import re

from tersely.split.likeness import Likeness, rate_line

_UNSAFE = re.compile("[\x00\ud800-\udfff]")
_LINE_BREAKS = re.compile("\r(?!\n)|[\x0b\x0c\x85\u2028\u2029]")


def mask(text: str) -> str:
    """`text` without NULs and lone surrogates, with `\\n` as its only line break and the same offsets."""
    text = _UNSAFE.sub("\ufffd", text).replace("\r\n", " \n")
    return _LINE_BREAKS.sub("\n", text)


LONGEST_ITEM = 600
"""Code points above which a list item, a log entry or a heading is prose: it is a paragraph with a label."""


class Lines:
    """The lines of a masked text. Indents and likenesses are computed once.

    Attributes:
        text: the whole text.
        texts: the lines, without their line breaks.
        starts: the offset of each line in the text, in code points.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.texts = text.split("\n")
        self.starts: list[int] = []
        start = 0
        for line in self.texts:
            self.starts.append(start)
            start += len(line) + 1
        self._indents: list[int | None] = [None] * len(self.texts)
        self._likenesses: list[Likeness | None] = [None] * len(self.texts)

    def __len__(self) -> int:
        return len(self.texts)

    def end_of(self, index: int) -> int:
        """Offset behind the last code point of a line, without its line break."""
        return self.starts[index] + len(self.texts[index])

    def is_short(self, first: int, end: int) -> bool:
        """Whether the lines first..end-1 have at most `LONGEST_ITEM` code points."""
        return self.end_of(end - 1) - self.starts[first] <= LONGEST_ITEM

    def is_blank(self, index: int) -> bool:
        line = self.texts[index]
        return not line or line.isspace()

    def indent(self, index: int) -> int:
        """Columns of whitespace in front of a line; a tab reaches the next multiple of 4."""
        known = self._indents[index]
        if known is None:
            line = self.texts[index]
            known = self._indents[index] = len(line[: len(line) - len(line.lstrip())].expandtabs(4))
        return known

    def likeness(self, index: int) -> Likeness:
        """How much a line looks like code."""
        known = self._likenesses[index]
        if known is None:
            known = self._likenesses[index] = rate_line(self.texts[index])
        return known
