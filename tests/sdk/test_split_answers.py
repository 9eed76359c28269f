"""Threads of comments, chats, CVs and notes about versions: a part comes with what it is read under."""

from __future__ import annotations

import pytest

from tersely.split.sentences import split_units
from tests.sdk.test_split_outline import check_notation
from tests.sdk.units import find_needs, grows_linearly

CASES = {
    "comments that are indented": """
1          |The crane considered harmful (yard.example)
2  1       |91 points by ada 17 hours ago | hide | past | 7 comments
           |
3*         |bo 12 minutes ago | next [-]
4~ 3       |The crane keeps nine ropes and drops the oldest one.
           |
5* 3       |  cleo 5 hours ago | parent | next [-]
6~ 3 5     |  You can use another hook for that.
           |
7~ 3 5     |  The hook of the south is the best one.
           |
8* 3 5     |    dan 4 hours ago | parent | prev [-]
9~ 3 5 8   |    I would count the ropes before anything else.
           |
10*        |eve 2 days ago | prev [-]
11~ 10     |The lamp of the pier is broken again.
""",
    "comments that are quoted": """
1*         |ada 17 minutes ago | next
2~ 1       |The crane keeps nine ropes and drops the oldest one.
           |
3* 1       |> bo 9 minutes ago | parent | next
4  1 3     |> You can use another hook for that.
           |
5* 1 3     |> > cleo 8 minutes ago | parent | next
6  1 3 5   |> > The hook of the south is the best one.
           |
7* 1       |> dan 7 minutes ago | parent | prev
8  1 7     |> I would count the ropes before anything else.
""",
    "messages below days, with replies": """
1*         |Monday, June 15
           |
2* 1       |[08:34] Ada King:
3  1 2     |    The crane is red again
4* 1 2     |    [08:41] Bo Ray:
5  1 2 4   |        Who has painted it
           |
6* 1       |[08:51] Cleo May:
7  1 6     |    The lamp is broken
           |
8*         |Tuesday, June 16
           |
9* 8       |[09:01] Ada King:
10 8 9     |    The lamp burns
11* 8 9    |    [09:04] Cleo May:
12 8 9 11  |        Thanks to the master
""",
    "positions of a CV": """
1*         |Work history:
           |
2  1 3     |Keeper of the lamp
3  1 2     |Mar 2021 – Present
           |
4  1 2 3   |• Burned oil for 40 ships
5  1 2 3   |• Counted ropes in the morning
           |
6  1 7     |Trainee
7  1 6     |Mar 2017 – Feb 2021
           |
8  1 6 7   |• Carried ropes to the pier
           |
9*         |Education:
           |
10 9       |School of the harbour, 2016
           |
11*        |Skills:
           |
12 11      |Ropes, lamps and hooks
""",
    "titles with versions": """
1*         |2.9.0 (2024-09-19)
           |==================
2* 1       |Breaking changes
           |----------------
3  1 2     |- The old crane is gone.
           |
4* 1       |Bug fixes
           |---------
5  1 4     |- The lamp burns.
           |
6*         |2.8.0 (2024-08-01)
           |==================
7* 6       |Bug fixes
           |---------
8  6 7     |- The rope holds.
""",
    "values below their names": """
1*         |Technical data
           |
2* 1       |General
3* 1 2     |Model number
4  1 2 3   |BX-502
5* 1 2     |Country of origin
6  1 2 5   |Portugal
           |
7*         |Power
           |
8* 7       |Charging time
9 7 8      |4 h
10* 7      |Input voltage
11 7 10    |100-240 V
12* 7      |Rated power
13 7 12    |1397 W
           |
14*        |Weight and size
           |
15* 14     |Weight
16 14 15   |4.3 kg
17* 14     |Height
18 14 17   |85 cm
""",
    "groups of fields": """
1*         |General
2  1       |Brand: Norvik
3  1       |Colour: red
           |
4*         |Power
5  4       |Battery type: dry
6  4       |Charging time: two hours
           |
7*         |Connections
8  7       |Cable: copper
9  7       |Lamp: wire
""",
    "a position with a text": """
1*         |EXPERIENCE
           |
2* 1       |Team lead, Harbour Labs (Oct 2008 – Jan 2012)
3~ 1 2     |The company sells lamps to ships.
4  1 2     |* Led a team of nine keepers
5  1 2     |* Counted all ropes
           |
6* 1       |Keeper, Yard and Sons (Dec 2012 – Dec 2015)
7~ 1 6     |The company sells ropes to farms.
8  1 6     |* Burned oil for ships
           |
9*         |EDUCATION
           |
10 9       |School of the harbour
""",
    "letters below a paragraph": """
1*         |§ 1
2* 1       |Fees
3* 1 2     |(1) The keeper pays for
4  1 2 3   |(a) the lamps of the pier;
5  1 2 3   |(b) the ropes of the yard.
6  1 2     |(2) Nobody else pays.
           |
7*         |§ 2
8* 7       |Appeals
9* 7 8     |(1) The master may
10 7 8 9   |(a) write a letter, or
11 7 8 9   |(b) come to the harbour.
""",
    "a mail and its answer": """
1          |From: Ada <ada@yard.example>
2  1       |Date: Mon, 28 Nov 2025 13:47
3  1       |To: Bo <bo@yard.example>
4  1       |Subject: The crane
           |
5~ 1       |The crane is red again.
           |
6* 1       |What is missing:
           |
7  1 6     |- the hook
8  1 6     |- the lamp
""",
    "products in bold type": """
1*         |**The crane of Ada**
2~ 1       |It lifts all ropes.
           |
3* 1       |**Pros:**
4  1 3     |- It is red
           |
5* 1       |**Cons:**
6  1 5     |- It is heavy
           |
7*         |**The crane of Bo**
8~ 7       |It lifts nothing.
           |
9* 7       |**Pros:**
10 7 9     |- It is small
""",
    "theorems and proofs": """
1*         |8.1 Cranes
           |
2~ 1       |Lemma 8.1. A crane has one hook and one rope.
           |
3~ 1 2     |Proof. Every hook needs a rope.
           |
4~ 1       |Definition 8.2. A yard is what has cranes.
""",
    "a title at the margin of its text": """
1          |      Total debits                  303.03
2          |      Total credits                 211.69
           |
3*         |      Important information
           |
4~ 3       |      Please check all entries of this month.
""",
    "the message of a commit": """
1          |commit 859d90d562875af70b456622d97f8e1a5bb848f7
2  1       |Author: Ada <ada@yard.example>
3  1       |Date:   Thu Nov 16 20:53:20 2023 +0000
           |
4  1       |    Paint the crane red
           |
5~ 1       |    The crane was green before that.
""",
    "causes below a title": """
1*         |Troubleshooting
           |===============
2  1       |The crane does not start
3  1 2     |Cause: The door is open.
4  1 2     |Remedy: Close the door firmly.
5  1 2     |Cause: The fuse is blown.
           |
6  1       |The lamp flickers
7  1 6     |Cause: The wick is loose.
8  1 6     |Remedy: Pull the wick out.
           |
9  1       |The rope is wet
10 1 9     |Cause: It has rained.
11 1 9     |Remedy: Wait for the sun.
""",
}  # fmt: skip


@pytest.mark.parametrize("notation", CASES.values(), ids=CASES.keys())
def test_lines_come_with_the_lines_that_they_are_read_under(notation: str) -> None:
    check_notation(notation)


def test_a_message_in_the_lines_of_another_is_no_part_of_it() -> None:
    text = """Ada King (08:34:33)
The crane is red again. Who has painted it with that colour?
    Bo Ray (08:41:35)
    I think it was the master of the yard. He likes red cranes.
    - and red hooks
    Cleo May (08:44:00)
    The lamp is broken. It burns no oil.

Dan Orr (08:51:17)
The rope is wet. Please hang it up.
"""
    assert find_needs(text, "It burns no oil.") >= {"Cleo May (08:44:00)"}
    assert "Bo Ray (08:41:35)" not in find_needs(text, "It burns no oil.")


SIGNED = """The crane is too slow for the harbour. It has to be oiled in the morning.

It was oiled in May. Nobody has seen to it since then. – bo Aug 22 at 2:51
Please do not oil it at night. The lamp is off. – cleo-k Aug 23 at 12:01

The rope is wet. You have to hang it up.
– dan42 May 14 at 5:49
"""
CITED = """== References ==

^ King, Ada (1962). "Cranes and ropes". Journal of the Harbour. 29 (1): 66–155.
^ a b Ray, Bo (1982). "A history of lamps". The Yard. 3 (3): 55–101.

== Further reading ==

May, Cleo (1971). The rope. Harbour Press. ISBN 3-4444.
Orr, Dan; Roe, Eve (1972). Hooks of the north. Yard and Sons.
"""


@pytest.mark.parametrize("text", [SIGNED, CITED], ids=["signed comments", "bibliographies"])
def test_what_is_signed_or_cited_is_one_part(text: str) -> None:
    units = [text[unit.start : unit.end] for unit in split_units(text)]
    whole = [unit for unit in units if "It was oiled" in unit or "You have" in unit or "(19" in unit]
    assert len(whole) in (2, 4)
    assert all("–" in unit or unit.count(".") > 2 for unit in whole)
    assert not any(unit.startswith("–") for unit in units)


PARTS = ("a 3 hours ago | b\nIt is.\n\n", "  a 3 hours ago | b\n  It is.\n\n> b 2 days ago\n> It is.\n\n")


@pytest.mark.parametrize("part", PARTS)
def test_threads_are_read_in_linear_time(part: str) -> None:
    assert grows_linearly(lambda size: split_units(part * (size * 4 // len(part))))
