"""Dates, periods and versions in titles, in English, German, French and Spanish."""

from __future__ import annotations

import re

_DAYS = (
    "mon|tues|wednes|thurs|fri|satur|sun",
    "mon|diens|donners|frei|sams|sonn",
    "lun|mar|mercre|jeu|vendre|same",
)
_NAMES = (
    *(f"(?:{days})(?:day|tag|di)" for days in _DAYS),
    "mittwoch|sonnabend|dimanche|lunes|martes|miércoles|jueves|viernes|sábado|domingo",
    "jan(?:uary|uar|vier)?|feb(?:ruary|ruar)?|février|mar(?:ch|s)?|märz|apr(?:il)?|avril|ma[iy]|jun[ei]?|juin",
    "jul[iy]?|juillet|aug(?:ust)?|août|sept?(?:ember|embre)?|o[ck]t(?:ober|obre)?|nov(?:ember|embre)?",
    "de[cz](?:ember)?|décembre|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre",
    "noviembre|diciembre|(?:mon|tue|wed|thu|fri|sat|sun)",
)
DATE = re.compile(
    rf"(?=.*?(?:\b(?:{'|'.join(_NAMES)})\b|\d{{4}}-\d\d-\d\d))"
    rf"(?:(?:{'|'.join(_NAMES)}|\d{{1,2}}(?:st|nd|rd|th)?|\d{{4}}(?:-\d\d-\d\d)?|of|de|den|der|the)\b[.,]*\s*){{1,6}}:?",
    re.IGNORECASE,
)
"""A whole line that is a date, or the name of a day or a month."""
_YEAR = r"(?:[A-Z][^\W\d_]{2,8}\.? |\d{1,2}[/.])?(?:19|20)\d\d"
PERIOD = re.compile(
    rf"\b{_YEAR}\s*(?:[-–—]|to|bis)\s*(?:{_YEAR}|(?i:present|now|today|current|date|heute))\b"
)
"""A time of some years or months, as in a CV."""
_POSITION = re.compile(rf"{PERIOD.pattern}\)?\s*$")
_AGO = re.compile(
    r"\b(?:\d+|an?)\s?(?:(?:second|minute|hour|day|week|month|year)s?|sec|min|hr|mo|[smhdwy])\s+ago\b"
    r"|·\s*\d+[smhdwy]\b"
)
_SIGNATURE = re.compile(
    r"(?:^|\s)[–—] ?@?[\w.-]+(?: [\w.-]+){0,2},?\s+"
    r"(?:[A-Z][a-z]{2,8}\.? \d{1,2}(?:, '?\d{2,4})?|\d{4}-\d\d-\d\d)(?:,?(?: at)? \d{1,2}:\d\d)?\s*$"
)
_SEPARATOR = re.compile(r"\s[|·•]\s")
_VERSION = re.compile(r"v?\d+(?:\.\d+)+\S*")
_LONGEST_STAMP, _MOST_WORDS = 160, 8


def stamps_comment(line: str) -> bool:
    """Return whether a line may be above a comment in a thread, as `ada 3 hours ago | parent` is."""
    if len(line) > _LONGEST_STAMP or not _AGO.search(line) or line.rstrip()[-1] in ".!?:,;":
        return False
    return _SEPARATOR.search(line) is not None or len(line.split()) <= _MOST_WORDS


def ends_with_period(line: str) -> bool:
    """Return whether a line ends with a period of time, as that of a position in a CV does."""
    return _POSITION.search(line, max(0, len(line) - 60)) is not None


def is_signed(line: str) -> bool:
    """Return whether a line ends with an author and a date, as in `It is red. – ada May 3 at 9:12`."""
    return _SIGNATURE.search(line) is not None


def is_version(title: str) -> bool:
    """Return whether a title is a version, perhaps with its date, and not the number of a section."""
    version = _VERSION.match(title.strip())
    rest = title.strip()[version.end() :].strip(" \t()[]-–—") if version else "-"
    return not rest or DATE.fullmatch(rest) is not None
