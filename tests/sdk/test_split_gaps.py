"""Records that a comment or a blank line interrupts: the lines below it keep their heads."""

from __future__ import annotations

import pytest

from tersely.split.sentences import split_units
from tests.sdk.test_split_outline import check_notation
from tests.sdk.units import grows_linearly

CASES = {
    "output of a build whose lines begin in many ways": """
1         |-- The crane is an old one
2         |-- Found rope (found version "1.2")
3         |-- Ropes: 4, hooks: 9
4         |/yard/crane.ts:41.12: Warning (hook): wrong size
5         |warning: ROPE (see yard/rope:28) is not 20
6         |[41/318] Building yard/hook.o
7         |yard/lift.c:212:19: warning: unused rope
8  7      |yard/rope.h:4:6: note: declared here
9         |[127/318] Building yard/rope.o
10        |yard/lift.c:88:5: error: no hook
11        |[316/318] Linking yard.elf
12        |Signing with keys/yard.pem
13        |yard.py: version 2.14
14        |done
15        |lifted 7 of 9 stones
16        |WARN lamp is off
""",
    "fields in a comment of settings": """
1         |# Limits of the yard
2         |#
3*        |#The ropes can be:
4  3      |#   - a rope of hemp
5  3      |#   - a rope of wire
6         |#
7         |rope hemp 4
""",
    "comments above entries": """
0       |# extended export
        |
1*      |# ada, keepers
2  1    |dn: uid=ada,ou=keepers
3  1 2  |objectClass: person
4  1 2  |objectClass: keeper
5  1 2  |uid: ada
6  1 2  |cn: Ada Holm
        |
11*     |# ben, keepers
12 11   |dn: uid=ben,ou=keepers
13 11 12 |objectClass: person
14 11 12 |uid: ben
15 11 12 |cn: Ben Roy
        |
20*     |# result
21 20   |search: 2
22 20 21 |result: 0 Success
""",
    "a field above the first entry": """
1       |version: 1
        |
2*      |# ada, keepers
3  2    |dn: uid=ada,ou=keepers
4  2 3  |objectClass: person
5  2 3  |objectClass: keeper
6  2 3  |uid: ada
        |
7*      |# ben, keepers
8  7    |dn: uid=ben,ou=keepers
9  7 8  |objectClass: person
10 7 8  |objectClass: keeper
11 7 8  |uid: ben
""",
    "comments inside entries": """
1       |dn: uid=ada,ou=keepers
2  1    |objectClass: person
3  1 5  |# the name on the door of the shed
4  1 5  |# and on the key
5  1    |cn: Ada Holm
6  1    |mail:: YWRhQHBpZXI=
7  1 8  |# not in June
8  1    |phone: 41 44
        |
11      |dn: uid=ben,ou=keepers
12 11 13 |# since May
13 11   |objectClass: person
14 11   |objectClass: keeper
15 11   |note: mends the rope
16 11 15 |  and the hook
17 11 18 |# old
18 11   |cn: Ben Roy
""",
    "a blank line inside a table": """
1*      |/dev/yard0:
2  1    |           Version : 1.2
3  1    |       Crane Level : high
        |
4* 1    |    Number   Major   Minor   RopeDevice State
5  1 4  |       0       8       17        0      active sync   /dev/hook1
6  1 4  |       1       8       33        1      active sync   /dev/hook2
7  1 4  |       3       8       49        2      spare rebuilding   /dev/hook3
        |
8  1 4  |       4       8       65        -      faulty   /dev/hook4
9  1 4  |       5       8       81        -      spare   /dev/hook5
""",
    "a blank line above the names of other columns": """
1*      |CRANE      LIFTS      ROPE
2  1    |red        40         hemp
3  1    |old        12         wire
        |
4  1    |new        90         wire
        |
5*      |LAMP       BURNS      OIL
6  5    |red        40         fish
7  5    |old        12         whale
        |
8       |Nobody counts the others
""",
    "samples with a time": """
1*      |Harbour report (north)
        |
2* 1    |05/04/2026 09:12:44 AM
3* 1 2  |crane:  %lifts   %rests   %turns
4  1 2 3|          3.12     0.00     1.04
        |
5* 1 2  |Lamp              oil     wick
6  1 2 5|north            1.50    20.10
7  1 2 5|south            0.10     2.00
        |
8* 1    |05/04/2026 09:12:49 PM
9* 1 8  |crane:  %lifts   %rests   %turns
10 1 8 9|          9.12     1.00     2.04
        |
11* 1 8 |Lamp              oil     wick
12 1 8 11|north            8.50    40.10
13 1 8 11|south            0.30     6.00
""",
    "samples with a time among other words": """
1*      |yard - 09:12:44 up 3 days, 2 keepers
2  1    |Cranes: 3 lift, 1 rest
        |
3* 1    |  NUM NAME       LIFTS   ROPE
4  1 3  |    1 red           40     9
5  1 3  |    2 old           12     7
        |
6*      |yard - 09:13:44 up 3 days, 2 keepers
7  6    |Cranes: 1 lifts, 3 rest
        |
8* 6    |  NUM NAME       LIFTS   ROPE
9  6 8  |    1 red           41     9
10 6 8  |    2 old           13     7
""",
}  # fmt: skip


@pytest.mark.parametrize("notation", CASES.values(), ids=CASES.keys())
def test_lines_are_kept_whole_and_with_their_heads(notation: str) -> None:
    check_notation(notation)


@pytest.mark.parametrize("text", ["a: b\n# c d\n# e f\ng: h\n", "a: b\n# c\nd: e\n\n# f\na: b\nd: e\n\n"])
def test_comments_in_records_take_linear_time(text: str) -> None:
    assert grows_linearly(lambda size: split_units(text * (size // len(text))))
    comments = "a: b\n" + "# Cc dd\n# Ee ff.\n"
    assert grows_linearly(lambda size: split_units(comments + "# c d\n" * (size // 6) + "g: h\n"))


@pytest.mark.parametrize(
    "text",
    [
        "RED      OLD\n1        2\n3        4\n\n",
        "7       12      3\n\n",
        "red    old\n-----  -----\n1      2\n\n",
        "12:00:01 AM\na b\n\nc d\n\n",
        "RED      OLD\n1        2\n3        4\n" + "\n5        6\n" * 8,
    ],
)
def test_tables_with_blank_lines_take_linear_time(text: str) -> None:
    assert grows_linearly(lambda size: split_units(text * (size // len(text))))


def test_justified_text_is_prose() -> None:
    text = (
        "The  harbour of  Maren was  dug in 1871  by hand.  Its\n"
        "old  crane still  lifts stone. The  pier was built two\n"
        "years later, and  the town has  owned it  since then.\n"
        "It is open."
    )
    ends = [text[unit.end - 5 : unit.end] for unit in split_units(text)]
    assert ends == ["hand.", "tone.", "then.", "open."]


def test_two_lines_that_are_justified_like_others_are_prose() -> None:
    text = (
        "The  harbour of  Maren was  dug in 1871  by hand, and its crane\n"
        "still lifts stone.\n\n"
        "The  pier  was  built  two  years  later;  the  town  has owned\n"
        "it since then.\n"
    )
    assert [unit.kind for unit in split_units(text)] == ["sentence", "sentence"]
