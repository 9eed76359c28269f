"""Markers: the bullet, the number or the letter that a line begins with."""

from __future__ import annotations

import re

from tersely.split.sentence_starts import LABELLED, PROOF

CLAUSE = re.compile(
    r"\s*(?:§+\s*|(?P<word>(?i:section|article|chapter|part|clause)\s+))?"
    r"(?P<number>(?:[A-Z]\.)?\d{1,3}(?:\.\d{1,3})*)(?(word)[.):]*|[.)]*)\s+\S"
)
RUN_IN = re.compile(
    r"\s*(?:§+\s*|(?i:section|article|clause)\s+)?\d{1,3}(?:\.\d{1,3})*[.):]*\s+[A-Z][\w'’-]*"
    r"(?:,?\s(?:[A-Z][\w'’-]*|and|or|of|the|to|for|in|on|by|with|an?)){0,7}\.\s+\S"
)
"""A clause that begins with its title, as in `7. Disclaimer of Warranty. Unless required by law, ...`."""
TITLED = re.compile(rf"\s*(?:\*\*[^*\n]{{1,60}}\*\*:?|(?:{LABELLED}|{PROOF})[*_]*[.:][*_]*)\s+\S")
"""A paragraph that begins with its title, as in `**Late work.** Students ...` or `Lemma 2. Cranes ...`."""
BULLETS = "-*+•"
ARROWS = "→▶❯>"
"""Signs that point at one of several numbered lines of code."""
_MARKER = re.compile(
    r"\s*(?P<sign>§+\s*|\(?)(?:(?P<number>\d{1,3}(?:\.\d{1,3})*)|(?P<letter>[A-Za-z]|[ivx]{2,5}|[IVX]{2,5}))"
    r"(?P<end>[.):]*)\s"
)


def find_marker(line: str) -> str:
    """Return the form of the bullet, the number or the letter at the start of a line; "" without one.

    Numbers have the same form if they have the same signs around them and equally many parts. So do small
    letters with the same signs, and capitals with the same signs.
    """
    found = _MARKER.match(line)
    if found and (found["end"] or found["sign"].startswith("§")):
        number, letter = found["number"], found["letter"]
        form = "1" + ".1" * number.count(".") if number else "A" if letter.isupper() else "a"
        return f"{found['sign'].strip()}{form}{found['end']}"
    sign = line.lstrip()[:2]
    return sign[0] if sign[:1] in BULLETS and sign[1:] == " " else ""


def are_siblings(line: str, other: str) -> bool:
    """Return whether two lines begin with numbers or letters of one form."""
    marker = find_marker(line)
    return marker not in BULLETS and marker == find_marker(other)
