"""Headings and list items, as in Markdown and in plain text."""

from __future__ import annotations

import re

from tersely.split.lines import LONGEST_ITEM, Format, Lines

ITEM = re.compile(
    r"""\s*(?:
      [-*+•‣◦▪●○–] | \(?(?P<number>\d{1,3})[.)] | (?P<letter>[A-Za-z])\. | \(?[A-Za-z]\) | \(?[ivxIVX]{2,5}\)
      | \\item(?:\[[^\]\n]*\])?
    )\s+\S""",
    re.VERBOSE,
)
_HASHES = re.compile(r" {0,3}#{1,6}(?:\s|$)", re.MULTILINE)
_COMMENT = re.compile(r"\s*#[.:,~|>!]?(?:\s|$)")
_RULE = re.compile(r"[^\S\n]*(?:={2,}|-{2,}|~{3,}|\^{3,})[^\S\n]*$", re.MULTILINE)
_SIGNS = re.compile(r"(?:#{3,}|\*{3,}|\+{3,}|\"{3,}|'{3,}|:{3,}|\.{3,}|`{3,}|_{3,})[^\S\n]*$", re.MULTILINE)
"""Rules that underline headings in reStructuredText if they are as long as the title."""
_LONGEST_UNDERLINED = 200
_STARS = re.compile(r"\*{1,6} +\S", re.MULTILINE)
_FIELD = re.compile(r"[ \t]{2,}[A-Z][\w-]*(?: [A-Z][\w-]*)?: \S")
_LATEX = re.compile(r"[ \t]*\\(?:part|chapter|(?:sub){0,2}section)\*?\{")
_TRAILED = re.compile(r"[^\W\d_][^\n|]* ([*=#~])\1{4,}[ \t]*$", re.MULTILINE)


def opens_item(lines: Lines, index: int, starts_paragraph: bool) -> bool:
    """Return whether a list item starts at a line."""
    texts = lines.texts
    item = ITEM.match(texts[index])
    if not item:
        return False
    if letter := item["letter"]:  # "A. Smith" is a name unless "B." is near
        neighbours = texts[max(index - 2, 0) : index] + texts[index + 1 : index + 3]
        near = {line.lstrip()[:2] for line in neighbours}
        return chr(ord(letter) - 1) + "." in near or chr(ord(letter) + 1) + "." in near
    if item["number"] and not starts_paragraph and int(item["number"]) != 1:
        return texts[index - 1].rstrip().endswith((":", ".", ";"))
    return True


def is_field(lines: Lines, index: int) -> bool:
    """Return whether a line is an indented field with its name, which is no part of an item's text."""
    return _FIELD.match(lines.texts[index]) is not None


def _find_heading_end(lines: Lines, index: int) -> int | None:
    """Return the index after a heading that is marked with hashes, unless it is a comment or too long."""
    line = lines.texts[index]
    neighbours = lines.texts[max(index - 1, 0) : index] + lines.texts[index + 1 : index + 2]
    is_comment = _COMMENT.match(line) and any(_COMMENT.match(other) for other in neighbours)
    return None if is_comment or len(line) >= LONGEST_ITEM else index + 1


def _find_ruled_end(lines: Lines, index: int) -> int | None:
    """Return the index after a title that is underlined, or between two rules."""
    line = lines.texts[index]
    if len(line) > _LONGEST_UNDERLINED:
        return None
    following = lines.texts[index + 1 : index + 3]
    if following and _SIGNS.match(following[0]) and not (_RULE.match(line) or _SIGNS.match(line)):
        return index + 2 if len(following[0].rstrip()) >= len(line.rstrip()) else None
    if _RULE.match(line) or _SIGNS.match(line):
        is_framed = len(following) == 2 and following[0].strip() and following[1].rstrip() == line.rstrip()
        return index + 3 if is_framed else None
    if not following or not _RULE.match(following[0]):
        return None
    is_above_title = len(line.strip()) != len(following[0].strip()) and _find_framed_end(lines, index + 1)
    return None if is_above_title else index + 2


def _find_framed_end(lines: Lines, index: int) -> int | None:
    """Return the index after a title between two rules of its own length."""
    framed = [line.strip() for line in lines.texts[index : index + 3]]
    if len(framed) < 3:
        return None
    rule, title, below = framed
    is_framed = rule == below and len(rule) == len(title) <= _LONGEST_UNDERLINED
    return index + 3 if is_framed and not _RULE.match(title) else None


def _find_starred_end(lines: Lines, index: int) -> int | None:
    """Return the index after a heading of org, unless the stars of this text are those of lists."""
    return index + 1 if lines.has_starred_headings and len(lines.texts[index]) < LONGEST_ITEM else None


def _find_title_end(lines: Lines, index: int) -> int | None:
    """Return the index after a title of LaTeX, or one that a row of signs fills up to the right margin."""
    return index + 1 if len(lines.texts[index]) <= _LONGEST_UNDERLINED else None


HEADING = Format("heading", _HASHES, _find_heading_end)
LATEX_HEADING = Format("heading", _LATEX, _find_title_end)
FRAMED_HEADING = Format(
    "heading", re.compile(r"([-=*~])\1{2,}[ \t]*\n[^\n]*\w[^\n]*\n\1{3}"), _find_framed_end
)
"""A title between two rules. It may be right below the text of the section above."""
STARRED_HEADING = Format("heading", _STARS, _find_starred_end)
TRAILED_HEADING = Format("heading", _TRAILED, _find_title_end)
RULED_HEADING = Format(
    "heading",
    re.compile(
        rf"(?!{_HASHES.pattern})(?:{_RULE.pattern}|{_SIGNS.pattern}|[^\n]+\n(?:{_RULE.pattern}|{_SIGNS.pattern}))",
        re.MULTILINE,
    ),
    _find_ruled_end,
    only_starts_paragraphs=True,
)
