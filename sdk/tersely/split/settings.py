"""Settings: the statements of TOML, INI and their relatives.

Statements are headers and keys. A key comes with its whole value, the comments above it and its section. INI
is read as configparser does: a line that is indented more than its key continues the value. A mark is a
comment line between two statements, or between two elements of an array of TOML.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tersely.split.lines import Format, Lines, WholeFormat, mask
from tersely.split.prose import is_prose

_START = re.compile(
    r"(?:\[{1,2}[^\[\]\n]+\]{1,2}[^\S\n]*(?:[#;][^\n]*)?$|(?!#\d+\s)[#;]|[\w-]+\ =\ [\"'\[{\dtf])",
    re.MULTILINE,
)
"""Matches no number of a frame of the stack, such as `#3 `."""
_WHOLE = re.compile(r"\s*(?:[#;!][^\n]*\s+)*+(?:\[|(?:export )?[\w.\"'$@%*/\\-]+[^\S\n]*[=:])")
"""The start of a text that may be settings as a whole."""

_PART = r"""(?:"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+'|[\w-]++)"""
_TOML_KEY = re.compile(rf"[ \t]*{_PART}(?:[ \t]*\.[ \t]*{_PART})*+[ \t]*=")
_TOML_HEADER = re.compile(
    rf"[ \t]*(?P<open>\[\[?)[ \t]*(?P<name>{_PART}(?:[ \t]*\.[ \t]*{_PART})*+)[ \t]*\]\]?[ \t]*(?:#.*)?$"
)
_NAME = re.compile(_PART)
TOKEN = re.compile(
    r'''"""(?:[^\\]|\\.)*?"{3,5}|\'{3}.*?\'{3,5}|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+'|\#[^\n]*|[\[\]{},\n]''',
    re.DOTALL,
)

_INI_HEADER = re.compile(r"\s*\[(?P<name>[^\]\n]+)\]\s*(?:[#;].*)?$")
_INI_KEY = re.compile(r"(?P<name>[^\s=:\[][^=:]{0,160}?)\s*(?P<sign>[=:])")
_PLAIN_KEY = re.compile(r"(?:export )?[^\s=]+")
_BARE = re.compile(r"[^\s\[\](){}<>;]+\s*$")
"""A key without a value."""
_CODE = re.compile(r"(?:[;{(]|\w\(.*\))\s*$")
_MOST_WORDS = 4
_FEWEST = 3
"""Keys of settings without a section."""


@dataclass(slots=True)
class Statement:
    """A header or a key with its value, in the lines first..end-1."""

    first: int
    end: int
    name: tuple[str, ...]
    is_header: bool = False
    is_array: bool = False
    """Whether it begins an element of an array of tables."""
    is_plain: bool = True
    """Whether it could be a key without a section."""
    is_code: bool = False
    """Whether it looks like a statement of a program."""


class Found(NamedTuple):
    """Statements, and the index after them."""

    statements: Sequence[Statement]
    end: int
    reached: int
    """Index of the line before which there are no other settings."""
    is_toml: bool


def _read_toml(lines: Lines, index: int) -> Iterator[Statement]:
    """Yield the statements from a line on, up to a line that is not TOML."""
    while (index := lines.skip_blank(index, "#")) < len(lines):
        line = lines.texts[index]
        if header := _TOML_HEADER.match(line):
            names = tuple(part[0].strip("\"'") for part in _NAME.finditer(header["name"]))
            yield Statement(index, index + 1, names, True, header["open"] == "[[")
            index += 1
        elif key := _TOML_KEY.match(line):
            end = _find_value_end(lines, index, lines.starts[index] + key.end())
            if end is None:
                return
            yield Statement(index, end, (key[0].rstrip("= \t").lstrip(),))
            index = end
        else:
            return


def _find_value_end(lines: Lines, index: int, start: int) -> int | None:
    """Return the index after the last line of a value of TOML; None if a bracket is open at the end."""
    depth = 0
    for token in TOKEN.finditer(lines.text, start):
        if token[0] in "[{":
            depth += 1
        elif token[0] in "]}":
            depth -= 1
        elif token[0] == "\n" and depth <= 0:
            return index + lines.text.count("\n", start, token.end())
    if depth > 0:
        lines.json_budget -= len(lines.text) - start
        return None
    return len(lines)


def _read_ini(lines: Lines, index: int) -> Iterator[Statement]:
    """Yield the statements from a line on, up to a line that looks like prose.

    Above the first header, a line without `KEY =` ends them too, so that a log is not read as settings.
    """
    above: Statement | None = None
    indent = 0
    has_header = False
    while (index := lines.skip_blank(index, "#;!")) < len(lines):
        line = lines.texts[index]
        own = len(line) - len(line.lstrip())
        goes_on = own > indent or line.strip() == "}" or lines.texts[index - 1].rstrip().endswith("\\")
        if above and goes_on:
            above.end = index = index + 1
            continue
        if above:
            yield above
        indent, above = own, None
        key = _INI_KEY.match(line, own)
        if header := _INI_HEADER.match(line):
            has_header = True
            yield Statement(index, index + 1, (header["name"],), True)
        elif key and len(key["name"].split()) <= _MOST_WORDS and not (key["sign"] == ":" and is_prose(line)):
            is_plain = key["sign"] == "=" and _PLAIN_KEY.fullmatch(key["name"]) is not None
            if not (is_plain or has_header):
                return
            above = Statement(
                index, index + 1, (key["name"],), False, False, is_plain, bool(_CODE.search(line))
            )
        elif has_header and _BARE.match(line, own):
            above = Statement(index, index + 1, (line.strip(),), is_plain=False)
        else:
            return
        index += 1
    if above:
        yield above


def _is_toml(text: str) -> bool:
    try:
        return bool(tomllib.loads(text))
    except (ValueError, RecursionError):
        return False


def _are_settings(lines: Lines, statements: Sequence[Statement]) -> bool:
    """Return whether statements are those of settings, and not lines that happen to have a sign in them."""
    keys = [statement for statement in statements if not statement.is_header]
    if sum(key.is_code for key in keys) * 2 > len(keys):
        return False
    near = [
        line
        for key in statements
        for line in (*lines.texts[key.first - 1 : key.first], *lines.texts[key.end : key.end + 1])
    ]
    has_comment = any(line.lstrip()[:1] in "#;!" for line in near if line.strip())
    if not any(statement.is_header for statement in statements):
        names = {key.name for key in keys}
        fewest = 1 if has_comment else _FEWEST
        return len(keys) >= fewest and len(names) * 10 >= len(keys) * 9 and all(key.is_plain for key in keys)
    return sum(key.is_plain for key in keys) * 2 >= len(keys) + (not has_comment)


def read_settings(lines: Lines, index: int) -> Found:
    """Return the settings from a line on."""
    ini = list(_read_ini(lines, index))
    toml = list(_read_toml(lines, index))
    ends = [found[-1].end if found else index for found in (ini, toml)]
    if not _are_settings(lines, ini):
        ini = []
    if toml and (not ini or ends[1] >= ends[0]):
        text = lines.text[lines.starts[index] : lines.end_of(ends[1] - 1)]
        if _is_toml(text):
            return Found(toml, ends[1], max(ends), True)
    return Found(ini, ends[0], max(ends), False)


def _is_settings(text: str) -> bool:
    """Return whether a whole text consists of settings."""
    lines = Lines(mask(text))
    found = read_settings(lines, 0)
    return bool(found.statements) and lines.skip_blank(found.end, "#" if found.is_toml else "#;!") == len(
        lines
    )


def _find_settings_end(lines: Lines, index: int) -> int | None:
    """Return the index after the sections that start at a line; None if no section starts there."""
    if index < lines.none_before["settings"] or lines.json_budget <= 0:
        return None
    first = reached = lines.skip_comments(index, "#;")
    below = lines.skip_blank(first)
    if first < below < len(lines) and lines.texts[below].startswith("["):  # comments about the whole text
        first = below
    if first < len(lines) and not lines.is_blank(first):
        statements, end, reached, is_toml = read_settings(lines, first)
        is_known = bool(statements) and (statements[0].is_header or (is_toml and len(statements) >= _FEWEST))
        if is_known and len(statements) >= 2:
            return lines.skip_comments(end, "#" if is_toml else "#;")
    lines.none_before["settings"] = max(reached, index + 1)
    return None


WHOLE_SETTINGS = WholeFormat("settings", _WHOLE.match, _is_settings)
SETTINGS = Format("settings", _START, _find_settings_end, only_starts_paragraphs=True)
