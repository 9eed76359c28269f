"""Heads that blank lines, markers or comments divide from their lines."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tersely.split.arrange import arrange
from tersely.split.column_names import are_names
from tersely.split.diffs import find_conflicts
from tersely.split.nodes import Sizes
from tersely.split.sentences import split_units
from tests.sdk.test_split_outline import check_notation
from tests.sdk.units import find_needs, grows_linearly

CASES = {
    "merge conflict in Python": """
1*             |def lift(stone):
2  1           |    hook = find(stone)
3* 5 7         |<<<<<<< HEAD
4  1 3 5 7     |    weight = 17 * hook
5* 3 7         |=======
6  1 3 5 7     |    weight = 225 + hook
7* 3 5         |>>>>>>> feature/crane
8  1           |    return weight
""",
    "merge conflict in YAML": """
1*             |crane:
2  1           |  hook: 4
3* 6 9 11      |<<<<<<< HEAD
4* 1 3 6 9 11  |  ropes:
5  1 3 4 6 9 11|    - red
6* 3 9 11      |||||||| base
7* 1 3 6 9 11  |  ropes:
8  1 3 6 7 9 11|    - old
9* 3 6 11      |=======
10 1 3 6 9 11  |  winch: 8
11* 3 6 9      |>>>>>>> 4f7f148 (grease)
12 1           |  deck: 9
""",
    "messages of a compiler": """
1       |yard/crane.ts:17:5 - error TS2322: Type 'string' is not a 'number'.
        |
2  1 3  |17     hook: load(stone),
3* 1 2  |       ~~~~
        |
4* 1 2  |  yard/types.ts:81:5
5  1 2 4|    The expected type comes from the property 'hook'
        |
6       |yard/lamp.ts:5:1 - error TS2345: No 'Date' is a 'string'.
7  6    |  Types of 'wick' differ.
        |
8  6 9  |5 light(noon);
9* 6 8  |        ~~~~
        |
10      |Found 2 errors in 2 files.
""",
    "report with the columns on top of each page": """
1         |YARD 7                STONES BY CRANE                PAGE    1
          |
2* 3      |  STONE   NAME            WEIGHT     HEIGHT
3* 2      |  ------  --------------  --------  --------
          |
4* 2 3    |CRANE: RED
5  2 3 4  |  223493  GREY SLAB           1781     52.94
6  2 3 4  |  223111  LONG BEAM            881      2.17
          |
7* 2 3    |CRANE: OLD
8  2 3 7  |  323493  ROUND ROCK            78      7.10
9  2 3 7  |  323111  FLAT TILE            481     92.94
          |
10        |*** END OF REPORT ***
""",
    "connections with details": """
1*      |State     Recv-Q Send-Q       Local Address:Port        Peer Address:Port Process
2  1    |ESTAB     15     8            10.58.230.217:60344    10.32.53.137:5432 users:(("crane",fd=91))
3  1 2  |	 cubic wscale:7,7 rto:769 rtt:30.259/5 ato:40 mss:1348
4  1    |ESTAB     70     68           10.1.4.149:13985    10.197.164.154:443 users:(("lamp",fd=67))
5  1 4  |	 cubic wscale:7,7 rto:583 rtt:62.624/9 ato:40
""",
    "keys with fingerprints": """
1       |pub   rsa4096 2013-02-13 [SC]
2  1    |      3C9295BF4E72031833D2FBDC05BE43FDE10BC5F9
3  1    |uid           [ unknown] Ada Stone <ada@pier.example>
4  1    |sub   rsa4096 2016-04-10 [A]
5  1 4  |      49CFC18F0D3979FF5CE60E9B47E2DC7E1CF5D3EA
        |
6       |pub   ed25519 2018-04-13 [SC]
7  6    |      A13B0691B458F1495C2E22240A9FC805B7109A37
8  6    |uid           [ unknown] Ben Moor <ben@pier.example>
""",
    "scripts of a scan": """
1         |Scan report for crane.example (10.0.0.1)
2* 1      |PORT     STATE SERVICE VERSION
3* 1 2    |443/tcp  open  ssl     9.1
4* 1 2 3  || cert: Subject: crane.example
5  1 2 3 4|| Not valid before: 2024-06-11T00:00:00
6  1 2 3 4||_Not valid after:  2025-02-11T00:00:00
7  1 2    |80/tcp   open  http    1.18
          |
8         |Scan report for lamp.example (10.0.0.2)
9* 8      |PORT     STATE SERVICE VERSION
10 8 9    |25/tcp   open  smtp    3.7
11 8 9    |80/tcp   open  http    1.24
          |
12* 8     |Host script results:
13* 8 12  || security-mode:
14 8 12 13||_  Signing is off
""",
    "commits by author": """
1*    |Ada Stone (1):
2  1  |      Fix the crane
      |
3*    |Ben Moor (2):
4  3  |      Grease the winch
5  3  |      Drop the anchor
      |
6*    |Ada Reed (1):
7  6  |      Light the lamp
      |
8*    |Cy Wood (1):
9  8  |      Paint the deck
""",
    "a title that recurs": """
1*       |Certificate:
2* 1     |    Data:
3  1 2   |        Version: 3 (0x2)
4* 1     |    Signature:
5  1 4   |        6a:77:8e:7a:dd
6*       |Certificate:
7* 6     |    Data:
8  6 7   |        Version: 1 (0x0)
9* 6     |    Signature:
10 6 9   |        20:97:6e:90:e7
11*      |Certificate:
12* 11   |    Data:
13 11 12 |        Version: 3 (0x2)
""",
    "devices": """
1       |Handle 0x0000, DMI type 0, 79 bytes
2* 1    |Crane Information
3  1 2  |	Vendor: Pier Inc.
4  1 2  |	Version: 2.14.3
5* 1 2  |	Characteristics:
6  1 2 5|		Hook is supported
7  1 2 5|		Winch is upgradeable
        |
8       |Handle 0x0001, DMI type 1, 89 bytes
9* 8    |Lamp Information
10 8 9  |	Vendor: Wick Inc.
11 8 9  |	Serial Number: 035A43C
""",
    "stages of an image": """
1* 2    |# ---- crane stage
2* 1    |FROM golang:1.22 AS crane
3  1 2  |ARG VERSION=6.8
4* 1 2  |RUN --mount=type=cache,target=/root/.cache \\
5  1 2 4|      hook=5.82-4 \\
6  1 2 4|      winch=3.39-1
        |
7* 8    |# ---- lamp stage
8* 7    |FROM debian:12
9  7 8  |ARG VERSION=8.9
10 7 8  |WORKDIR /srv/lamp
""",
    "subtitles": """
1* 2    |1
2* 1    |00:00:02,202 --> 00:00:04,560
3  1 2  |I left the stone at the
4  1 2 3|pier.</i>
        |
5* 6    |2
6* 5    |00:00:07,103 --> 00:00:09,220
7  5 6  |- Where is the crane
8  5 6 7|- I have not seen it.
""",
    "names in two lines": """
1    |Crane status:  (0x00) idle
2    |Long test routine
3  2 |recommended polling time: 	 ( 397) minutes.
4    |Lamp status:  (0x01) lit
""",
    "comments on blocks": """
1* 2      |# the crane
2* 1 4    |hoist "red" {
3  1 2 4  |  hook rope-8
4* 1 2    |}
          |
5* 8      |hoist "old" {
6  5 8    |  hook rope-9
7  5 8    |  deck pier-2
8* 5      |}
""",
    "columns in a comment": """
1*        |# Children      Self  Command   Symbol
2* 1      |# ........  ........  ........  ..................
3* 1 2    |#
4  1 2 3  |    42.93%     7.52%  crane     [.] lift
          |
5  1 2 3  |    16.14%     0.30%  lamp      [.] light
          |
6  1 2 3  |     1.02%     1.01%  wick      [.] burn
""",
}  # fmt: skip


@pytest.mark.parametrize("notation", CASES.values(), ids=CASES.keys())
def test_lines_are_kept_with_their_heads(notation: str) -> None:
    check_notation(notation)


def test_conflict_in_a_fence_needs_the_fence() -> None:
    text = "Then:\n\n```\na = 1\n<<<<<<< HEAD\nb = 2\n=======\nb = 3\n>>>>>>> crane\n```\n"
    assert [unit.kind for unit in split_units(text)] == ["line", "code"]


def test_signs_without_a_conflict_are_no_markers() -> None:
    text = "Cranes\n=======\n\nThey lift stones.\n\n>>>>>>> lamp\n"
    assert "=======" not in find_needs(text, "They lift stones.")


@pytest.mark.parametrize(
    "line", ["<<<<<<< a\nb\n=======\nc\n>>>>>>> d\n", "<<<<<<< a\n=======\n", "=======\n\n>>>>>>> a\n"]
)
def test_such_lines_take_linear_time(line: str) -> None:
    assert grows_linearly(lambda size: split_units(line * (size * 4 // len(line))))


@pytest.mark.parametrize(
    "below",
    [" " * 2_000 + "| x\n", "".join(" " * depth + "└ x\n" for depth in range(45))],
    ids=["a gutter far to the right", "a deep tree"],
)
def test_odd_rows_below_names_of_columns_stay_inside_their_table(below: str) -> None:
    text = "NAME  SIZE\na     1\nb     2\n" + below
    units = arrange(text, split_units(text), 0, lambda unit: True, Sizes(60, 60))
    assert all(0 <= unit.start < unit.end <= len(text) for unit in units)
    assert all(left.end <= right.start for left, right in pairwise(units))


def test_capitals_with_accents_are_names_of_columns() -> None:
    assert are_names("GRÖSSE  NAME", ["a  b"])


def test_mixed_signs_are_no_marker_of_a_conflict() -> None:
    assert find_conflicts("<<<<>>> a\nx\n=======\ny\n>>>>>>> b\n") == []
