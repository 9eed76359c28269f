"""HTML: web pages, lists and tables in prose, and comments in prose, which readers never see."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tersely.split.likeness import Likeness
from tersely.split.lines import Format, Lines, Range, WholeFormat
from tersely.split.markdown import WIKITEXT, find_fence_end

_PAGE = re.compile(
    r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?:(?!-->).)*+-->\s*+)*+<(?:(?P<whole>!doctype\s+html|html|head|body)"
    r"|table|div|main|article|section|aside|header|nav|p|h[1-6]|ul|ol|dl|pre|details|figure|blockquote|span|form"
    r"|center)\b",
    re.IGNORECASE | re.DOTALL,
)
_MARKDOWN = re.compile(r"^ {0,3}(?:#{1,6} |```|~~~|[-*+] |\||>)", re.MULTILINE)
"""Lines of texts that contain HTML but are not HTML."""
_BLOCK = re.compile(
    r"[^\S\n]*+(?:<\?xml[^>]*>\s*)?<(?:(?P<page>!doctype\s+html|html)|(?P<name>table|ul|ol|dl))\b",
    re.IGNORECASE,
)
_COMMENT_OR_CODE = re.compile(r"`[^`\n]*`|<!--")
_COMMENT, _COMMENT_END = "<!--", "-->"
_HEADING = re.compile(rf"^(?:#{{1,6}} +\S|{WIKITEXT}|={{1,6}} +[^\W_]|\*{{2,6}} +\S)", re.MULTILINE)
_WRAPPER = re.compile(
    r" {0,3}(?:</?(?:div|section|article|main|aside|span|a|p|center|details)\b[^<>]*>[ \t]*)++", re.IGNORECASE
)
_INNER = re.compile(r"\s+\S|<(?!span|a\b)")
"""A line of HTML, or of code."""
_STRING = re.compile(r"([\"'])<!--(?:(?!-->)[^\n])*?\1")
"""A string that opens a comment and does not close it."""
_INK = re.compile(r"[^\n]")


def find_comments(text: str) -> list[Range]:
    """Return the comments of a masked text (`lines.mask`), in order; none in fenced blocks and code spans.

    Takes time linear in the length of the text.
    """
    if _COMMENT not in text:
        return []
    lines = Lines(text)
    found: list[Range] = []
    index = position = 0
    while index < len(lines):
        starts_here = position <= lines.starts[index]
        if starts_here and (end := find_fence_end(lines, index)):
            index = end
            continue
        opening = _COMMENT_OR_CODE.search(text, max(position, lines.starts[index]), lines.end_of(index))
        if opening is None:
            index += 1
        elif end := _find_code_end(lines, index, opening):
            position = end
        elif (closing := text.find(_COMMENT_END, opening.end())) < 0:
            break
        else:
            position = closing + len(_COMMENT_END)
            found.append((opening.start(), position))
            index = lines.find(position - 1)
    return found


def find_wrappers(text: str) -> list[Range]:
    """Return the lines of a masked text that hold only tags, such as `<div>` and `<a id="x"></a>`, in order.

    In Markdown and wiki markup, which the text must be, they wrap its paragraphs and say nothing. Lines in
    fenced blocks and in paragraphs of HTML do not count.
    """
    if "</" not in text or not _HEADING.search(text):
        return []
    lines = Lines(text)
    found: list[Range] = []
    index = 0
    while (index := lines.skip_blank(index)) < len(lines):
        if end := find_fence_end(lines, index):
            index = end
            continue
        end = index + 1
        while end < len(lines) and not (lines.is_blank(end) or find_fence_end(lines, end)):
            end += 1
        rows = range(index, end)
        own = [row for row in rows if _WRAPPER.fullmatch(lines.texts[row])]
        is_html = any(_INNER.match(lines.texts[row]) for row in rows if row not in own)
        found += [] if is_html else [(lines.starts[row], lines.end_of(row)) for row in own]
        index = end
    return found


def _find_code_end(lines: Lines, index: int, found: re.Match[str]) -> int | None:
    """Return the end of a code span, or of a string in a line of code; None for a comment."""
    if found[0] != _COMMENT:
        return found.end()
    string = _STRING.match(lines.text, max(found.start() - 1, 0))
    return string.end() if string and lines.likeness(index) > Likeness.UNCLEAR else None


def blank(text: str, ranges: Sequence[Range], pattern: re.Pattern[str] = _INK) -> str:
    """Return `text` with spaces for what `pattern` finds in these ranges; by default, line breaks stay."""
    parts: list[str] = []
    done = 0
    for start, end in ranges:
        parts += [text[done:start], pattern.sub(" ", text[start:end])]
        done = end
    return "".join([*parts, text[done:]])


def _is_page(text: str) -> bool:
    """Return whether a text is a web page, or a part of one without Markdown."""
    page = _PAGE.match(text, 0, 2000)
    if page is None or page["whole"]:
        return page is not None
    return text.rstrip().endswith(">") and _MARKDOWN.search(text) is None


def _find_html_end(lines: Lines, index: int) -> int | None:
    """Return the index after the last line of a page, a list or a table; None if none starts at a line."""
    begin = _BLOCK.match(lines.text, lines.starts[index])
    if begin is None or lines.xml_budget <= 0:
        return None
    closings, name = Closings(lines.text, len(lines.text)), begin["name"]
    stop = closings.find_balanced(name, begin.end()) if name else closings.find("html", begin.end())
    if stop is None:
        lines.xml_budget -= len(lines.text) - begin.end()
        return None
    end = lines.find(stop)
    if lines.text[stop : lines.end_of(end)].strip():
        lines.xml_budget -= stop - begin.end()
        return None
    return end + 1


WHOLE_PAGE = WholeFormat("html", re.compile(r"\s*<").match, _is_page)
HTML = Format("html", _BLOCK, _find_html_end)


class Closings:
    """Finds the ends of elements and comments. A search that found nothing is not repeated."""

    def __init__(self, text: str, end: int) -> None:
        self._text = text
        self._end = end
        self._missing: set[str] = set()

    def find(self, name: str, position: int) -> int | None:
        """Return the offset after the first closing from `position` on. Call it with ascending positions."""
        if name in self._missing:
            return None
        pattern = name if name == "-->" else rf"</{name}\s*>"
        closing = re.compile(pattern, re.IGNORECASE).search(self._text, position, self._end)
        self._missing |= set() if closing else {name}
        return closing.end() if closing else None

    def find_balanced(self, name: str, position: int) -> int | None:
        """Return the offset after the element that is open at `position`."""
        depth, key = 1, f"<{name}"
        if key in self._missing:
            return None
        for tag in re.compile(rf"<(/?){name}\b", re.IGNORECASE).finditer(self._text, position, self._end):
            depth += -1 if tag[1] else 1
            if not depth:
                return self._text.find(">", tag.end(), self._end) + 1 or None
        self._missing.add(key)
        return None
