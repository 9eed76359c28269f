"""Titles without signs, and what is below them: each line keeps the titles that it is read under."""

from __future__ import annotations

import pytest

from tersely.split.dates import DATE
from tersely.split.markers import are_siblings, find_marker
from tersely.split.sentences import split_units
from tests.sdk.test_split_above import open_parts
from tests.sdk.test_split_outline import check_notation
from tests.sdk.units import find_needs, grows_linearly

CASES = {
    "clauses with signs": """
1*       |§ 1 Cranes
         |
2  1     |(1) A crane lifts ropes.
3* 1     |(2) It must not lift:
4  1 3   |a) lamps;
5  1 3   |b) people.
6  1     |(3) It has a horn.
         |
7*       |§ 2 Lamps
         |
8  7     |(1) A lamp is on at night.
""",
    "parts with letters": """
1*       |Part A: Cranes
2~ 1     |Tick one box for each crane of the yard.
         |
3* 1     |Question 1 (2 points)
4~ 1 3   |Which rope does the crane lift in spring?
5  1 3 4 |[ ] the long one
6  1 3 4 |[ ] the short one
         |
7* 1     |Question 2 (3 points)
8~ 1 7   |A crane has nine ropes of one length.
9  1 7 8 |a) Draw them.
10 1 7 8 |b) Count them.
         |
11*      |Part B: Lamps
12~ 11   |Tick one box for each lamp of the yard.
""",
    "dates in a report": """
1*       |WHAT HAPPENED (UTC)
2* 1     |Monday, 3 May 2027
3  1 2   |09:10  The crane stops
4  1 2   |09:40  The horn sounds
         |
5* 1     |Tuesday, 4 May 2027
6  1 5   |10:20  The crane lifts a rope
         |
7*       |WHAT WENT WELL
8  7     |- the horn
""",
    "days with rooms": """
1*       |Friday
         |
2* 1     |Upper room
3  1 2   |09:00-09:30  Cranes
4  1 2   |09:45-10:30  Ropes
         |
5  1     |19:00  Boat trip
         |
6*       |Saturday
         |
7* 6     |Lower room
8  6 7   |09:00-09:30  Lamps
9  6 7   |10:00-10:30  Horns
""",
    "numbers above bullets": """
1*       |1. Cranes
2  1     |- one is old
3  1     |- one is new
4~ 1     |Decision: the old crane is sold.
         |
5*       |2. Lamps
6  5     |- nine are new
7~ 5     |Decision: the lamps of the yard stay.
""",
    "records with more blank lines between them": """
1*       |Rope ladder
         |
2* 1     |Parts
3  1 2   |- 40 m of rope
         |
4* 1     |Steps
5  1 4   |1. Cut the rope.
         |
         |
6*       |Lamp post
         |
7* 6     |Parts
8  6 7   |- 1 lamp
         |
9* 6     |Steps
10 6 9   |1. Dig a hole.
""",
    "speakers with a line of their own": """
1*       |HOLM:
2~ 1     |How many cranes does the yard have?
         |
3*       |VIK:
4~ 3     |It has nine cranes and a horn.
         |
5~ 3     |The horn is louder than the cranes.
         |
6*       |HOLM:
7~ 6     |How many ropes does the yard have?
         |
8*       |VIK:
9~ 8     |Nobody has ever counted the ropes.
""",
    "places of work": """
1*        |SKILLS
2  1      |Ropes and cranes
          |
3*        |WORK
4  3      |Keeper, Crane Yard
5  3 4    |May 2014 to June 2019
6  3 4 5  |- oiled nine cranes
7  3 4 5  |- counted the ropes
          |
8  3      |Keeper, Lamp Yard
9  3 8    |May 2009 to May 2014
10 3 8 9  |- lit the lamps
          |
11 3      |Helper, Rope Walk
12 3 11   |May 2005 to May 2009
13 3 11 12|- cut ropes
          |
14 3      |Sailor, Ferry North
15 3 14   |May 2001 to May 2005
16 3 14 15|- sold tickets
""",
    "counted titles above titles in capitals": """
1*        |Session 1, in the morning
          |
2* 1      |CRANES
3  1 2    |the old crane
          |
4* 1      |ROPES
5  1 4    |the long rope
          |
6*        |Session 2, at night
          |
7* 6      |LAMPS
8  6 7    |the red lamp
          |
9* 6      |HORNS
10 6 9    |the low horn
""",
    "stars of two lengths": """
1*        |*** Cranes ***
2* 1      |** Upper yard **
3  1 2    |Ada Holm
4* 1      |** Lower yard **
5  1 4    |Ben Vik
          |
6*        |*** Lamps ***
7* 6      |** Pier **
8  6 7    |Tora Moe
""",
    "labels in numbered parts": """
1*        |1. Cranes (green)
2  1      |Lead: Ada
3* 1      |Done:
4  1 3    |• hook oiled
5* 1      |Risks:
6  1 5    |• no rope
          |
7*        |2. Lamps (red)
8  7      |Lead: Ben
9* 7      |Done:
10 7 9    |• wick cut
11* 7     |Risks:
12 7 11   |• no oil
""",
    "labels without a colon": """
1*        |CRANES
2  1      |Lead: Ada
3* 1      |Next
4  1 3    |- oil the hook
5* 1      |Risks
6  1 5    |- no rope
          |
7*        |LAMPS
8  7      |Lead: Ben
9* 7      |Next
10 7 9    |- cut the wick
""",
    "an underlined title that is centred": """
1*       |             CRANES
         |----------------------------------
2* 1     |Upper yard  (nine)
3  1 2   |  hook: 3 m
4* 1     |Lower yard  (two)
5  1 4   |  hook: 5 m
""",
}  # fmt: skip


@pytest.mark.parametrize("marks", ["GHIJ", ["I", "II", "III", "IV", "V"], ["9", "10"], "VWX"])
def test_titles_are_counted_with_letters_and_roman_numerals(marks: list[str]) -> None:
    text = "".join(f"Part {mark}: ropes\nThe rope of part {mark} is long.\n\n" for mark in marks)
    sentence = f"The rope of part {marks[-1]} is long."
    assert find_needs(text, sentence) == {f"Part {marks[-1]}: ropes"}


@pytest.mark.parametrize("notation", CASES.values(), ids=CASES.keys())
def test_lines_keep_the_titles_above_them(notation: str) -> None:
    check_notation(notation)


POSTS = """Ada Holm (guest) wrote on 3 May 2027, 09:10:

The crane does not lift the rope any more.

Regards, Ada

Ben Vik (second level) wrote on 4 May 2027, 10:20:

{}The crane of the lower yard has no rope.

Thanks, Ben

Ada Holm (guest) wrote on 5 May 2027, 11:30:

The rope was below the lamp all the time.
"""


@pytest.mark.parametrize("heading", ["", "Spare parts\n\n"])
def test_a_greeting_is_no_title_of_the_next_post(heading: str) -> None:
    text = POSTS.format(heading)
    sentence = "The rope was below the lamp all the time."
    assert find_needs(text, sentence) == {"Ada Holm (guest) wrote on 5 May 2027, 11:30:"}
    above = {heading.strip()} - {""}
    sentence = "The crane of the lower yard has no rope."
    assert find_needs(text, sentence) == {"Ben Vik (second level) wrote on 4 May 2027, 10:20:", *above}


@pytest.mark.parametrize(("speaker", "goes_on"), [("<ada>", True), ("Ada:", True), ("The crane", False)])
def test_an_event_ends_with_its_lines_but_a_speech_goes_on(speaker: str, goes_on: bool) -> None:
    turns = "".join(f"10:2{number}  {speaker} stops at the rope {number}\n" for number in range(4))
    text = f"{turns}\nThe lamp of the yard is red at night.\n"
    assert bool(find_needs(text, "The lamp of the yard is red at night.")) == goes_on


RECORDS = (
    "Part {n}: crane\n\nIt lifts.\n\n",
    "{n} May 2027\n10:10  crane\n\n",
    "Crane {n}\n\nIt lifts.\n\nIt turns.\n\n\n",
    "Keeper, yard {n}\nMay to June\n- oiled\n\nn{n} helper\nMay to June\n- cut\n\n",
    "ADA:\nIt lifts.\n\nBEN:\nIt turns.\n\n",
    "Which crane lifts the rope?\n[ ] {n}\n[ ] none\n\n",
)


@pytest.mark.parametrize("record", RECORDS)
def test_titles_are_found_in_linear_time(record: str) -> None:
    assert grows_linearly(
        lambda size: split_units("".join(record.replace("{n}", str(n)) for n in range(size // 8)))
    )


def test_ranges_name_the_columns_of_numbers() -> None:
    text = """Rope                 1-50   51-500    >500
hemp                12.65    11.38   10.12
wire                 9.13     8.22    7.31
silk                14.32    12.89   11.46
"""
    names, _, row, _ = text.splitlines()
    assert names in dict(open_parts(text, 40))[row]


def test_dates_name_the_columns_of_values() -> None:
    text = """                     9 May   12 May   15 May
Load of the crane     44.6     13.7      4.5
Load of the rope      91.6     99.3     33.3
Load of the hook       2.6      9.3      3.3
"""
    names, _, row, _ = text.splitlines()
    assert names.strip() in dict(open_parts(text, 40))[row]


def test_rows_below_a_label_in_a_table_keep_the_names_of_the_columns() -> None:
    text = """\tNAME                        STATE     READ WRITE CKSUM
\tcrane                       ONLINE       0     0     0
\t  hook-0                    ONLINE       5     0    56
\tspares
\t  hook-9                    ONLINE       0     0     3
"""
    needs = find_needs(text, "hook-9                    ONLINE       0     0     3")
    assert any(need.startswith("NAME") for need in needs)


def test_clauses_with_tabs_are_no_table() -> None:
    clauses = "4.1\tThe crane is ours.\n4.2\tThe rope is yours.\n4.3\tYou must not lift:\n"
    text = f"{clauses}  (a) lamps;\n  (b) people.\n"
    assert "4.3\tYou must not lift:" in find_needs(text, "(b) people.")


def test_an_indented_remark_does_not_go_on_in_a_line_that_is_not_indented() -> None:
    text = """09:45-10:30  Ropes of the north
             Bring a rope that is longer than the yard.
10:45-11:45  Cranes of the south
             Bring a lamp that is brighter than the sun.
"""
    needs = find_needs(text, "Bring a lamp that is brighter than the sun.")
    assert "10:45-11:45  Cranes of the south" in needs


def test_lines_below_all_records_keep_the_lines_that_they_are_below() -> None:
    record = "--- FAIL: Crane{0} (0.2s)\n    --- FAIL: Crane{0}/hook (0.1s)\n        yard.go:{0}: got 4\n"
    text = "".join(record.format(number) for number in range(3)) + "FAIL\n"
    text += "".join(record.format(number) for number in range(3, 9))
    assert "--- FAIL: Crane8/hook (0.1s)" in find_needs(text, "yard.go:8: got 4")


@pytest.mark.parametrize(
    ("line", "marker"),
    [
        ("(2) a", "(1)"), ("2. a", "1."), ("2.4 a", ""), ("2.4. a", "1.1."), ("b) a", "a)"), ("B. a", "A."),
        ("iv) a", "a)"), ("§ 4 a", "§1"), ("- a", "-"), ("-a", ""), ("crane 4", ""), ("", ""),
        ("(I think so", ""), ("(a small lamp) is", ""),
    ],
)  # fmt: skip
def test_the_form_of_a_marker_is_found(line: str, marker: str) -> None:
    assert find_marker(line) == marker
    assert are_siblings(line, line) == (marker not in ("", "-"))


@pytest.mark.parametrize(
    ("line", "is_date"),
    [
        ("Monday, 3 May 2027", True), ("2027-05-03", True), ("Freitag, 3. Mai:", True), ("3rd of May", True),
        ("le 3 mai", False), ("3", False), ("May the crane lift", False), ("12 cranes", False),
        ("jueves", True), ("March 2027", True),
    ],
)  # fmt: skip
def test_a_line_with_a_date_alone_is_found(line: str, is_date: bool) -> None:
    assert (DATE.fullmatch(line) is not None) == is_date
