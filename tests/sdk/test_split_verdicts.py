"""Reports of tests and checks: lines of one shape are no prose, and keep the lines they are read under."""

from __future__ import annotations

import pytest

from tersely.split.sentences import split_units
from tests.sdk.test_split_outline import check_notation

CASES = {
    "results of tests, and their failures": """
1       |running 4 tests
2       |test crane::lifts_one ... ok
3       |test crane::lifts_two ... FAILED
4       |test rope::holds ... ignored
5       |test hook::opens ... FAILED
        |
6*      |failures:
        |
7* 6    |---- crane::lifts_two stdout ----
8  6 7  |thread 'crane::lifts_two' panicked at tests/crane.rs:291:5:
9  6 7  |  left: 76
10 6 7  | right: 582
        |
11* 6   |---- hook::opens stdout ----
12 6 11 |thread 'hook::opens' panicked at tests/hook.rs:12:5:
13 6 11 |  left: 4
14 6 11 | right: 5
        |
15*     |failures:
16 15   |    crane::lifts_two
17 15   |    hook::opens
""",
    "warnings in columns below the name of a file": """
1*      |/yard/src/crane6.js
2  1    |  312:17  warning  The hook lacks 'birch'. Either include it or remove the rope  yard/ropes
3  1    |   66:79  warning  The hook lacks 'alder'. Either include it or remove the rope  yard/ropes
4  1    |    3:66  warning  Expected '===' and instead saw '=='  same
        |
5*      |/yard/src/pier7.js
6  5    |  104:35  error    'crane' is not defined  no-undef
7  5    |   91:18  error    The hook lacks 'maple'. Either include it or remove the rope  yard/ropes
        |
8*      |/yard/src/gate8.js
9  8    |   12:18  error    'rope' is not defined  no-undef
""",
    "records with text below titles of sections": """
1*      |--------< crane:red >--------
        |
2* 1    |--- test @ red ---
3  1 2  |Running hook
4  1 2  |Runs: 2, Failures: 1
5  1 2  |Size: 4
        |
6  1 2  |the hook is open, and the rope is not
        |
7*      |--------< crane:old >--------
        |
8* 7    |--- test @ old ---
9  7 8  |Running rope
10 7 8  |Runs: 5, Failures: 0
11 7 8  |Size: 6
        |
12 7 8  |the rope is old, and the hook is not
        |
13 7 8  |Running gate
14 7 8  |Runs: 7, Failures: 0
15 7 8  |Size: 8
""",
    "a summary above a table": """
1       |MiB Mem :  15353.0 total,   169.9 free,   9120.1 used,   5000.2 cache
2 1     |MiB Swap:   2048.0 total,   21.0 free,   20.0 used.   6012.3 avail Mem
3 1     |MiB Rest:   1024.0 total,   11.0 free,   10.0 used.   6000.1 avail Mem
""",
    "arguments in several lines": """
1       |type Crane {
2  1 8  |  hook: Int
3  1 8 6|  stones(
4 1 3 6 8|    first: Int = 9
5 1 3 6 8|    order: StoneOrder
6 1 3 8 |  ): [Stone!]!
7  1 8  |  rope: [Float!]
8  1    |}
""",
    "entries of a catalogue with comments": """
1  2    |#: src/relay.c:110
2       |msgid "Open the gate now"
3  2    |msgstr "etag"
        |
4  6    |#: src/relay.c:289
5  6    |msgctxt "yard"
6  5    |msgid "Lift the stone now"
7  5 6  |msgstr "enots"
        |
8  9    |#: src/relay.c:761
9       |msgid "%d rope"
10 9    |msgid_plural "%d ropes"
11 9    |msgstr[0] "%d epor"
12 9    |msgstr[1] "%d epors"
        |
13 15   |#: src/relay.c:884
14 15   |#, fuzzy
15      |msgid "Shut the gate now"
16 15   |msgstr "etag"
        |
17 18   |#: src/relay.c:900
18      |msgid "Shut the yard now"
19 18   |msgstr "dray"
""",
    "entries of a catalogue, some without a context": """
1       |msgid "Open the gate now"
2  1    |msgstr "etag"
        |
3  5    |#. A stone is heavy.
4  5    |msgctxt "yard"
5  4    |msgid "Lift the stone now"
6  4 5  |msgstr "enots"
        |
7  8    |#: src/relay.c:761
8       |msgid "Hold the rope now"
9  8    |msgstr "epor"
        |
10 11   |msgctxt "pier"
11 10   |msgid "Shut the gate now"
12 10 11|msgstr "etag"
        |
13      |msgid "Shut the yard now"
14 13   |msgstr "dray"
        |
15      |msgid "Lift the hook now"
16 15   |msgstr "kooh"
""",
}


@pytest.mark.parametrize("notation", CASES.values(), ids=CASES)
def test_lines_keep_their_heads(notation: str) -> None:
    check_notation(notation)


@pytest.mark.parametrize(
    "text",
    [
        "checking for gcc ... gcc\nchecking whether the crane works ... yes\n",
        "hook  lifts the stone.  Ropes hold it  red\nrope  holds the stone.  Hooks lift it  old\n",
        "lift stone ... NOT FOUND\n",
    ],
)
def test_results_and_columns_are_lines(text: str) -> None:
    assert {unit.kind for unit in split_units(text)} == {"line"}
    assert len(split_units(text)) == text.count("\n")


@pytest.mark.parametrize(
    "text",
    [
        "The crane lifts the stone.  It is red ... and old.  The rope holds it.",
        "He waits at the gate ...  Then the crane comes, and lifts all of the stones at  once.",
    ],
)
def test_ellipses_and_wide_blanks_stay_in_prose(text: str) -> None:
    assert {unit.kind for unit in split_units(text)} == {"sentence"}
