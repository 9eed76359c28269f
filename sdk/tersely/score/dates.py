"""Dates of a question, and the forms in which logs, tables and records write them."""

from __future__ import annotations

import re

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH = (
    r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY, _YEAR = r"(\d{1,2})(?:st|nd|rd|th)?", r"(\d{4})"
_FORMS = (
    (re.compile(rf"\b{_DAY}(?: of)? {_MONTH}(?:,? {_YEAR})?\b", re.IGNORECASE), "dmy"),
    (re.compile(rf"\b{_MONTH} {_DAY}(?:,? {_YEAR})?\b(?!:)", re.IGNORECASE), "mdy"),
    (re.compile(rf"\b{_MONTH},? {_YEAR}\b", re.IGNORECASE), "my"),
    (re.compile(rf"\b{_YEAR}-(\d\d)-(\d\d)\b"), "ymd"),
)
"""The dates that a question may hold, and the order of their day, month and year."""


def take_dates(query: str) -> tuple[str, list[re.Pattern[str]]]:
    """Return the question without its dates, and for each date a pattern of the forms that it may have.

    A date has a month, and a day or a year. The patterns are for texts in lower case.
    """
    patterns: list[re.Pattern[str]] = []

    def take(match: re.Match[str], order: str) -> str:
        fields = dict(zip(order, match.groups(), strict=True))
        name = fields["m"].lower()
        month = int(name) if name.isdigit() else _MONTHS.index(name[:3]) + 1
        day = int(fields["d"]) if "d" in fields else None
        if not 1 <= month <= 12 or (day is not None and not 1 <= day <= 31):
            return match[0]
        patterns.append(_compile(day, month, fields.get("y")))
        return " "

    for form, order in _FORMS:
        query = form.sub(lambda match, order=order: take(match, order), query)
    return query, patterns


def _compile(day: int | None, month: int, year: str | None) -> re.Pattern[str]:
    """Return a pattern of the forms of a date. Without a year, it matches the date in any year."""
    name = rf"{_MONTHS[month - 1]}[a-z]*\.?"
    year = year or r"\d{4}"
    if day is None:
        forms = [rf"{year}[-/.]0?{month}(?:[-/.]\d\d?)?", rf"0?{month}[/.]{year}", rf"{name}[ ,/-]+{year}"]
    else:
        year_after = rf"(?:[ ,/-]+{year}|(?![ ,/-]+\d{{4}}(?![\d:])))"
        forms = [
            rf"{year}[-/.]0?{month}[-/.]0?{day}",
            rf"0?{day}[./]0?{month}[./]{year}",
            rf"0?{month}/0?{day}/{year}",
            rf"{name} +0?{day}(?:st|nd|rd|th)?(?!\d){year_after}",
            rf"0?{day}(?:st|nd|rd|th|\.)?[ /-](?:of )?{name}{year_after}",
        ]
    return re.compile(rf"(?<![\d.])(?:{'|'.join(forms)})(?!\d|\.\d)")
