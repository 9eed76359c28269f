"""Outputs of commands: lines keep the heads of their record, and no record lends its head to another."""

from __future__ import annotations

import pytest

from tersely.split.arrange import arrange
from tersely.split.nodes import Sizes
from tersely.split.sentences import split_units
from tests.sdk.test_split_outline import check_notation
from tests.sdk.units import grows_linearly, list_units

CASES = {
    "headings and captions of AsciiDoc": """
1*      |= Yard
        |
2* 1    |== Crane
        |
3  1 2  |.Weights of ropes
4  1 2 3|[cols="2,1"]
5  1 2 3||===
6  1 2 3||Name |Weight
        |
7  3 6  ||rope
8  3 6 7||71
9  3 6  ||tar
10 3 6 9||82
11 1 2 3||===
        |
12* 1   |== Lamp
        |
13~ 1 12|The lamp burns until dawn.
""",
    "requests and their answers": """
1       |* Connected to crane.example
2       |> GET /ropes HTTP/1.1
3  2    |> Host: crane.example
4       |>
5  2    |< HTTP/1.1 200 OK
6  2 5  |< Server: yard
7  2 5  |< ETag: "77"
8       |<
9       |* Connected to lamp.example
10      |> GET /oil HTTP/1.1
11 10   |> Host: lamp.example
12      |>
13 10   |< HTTP/1.1 404 Not Found
14 10 13|< Server: pier
15 10 13|< ETag: "88"
16      |<
""",
    "a report whose first line is right above a record": """
1       |Scanning the yard at 12:00
2       |Report for crane (10.0.0.1)
3~ 2    |The crane is up (0.0004s latency).
4* 2    |PORT     STATE SERVICE VERSION
5  2 4  |22/tcp   open  ssh     9.1
6  2 4  |80/tcp   open  http    1.18
        |
7       |Report for lamp (10.0.0.2)
8~ 7    |The lamp is up (0.0005s latency).
9* 7    |PORT     STATE SERVICE VERSION
10 7 9  |25/tcp   open  smtp    3.7
11 7 9  |80/tcp   open  http    1.24
        |
12      |Report for rope (10.0.0.3)
13~ 12  |The rope is up (0.0006s latency).
14* 12  |PORT     STATE SERVICE VERSION
15 12 14|26/tcp   open  smtp    3.9
16 12 14|81/tcp   open  http    1.26
""",
    "cues with names": """
1*      |WEBVTT
        |
2  1    |00:00:04.000 --> 00:00:07.000
3~ 1 2  |<v Ada>The crane is under the lamp,
4~ 1 2  |and 91 ropes came.
        |
5  1 6  |cue-1
6  1    |00:00:08.000 --> 00:00:11.000
7  1 6  |<v Eve>The lamp is under the rope,
""",
    "hops with aligned numbers": """
1       |route to crane.example, 30 hops
2  1    | 8  tar.example (10.0.0.8)  7 ms
3  1    | 9  oil.example (10.0.0.9)  8 ms
4  1    |10  hemp.example (10.0.1.0)  9 ms
5  1    |11  rope.example (10.0.1.1)  9 ms
""",
    "records of several runs": """
1       |● crane.service - The crane
2  1    |     Loaded: loaded
3  1    |     Memory: 7.1M
        |
4  1    |Nov 26 12:00:01 yard crane[7]: lifted 3 stones
5  1    |Nov 26 12:00:02 yard crane[7]: dropped 1 stone
        |
6       |● lamp.service - The lamp
7  6    |     Loaded: loaded
8  6    |     Memory: 8.2M
        |
9  6    |Nov 26 12:00:03 yard lamp[8]: lit
10 6    |Nov 26 12:00:04 yard lamp[8]: burnt 2 oils
""",
    "files with sections": """
1       |/lib/crane.so:     file format elf64
        |
2* 1    |Sections:
3  1 2  |rope 7 stones
        |
4       |/lib/lamp.so:     file format elf64
        |
5* 4    |Sections:
6  4 5  |oil 8 stones
""",
    "groups of tests between two lines that begin alike": """
1       |[----------] 2 tests from Crane
2  1    |[ RUN      ] Crane.Lifts
3  1 2  |crane.cc:7: Failure
4  1 2  |[  FAILED  ] Crane.Lifts (1 ms)
5  1    |[ RUN      ] Crane.Turns
6  1 5  |crane.cc:9: Failure
7  1 5  |[  FAILED  ] Crane.Turns (1 ms)
8       |[----------] 2 tests from Crane (2 ms total)
        |
9       |[----------] 2 tests from Lamp
10 9    |[ RUN      ] Lamp.Burns
11 9 10 |lamp.cc:3: Failure
12 9 10 |[  FAILED  ] Lamp.Burns (2 ms)
13 9    |[ RUN      ] Lamp.Ends
14 9 13 |lamp.cc:5: Failure
15 9 13 |[  FAILED  ] Lamp.Ends (2 ms)
16      |[----------] 2 tests from Lamp (4 ms total)
""",
}


@pytest.mark.parametrize("notation", CASES.values(), ids=CASES)
def test_lines_keep_the_heads_of_their_record(notation: str) -> None:
    check_notation(notation)


ROWS = {
    "a tree in the first column": (
        "NAME         STATE   READ WRITE\nyard         ONLINE     0     0\n"
        "  pair-0     ONLINE     0     0\n    crane    ONLINE     3     7\n    lamp     ONLINE     2     1\n"
        "  pair-1     ONLINE     0     0\n    rope     ONLINE     5     4\n",
        "    rope     ONLINE     5     4",
        ["yard         ONLINE     0     0", "  pair-1     ONLINE     0     0"],
        ["  pair-0     ONLINE     0     0"],
    ),
    "a drawn tree": (
        "NAME         SIZE TYPE  MOUNT\ncrane        100G disk  /a\n├─crane1      40G part  /b\n"
        "lamp         200G disk  /c\n└─lamp1       90G part  /d\n  └─oil       80G lvm   /e\n",
        "  └─oil       80G lvm   /e",
        ["lamp         200G disk  /c", "└─lamp1       90G part  /d"],
        ["crane        100G disk  /a"],
    ),
    "a time before the names": (
        "12:00:01     CPU     %user     %idle\n12:10:01     all      1.07     97.20\n"
        "12:20:01     all      2.05     96.11\n12:30:01     all      3.01     95.42\n",
        "12:30:01     all      3.01     95.42",
        ["12:00:01     CPU     %user     %idle"],
        ["12:10:01     all      1.07     97.20"],
    ),
    "cells of AsciiDoc": (
        "|===\n|Name |Weight\n\n|crane\n|71\n|lamp\n|82\n|rope\n|93\n|===\n",
        "|lamp\n|82",
        ["|===\n|Name |Weight", "|==="],
        ["|crane\n|71"],
    ),
}


@pytest.mark.parametrize(("text", "row", "heads", "others"), ROWS.values(), ids=ROWS)
def test_rows_need_the_rows_and_names_above(text: str, row: str, heads: list[str], others: list[str]) -> None:
    units = arrange(text, split_units(text), 0, lambda unit: True, Sizes(10, 10))
    parts = [text[unit.start : unit.end].strip() for unit in units]
    needs = {parts[need] for need in units[parts.index(row.strip())].link.needs}
    assert {head.strip() for head in heads} <= needs
    assert not needs & {other.strip() for other in others}


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Crane\n\n338           2 NOP\n\nlamp", ["heading", "line", "line"]),
        (
            'msgid "Open the lamp of the old yard"\nmsgstr "Aapne lampen av den gamle gaarden"',
            ["line", "line"],
        ),
        ("not ok 4 - the lamp burns\n  ---\n  expected: 7", ["line", "line", "line"]),
    ],
)
def test_lines_of_reports_are_not_prose_or_tables(text: str, kinds: list[str]) -> None:
    assert [kind for kind, _ in list_units(text)] == kinds


def test_a_long_listing_is_cut_above_a_record() -> None:
    records = [
        f"/lib/crane{n}.so:\n" + "".join(f"\trope{k}.so => /lib/rope{k}.so (0x7)\n" for k in range(8))
        for n in range(12)
    ]
    for kind, text in list_units("".join(records)):
        assert kind == "code"
        assert text.startswith("/lib/crane")


def test_sections_of_several_files_stay_below_their_files() -> None:
    text = "".join(
        f"# /etc/{name}.service\n[Unit]\nAfter=dock\n\n[Service]\nUser={name}\n\n"
        for name in ("crane", "lamp")
    )
    units = split_units(text)
    parts = [text[unit.start : unit.end] for unit in units]
    needs = {
        parts[need]
        for need in units[next(n for n, part in enumerate(parts) if "User=lamp" in part)].link.needs
    }
    assert {"# /etc/lamp.service", "[Service]"} <= needs
    assert "# /etc/crane.service" not in needs


@pytest.mark.parametrize(
    "line",
    [
        "|===\n",
        "== a\n\n",
        "> a\n< b\n",
        "/a: file\n\nb:\n\n",
        "a:\n\tb => (1)\n",
        "[-] 3 a\n[ R ] b\nc: 7\n",
    ],
)
def test_such_lines_take_linear_time(line: str) -> None:
    assert grows_linearly(lambda size: split_units(line * (size * 4 // len(line))))
