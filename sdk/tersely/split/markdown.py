"""Headings, list items and fenced blocks, as in Markdown, its relatives and plain text."""

from __future__ import annotations

import re

from tersely.split.dates import is_signed
from tersely.split.lines import LONGEST_ITEM, Format, Lines, Range, find_closing_line, find_lines
from tersely.split.nodes import Node, Sizes, join_lines
from tersely.split.prose import QUOTE
from tersely.units import Series

ITEM = re.compile(
    r"""\s*(?:
      (?: [-*+•‣◦▪●○×–↳⤷]
        | (?<!\s)\^(?:\ [a-z]\b)*                                          # a note in Wikipedia
        | \(?(?P<number>\d{1,3})[.)] | \[(?P<reference>\d{1,3})\]
        | (?P<letter>[A-Za-z])\. | \(?[A-Za-z]\) | \(?[ivxIVX]{2,5}\) | [ivx]{2,5}\.
        | :[A-Za-z][\w ,*.`-]{0,60}:                                        # a field
        | (?P<asciidoc>\.{1,2} | <\d{1,2}> | [\w`*][\w .`*/-]{0,60}::)
        | \\item(?:\[[^\]\n]*\])?
      )\s+\S
      | \\bibitem\b
    )""",
    re.VERBOSE,
)
_BULLET = re.compile(r"\s*[-*+•]\s+\S")
_REFERENCE = re.compile(r"\s*\[(\d{1,3})\]\s+\S")
_ROMAN = re.compile(r"\s*[ivx]{2,5}\.\s")
_ORG = (
    re.compile(r"^\*{2,6} +\S(?!.*\*[ \t]*$)", re.MULTILINE),
    re.compile(r"^\*{1,6} +\S[^\n]*\n[ \t]*[^\s*]", re.MULTILINE),
)
_ORG_SETTING = re.compile(r"^#\+(?:title|author|startup|options|begin_\w+)\b", re.MULTILINE | re.IGNORECASE)
WIKITEXT = r"={2,6}[^=\n]+={2,6}[ \t]*$"
"""A heading of wikitext, as a pattern."""
_SIGNED = re.compile(rf"^(?:={{1,6}} +\S|{WIKITEXT})", re.MULTILINE)
_CLOSED = re.compile(r"(={2,6})[^=]+\1\s*")
"""A heading of wikitext. It may be right below other text."""
_ASCIIDOC = (
    re.compile(r"^={1,5} [^\W_](?!.*=[ \t]*$)", re.MULTILINE),
    re.compile(r"^(?:\[[\w%.,\"'= #-]+\]|:[a-z][\w-]*:.*|\|===)[ \t]*$", re.MULTILINE),
)
_HASHES = re.compile(r"[ ]{0,3}[#]{1,6}[^\S\n]+\S", re.MULTILINE)
_COMMENT = re.compile(r"\s*#[.:,~|>!]?(?:\s|$)")
_COMMAND = re.compile(r"[ \t]*(?:[a-z]|[$./]\S|[A-Z_]+=|\$ )")
"""The line below a comment in an example. Running text begins with a capital."""
_NAMED = re.compile(r"[^\W\d][\w.-]*(?:[/=]|::?<?\s)")
"""The start of a line with a name and a value."""
_RULE = re.compile(r"[^\S\n]*(?:={2,}|-{2,}|~{3,}|\^{3,})[^\S\n]*$", re.MULTILINE)
_SIGNS = re.compile(r"(?:#{3,}|\*{3,}|\+{3,}|\"{3,}|'{3,}|:{3,}|\.{3,}|`{3,}|_{3,})[^\S\n]*$", re.MULTILINE)
"""Rules that underline headings in reStructuredText if they are as long as the title."""
_LONGEST_UNDERLINED = 200
_SHORT_RULE = 2
"""Rules of so many signs are between comments, as `gh` prints them. They frame no title and underline no
sentence."""
_FIELD = re.compile(r"[ \t]{2,}[A-Z][\w-]*(?: [A-Z][\w-]*)?: \S")
_MARKED = re.compile(
    rf"""{_HASHES.pattern}
    | \*{{1,6}}\ +\S                                                    # org
    | ={{1,6}}\ +[^\W_] | ={{2,6}}\ +[<\[]                               # AsciiDoc, wikitext
    | [ \t]*\\(?:part|chapter|(?:sub){{0,2}}section)\*?\{{              # LaTeX
    | [ \t]*\\(?:sub)?paragraph\*?\{{[^\n}}]*\}}[ \t]*$
    | =(?:head[1-6]|item)\ +\S                                          # POD
    | \#\#\[(?:group\]|section\]Starting)                                # logs of GitHub and Azure
    | [^\W\d_][^\n|]*\ (?P<sign>[*=#~])(?P=sign){{4,}}[ \t]*$           # filled with signs up to the margin
    """,
    re.MULTILINE | re.VERBOSE,
)
_DEEPER = re.compile(r"^ {0,3}#{2,6} ", re.MULTILINE)
"""A heading of Markdown that is not the outermost."""
_FENCE = re.compile(r"(?: {0,8}(?=`)| {0,3}(?=~))(`{3,}|~{3,})([^`\n]*)$", re.MULTILINE)
"""A fence. In compilers' messages, `~~~~` after more spaces underlines a word in the line above."""
_ANY_FENCE = re.compile(r"\s*(?:`{3,}|~{3,}|(?i:#\+(?:begin|end)_))")
_BEGIN_BLOCK = re.compile(r"[ \t]*#\+begin_(\w+)", re.IGNORECASE)
_NEAR = 20
"""Number of lines around an item in which to look for the item before or after it."""
_HERE = re.compile(r"<<[-~]?(?P<quote>['\"]?)(?P<word>[A-Z][A-Z\d_]*)(?P=quote)(?!\w)[^\n<]*$", re.MULTILINE)
"""The start of a here document in a shell script or a Dockerfile."""
_DOC = re.compile(r"[ \t]*@\w+ ~?[sS]?(\"\"\"|''')[ \t]*$", re.MULTILINE)
"""The start of a document in Elixir."""


def is_asciidoc(lines: Lines) -> bool:
    """Return whether a text is AsciiDoc: a heading begins with equals signs, and something has attributes."""
    return all(map(lines.has, _ASCIIDOC))


def _has_starred_headings(lines: Lines) -> bool:
    """Return whether lines that begin with stars are headings, as in org.

    They are if the text has settings of org, or if they nest and text is right below one of them. In a text
    with headings of wikitext or AsciiDoc, they are list items.
    """
    return (lines.has(_ORG_SETTING) or all(map(lines.has, _ORG))) and not lines.has(_SIGNED)


def opens_item(lines: Lines, index: int, starts_paragraph: bool) -> bool:
    """Return whether a list item starts at a line."""
    texts = lines.texts
    item = ITEM.match(texts[index])
    if not item or (texts[index].lstrip()[0] == "–" and is_signed(texts[index])):
        return False
    if item["reference"]:
        return is_reference(lines, index)
    if item["asciidoc"]:
        return is_asciidoc(lines)
    if letter := item["letter"]:  # "A. Smith" is a name unless "B." is near
        neighbours = texts[max(index - 2, 0) : index] + texts[index + 1 : index + 3]
        near = {line.lstrip()[:2] for line in neighbours}
        is_roman = letter in "ivx" and any(map(_ROMAN.match, neighbours))
        return is_roman or chr(ord(letter) - 1) + "." in near or chr(ord(letter) + 1) + "." in near
    if item["number"] and not starts_paragraph and int(item["number"]) != 1:
        is_below_end = texts[index - 1].rstrip().endswith((":", ".", ";"))
        return is_below_end or _continues_numbers(lines, index, int(item["number"]))
    return True


def is_reference(lines: Lines, index: int) -> bool:
    """Return whether an entry such as `[2] A. Author. Title.` begins at a line.

    It does if the previous number is near above it, or the next number near below it.
    """
    entry = _REFERENCE.match(lines.texts[index])
    if entry is None:
        return lines.texts[index].lstrip().startswith("\\bibitem")
    above = map(_REFERENCE.match, lines.texts[max(0, index - _NEAR) : index])
    near = {found[1] for found in above if found}
    below = lines.texts[index + 1 : index + _NEAR]
    near |= {str(int(found[1]) - 2) for line in below if (found := _REFERENCE.match(line))}
    return str(int(entry[1]) - 1) in near


def _continues_numbers(lines: Lines, index: int, number: int) -> bool:
    """Return whether an item continues the numbers of the one above, with indented lines between them."""
    indent = lines.indent(index)
    for above in range(index - 1, max(index - _NEAR, 0) - 1, -1):
        if lines.is_blank(above) or lines.indent(above) < indent:
            return False
        if lines.indent(above) == indent:
            item = ITEM.match(lines.texts[above])
            return above < index - 1 and item is not None and item["number"] == str(number - 1)
    return False


def is_field(lines: Lines, index: int) -> bool:
    """Return whether a line is an indented field with its name. It is not part of the item above it."""
    return _FIELD.match(lines.texts[index]) is not None


def is_in_record(lines: Lines, first: int, end: int) -> bool:
    """Return whether the lines first..end-1 are between two lines of one record, as a comment may be.

    One of the two lines is a name and a value. So is the other, or it is indented and continues a value.
    """
    if not first or end >= len(lines):
        return False
    around = (lines.texts[first - 1], lines.texts[end])
    named = [_NAMED.match(line) is not None for line in around]
    goes_on = [line[:1].isspace() and line.strip() != "" for line in around]
    return any(named) and all(map(any, zip(named, goes_on, strict=True)))


def _find_marked_end(lines: Lines, index: int) -> int | None:
    """Return the index after a heading marked by signs in its line; None for a comment, or a long line.

    Stars begin headings only in org, and list items elsewhere. Equals signs begin a heading only below a
    blank line, or if they also end it.
    """
    line = lines.texts[index]
    if line[0] == "=" and index and not (lines.is_blank(index - 1) or _CLOSED.fullmatch(line)):
        return None
    neighbours = lines.texts[max(index - 1, 0) : index] + lines.texts[index + 1 : index + 2]
    is_comment = _COMMENT.match(line) and (
        any(map(_COMMENT.match, neighbours)) or (line[:2] == "# " and is_in_record(lines, index, index + 1))
    )
    # A comment in an example, in a text whose headings have no signs.
    is_tight = len(neighbours) == 2 and all(map(str.strip, neighbours))
    is_example = is_tight or (index > 0 and _COMMAND.match(neighbours[-1]))
    is_comment = is_comment or (line[:2] == "# " and is_example and not lines.has(_DEEPER))
    is_item = line[0] == "*" and not _has_starred_headings(lines)
    return None if is_comment or is_item or len(line) >= LONGEST_ITEM else index + 1


def _find_ruled_end(lines: Lines, index: int) -> int | None:
    """Return the index after a title that is underlined, or between two rules."""
    line, *following = lines.texts[index : index + 3]
    has_cells = any(text.lstrip().startswith("|") for text in (line, *following[:1]))
    if len(line) > _LONGEST_UNDERLINED or has_cells:
        return None
    if following and _SIGNS.match(following[0]) and not (_RULE.match(line) or _SIGNS.match(line)):
        return index + 2 if len(following[0].rstrip()) >= len(line.rstrip()) else None
    if _RULE.match(line) or _SIGNS.match(line):
        if len(following) < 2 or len(line.strip()) <= _SHORT_RULE:
            return None
        is_framed = following[0].strip() and following[1].rstrip() == line.rstrip()
        return index + 3 if is_framed else None
    if not following or not _RULE.match(following[0]) or lines.indent(index + 1) > lines.indent(index):
        return None
    if _BULLET.match(line):
        return None  # the rule ends a list
    if len(following[0].strip()) <= _SHORT_RULE and line.rstrip().endswith((".", "!", "?", ":")):
        return None
    is_above_title = len(line.strip()) != len(following[0].strip()) and _find_framed_end(lines, index + 1)
    return None if is_above_title else index + 2


def _find_framed_end(lines: Lines, index: int) -> int | None:
    """Return the index after a title between two rules of the same length as the title."""
    framed = [line.strip() for line in lines.texts[index : index + 3]]
    if len(framed) < 3:
        return None
    rule, title, below = framed
    is_framed = rule == below and len(rule) == len(title) <= _LONGEST_UNDERLINED and title[0] != "|"
    return index + 3 if is_framed and not _RULE.match(title) else None


HEADINGS = (
    # A title between two rules may be right below the text of the section above.
    Format("heading", re.compile(r"([-=*~])\1{2,}[ \t]*\n(?=[^\n]*\w)[^\n]*+\n\1{3}"), _find_framed_end),
    Format("heading", _MARKED, _find_marked_end),
    Format(
        "heading",
        re.compile(
            rf"(?!{_HASHES.pattern})(?:{_RULE.pattern}|{_SIGNS.pattern}|[^\n]+\n(?:{_RULE.pattern}|{_SIGNS.pattern}))",
            re.MULTILINE,
        ),
        _find_ruled_end,
        only_starts_paragraphs=True,
    ),
)


def find_fence_end(lines: Lines, index: int) -> int | None:
    """Return the index after the fenced block that starts at `index`, or None."""
    opening = _FENCE.match(lines.texts[index])
    if opening is None:
        return None
    fence = opening[1]
    if end := find_closing_line(lines, index, index, lambda line: _closing_mark(line).startswith(fence)):
        return end
    # No fence closes it: the text ends inside the block, or began inside one that this line closes.
    return lines.find_blank(index + 1) if opening[2].strip() else index + 1


def _closing_mark(line: str) -> str:
    """Return the fence on a line that may close a block; "" for any other line."""
    fence = _FENCE.match(line)
    return fence[1] if fence and not fence[2].strip() else ""


def _find_quoted_end(lines: Lines, index: int) -> int | None:
    """Return the index after a fenced block or a table in a block quote, with the marker on each line."""
    body = _unquote(lines.texts[index]) or ""
    opening = _FENCE.match(body)
    if opening is None and not body.lstrip().startswith("|"):
        return None
    end = index + 1
    while end < len(lines) and (body := _unquote(lines.texts[end])) is not None:
        if opening is None and not body.lstrip().startswith("|"):
            break
        end += 1
        if opening and _closing_mark(body).startswith(opening[1]):
            break
    return end if end - index >= 2 else None


def _unquote(line: str) -> str | None:
    """Return a line of a block quote without its marker; None for any other line."""
    marker = QUOTE.match(line)
    return line[marker.end() :] if marker else None


def _find_block_end(lines: Lines, index: int) -> int | None:
    """Return the index after a block of org, from `#+BEGIN_SRC` to `#+END_SRC`, or after a here document."""
    closing = find_closing(lines.texts[index])
    if closing is None:
        return None
    return find_closing_line(lines, index, index, lambda line: line.strip().lower() == closing)


def find_closing(line: str) -> str | None:
    """Return the line that ends the block that `line` begins, in lower case; None if it begins none."""
    if opening := _BEGIN_BLOCK.match(line):
        return f"#+end_{opening[1].lower()}"
    if opening := _DOC.match(line):
        return opening[1]
    opening = _HERE.search(line)
    return opening["word"].lower() if opening else None


FENCE = Format("code", _FENCE, find_fence_end)
FENCES = (
    FENCE,
    Format(
        "code",
        re.compile(
            rf"{_BEGIN_BLOCK.pattern}|{_DOC.pattern}|[^\n<]*{_HERE.pattern}", re.IGNORECASE | re.MULTILINE
        ),
        _find_block_end,
    ),
    Format("code", re.compile(r"[^\S\n]{0,3}>(?:>|[^\S\n])*(?:```|~~~|\|)"), _find_quoted_end),
)


def find_fences(text: str, start: int, end: int) -> Range | None:
    """Return the range inside a fenced block; None unless one fence opens it and another closes it."""
    lines = list(find_lines(text, start, end))
    if len(lines) < 3:
        return None
    first, last = (text[slice(*line)] for line in (lines[0], lines[-1]))
    is_fenced = _ANY_FENCE.match(first) and _ANY_FENCE.match(last)
    return (lines[1][0], lines[-2][1]) if is_fenced or find_closing(first) == last.strip().lower() else None


def open_quote(text: str, start: int, end: int, sizes: Sizes) -> Node | None:
    """Return the lines of a quoted block. Its fences, or the first two rows of a table, are the frame."""
    lines = list(find_lines(text, start, end))
    bodies = [text[left:right].lstrip("> ") for left, right in lines]
    is_fenced = _ANY_FENCE.match(bodies[0]) is not None
    last = len(lines) - 1 if is_fenced and _ANY_FENCE.match(bodies[-1]) else len(lines)
    nodes = join_lines(lines[1 if is_fenced else 2 : last], sizes.part if is_fenced else 0)
    if not nodes:
        return None
    return Node(start, end, nodes, Series("> ") if is_fenced else Series("> | ", " |"))
