"""Statements of figures: each row keeps the names of the columns and its group."""

from __future__ import annotations

import pytest

from tersely.split.sentences import split_units
from tests.sdk.test_split_outline import check_notation
from tests.sdk.units import grows_linearly

CASES = {
    "groups with rows that are indented": """
1*         |(in thousands of stones)
2* 1       |                                    2025        2024
3* 1 2     |                                 old red     old red
4* 1 2 3   |Cranes
5 1 2 3 4  |  Red cranes                      80,849       (949)
6 1 2 3 4  |  Old cranes                    (19,557)       6,092
7 1 2 3    |All cranes                        61,292       5,143
8* 1 2 3   |Ropes
9 1 2 3 8  |  New ropes                       97,835       8,317
10 1 2 3 8 |  Torn ropes                     (3,371)      39,825
           |
11 1 2 3   |TOTAL                            155,756      53,285
""",
    "a centred title above the names": """
1*         |                          HARBOUR CRANES, INC.
2* 1       |                        STATEMENTS OF THE CRANES
3* 1 2     |                        (In thousands of stones)
           |
4* 1 2 3   |                                    2025        2024
           |
5* 1 2 3 4 |Cranes:
6 1 2 3 4 5|  Red cranes                      80,849       (949)
7 1 2 3 4 5|  Old cranes                    (19,557)       6,092
8 1 2 3 4  |All cranes                        61,292       5,143
""",
    "groups with rows that are not indented": """
1*         |                                    2025        2024
2* 1       |Cranes lifted
3 1 2      |Red cranes                        84,989      84,731
4 1 2      |Old cranes                        28,675       6,084
           |
5* 1       |Ropes bought
6 1 5      |New ropes                       (45,923)      26,491
7 1 5      |Torn ropes                        76,087      35,118
""",
}


@pytest.mark.parametrize("notation", CASES.values(), ids=CASES)
def test_rows_keep_their_groups(notation: str) -> None:
    check_notation(notation)


def test_titles_in_capitals_hold_counted_titles() -> None:
    text = "NOTES\n\n1. CRANES\nThe crane lifts a stone.\n\n2. ROPES\nThe rope is torn, and old.\n"
    units = split_units(text)
    assert [text[units[need].start : units[need].end] for need in units[-1].link.needs] == [
        "NOTES",
        "2. ROPES",
    ]


@pytest.mark.parametrize("line", ["                    a\n", "a {n}        1\n", "a\n", "(a)\n  b\n"])
def test_statements_are_read_in_time_linear_in_their_lines(line: str) -> None:
    def read(size: int) -> object:
        rows = "".join(line.replace("{n}", str(n)) for n in range(size // len(line)))
        return split_units("                2025\na             12\n" + rows)

    assert grows_linearly(read)
