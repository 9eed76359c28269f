"""Compare JSON with its compressed form: nothing is false, and every omission is counted."""

from __future__ import annotations

import json
import re
from typing import Any

MARK = re.compile(r"\[… ([\d,]+) more\](?: \(\d+\))?")


class Members(list[tuple[str, Any]]):
    """The members of an object, in order."""


def parse(text: str) -> Any:
    """Return a JSON value. Objects become lists of members, so that no member hides another."""
    return json.loads(text, object_pairs_hook=Members)


def check_json(source: str, compressed: str) -> int:
    """Assert that one JSON value follows from the other by leaving parts out; how many marks say so."""
    return _check(parse(source), parse(compressed))


def _check(source: Any, compressed: Any) -> int:
    if isinstance(source, Members) and isinstance(compressed, Members):
        return _check_members(source, compressed)
    if type(source) is list and type(compressed) is list:
        return _check_elements(source, compressed)
    if isinstance(source, str) and isinstance(compressed, str) and source != compressed:
        return check_pieces(source, compressed)
    assert type(source) is type(compressed)
    assert source == compressed or source != source  # nan
    return 0


def _check_elements(source: list[Any], compressed: list[Any]) -> int:
    at = marks = 0
    for element in compressed:
        left_out = MARK.fullmatch(element) if isinstance(element, str) else None
        if left_out:
            at += _count(left_out)
            marks += 1
        else:
            assert at < len(source), "an element too many"
            marks += _check(source[at], element)
            at += 1
    assert at == len(source), f"{len(source) - at} elements are missing and not counted"
    return marks


def _check_members(source: Members, compressed: Members) -> int:
    at = marks = 0
    for key, value in compressed:
        left_out = MARK.fullmatch(key)
        if left_out:
            assert value == "…"
            at += _count(left_out)
            marks += 1
        else:
            assert at < len(source), "a member too many"
            assert source[at][0] == key
            marks += _check(source[at][1], value)
            at += 1
    assert at == len(source), f"{len(source) - at} members are missing and not counted"
    keys = [key for key, _ in compressed]
    assert len(set(keys)) == len(keys) or len({key for key, _ in source}) < len(source), "a key twice"
    return marks


def check_pieces(source: str, compressed: str) -> int:
    """Assert that a text is pieces of another, in order, with a mark between two that are not neighbours."""
    pieces = [piece.strip() for piece in MARK.split(compressed)[::2]]
    rest = source.strip()
    assert rest.startswith(pieces[0]), "the start is missing, and no mark says so"
    assert rest.endswith(pieces[-1]), "the end is missing, and no mark says so"
    end = len(rest) - len(pieces[-1])
    at = len(pieces[0]) if len(pieces) > 1 else end
    for piece in pieces[1:-1]:
        found = rest.find(piece, at, end)
        assert found >= 0, f"not in the source: {piece[:60]!r}"
        at = found + len(piece)
    assert at <= end, "pieces overlap"
    return len(pieces) - 1


def _count(mark: re.Match[str]) -> int:
    return int(mark[1].replace(",", ""))
