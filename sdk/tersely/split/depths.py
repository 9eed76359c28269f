"""Depths of the headings of a text."""

from __future__ import annotations

import re

from tersely.split.counted_titles import NUMBER, SERIES, is_second_line, read_division
from tersely.split.dates import DATE, is_version
from tersely.split.markers import CLAUSE
from tersely.split.places import ADMONITION, Place
from tersely.split.titles import BACK_MATTER, CARGO, is_question, is_stamped

_HASHES = re.compile(r"\s*(#{1,6})")
_SIGNED = re.compile(r"(={1,6})(?: .*|[^=](?:.*[^=])?\1)")
"""A heading after equals signs (AsciiDoc) or between them (wikitext): the more signs, the deeper."""
_MARKDOWN_STYLES = ("\n=", "\n-")
"""The signs below headings in Markdown, from the outermost. A text that begins with `# a` is Markdown."""
_STARRED = re.compile(r"(\*{1,6}) (?!.*\*$)")
"""The stars before a heading of Org mode."""
_LATEX_LEVELS = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph", "subparagraph")
_COMMANDS = (*_LATEX_LEVELS, "head1", "head2", "head3", "head4", "head5", "head6", "item")
"""Commands of LaTeX and POD that begin headings, from the outermost."""
_COMMAND = re.compile(rf"[\\=]({'|'.join(_COMMANDS)})\b")
_TRAILED = re.compile(r"(\w+)\b.* [*=#~]{5,}")
"""A heading before a row of signs, as Ansible prints it for each PLAY and TASK."""
_RULED, RULED_DEPTH, COUNTED_DEPTH, NUMBERED_DEPTH, PLAIN_DEPTH = 1, 8, 14, 20, 26
"""Smallest depths of headings: underlined ones, lines like `--- a ---`, words with a number, numbered ones,
other titles."""
_INNER_TITLE, _QUESTION, _NOTE = 34, 40, 41
"""Depths of titles below one in capitals or right above a paragraph, of questions, and of a line `Note`."""
_AFTER_SIGNS = ("<", "[", " ")
"""Characters that may follow the signs at the start of a heading such as `---< a >---` or `--- a ---`."""
_MAX_OFFSET = 5
"""Largest number that a number or a sign adds to such a depth."""
_STEP, _INNER_STEPS, _MOST_STEPS = 0.5, 6, 10
"""Depth added by each further counted word; steps before the smallest divisions; largest number of steps."""
_MANY_SIGNS = 5
"""This many signs or more only fill a line. With fewer, `*** a ***` and `** b **` differ in depth."""


class Depths:
    """Depths of the headings of one text.

    Signs mark some headings: a row of signs below, or a few before the text. A kind of sign that occurs for
    the first time marks a deeper heading than the kinds that occurred earlier.
    """

    def __init__(self) -> None:
        self._styles: list[str] = []
        self._words: dict[str, float] = {}
        """The depth of titles by their counted word, such as `Part`; dates are under "date"."""
        self._inner: list[str] = []
        """The words of the smallest divisions, such as `§`."""
        self._last_counted: float | None = None
        self._first_word: str | None = None
        self._capital_depth: int | None = None

    def find(self, place: Place, text: str) -> float:
        """Return the depth of the heading at `place` in a text, from its number or its signs.

        It is 0 for the title of a record with more blank lines above it than inside.
        """
        if place.is_apart:
            return 0
        text = text[place.block.start : place.block.end].strip()
        if text[0] == "|":
            return PLAIN_DEPTH + len(text) - len(text.lstrip("|"))
        if hashes := _HASHES.match(text):
            if not self._styles:
                self._styles += _MARKDOWN_STYLES
            return len(hashes[1])
        if signed := _SIGNED.fullmatch(text.rsplit("\n", 1)[-1]):
            return len(signed[1])
        if starred := _STARRED.match(text):
            return len(starred[1])
        if command := _COMMAND.match(text):
            return _COMMANDS.index(command[1])
        if trailed := _TRAILED.fullmatch(text):
            self._first_word = self._first_word or trailed[1]
            return RULED_DEPTH + (trailed[1] != self._first_word)
        numbered = None if is_version(place.line) else CLAUSE.match(text)
        if ADMONITION.fullmatch(text):
            return _NOTE
        if is_stamped(text) or (is_question(text) and not (numbered and "." in numbered["number"])):
            return _QUESTION
        if CARGO.match(place.line):
            return _RULED
        if "\n" not in text and (depth := self._find_counted(place, text)):
            return depth
        if numbered:
            return NUMBERED_DEPTH + min(_MAX_OFFSET, numbered["number"].count("."))
        rule = text.rsplit("\n", 1)[-1].strip()[:1]
        if "\n" in text and not rule.isalnum():
            # If a heading such as `--- a ---` came first, underlined headings are inside its section.
            style = "\n" + rule + text[0] * (not text[0].isalnum())
            offset = self._find_style(style)
            is_inside = any(other[0] != "\n" for other in self._styles[: self._styles.index(style)])
            return offset + (RULED_DEPTH if is_inside else _RULED)
        if BACK_MATTER.fullmatch(text):
            return NUMBERED_DEPTH
        if self._last_counted and place.above and is_second_line(text, place.above.line):
            return self._last_counted + _STEP / 2
        if text[0].isalnum():
            below = place.below
            if below and below.kind == "heading" and CLAUSE.match(below.line) and not is_version(below.line):
                return NUMBERED_DEPTH - 1
            if text.isupper():
                self._capital_depth = PLAIN_DEPTH
                return PLAIN_DEPTH
            if text.endswith(":"):
                return PLAIN_DEPTH - 1  # a label is above other titles
            is_tight = place.below is not None and place.below.run == place.run
            return _INNER_TITLE if is_tight or self._capital_depth is not None else PLAIN_DEPTH
        bracket = text.lstrip(text[0])[:1]  # `---< module >---` and `--- goal ---` differ
        signs = len(text) - len(text.lstrip(text[0]))
        style = text[0] * min(signs, _MANY_SIGNS) + (bracket if bracket in _AFTER_SIGNS else " ")
        return RULED_DEPTH + self._find_style(style)

    def _find_counted(self, place: Place, text: str) -> float | None:
        """Return the depth of a title such as `Part A` or of a date; None if it is neither.

        The smallest divisions are inside all others, although an excerpt may begin with one. A section
        right above an article is not one of them.
        """
        division, series = read_division(text), SERIES.match(text)
        if division and division.word == NUMBER:
            self._last_counted = NUMBERED_DEPTH + text.strip(" .").count(".")
            return self._last_counted
        word = division.word if division else series["word"].casefold() if series else ""
        word = "date" if DATE.fullmatch(text) else word
        if not word:
            return None
        if word not in self._words:
            # They are inside the sections that titles in capitals begin, if these came first.
            base = COUNTED_DEPTH if self._capital_depth is None else self._capital_depth + 1
            is_inner = division is not None and division.is_inner
            order = _INNER_STEPS + len(self._inner) if is_inner else len(self._words) - len(self._inner)
            if is_inner and _is_outer(place, word):
                order = _INNER_STEPS - 1
            self._inner += [word] * is_inner
            self._words[word] = base + min(_MOST_STEPS, order) * _STEP
        self._last_counted = self._words[word]
        return self._last_counted

    def _find_style(self, style: str) -> int:
        """Return how many styles occurred before this one, at most `_MAX_OFFSET`."""
        if style not in self._styles:
            self._styles.append(style)
        return min(_MAX_OFFSET, self._styles.index(style))


def _is_outer(place: Place, word: str) -> bool:
    """Return whether a smaller division with another word is right below a division, or below its title."""
    below = place.below
    if below and below.kind == "heading" and not read_division(below.line):
        below = below.below
    division = read_division(below.line) if below and below.kind == "heading" else None
    return division is not None and division.is_inner and division.word != word
