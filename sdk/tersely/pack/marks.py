"""Marks: tersely's own words in a compression, where readers could take two apart pieces for one.

A mark stands where a block was cut: between two pieces of it, before its first piece and after its last, if
something is missing there. Between units it stands where the first one has no end of its own, such as the
line `Name: ...` of a record, so that the line `Built: ...` of another record does not seem to belong to it;
and between two blocks of one kind, such as two tables with prose between them. Blocks on neighbouring
lines count as one that was cut: so do the lines of broken JSON, which is taken for code.
Where the option `marks` is "all", it stands wherever something is missing.
The marks that count what is left out of a list are in `omissions`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tersely.split.units import CostedUnit

_LONG, _SHORT = "[…]", "…"
_CLOSING = "\"'”’»)]}*_`"
_FIELD = re.compile(r"[^\W\d_][\w .-]{0,39}:\s")
_LONGEST_FIELD = 80
_LINE_BREAK = re.compile(r"\r\n|\r|\n")
_GO_ON = frozenset({"code", "diff", "html", "json", "table", "yaml"})
"""Kinds of blocks that may go on in the block on the next line."""
_ENDS = ".!?…:;。！？：；।؟։"


def mark_between(text: str, units: Sequence[CostedUnit], before: int, after: int) -> str:
    """The mark, with its separators, in place of what was dropped between two kept units; "" for none.

    `before` and `after` are positions in `units` with something dropped between them.
    """
    left, right = units[before], units[after]
    is_cut = _is_cut_behind(text, units, before) or _is_cut_before(text, units, after)
    fields = _is_field(text, units, after)
    if is_cut or fields or _is_fragment(text, left, right) or _could_be_one(left, right):
        return _choose(("\n" + _LONG + "\n", "\n" + _SHORT + "\n", _SHORT), right.start - left.end)
    if right.is_marked and (left.link is None or right.link is None):
        gap = text[left.end : right.start]
        blank = "\n" if "\n" in gap or "\r" in gap else " "
        return _choose((blank + _LONG + blank, blank + _SHORT + blank, _SHORT), len(gap))
    return ""


def mark_before(text: str, units: Sequence[CostedUnit], first: int) -> str:
    """The mark in front of the first kept unit of a document; "" unless the start of a block is missing, or
    of a text in which all that is left out is marked."""
    if _is_cut_before(text, units, first):
        whole = first
        while whole and _is_one(text, units[whole - 1], units[whole]):
            whole -= 1
        start = units[whole].start
    elif first and units[first].is_marked and units[first].link is None:
        start = units[0].start
    else:
        return ""
    return _choose((_LONG + "\n", _SHORT + "\n", _SHORT), units[first].start - start)


def mark_behind(text: str, units: Sequence[CostedUnit], last: int) -> str:
    """The mark behind the last kept unit of a document; "" unless the end of a block is missing, or of a text
    in which all that is left out is marked."""
    if _is_cut_behind(text, units, last):
        whole = last
        while whole + 1 < len(units) and _is_one(text, units[whole], units[whole + 1]):
            whole += 1
        end = units[whole].end
    elif last + 1 < len(units) and units[last].is_marked and units[last].link is None:
        end = units[-1].end
    else:
        return ""
    return _choose(("\n" + _LONG, "\n" + _SHORT, _SHORT), end - units[last].end)


def _is_cut_before(text: str, units: Sequence[CostedUnit], position: int) -> bool:
    """Whether the unit is a piece, and not the first one of its block."""
    if units[position].link is not None:  # its omissions are counted
        return False
    return position > 0 and _is_one(text, units[position - 1], units[position])


def _is_cut_behind(text: str, units: Sequence[CostedUnit], position: int) -> bool:
    """Whether the unit is a piece, and not the last one of its block."""
    if units[position].link is not None:
        return False
    return position + 1 < len(units) and _is_one(text, units[position], units[position + 1])


def _is_one(text: str, above: CostedUnit, below: CostedUnit) -> bool:
    """Whether a unit and the next one are pieces of one block, or blocks on neighbouring lines."""
    if above.parent == below.parent:
        return True
    is_block = above.unit.kind in _GO_ON and below.unit.kind in _GO_ON
    return is_block and _stands_below(text, above, below)


def _is_fragment(text: str, left: CostedUnit, right: CostedUnit) -> bool:
    """Whether `left` is a line of prose without an end, so that `right` may seem to go on with it."""
    if any(unit.unit.kind != "sentence" or unit.unit.atomic for unit in (left, right)):
        return False
    ending = text[left.start : left.end].rstrip(_CLOSING)
    return not ending.endswith(tuple(_ENDS)) and any(c in "\r\n" for c in text[left.end : right.start])


def _is_field(text: str, units: Sequence[CostedUnit], after: int) -> bool:
    """Whether a unit is a line `Key: value` of which the line above was dropped, so that it says of what."""
    unit = units[after]
    line = text[unit.start : unit.end]
    if unit.unit.kind != "sentence" or len(line) > _LONGEST_FIELD or line.endswith(tuple(_ENDS)):
        return False
    return _FIELD.match(line) is not None and _stands_below(text, units[after - 1], unit)


def _stands_below(text: str, above: CostedUnit, below: CostedUnit) -> bool:
    """Whether a unit begins on the line below another one."""
    return len(_LINE_BREAK.findall(text, above.end, below.start)) == 1


def _could_be_one(left: CostedUnit, right: CostedUnit) -> bool:
    """Whether two blocks of one kind could be read as one block: code that goes on, rows of one table."""
    kind = left.unit.kind
    is_block = left.unit.atomic and right.unit.atomic and kind not in ("list_item", "sentence")
    return is_block and kind == right.unit.kind and left.parent != right.parent


def _choose(candidates: Sequence[str], room: int) -> str:
    """The longest candidate that is no longer than what it replaces. The last one always fits."""
    return next((mark for mark in candidates if len(mark) <= room), candidates[-1])
