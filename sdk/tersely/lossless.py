"""Say the same in fewer tokens, and restore it: `condense` and `expand`. Both are pure functions, and use no
model.

JSON loses its white space. Objects with nearly the same keys become a table: the keys are written once, and
each object is a line of values. In any other text, a note replaces repeated lines; it says how many lines
are repeated, and how often. If neighbouring lines have the same beginning, it is written once. The first line
of a condensed text explains this, except in JSON without a table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from os.path import commonprefix
from typing import Any, cast

from tersely.errors import InvalidInputError
from tersely.inputs import check_text
from tersely.tokens import ApproximateCounter

_OPENING = "[tersely: "
_CONSTANT = "a key with a value holds for all lines]\n"
_JSON_HEADER = f"{_OPENING}JSON with tables. Keys in <> name the values of each line below them; {_CONSTANT}"
_JSON_LINES_HEADER = f"{_OPENING}JSON lines as a table. Keys in <> name the values; {_CONSTANT}"
_LINES = f"{_OPENING}repeated lines and beginnings are written once; notes in brackets say where]\n"
_UNCHANGED = f"{_OPENING}text as it was]\n"

_CLOSING = {"[": "]", "{": "}"}
_SCALAR = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|-?Infinity|NaN|true|false|null")
_BARE = re.compile(r'[^\s,\[\]{}<>":][^,\[\]{}<>"\n]*')
"""A scalar, or a string without quotation marks in a table."""
_TOKEN = re.compile(rf'"(?:[^"\\]|\\.)*+"|[\[{{]<|[\[\]{{}}<>,:\n]|{_BARE.pattern}')

_AGAIN = re.compile(r"\[again: the (\d+) above, (\d+)x\]")
_BEGIN = re.compile(r"\[begin (\d+) with: (.*)\]")
_LIKE_NOTE = re.compile(rf"\\*(?:{_AGAIN.pattern}|{_BEGIN.pattern})")
_WHOLE_WORDS = re.compile(r".*[\s/:|,;=(]")
_MAX_BLOCK_LINES = 8
"""Largest number of lines that are repeated as one."""
_MIN_BEGINNING = 8
_NOTE_SIZE = 32
"""Approximate number of code points of a note. The text that it replaces must be longer."""
_MAX_LEVELS = 3
"""Levels of beginnings inside beginnings."""


class _Literal(str):
    """A number as it is written, so that it loses no digit."""


class _Object(list[tuple[str, Any]]):
    """The members of an object, which may have one key twice."""


_DECODER = json.JSONDecoder(
    object_pairs_hook=_Object, parse_int=_Literal, parse_float=_Literal, parse_constant=_Literal
)


def condense(text: str) -> str:
    """Return the text in fewer characters and tokens (by the built-in estimate) if that is possible.

    Otherwise return it as it is; below a line "[tersely: text as it was]" if it begins with "[tersely: ".
    `expand` restores an equal value for JSON and JSON lines, and the same characters for any other text.
    """
    condensed = _condense_json(check_text(text, "text"))
    if condensed is None:
        lines = [_escape(line) for line in text.split("\n")]
        condensed = _LINES + "\n".join(_share_beginnings(_replace_repeats(lines)))
    count = ApproximateCounter().count
    if len(condensed) < len(text) and count(condensed) < count(text):
        return condensed
    return _UNCHANGED + text if text.startswith(_OPENING) else text


def expand(text: str) -> str:
    """Return the text that `condense` was given; for JSON, an equal value. Return any other text unchanged.

    Raises:
        InvalidInputError: the condensed text cannot be read. Some changes to it are not noticed.
    """
    end = check_text(text, "text").find("\n") + 1
    kind, body = text[:end], text[end:]
    try:
        if kind in (_JSON_HEADER, _JSON_LINES_HEADER):
            reader = _Reader(body.rstrip())
            expanded = reader.read() if kind == _JSON_HEADER else "\n".join(reader.read_rows())
            reader.take("")
            return expanded
        if kind == _LINES:
            return "\n".join(_restore_repeats(_restore_beginnings(body.split("\n"))))
    except (LookupError, ValueError, OverflowError, MemoryError, RecursionError) as error:
        raise InvalidInputError("The condensed text was changed, so it cannot be expanded.") from error
    return body if kind == _UNCHANGED else text


# -- JSON --


def _condense_json(text: str) -> str | None:
    """Return the short form of JSON, or of JSON lines that form a table; None for any other text."""
    try:
        value = _decode(text)
        if value is not None:
            written = _write(value)
            return _JSON_HEADER + written if "\n" in written else written
        values = [_decode(line) for line in text.split("\n") if line.strip()]
        if len(values) < 2 or None in values:
            return None
        rows = _find_rows(values)
        return _JSON_LINES_HEADER + _write_table("[", rows) if rows else None
    except RecursionError:
        return None


def _decode(text: str) -> Any:
    """Return the array or object that a text is; None for any other text."""
    text = text.strip(" \t\r\n")
    if text[:1] not in ("[", "{"):
        return None
    try:
        return _DECODER.decode(text)
    except ValueError:
        return None


def _write(value: Any) -> str:
    """Return a value as JSON, with tables."""
    if isinstance(value, _Object):
        if rows := _find_rows([member for _, member in value]):
            return _write_table("{", rows, [_quote(key) for key, _ in value])
        return "{" + ",".join(f"{_quote(key)}:{_write(member)}" for key, member in value) + "}"
    if isinstance(value, list):
        elements = cast("list[Any]", value)
        if rows := _find_rows(elements):
            return _write_table("[", rows)
        return "[" + ",".join(map(_write, elements)) + "]"
    if isinstance(value, str):
        return value if isinstance(value, _Literal) else _quote(value)
    return json.dumps(value)


def _quote(text: str) -> str:
    """Return a string of JSON. Lone surrogates stay escaped, because UTF-8 has no form for them."""
    written = json.dumps(text, ensure_ascii=False)
    return written if written.isascii() or not re.search("[\ud800-\udfff]", text) else json.dumps(text)


def _find_rows(values: Sequence[Any]) -> list[_Object]:
    """Return the values if they are objects that are shorter as a table; otherwise an empty list."""
    rows = [value for value in values if isinstance(value, _Object)]
    if len(rows) < 2 or len(rows) < len(values):
        return []
    if any(len({key for key, _ in row}) < max(1, len(row)) for row in rows):
        return []
    keys = {key: len(_quote(key)) + 1 for row in rows for key, _ in row}
    written = sum(keys[key] + 1 for row in rows for key, _ in row)
    return rows if written > sum(keys.values()) + len(keys) * len(rows) + _NOTE_SIZE else []


def _write_table(opening: str, rows: Sequence[_Object], labels: Sequence[str] = ()) -> str:
    """Return a table: keys, and a line of values for each row. A missing value leaves nothing."""
    cells = [{key: _write_cell(value) for key, value in row} for row in rows]
    keys = list(dict.fromkeys(key for row in cells for key in row))
    constant = {
        key for key in keys if len({row.get(key, "\n") for row in cells}) == 1 and "\n" not in cells[0][key]
    }
    head = (f"{_quote(key)}:{cells[0][key]}" if key in constant else _write_cell(key) for key in keys)
    lines = [",".join(row.get(key, "") for key in keys if key not in constant) for row in cells]
    if labels:
        lines = [f"{label}:{line}" for label, line in zip(labels, lines, strict=True)]
    return f"{opening}<{','.join(head)}>\n" + "".join(f"{line}\n" for line in lines) + _CLOSING[opening]


def _write_cell(value: Any) -> str:
    is_text = isinstance(value, str) and not isinstance(value, _Literal)
    is_bare = is_text and _BARE.fullmatch(value) and value.isprintable() and not value.endswith(" ")
    return value if is_bare and not _SCALAR.fullmatch(value) else _write(value)


class _Reader:
    """A reader of JSON with tables, which returns JSON without tables. Its last token is "", the end."""

    def __init__(self, text: str) -> None:
        self._tokens = [*_TOKEN.findall(text), ""]
        self._at = 0
        if "".join(self._tokens) != text:
            raise ValueError(text)

    def read(self) -> str:
        """Return the value that comes next."""
        token = self.take()
        if token in ("[<", "{<"):
            self._at -= 1
            return token[0] + ",".join(self.read_rows()) + _CLOSING[token[0]]
        if token in ("[", "{"):
            tokens, closing = [token], _CLOSING[token]
            while (following := self._tokens[self._at]) != closing:
                tokens.append(self.take() if following in ",:" else self.read())
            return "".join([*tokens, self.take()])
        return token if token[0] == '"' or _SCALAR.fullmatch(token) else _quote(token)

    def read_rows(self) -> list[str]:
        """Return the rows of the table that comes next, each with its label if it has one."""
        opening = self.take()[0]
        keys: list[tuple[str, str]] = []
        while self._tokens[self._at] != ">":
            key = self.read()
            keys.append((key, self.read() if self._skip(":") else ""))
            self._skip(",")
        self.take(">", "\n")
        rows: list[str] = []
        while not self._skip(_CLOSING[opening]):
            label = self.read() + self.take(":") if opening == "{" else ""
            rows.append(f"{label}{{{','.join(self._read_members(keys))}}}")
            self.take("\n")
        return rows

    def _read_members(self, keys: Sequence[tuple[str, str]]) -> Iterator[str]:
        is_first = True
        for key, constant in keys:
            if constant:
                yield f"{key}:{constant}"
                continue
            if not is_first:
                self.take(",")
            is_first = False
            if self._tokens[self._at] not in (",", "\n"):
                yield f"{key}:{self.read()}"

    def take(self, *expected: str) -> str:
        """Take a token, or the ones that are expected; return the last one."""
        token = ""
        for sign in expected or (None,):
            token = self._tokens[self._at]
            if sign not in (None, token):
                raise ValueError(token)
            self._at += 1
        return token

    def _skip(self, sign: str) -> bool:
        """Take a sign if it comes next, and return whether it did."""
        found = self._tokens[self._at] == sign
        self._at += found
        return found


# -- lines --


def _escape(line: str) -> str:
    """Put a backslash in front of a line that looks like a note."""
    return f"\\{line}" if _LIKE_NOTE.fullmatch(line) else line


def _unescape(line: str) -> str:
    return line[1:] if line.startswith("\\") and _LIKE_NOTE.fullmatch(line) else line


def _replace_repeats(lines: Sequence[str]) -> list[str]:
    """Replace the repetitions of a line, or of a few lines, with a note."""
    folded: list[str] = []
    at = 0
    while at < len(lines):
        best = (0, 1, 0)  # saved code points, lines of the block, its repetitions
        for size in range(1, _MAX_BLOCK_LINES + 1):
            end = at + size
            while end < len(lines) and lines[end] == lines[end - size]:
                end += 1
            times = (end - at) // size - 1
            saved = times * (sum(map(len, lines[at : at + size])) + size) - _NOTE_SIZE
            best = max(best, (saved, size, times))
        _, size, times = best
        folded += lines[at : at + size]
        if times:
            folded.append(f"[again: the {size} above, {times}x]")
        at += size * (times + 1)
    return folded


def _restore_repeats(lines: Sequence[str]) -> list[str]:
    """Replace each note by the lines that it repeats."""
    repeated: list[str] = []
    for line in lines:
        if note := _AGAIN.fullmatch(line):
            if not 0 < int(note[1]) <= len(repeated):
                raise ValueError(line)
            repeated += repeated[-int(note[1]) :] * int(note[2])
        else:
            repeated.append(_unescape(line))
    return repeated


def _share_beginnings(lines: Sequence[str], level: int = 0) -> list[str]:
    """Write the beginning that neighbouring lines share once, in a note above them."""
    shared: list[str] = []
    at = 0
    while at < len(lines):
        end, beginning = _find_beginning(lines, at)
        if beginning:
            cut = len(beginning)
            rest = [line if _AGAIN.fullmatch(line) else _escape(line[cut:]) for line in lines[at:end]]
            rest = _share_beginnings(rest, level + 1) if level + 1 < _MAX_LEVELS else rest
            shared += [f"[begin {len(rest)} with: {beginning}]", *rest]
        else:
            shared.append(lines[at])
        at = end
    return shared


def _find_beginning(lines: Sequence[str], first: int) -> tuple[int, str]:
    """Return the index after the lines whose shared beginning saves the most, and this beginning."""
    best, found = 0, (first + 1, "")
    beginning, count = lines[first], 1
    if _AGAIN.fullmatch(beginning):
        return found
    max_count = 16  # lines to compare; grows only if lines are saved, so that the time stays linear
    for at in range(first + 1, len(lines)):
        line = lines[at]
        if _AGAIN.fullmatch(line):
            continue
        if not line.startswith(beginning) or count == 1:
            words = _WHOLE_WORDS.match(commonprefix((beginning, line)))  # noqa: RUF071 - of texts, not of paths
            beginning = words[0] if words else ""
        count += 1
        if len(beginning) < _MIN_BEGINNING or count > max_count:
            break
        saved = (count - 1) * len(beginning) - _NOTE_SIZE
        if saved > best:
            best, found, max_count = saved, (at + 1, beginning), 2 * count + 16
    return found


def _restore_beginnings(lines: Sequence[str]) -> list[str]:
    """Put the shared beginnings back in front of the lines."""
    restored: list[str] = []
    at = 0
    while at < len(lines):
        note = _BEGIN.fullmatch(lines[at])
        end = at + 1 + (int(note[1]) if note else 0)
        if note:
            if not at + 1 < end <= len(lines):
                raise ValueError(lines[at])
            rest = _restore_beginnings(lines[at + 1 : end])
            restored += [line if _AGAIN.fullmatch(line) else note[2] + _unescape(line) for line in rest]
        else:
            restored.append(lines[at])
        at = end
    return restored
