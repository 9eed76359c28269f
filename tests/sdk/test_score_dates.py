"""Dates of a question find the forms of logs and records."""

from __future__ import annotations

import json

import pytest

from tersely import Compressor
from tersely.score.dates import take_dates

DAY = (
    "2026-03-11", "2026-03-11t14:20:08z", "2026/3/11", "11/mar/2026:08:04:20", "mar 11 08:04:20 host",
    "march 11th, 2026", "11. march" , "11 mar 2026", "11.03.2026", "03/11/2026", "11th of march 2026",
)  # fmt: skip
OTHERS = (
    "2026-03-12",
    "2026-11-03",
    "2026-03-110",
    "mar 12 08:04",
    "12011-03-2026",
    "march 110",
    "111 march",
)
OTHER_YEARS = ("2025-03-11", "march 11, 2025", "11 mar 2025")
MONTH = ("1997-05-01", "1997-05", "may 1997", "05/1997")


@pytest.mark.parametrize(
    ("question", "rest", "held", "not_held"),
    [
        ("What failed on 11 March?", "What failed on  ?", (*DAY, "2025-03-11"), OTHERS),
        ("What failed on March 11th?", "What failed on  ?", (*DAY, "2025-03-11"), OTHERS),
        ("2026-03-11: what failed", " : what failed", DAY, (*OTHERS, *OTHER_YEARS)),
        ("IBM in May 1997", "IBM in  ", MONTH, ("1997-06-01", "1998-05")),
        ("May I ask 5 of 40 for 1997?", "May I ask 5 of 40 for 1997?", (), ()),
        ("31 March 08:00 or 99 March", "  08:00 or 99 March", ("mar 31 08:00",), ("mar 99",)),
    ],
)  # fmt: skip
def test_a_date_has_many_forms(
    question: str, rest: str, held: tuple[str, ...], not_held: tuple[str, ...]
) -> None:
    left, patterns = take_dates(question)
    assert (left, len(patterns)) == (rest, int(bool(held)))
    for text in held:
        assert patterns[0].search(text), text
    for text in not_held:
        assert not any(pattern.search(text) for pattern in patterns), text


def test_a_record_of_the_date_is_kept() -> None:
    prices = [
        {"day": f"{year}-{month:02}-01", "price": 10 * year + month}
        for year in range(1990, 2010)
        for month in range(1, 13)
    ]
    text = Compressor().compress("What was the price in May 1997?", [json.dumps(prices)], budget=60).text
    assert prices[7 * 12 + 4] in json.loads(text)
    lines = [f"{day} Mar 2026 08:00 INFO backup of disk {day * 7 % 31} done" for day in range(1, 31)]
    assert lines[10] in Compressor().compress("Which disk, 2026-03-11?", ["\n".join(lines)], budget=40).text
