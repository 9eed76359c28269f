"""Lines with their numbers, as tools print a file that they have read or searched."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tersely.split.lines import Format, Lines, mask
from tersely.split.prefixed import Line, Prefixed

_NUMBERED = re.compile(
    r"""[ \t]*+(?:
      (?P<number>\d{1,7})(?: (?P<tab>\t) | (?P<arrow>→) | (?P<pipe>[ ]?[|│]) | (?P<colon>:) | (?P<dash>-))
    | \^?[0-9a-f]{7,40}\ [^\n()]*\([^\n()]*\ (?P<blamed>\d{1,7})(?P<blame>\))
    )""",
    re.VERBOSE,
)
_SEPARATOR = re.compile(r"[ \t]*(?:-{2,3}|\.{3}|…|⋮|\[\.{3}\])[ \t]*$")
_GUTTER = re.compile(r"[ \t]*\|")
"""The line above or below an excerpt in the message of a compiler."""
_TWO_DIGITS = re.compile(r"\d\d(?!\w)")
_FEWEST = 3


def _read(line: str) -> tuple[int, str, int] | None:
    """Return the number, the kind of sign and the length of the prefix of a line."""
    match = _NUMBERED.match(line)
    if match is None:
        return None
    sign = match.lastgroup or ""
    return int(match["number"] or match["blamed"]), "colon" if sign == "dash" else sign, match.end()


def _find_end(lines: Lines, index: int) -> int | None:
    """Return the index after three or more lines with ascending numbers and one kind of sign."""
    begin = _read(lines.texts[index])
    if begin is None or index < lines.none_before["numbered"]:
        return None
    last, sign, _ = begin
    numbered, end = [index], index + 1
    while (following := _skip_separators(lines, end)) < len(lines):
        entry = _read(lines.texts[following])
        if entry is None or entry[1] != sign or entry[0] <= last:
            break
        if following > end and lines.is_blank(end) and entry[0] - last not in (1, following - end + 1):
            break  # a tool counts the blank lines or leaves them out
        last, end = entry[0], following + 1
        numbered.append(following)
    is_marked = sign == "pipe" and any(
        _GUTTER.match(line) for line in lines.texts[max(0, index - 1) : end + 1]
    )
    if is_marked or len(numbered) < _FEWEST or not _is_numbered([lines.texts[at] for at in numbered], sign):
        lines.none_before["numbered"] = end
        return None
    return end


def _skip_separators(lines: Lines, index: int) -> int:
    """Return the index after the blank lines, or the separator, between two groups of lines."""
    if index < len(lines) and _SEPARATOR.match(lines.texts[index]):
        return index + 1
    return lines.skip_blank(index)


def _is_numbered(lines: Sequence[str], sign: str) -> bool:
    """Return whether lines that begin with ascending numbers are those of a file, and not rows or times."""
    bodies = [line[entry[2] :] for line in lines if (entry := _read(line))]
    if sign in ("tab", "pipe"):
        return not all("\t|"[sign == "pipe"] in body for body in bodies)
    if sign == "colon":
        is_time = all(_TWO_DIGITS.match(body) for body in bodies)
        return not is_time and any(":" in line[: entry[2]] for line in lines if (entry := _read(line)))
    return True


NUMBERED = Format("numbered", _NUMBERED, _find_end)


def read_numbered(text: str, start: int, end: int) -> tuple[Prefixed, bool]:
    """Return the lines of a block, and whether they are single ones from all over a file."""
    found: list[tuple[int, int, int, int | None]] = []
    at = start
    for line in mask(text[start:end]).split("\n"):
        entry = _read(line)
        length = (
            len(line.rstrip(" ")) if text[at + len(line) - 1 : at + len(line) + 1] == "\r\n" else len(line)
        )
        found.append((at, at + (entry[2] if entry else length), at + length, entry[0] if entry else None))
        at += len(line) + 1
    # Some tools put a space after the sign, and leave it out on blank lines.
    bodies = [text[body:stop] for _, body, stop, number in found if number is not None]
    is_spaced = all(body[:1] in (" ", "") for body in bodies)
    lines: list[Line] = []
    above: int | None = None
    breaks = 0
    for begin, body, stop, number in found:
        is_apart = number is not None and above is not None and number != above + 1
        breaks += is_apart
        body = min(body + is_spaced, stop) if number is not None else body
        lines.append(Line(begin, body, stop, is_apart))
        above = number if number is not None else above
    return Prefixed(text, lines), breaks * 2 > len(bodies)
