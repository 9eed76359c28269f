"""Lines that continue in the lines below them.

Five kinds of lines continue: a line that ends in a backslash, a folded field of a vCard or a calendar, a name
with a string of several lines, as in catalogues of translations, a line that names the values below it, and
the option of a command with its description below it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tersely.split.lines import LONGEST_LINE, Lines, Range, skip_while
from tersely.split.prose import is_prose
from tersely.split.rows import VALUE

_BACKSLASH = re.compile(r"[^\w\\]\\[ \r]?\Z")
"""A single backslash at the end of a line, but not right after a letter or a digit, where it ends a Windows
path or is a hard line break of Markdown."""
_WORD = re.compile(r"\w")
_STRING = r'"(?:[^"\\\n]|\\.)*"[ \t\r]*$'
_NAMED = re.compile(rf"[ \t]*[^\W\d_][\w.\[\]-]*[ \t]+{_STRING}", re.MULTILINE)
_QUOTED = re.compile(rf"[ \t]*{_STRING}", re.MULTILINE)
_FIELD = re.compile(r"[A-Za-z][\w.-]*(?:;[^:\n]*)?:")
OPTION = re.compile(r"\s*--?[A-Za-z?]")
"""The name of a command's option. Options are never heads of each other, whatever their indents."""
_TWO_OPTIONS = re.compile(rf"^{OPTION.pattern}.*\n(?:.*\n)*?{OPTION.pattern}", re.MULTILINE)
_DESCRIBED = re.compile(r"\s*-.*?\S {2,}(?=\S)")
"""An option, and the gap before its description."""
_LONGEST_OPTION = 400
"""Largest number of code points of an option with its description, not counting indentation."""
_FOLDED = re.compile(r"[ \t]\s*\S")


def find_continued_end(lines: Lines, index: int) -> int | None:
    """Return the index after the lines that continue a line; None if no line does."""
    if is_continued(lines.texts[index]):
        end = min(skip_while(lines, index, is_continued) + 1, lines.find_blank(index))
    elif OPTION.match(lines.texts[index]):
        end = _find_option_end(lines, index)
    elif _has_values_below(lines.texts[index : index + 2]):
        end = index + 2
    elif _NAMED.fullmatch(lines.texts[index]):
        end = skip_while(lines, index + 1, _QUOTED.match)
    elif _FIELD.match(lines.texts[index]) and index in lines.enclosed:
        end = skip_while(lines, index + 1, _FOLDED.match)
    else:
        return None
    return end if end > index + 1 else None


def _find_option_end(lines: Lines, index: int) -> int:
    """Return the index after an option and the deeper lines below it, or after its line if that is too long.

    A text has several options. In a description, an option may begin a line too.
    """
    end, size = index + 1, len(lines.texts[index].strip())
    depth = lines.indent(end) if end < len(lines) else 0
    described = _DESCRIBED.match(lines.texts[index].expandtabs(4))
    if depth and OPTION.match(lines.texts[end]) and not (described and described.end() == depth):
        return end  # an option that is indented more
    is_described = lines.has(_TWO_OPTIONS) and depth > lines.indent(index)
    while is_described and size <= _LONGEST_OPTION and end < len(lines) and not lines.is_blank(end):
        is_next = OPTION.match(lines.texts[end]) and lines.indent(end) < depth
        if is_next or lines.indent(end) <= lines.indent(index):
            break
        size += len(lines.texts[end].strip())
        end += 1
    return end if size <= _LONGEST_OPTION else index + 1


def _has_values_below(texts: Sequence[str]) -> bool:
    """Return whether a line such as `RX: bytes errors` names the values in the line below it."""
    label, *names = texts[0][:LONGEST_LINE].split() or [""]
    values = texts[-1][:LONGEST_LINE].split()
    is_named = label.endswith(":") and len(texts) == 2 <= len(names) == len(values)
    return is_named and all(map(VALUE.fullmatch, values)) and not any(map(VALUE.fullmatch, names))


def is_continued(line: str) -> bool:
    """Return whether a line ends in a backslash that continues it in the line below."""
    if not (_BACKSLASH.search(line, max(0, len(line) - 3)) and _WORD.search(line)):
        return False
    return line.rstrip()[-2:-1].isspace() or not is_prose(line.rstrip()[:-1])


def join_continued(text: str, lines: Sequence[Range], longest: int) -> Iterator[Range]:
    """Join each line with the lines that continue it, and yield the ranges.

    A joined range has at most `longest` code points. Ranges of single lines may have more.
    """
    start: int | None = None
    for number, (left, right) in enumerate(lines):
        first = left if start is None else start
        below = lines[number + 1 : number + 2]
        goes_on = below and below[0][1] - first <= longest and is_continued(text[left:right].rstrip("\r\n"))
        start = first if goes_on else None
        if not goes_on:
            yield first, right
