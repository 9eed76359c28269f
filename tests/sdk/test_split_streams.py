"""Logs of several sources: the lines of each source keep their heads, whatever stands between them."""

from __future__ import annotations

import pytest

from tersely.split.arrange import arrange
from tersely.split.nodes import Sizes
from tersely.split.sentences import split_units
from tests.sdk.test_split_outline import check_notation
from tests.sdk.units import grows_linearly

CASES = {
    "containers in turn": """
1          |crane-1  | ERROR the rope of the old crane is torn
2 1        |crane-1  | java.io.IOException: no hook
3 1 2      |crane-1  | 	at yard.Crane.lift(Crane.java:31)
4          |gate-12  | GET /stones/7 200 12
5 1 2      |crane-1  | 	at yard.Yard.open(Yard.java:7)
6 1 2      |crane-1  | Caused by: yard.RopeException: torn
7          |gate-12  | GET /stones/8 404 31
8 1 2 6    |crane-1  | 	at yard.Rope.hold(Rope.java:9)
9          |gate-12  | GET /stones/9 200 14
""",
    "times before the lines of a job": """
1*         |2026-05-11T03:31:06.1234567Z env:
2 1        |2026-05-11T03:31:07.1234567Z   CRANE: red
3 1        |2026-05-11T03:31:07.2234567Z   ROPE: old
4*         |2026-05-11T03:31:08.1234567Z with:
5 4        |2026-05-11T03:31:09.1234567Z   gate: open
""",
}


@pytest.mark.parametrize("notation", CASES.values(), ids=CASES)
def test_lines_of_a_source_keep_their_heads(notation: str) -> None:
    check_notation(notation)


def test_entries_of_a_log_stay_entries() -> None:
    text = "".join(f"2026-05-11T03:31:0{n}.123Z INFO the crane lifts stone {n}\n" for n in range(9))
    assert {unit.kind for unit in split_units(text)} == {"log"}


@pytest.mark.parametrize("name", ["crane-{n}", "crane-1", "2026-05-11T03:31:06.1234567Z"])
def test_logs_are_read_in_time_linear_in_their_lines(name: str) -> None:
    def read(size: int) -> object:
        line = f"{name} | lifted\n" if name.startswith("crane") else f"{name} lifted\n"
        text = "".join(line.replace("{n}", str(n)) for n in range(size // 4))
        return arrange(text, split_units(text), 0, lambda unit: False, Sizes(40, 40))

    assert grows_linearly(read)
