"""Results of coding agents' tools: lines that stand for others, ticks, tasks, captions and answered mails."""

from __future__ import annotations

import pytest

from tersely import Compressor
from tests.sdk.units import check_heads, find_needs, list_units

RUST = """\
error[E0382]: borrow of moved value: `crane`
  --> src/dock.rs:19:5
   |
15 |     let hook = crane;
   |                ----- value moved here
...
19 |     crane.name.len()
   |     ^^^^^ value borrowed here after move

error[E0308]: mismatched types
  --> src/rope.rs:10:25
   |
10 |     let rope: String = base;
   |               ------   ^^^^ expected `String`, found `u32`
"""
MAP = """\
core/crane.py:
⋮...
│class CraneStore:
│    limit = 40
⋮...
│    def lift(self, load: int):
⋮...
│    def lower(self, rope=None):
⋮...

core/gate.py:
⋮...
│class GatePlan:
│    def close(self, bolt: str):
⋮...
"""
JEST = """\
FAIL src/crane.test.ts (3.9 s)
  CraneIndex
    lift()
      ✓ lifts the load when the wind is 12 (311 ms)
      ✕ stops the hook when the wind is 260 (125 ms)
  GateQueue
    close()
      ✓ closes the gate when the bolt is 377

  ● CraneIndex › lift() › stops the hook when the wind is 260

    expect(received).toBe(expected) // Object.is equality

    Expected: 399
    Received: 873

  ● GateQueue › close() › opens the gate

    expect(received).toBe(expected) // Object.is equality

    Expected: 7
    Received: 8
"""
GRADLE = """\
> Task :crane:compileJava UP-TO-DATE

> Task :crane:test FAILED

HookTest > lifts() PASSED

HookTest > lowers() FAILED
    org.opentest4j.AssertionFailedError: expected: <12> but was: <687>

> Task :gate:test

GateTest > opens() PASSED

GateTest > closes() PASSED
"""
MAIL = """\
From: Ada Moss <ada@example.org>
Sent: 25 November 2023 17:20
Subject: RE: Cranes

Hi Ben,

The crane was moved on Friday. Nobody has seen the lamp since.

-----Original Message-----
From: Ben Hill <ben@example.org>
Sent: 7 August 2023 14:26
Subject: Cranes

Hi Ada,

Open points for the crane:
- amber hook: 106 metres by May
- old rope: 56 degrees by March
"""

PAPER = """\
## 3 Cranes

The crane lifted nine crates before the storm came.

Figure 1: Cranes of the eastern harbour.

Table 1: Loads of the cranes.

| crane | load |
|-------|------|
| Hera  | 40 t |
| Juno  | 55 t |

The gate closes every evening after the last boat.
"""


@pytest.mark.parametrize(
    ("text", "line", "heads"),
    [
        (RUST, "19 |     crane.name.len()", {"error[E0382]: borrow of moved value: `crane`"}),
        (MAP, "│    def lower(self, rope=None):", {"core/crane.py:", "│class CraneStore:"}),
        (MAP, "│    def close(self, bolt: str):", {"core/gate.py:", "│class GatePlan:"}),
        (JEST, "✓ closes the gate when the bolt is 377", {"GateQueue", "close()"}),
        (JEST, "Received: 8", {"● GateQueue › close() › opens the gate"}),
        (GRADLE, "HookTest > lifts() PASSED", {"> Task :crane:test FAILED"}),
        (GRADLE, "GateTest > closes() PASSED", {"> Task :gate:test"}),
        (MAIL, "- old rope: 56 degrees by March", {"From: Ben Hill <ben@example.org>"}),
    ],
)
def test_lines_of_results_need_their_heads(text: str, line: str, heads: set[str]) -> None:
    check_heads(text, line, heads, ("error[", "│class", "> Task", "From:", "●", "CraneIndex", "core/"))


def test_a_caption_is_not_cut_after_its_number() -> None:
    text = "Lift the crane with care.\n\nTable 2-1. Limits of the crane\n\nPart      Torque\nhook      797\n"
    assert "Table 2-1. Limits of the crane" in [unit for _, unit in list_units(text)]


def test_an_argument_that_may_be_repeated_is_no_heading() -> None:
    text = (
        "SYNOPSIS\n    crane lift --map=MAP\n        [--filter=EXPRESSION]\n        [CRANE_WIDE_FLAG ...]\n\n"
        "DESCRIPTION\n    Lifts a crane.\n"
    )
    assert "[CRANE_WIDE_FLAG ...]" not in find_needs(text, "Lifts a crane.")


def test_a_caption_and_its_table_need_each_other() -> None:
    caption, heading = "Table 1: Loads of the cranes.", "## 3 Cranes"
    table = "| crane | load |\n|-------|------|\n| Hera  | 40 t |\n| Juno  | 55 t |"
    assert find_needs(PAPER, caption) == {heading, table}
    assert find_needs(PAPER, table) == {heading, caption}


def test_a_caption_heads_no_text_below_its_table() -> None:
    assert find_needs(PAPER, "The gate closes every evening after the last boat.") == {"## 3 Cranes"}


def test_a_match_of_git_grep_needs_its_function() -> None:
    text = (
        "harbour/crane.py\n39=def lift(\n52:    limit = LIMIT,\n106:        limit=limit,\n124=def lower(\n"
        "137:    limit = LIMIT,\n246=def hold(\n256:    limit = LIMIT,\n277:        limit=limit,\n"
        "323=def drop(\n337:    limit = LIMIT,\n"
    )
    kept = Compressor().compress("Which limit has 337 in drop?", [text], budget=30).text.splitlines()
    assert kept.index("323=def drop(") < kept.index("337:    limit = LIMIT,")
