"""XML: elements that fill whole lines, with their prolog.

A scanner finds where a block ends, in one pass over its tags. Expat then verifies the block. An HTML
element is not XML, unless it says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple
from xml.parsers import expat

from tersely.split.lines import Format, Lines, WholeFormat

Sort = Literal["open", "close", "empty", "comment", "data", "other"]

_NAME = r"[^\s<>/=!?\"'&;,()]+"
_TAG = re.compile(
    rf"<(?P<close>/)?(?P<name>{_NAME})(?P<attributes>(?:\s++{_NAME}\s*+=\s*+(?:\"[^\"<]*+\"|'[^'<]*+'))*+)"
    r"\s*+(?P<empty>/)?>"
)
_DOCTYPE = re.compile(
    r"<!DOCTYPE(?:\"[^\"]*+\"|'[^']*+'|[^\[>\"'])*+"
    r"(?:\[(?:\"[^\"]*+\"|'[^']*+'|<!--(?:(?!-->).)*+-->|<\?(?:(?!\?>).)*+\?>|<(?!!--|\?)|[^\]\"'<])*+\]\s*+)?>",
    re.DOTALL,
)
_ENCLOSED: tuple[tuple[str, str, Sort], ...] = (
    ("<!--", "-->", "comment"),
    ("<![CDATA[", "]]>", "data"),
    ("<?", "?>", "other"),
)
_START = re.compile(rf"[^\S\n]*+<(?:\?xml\s|!DOCTYPE\s|{_NAME}[\s/>])")
_NAMESPACE = re.compile(r"\sxmlns(?::[\w.-]+)?\s*=")
_HTML = frozenset(
    """
    a abbr address article aside audio b blockquote body br button canvas caption center cite code col
    dd del details dfn div dl dt em embed fieldset figcaption figure font footer form h1 h2 h3 h4 h5 h6
    head header hr html i iframe img input ins kbd label legend li link main mark meta nav noscript
    object ol optgroup option p picture pre q s samp script section select small source span strong
    style sub summary sup table tbody td template textarea tfoot th thead time title tr tt u ul var
    video wbr
    """.split()  # noqa: SIM905
)


class Token(NamedTuple):
    """A piece of markup in `text[start:end]`. Processing instructions and a DOCTYPE are "other"."""

    sort: Sort
    start: int
    end: int
    name: str = ""
    attributes: str = ""


def scan(text: str, start: int, end: int) -> Iterator[Token]:
    """Yield the markup of an XML text. Stop at anything that is not markup, because the rest is not XML."""
    while (at := text.find("<", start, end)) >= 0:
        token = _read_token(text, at, end)
        if token is None:
            return
        yield token
        start = token.end


def _read_token(text: str, at: int, end: int) -> Token | None:
    if tag := _TAG.match(text, at, end):
        sort: Sort = "close" if tag["close"] else "empty" if tag["empty"] else "open"
        return Token(sort, at, tag.end(), tag["name"], tag["attributes"])
    for opening, closing, sort in _ENCLOSED:
        if text.startswith(opening, at):
            stop = text.find(closing, at + len(opening), end)
            return Token(sort, at, stop + len(closing)) if stop >= 0 else None
    doctype = _DOCTYPE.match(text, at, end)
    return Token("other", at, doctype.end()) if doctype else None


def is_xml(text: str) -> bool:
    """Return whether a text is a well-formed XML document."""
    parser = expat.ParserCreate("utf-8")
    parser.DefaultHandler = lambda _: None  # entities are not expanded
    try:
        parser.Parse(text.encode("utf-8"), True)
    except (expat.ExpatError, UnicodeEncodeError):
        return False
    return True


def _is_document(text: str) -> bool:
    """Return whether a text is XML and not HTML."""
    text = text.strip()
    if not text.endswith(">"):
        return False
    root = next((token for token in scan(text, 0, len(text)) if token.name), None)
    return root is not None and not _is_html(text, root) and is_xml(text)


def _is_html(text: str, root: Token) -> bool:
    is_declared = text.startswith("<?xml") or _NAMESPACE.search(root.attributes)
    return root.name.lower() == "html" or (root.name.lower() in _HTML and not is_declared)


def _find_xml_end(lines: Lines, index: int) -> int | None:
    """Return the index after the last line of the element that starts at a line; None if none does."""
    text = lines.text
    start = text.index("<", lines.starts[index])
    if lines.xml_budget <= 0:
        return None
    stop, is_found = _find_root_end(text, start)
    lines.xml_budget -= stop - start + 10
    if not is_found:
        return None
    end = lines.find(stop)
    element = text[start:stop]
    # A replaced character is one that XML does not allow.
    if text[stop : lines.end_of(end)].strip() or "\ufffd" in element or not _is_document(element):
        return None
    lines.xml_budget += stop - start
    return end + 1


def _find_root_end(text: str, start: int) -> tuple[int, bool]:
    """Return the end of the first element, or the offset up to which the search for it failed."""
    names: list[str] = []
    position = start
    for token in scan(text, start, len(text)):
        if not names and text[position : token.start].strip():
            return token.start, False
        position = token.end
        if token.sort == "open":
            names.append(token.name)
        elif token.sort == "close" and (not names or names.pop() != token.name):
            return position, False
        if not names and token.name:
            return position, True
    # If nothing closes a comment, the text was searched up to its end.
    at = text.find("<", position)
    return (len(text) if at < 0 or text.startswith(("<!", "<?"), at) else at), False


WHOLE_XML = WholeFormat("xml", re.compile(r"\s*<").match, _is_document)
XML = Format("xml", _START, _find_xml_end)
