"""Threads, reviews, lists of questions and reports of profilers: a part comes with what it is read under."""

from __future__ import annotations

import pytest

from tersely.split.arrange import arrange
from tersely.split.nodes import Sizes
from tersely.split.sentences import split_units
from tests.sdk.test_split_outline import check_notation
from tests.sdk.units import find_needs, grows_linearly

THREAD = """title:\tThe crane lifts nothing
state:\tOPEN
author:\tada
--
The crane lifts nothing since Monday. It makes a noise.

### Yard

- Pier: north
- Crane: 4

--
author:\tbo-k
association:\tmember
status:\tnone
--
Steps:

1. Lift a rope.
2. Wait for an hour.

--
author:\tcleo
association:\tnone
status:\tnone
--
It is the hook. Somebody bent it in May. Here is the log:

```
hook: bent
```

Steps:

- who pays
--
"""

TITLE = "title:\tThe crane lifts nothing\nstate:\tOPEN\nauthor:\tada"

REVIEW = """yard/crane.py:42 @ada (2025-02-11):
    The rope is too short for the hook. Somebody has to measure it again.
    ↳ @bo-k: It was measured in May by the master. Nobody has touched it since then.
    ↳ @cleo:
        The master was wrong about the length of that rope.

yard/hook.py:7 @bo-k (2025-04-13):
    This hook is not used by any crane of ours. The crane in the north has another one.

yard/hook.py:9 @ada (2025-04-14):
    Please count the hooks in the morning. There were nine of them last week.
"""

QUESTIONS = """# Harbour

## Cranes

**Who may lift the ropes?**

Only the master may lift them. He does it at dusk.

**Is the crane red?**
The crane is red since May. It was green before that.

## Words

Mole
:   A wall in the sea. It keeps the waves out.

    Ships lie behind it in winter, and the keeper counts them.

`crane`
: A machine that lifts. It is never used at night.
"""

BENCHES = """$ go test -bench . ./...
goos: linux
pkg: example.com/yard/crane
cpu: Xeon
BenchmarkLift-8   \t   25902\t     71645 ns/op
PASS
goos: linux
pkg: example.com/yard/lamp
cpu: Xeon
BenchmarkBurn/size=8-8   \t   11902\t     31645 ns/op
PASS
goos: linux
pkg: example.com/yard/pier
cpu: Xeon
BenchmarkWalk-8   \t   95902\t     51645 ns/op
PASS
"""

LINES = """Timer unit: 1e-06 s

Total time: 4.2 s
File: yard/crane.py
Function: lift at line 8

Line #      Hits         Time  Per Hit
======================================
     9      2015        77280     24.9
    10      9058        67776     59.6

Total time: 6.8 s
File: yard/lamp.py
Function: burn at line 72

Line #      Hits         Time  Per Hit
======================================
    73      1190         5278     48.0
    74      9351        63828     64.9
"""

COLUMNS = """
1*       |-------------------- benchmark: 3 tests --------------------
2  1 3   |Name (time in us)            Min        Max       Mean
3* 1 2   |------------------------------------------------------------
4  1 2 3 |test_crane         93.580 (2.10)    599.393     87.877
5  1 2 3 |test_lamp          41.685 (1.00)    304.268     61.011
6  1 2 3 |test_pier          71.032 (2.58)    224.012     62.577
7        |------------------------------------------------------------
"""

SPACED = """
1*       |4.2. Results
         |
2~ 1     |The keeper measured all cranes for a week.
         |
3  1     |Table 2: Cranes and their errors in a week.
4  1 3   |Method Error Time Size
5  1 3 4 |North-crane 17.89 62.4 109
6  1 3 4 |Old red crane 19.02 60.1 87
7  1 3 4 |New crane - 59.9 ±3
         |
8  1     |Group n Mean
9  1 8   |Red 72 94.4
10 1 8   |Blue 71 93.4
         |
11* 1    |5. Discussion
         |
12~ 1 11 |Cranes are old.
"""

STEPS = """
1          |      Start 1: crane
2          |1/3 Test #1: crane ....................   Passed    0.02 sec
3          |      Start 2: lamp
4          |2/3 Test #2: lamp .....................***Failed    0.11 sec
5  4       |Running main() from gtest_main.cc
6  4       |/yard/lamp_test.cpp:42: Failure
           |
7          |      Start 3: pier
8          |3/3 Test #3: pier .....................***Failed    0.01 sec
9  8       |/yard/pier_test.cpp:7: Failure
10 8       |Value of: pier.open
           |
11         |50% tests passed, 2 tests failed out of 3
"""

SNAPSHOT = """- main [ref=e10]:
  - heading "Plans" [level=1] [ref=e11]
  - region "All plans" [ref=e13]:
    - heading "Basic" [level=2] [ref=e14]
    - paragraph [ref=e15]: For one ship.
    - list [ref=e16]:
      - listitem [ref=e17]: One lamp
      - listitem [ref=e18]: Two ropes
    - heading "Team" [level=2] [ref=e20]
    - paragraph [ref=e21]: For a fleet of ships.
  - table [ref=e37]:
    - rowgroup [ref=e38]:
      - row "Plan Price" [ref=e39]:
        - columnheader "Plan" [ref=e40]
        - columnheader "Price" [ref=e41]
    - rowgroup [ref=e46]:
      - row "Basic $9" [ref=e47]:
        - cell "Basic" [ref=e48]
        - cell "$9" [ref=e49]
      - row "Team $169" [ref=e55]:
        - cell "Team" [ref=e56]
        - cell "$169" [ref=e57]
"""


@pytest.mark.parametrize(
    ("text", "line", "heads"),
    [
        (THREAD, "It makes a noise.", {TITLE}),
        (THREAD, "- Pier: north", {TITLE, "### Yard"}),
        (THREAD, "2. Wait for an hour.", {"author:\tbo-k", "Steps:"}),
        (THREAD, "Somebody bent it in May.", {"author:\tcleo"}),
        (THREAD, "- who pays", {"author:\tcleo", "Steps:"}),
        (REVIEW, "Somebody has to measure it again.", {"yard/crane.py:42 @ada (2025-02-11):"}),
        (REVIEW, "The crane in the north has another one.", {"yard/hook.py:7 @bo-k (2025-04-13):"}),
        (REVIEW, "There were nine of them last week.", {"yard/hook.py:9 @ada (2025-04-14):"}),
        (QUESTIONS, "He does it at dusk.", {"# Harbour", "## Cranes", "**Who may lift the ropes?**"}),
        (QUESTIONS, "It was green before that.", {"# Harbour", "## Cranes", "**Is the crane red?**"}),
        (QUESTIONS, "It keeps the waves out.", {"# Harbour", "## Words", "Mole"}),
        (
            QUESTIONS,
            "Ships lie behind it in winter, and the keeper counts them.",
            {"# Harbour", "## Words", "Mole"},
        ),
        (QUESTIONS, "It is never used at night.", {"# Harbour", "## Words", "`crane`"}),
    ],
)
def test_a_part_needs_exactly_what_it_is_read_under(text: str, line: str, heads: set[str]) -> None:
    assert find_needs(text, line) - {"--"} == heads


def test_a_reply_is_no_part_of_the_paragraph_above_it() -> None:
    units = [REVIEW[unit.start : unit.end] for unit in split_units(REVIEW)]
    assert "↳ @bo-k: It was measured in May by the master. Nobody has touched it since then." in units


@pytest.mark.parametrize(
    ("text", "line", "heads"),
    [
        (BENCHES, "BenchmarkBurn", ["pkg: example.com/yard/lamp"]),
        (BENCHES, "BenchmarkWalk", ["pkg: example.com/yard/pier"]),
        (LINES, "10      9058", ["File: yard/crane.py", "Function: lift at line 8", "Line #"]),
        (LINES, "74      9351", ["File: yard/lamp.py", "Function: burn at line 72", "Line #"]),
        (SNAPSHOT, "For one ship", ['heading "Plans"', 'region "All plans"', 'heading "Basic"']),
        (SNAPSHOT, "Two ropes", ['heading "Plans"', 'heading "Basic"', "list [ref=e16]"]),
        (SNAPSHOT, "For a fleet", ['heading "Plans"', 'heading "Team"']),
        (SNAPSHOT, 'cell "$169"', ['heading "Plans"', "table", 'row "Plan Price"', 'row "Team $169"']),
    ],
)
def test_a_row_comes_with_the_fields_or_the_heading_above_it(text: str, line: str, heads: list[str]) -> None:
    units = arrange(text, split_units(text), 0, lambda unit: True, Sizes(30, 30))
    unit = next(unit for unit in units if line in text[unit.start : unit.end])
    needed = [text[units[at].start : units[at].end] for at in unit.link.needs]
    assert [head for head in heads if not any(head in own for own in needed)] == []
    fields = ("pkg:", "File:", "Function:", "- heading", "- row")
    assert all(any(head in own for head in heads) for own in needed if own.startswith(fields))


@pytest.mark.parametrize(
    "notation", [COLUMNS, SPACED, STEPS], ids=["columns above a rule", "columns without gaps", "steps"]
)
def test_lines_of_a_report_come_with_what_they_need(notation: str) -> None:
    check_notation(notation)


PARTS = (
    "author:\ta{n}\nstate:\tb\n--\nIt is.\n--\n",
    "**Is it {n}?**\n\nIt is.\n\n",
    "a{n}\n: b\n\n",
    "a: {n}\nb: c\nd   e   f\n",
    'a{n}  b  c  "\n--------------------\n',
    '- heading "a{n}" [level=2]\n- b: c\n',
    '- table:\n  - row "{n}":\n    - columnheader "a"\n',
)


@pytest.mark.parametrize("part", PARTS)
def test_threads_and_snapshots_are_read_in_linear_time(part: str) -> None:
    def read(size: int) -> object:
        text = "".join(part.replace("{n}", str(n)) for n in range(size * 4 // len(part)))
        return arrange(text, split_units(text), 0, lambda unit: True, Sizes(20, 20))

    assert grows_linearly(read)
