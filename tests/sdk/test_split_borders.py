"""Borders of records, lists and quotations: a line needs the heads of its own record, and none of another."""

from __future__ import annotations

import pytest

from tersely.split.arrange import arrange
from tersely.split.nodes import Sizes
from tersely.split.sentences import split_units
from tests.sdk.test_split_outline import check_notation
from tests.sdk.units import find_needs, list_units

CASES = {
    "records between rules in cycles": """
1       |Name: crane
2  1    |Size: 40
3  1    |Home: the yard
4  1    |Needs: ropes
5*      |---
6  5    |Name: lamp
7  5 6  |Size: 7
8  5 6  |Home: the pier
9  5 6  |Needs: oil
10*     |---
11 10   |Name: winch
12 10 11|Size: 12
13 10 11|Home: the dock
14 10 11|Needs: grease
""",
    "records that a name divides": """
1       |Gate: north
2  1    |Open: at dawn
3       |Gate: south
4  3    |Open: at noon
5  3    |Shut: at dusk
6       |Gate: east
7  6    |Gate: west
8  6    |Shut: at noon
""",
    "blocks in braces": """
1* 4    |interface Crane {
2  1 4  |  rope: Rope!
3  1 4  |  hook: ID!
4* 1    |}
        |
5* 8    |enum Lamp {
6  5 8  |  RED
7  5 8  |  WHITE
8* 5    |}
        |
9* 12   |interface Winch {
10 9 12 |  rope: Rope!
11 9 12 |  size: Int!
12* 9   |}
""",
    "services with signs": """
1       |● crane.service - lifts stones
2  1    |     Loaded: from the yard
3  1    |     Active: since dawn
        |
4  1    |May 06 19:03:20 yard crane[3]: lifted a stone
5  1    |May 06 19:03:21 yard crane[3]: lifted a rope
        |
6       |× lamp.service - burns oil
7  6    |     Loaded: from the pier
8  6    |     Active: failed at noon
        |
9  6    |May 06 19:03:22 pier lamp[4]: the oil is out
10 6    |May 06 19:03:23 pier lamp[4]: the wick is wet
""",
    "items that are indented more than the next line": """
1*      |"worker-1":
2  1    |	at yard.Lamp.burn(Lamp.java:88)
3  1 2  |	- waits for the lock <0x000000076ab> (some oil)
4*      |"worker-2":
5  4    |	at yard.Rope.pull(Rope.java:5)
6  4 5  |	- waits for the lock <0x000000076ac> (some wicks)
""",
    "quotations in a quotation": """
1* 2    |On Monday, Ada Stone wrote:
2  1    |> The crane is old.
        |>
3* 1 4  |> On Sunday, Bob Reed wrote:
4  1 3  |>> The crane is new.
        |>>
5* 1 3 6|>> On Friday, Eve Vale wrote:
6  1 3 5|>>> The crane is red.
""",
}  # fmt: skip


@pytest.mark.parametrize("notation", CASES.values(), ids=CASES.keys())
def test_lines_keep_the_heads_of_their_record(notation: str) -> None:
    check_notation(notation)


MAILS = """\
From: Ada
To: Bob

The crane is old.

# ropes
They are new.

From: Eve
To: Ada

The lamp is red.
"""
NOTES = """\
crane (2.1-1) unstable; urgency=low

  [ Ada Stone ]
  * winch: grease it
  * hook: paint it

  [ Bob Reed ]
  * rope: cut it

 -- Bob Reed <bob@pier.example>  Mon, 06 May 2024 19:03:20 +0200

crane (2.0-1) unstable; urgency=low

  * New rope: see #4
  * brake: mend it

 -- Ada Stone <ada@pier.example>  Mon, 08 Apr 2024 08:00:00 +0200
"""
TRACE = """\
Traceback (most recent call last):
  File "yard.py", line 12, in lift
    wind(40)
  File "yard.py", line 17, in wind
    rope[3]
KeyError: 3
"""
WORKERS = """\
worker 3 [lifts]:
yard.lift(0x41)
	/yard/lift.go:12
yard.wind(0x42)
	/yard/wind.go:7

worker 7 [waits]:
yard.burn(0x43)
	/yard/burn.go:31
yard.wind(0x44)
	/yard/wind.go:9

worker 9 [waits]:
yard.burn(0x45)
	/yard/burn.go:31

exit status 2
"""
THREADS = """\
"main" #1 waiting for a monitor entry
   State: BLOCKED (on a monitor)
	at yard.Lamp.burn(Lamp.java:88)
	- waiting to lock <0x76ab> (some oil)
	at yard.Lamp.run(Lamp.java:12)
"""


@pytest.mark.parametrize(
    ("text", "line", "other"),
    [
        (
            "Name: crane\nSize: 4\nHome: yard\n---\nName: lamp\nSize: 7\nHome: pier\n",
            "Name: lamp",
            "Name: crane",
        ),
        (MAILS, "The lamp is red.", "# ropes"),
        (MAILS, "The lamp is red.", "From: Ada"),
        (NOTES, "* rope: cut it", "[ Ada Stone ]"),
        (NOTES, "* brake: mend it", "[ Bob Reed ]"),
        (NOTES, "* brake: mend it", "* New rope: see #4"),
        (NOTES, "* brake: mend it", "crane (2.1-1) unstable; urgency=low"),
        (TRACE, "KeyError: 3", 'File "yard.py", line 12, in lift'),
        (THREADS, "at yard.Lamp.run(Lamp.java:12)", "- waiting to lock <0x76ab> (some oil)"),
        (WORKERS, "exit status 2", "worker 9 [waits]:"),
        ("text/hemp\ntext/oil\n# old ones\ntext/rope\ntext/wick\n", "text/wick", "# old ones"),
        ("text/1d-rope\ntext/hemp\ntext/oil\n\nimage/gif\nimage/png\n", "text/oil", "text/1d-rope"),
        (
            "Locks held:\n_list=0x7f\n0x41\n\nA: 1\nB: 2\n\nThe yard is wet.\n",
            "The yard is wet.",
            "Locks held:",
        ),
    ],
)
def test_lines_do_not_need_another_record(text: str, line: str, other: str) -> None:
    assert other not in find_needs(text, line)


def test_items_with_stars_are_no_code() -> None:
    text = "[ Ada ]\n* use the rope\n* Lift the stone.\n* Burn the oil.\n\n" * 3 + "use hooks\n"
    assert "code" not in {kind for kind, _ in list_units(text)}


@pytest.mark.parametrize("host", ["10.0.0.1", "crane.example", "2001:db8::7", "yard.example:443 10.0.0.1"])
def test_each_request_to_a_web_server_is_an_entry_of_a_log(host: str) -> None:
    rows = [
        f'{host} - - [06/May/2024:19:03:2{n} +0200] "GET /{n} HTTP/1.1" 200 {n}12 "-" "Browser"'
        for n in range(8)
    ]
    assert list_units("\n".join(rows)) == [("log", row) for row in rows]


def test_indented_text_of_a_manual_page_needs_the_name_above_it() -> None:
    options = "".join(
        f".PP\n--{name}\n.RS 4\nIt says which {name} of the yard the crane takes for the stones.\n.RE\n"
        for name in ("rope", "hook")
    )
    text = f".TH CRANE 1\n.SH NAME\ncrane - lifts stones\n.SH OPTIONS\n{options}"
    units = arrange(text, split_units(text), 0, lambda unit: True, Sizes(40, 40))
    parts = [text[unit.start : unit.end] for unit in units]
    at = next(at for at, part in enumerate(parts) if "which hook" in part)
    assert ".PP\n--hook" in {parts[need] for need in units[at].link.needs}


@pytest.mark.parametrize(
    "head",
    ["The harbour master wrote down\nwhat every crew has to bring:", "**What every crew has to bring:**"],
)
def test_a_paragraph_whose_last_line_ends_with_a_colon_announces_the_next(head: str) -> None:
    text = f"{head}\n\nLife vests for all, a lamp, and the papers of the boat.\n"
    units = split_units(text)
    assert len(units) - 2 in units[-1].link.needs
