"""Sessions at a prompt, and other texts whose parts must not reach into each other."""

from __future__ import annotations

import pytest

from tersely.split.sentences import split_units
from tersely.split.sessions import find_commands
from tests.sdk.test_split_outline import check_notation
from tests.sdk.units import grows_linearly, list_units

CASES = {
    "statements at a prompt": """
1*      |yard=> select name, lifts from cranes;
2* 1    | name | lifts
3* 1 2  |------+-------
4  1 2 3 | red  |    40
5  1 2 3 | old  |    12
6  1    |(2 rows)
        |
7*      |yard=> select count(*) from ropes;
8  7    | count 9
""",
    "commands of a shell": """
1*      |ada@pier:~/yard$ wc -l logs/*
2  1    |  40 logs/red
3  1    |  12 logs/old
4*      |ada@pier:~/yard$ cat notes
5* 4    |# Ropes
6* 4 5  |## Red
7  4 5 6 |count 9
8*      |ada@pier:~/logs$ hostname
9  8    |pier
""",
    "one command above its output": """
1*      |$ list --all red old
2* 1    |Name   : red crane
3  1 2  |Load   : 40 t
4  1 2  |Rope   : hemp
        |
5* 1    |Name   : old crane
6  1 5  |Load   : 12 t
7  1 5  |Rope   : wire
""",
    "columns whose labels have no name": """
1*      |>>> cranes.describe()
2* 1    |           lifts      rope
3  1 2  |count      12.00     40.00
4  1 2  |mean        3.50      9.25
5*      |>>> ropes.describe()
6* 5    |             age    metres
7  5 6  |count       9.00      9.00
8  5 6  |mean       11.25    120.75
""",
    "a blank line below such columns": """
1*      |=== red ===
2* 1    |               lifts     rope
        |
3  1 2  |     early      0.67     0.87
4  1 2  |      late      0.13     0.53
        |
5  1 2  |  mean all      0.40     0.70
""",
    "an empty first cell": """
1*      |Date     Text                Out      Left
2  1    |         opening balance              90.00
3  1    |03 Mar   rope               12.00     78.00
4  1    |         lamp oil            8.00     70.00
5  1    |06 Mar   tar                 5.00     65.00
""",
    "columns with a number first": """
1*      |/dev/crane0 (old):
2* 1    |   #:           TYPE NAME        SIZE   IDENTIFIER
3  1 2  |   0:    rope_scheme            40 m   crane0
4  1 2  |   1:           ROPE red         9 m   crane0s1
5  1 2  |   2:           ROPE old        12 m   crane0s2
""",
    "rows between rules of dashes": """
1       |---------------------
2* 1    || Id | Lift | Metres |
3* 2    |---------------------
4  1 2 3 || 1  | red  |     40 |
5  1 2 3 || 2  | old  |     12 |
6       |---------------------
""",
    "titles of clauses": """
1*      |3. CRANES
        |
2* 1    |3.1 The keeper must, in every yard:
3  1 2  |    (a) grease each wheel;
4  1 2  |    (b) count the ropes;
        |
5*      |4. LAMPS
        |
6* 5    |4.1 The keeper must, at dusk:
7  5 6  |    (a) trim each wick;
""",
    "sections with questions": """
1*      |Section 1: Cranes
2* 1    |1.1 Which rope is the oldest
3  1 2  |    [x] red
4  1 2  |    [ ] blue
        |
5*      |Section 2: Lamps
6* 5    |2.1 Which lamp is the brightest
7  5 6  |    [ ] red
8  5 6  |    [x] blue
""",
    "adapters with other names": """
1*      |Yard Configuration
        |
2* 1    |Red crane adapter:
        |
3  1 2  |   Description . . . . : Red crane of the pier
4  1 2  |   Address . . . . . . : 7-1
5  1 2  |   Rope . . . . . . . .: 40 m
        |
6* 1    |Old lamp adapter:
        |
7  1 6  |   Description . . . . : Lamp of the tower
8  1 6  |   Address . . . . . . : 7-2
9  1 6  |   Rope . . . . . . . .: none
""",
    "titles below section lines": """
1*      |--- Slide 1 ---
2* 1    |Red cranes
        |
3  1 2  |- Lifts: 40
4  1 2  |- Rope: 9 m
        |
5*      |--- Slide 2 ---
6* 5    |Old lamps
        |
7  5 6  |- Oil: 12
8  5 6  |- Wicks: 3
""",
    "sections that begin with records": """
1       |PIER POLICY
2 1     |Number: 7
3 1     |Holder: Ada
        |
4* 1    |Section 1 - Ropes
        |
5  1 4  |Sum: 40
6  1 4  |Excess: 9
        |
7* 1    |Section 2 - Lamps
        |
8  1 7  |Sum: 12
9  1 7  |Excess: 3
""",
    "failures with places in files": """
1       |  1) red > lift.ts:99:5 > holds the rope
        |
2 1     |    Error: the rope is too short
        |
3 1     |        at /yard/lift.ts:103:40
        |
4       |  2) old > lamp.ts:160:5 > gives light
        |
5 4     |    Error: the lamp is out
        |
6 4     |        at /yard/lamp.ts:164:40
""",
    "groups of aligned lines": """
1       |  ROPE    RED 40   pier to yard
2 1     |    Begin    08:01  pier (old)   gate 2
3 1     |    Until    15:53  yard (new)   gate 3
4 1     |    Keeper   7116256820
        |
5       |  LAMP    old tower
6 5     |    Begin    16:00  tower (new)   gate 1
7 5     |    Oil      blue, 2 nights
""",
    "records between rules": """
1       |Case PIER-7: red rope
2 1     |Owner: Ada
        |
3* 1    |Remarks (1)
        |
4 1 3   |40 metres are left.
        |
5*      |----------------
6 5     |Case PIER-9: old lamp
7 5 6   |Owner: Ben
        |
8* 5 6  |Remarks (1)
        |
9 5 6 8 |The wick is short.
""",
}  # fmt: skip


@pytest.mark.parametrize("notation", CASES.values(), ids=CASES.keys())
def test_lines_are_kept_whole_and_with_their_heads(notation: str) -> None:
    check_notation(notation)


@pytest.mark.parametrize(
    "text",
    [
        "> The rope is old.\n\nIs it?\n\n> It is.\n",
        ">>> The rope is old.\n>> Is it?\n>>> It is.\n",
        "Install it:\n\n$ pip install crane\n\nRun it:\n\n$ crane lift\n\nIt lifts.",
        "PR#7 mends the rope.\nPR#9 mends the lamp.\n",
        "$ 5 is the price of the rope.\n\nThe lamp is free.\n",
    ],
)
def test_quotations_and_instructions_are_no_sessions(text: str) -> None:
    assert find_commands(text) == []


def test_commands_without_output_are_code() -> None:
    assert list_units("$ cd yard\n$ make crane\n$ make lamp") == [
        ("code", "$ cd yard\n$ make crane\n$ make lamp")
    ]


@pytest.mark.parametrize(
    "command",
    [
        "yard=> select *\nyard-> from ropes;",
        ">>> for rope in ropes:\n...     cut(rope)",
        "$ crane \\\n  --lift 7",
    ],
)
def test_a_command_may_have_several_lines(command: str) -> None:
    prompt = command.split(" ")[0]
    text = f"{command}\nred\n{prompt} 7\nold\n"
    assert [line for _, line in list_units(text)] == [command, "red", f"{prompt} 7", "old"]


def test_a_prompt_in_the_lines_of_a_command_begins_no_other() -> None:
    lines = ["$ crane \\\n$ lift", "red", "$ lamp", "old"]
    assert [line for _, line in list_units("\n".join(lines))] == lines


def test_a_document_in_a_session_is_still_a_document() -> None:
    text = '$ cat crane.json\n{"rope": [40, 9]}\n$ cat lamp.json\n{"oil": 12}\n'
    assert [kind for kind, _ in list_units(text)] == ["line", "json", "line", "json"]


@pytest.mark.parametrize("text", ["$ a b\nc d\n", ">>> a(b)\n", "R1#show a\n   b   7\n   c   9\n"])
def test_sessions_take_linear_time(text: str) -> None:
    assert grows_linearly(lambda size: split_units(text * (size // len(text))))
