"""Output of tools that no blank line or indent divides: lines keep the heads under which they are read."""

from __future__ import annotations

import pytest

from tersely.split.arrange import arrange
from tersely.split.nodes import Sizes
from tersely.split.sentences import split_units
from tersely.units import Unit
from tests.sdk.test_split_outline import check_notation

CASES = {
    "entries of a log above indented ones": """
1*      |2026-05-14T08:37:40.1000001Z ##[group]Run the crane
2* 1    |2026-05-14T08:37:40.1000002Z env:
3  1 2  |2026-05-14T08:37:40.1000003Z   HOOK: 4
4  1 2  |2026-05-14T08:37:40.1000004Z   ROPE: 9
5  1    |2026-05-14T08:37:40.1000005Z ##[endgroup]
6  1    |2026-05-14T08:37:49.3000001Z lifted 812 stones
7  1    |2026-05-14T08:37:49.3000002Z   ok 3
""",
    "scripts below a port": """
1*        |Scan report for crane.example (10.0.0.1)
2  1      |Not shown: 906 closed tcp ports
3* 1      |PORT     STATE SERVICE VERSION
4  1 3    |22/tcp   open  ssh     9.1
5* 1 3 4  || hostkey:
6  1 3 4 5||   1024 8a:ce
7  1 3 4 5||_  2048 8b:cf
8  1      |MAC Address: 8A:CE:00:11 (Pier)
""",
    "a frame of the stack above values": """
1*      |Thread 2 (LWP 71 "crane"):
2  1    |#0  0x00a1 in lift (hook=0x0) at crane.c:12
3  1 2  |        ropes = 4
4  1    |#1  0x00b2 in work (stone=0x1) at yard.c:40
5  1 4  |        hooks = 9
6  1 4  |        stone = 12
7  1 4  |        yard = {id = 5, next = 0x0}
""",
    "tables under titles that begin alike": """
1*      |                Table "crane"
2* 1    |  Column  |  Type   | Default
        |----------+---------+---------
3  1 2  | hook     | text    | new
4  1 2  | ropes    | integer | 4
5* 1    |Indexes:
6  1 5  |    "crane_key" KEY, tree (hook)
7* 1    |Used by:
8  1 7  |    TABLE "pier" KEY (crane) REFERENCES crane(id)
        |
11*     |                Table "rope"
12* 11  |  Column  |  Type   | Default
        |----------+---------+---------
13 11 12| hook     | text    | new
14 11 12| ropes    | integer | 4
15* 11  |Indexes:
16 11 15|    "rope_key" KEY, tree (hook)
17* 11  |Used by:
18 11 17|    TABLE "mole" KEY (rope) REFERENCES rope(id)
        |
21*     |                Table "lamp"
22* 21  |  Column  |  Type   | Default
        |----------+---------+---------
23 21 22| colour   | text    | red
24 21 22| wicks    | integer | 1
""",
    "messages of a compiler": """
1       |cc -c -o crane.o yard/crane.c
2*      |yard/crane.c: In function 'lift':
3  2    |yard/crane.c:45:12: warning: 'hook' may be unset
4  2 3  |   45 |     return hook + 1;
5  2    |yard/crane.c:31:9: note: 'hook' was declared here
6  2 5  |   31 |     int hook;
7*      |yard/crane.c: In function 'drop':
8  7    |yard/crane.c:90:5: error: 'rope' undeclared
9  7 8  |   90 |     write(rope);
10      |make: *** [Makefile:12: crane.o] Error 1
""",
    "sections closed by their own word": """
1       |crane: hook.o
2  1    |	lift hook
        |
3* 6    |define LIFT
4  3 6  |lift --rope $(1) 4
5  3 6  |drop --rope 9
6* 3    |endef
        |
7       |lamp: wick.o
8  7    |	burn wick
        |
9* 13   |module pier
10* 9 12 13|program crane
11 9 10 12 13|lift 40
12* 9 10 13|end program crane
13* 9   |end module pier
""",
    "a table of LaTeX": r"""
1* 9    |\begin{table}
2* 1 8 9|\begin{tabular}{lrr}
0 1 2   |\hline
3* 1 2 8 9|Crane & Lifts & Ropes \\
0 1 2   |\hline
4  1 2 3 8 9|red & 40 & 4 \\
5  1 2 3 8 9|old & 12 & 2 \\
0 1 2   |\hline
8* 1 2 9|\end{tabular}
9* 1    |\end{table}
""",
    "items of LaTeX": r"""
1* 5    |\begin{enumerate}
2  1 5  |  \item The crane lifts 40 stones.
3  1 5  |  \item The lamp burns at dusk.
4  1 5  |  \item[old] The rope is of hemp.
5* 1    |\end{enumerate}
""",
    "speakers of subtitles": """
1*      |1
2* 1    |00:00:01.000 --> 00:00:03.000
3  1 2  |Ada: the crane lifts and
4  1 2 3|then drops 3
        |
5*      |2
6* 5    |00:00:04.000 --> 00:00:06.000
7  5 6  |<v Bob>The lamp burns 4
        |
8*      |3
9* 8    |00:00:07.000 --> 00:00:09.000
10 8 9  |nobody lifts 5
        |
11*     |4
12* 11  |00:00:10.000 --> 00:00:12.000
13 11 12|<v Ada>The rope of 6
14 11 12 13|hangs low 7
""",
    "a failure with its causes": """
1*      |> Task :crane:test FAILED
        |
2  1    |CraneTest > lifts() FAILED
3  1 2  |    yard.HookError: 3 of 4
        |
4  1    |12 tests completed, 1 failed
        |
5*      |FAILURE: The crane does not lift.
        |
6* 5    |* What went wrong:
7~ 5 6  |There is no hook for the task.
8  5 6  |> There were tests of 3 hooks, of which 2 failed
        |
9* 5    |* Try:
10 5 9  |> Run with --hook 4
        |
11      |CRANE FAILED in 70s
""",
    "the only test of a log": """
1       |-------------------------------------------------------
2* 1    | T E S T S
3       |-------------------------------------------------------
4* 2    |Running yard.CraneTest
5  2 4  |10:20:30.762 [main] WARN yard.Crane - hook 9 is old
6  2 4  |10:20:31.114 [main] INFO yard.Crane - lifted 12 stones
        |
7* 2    |Results:
8  2 7  |  CraneTest.lift: 3 of 4
""",
    "signs of a plan": """
1* 11   |  ~ crane "red" {
2  1 11 |      ~ hooks                = "old" -> "new"
3* 1 5 11|      ~ ropes                = {
4  1 3 5 11|          ~ "north" = "lifts the hemp"
5* 1 3 11|        }
6  1 11 |        # (1 more)
11* 1   |    }
12* 16  |  + lamp "low" {
13 12 16|      + oil                  = "none"
14 12 16|      + wick                 = "two"
16* 12  |    }
""",
    "records of a bibliography": """
1       |TY  - BOOK
2  1    |TI  - The crane 4
3  1    |PY  - 1993
4  1    |ER  - 1
5       |TY  - NEWS
6  5    |TI  - The lamp 7
7  5    |PY  - 2004
8  5    |ER  - 2
""",
    "games of chess": """
1       |[Event "Pier Open"]
2  1    |[White "Ada"]
3  1    |[Black "Bob"]
        |
4  1    |1. Qd2 Qh1 2. Rg8 Rc5
5  1    |3. Bc3 Qb3 4. Qf4 Bh5
        |
6       |[Event "Yard Open"]
7  6    |[White "Cleo"]
8  6    |[Black "Ada"]
        |
9  6    |1. Nb5 Qg2 2. Qe8 Rc1
""",
    "a message of a compiler": """
        |   Compiling crane v1.0
1       |error[E1]: no hook found for `crane`
2  1    | --> crane.rs:6:7
        |  |
3  1 2  |6 | crane.jib();
4  1 2 3|  | ^^^^^ no hook
        |  |
5  1    |help: there is a rope
        |  |
6  1 5  |6 - crane.jib();
7  1 5  |6 + crane.rope();
        |
8       |error[E2]: no lamp found
9  8    | --> crane.rs:9:1
10 8 9  |9 | lamp();
""",
    "labels that recur among their siblings": """
1*      |Input 0 of the yard:
2  1    |  Hook 0:0 red
3* 1 2  |  Metadata:
4  1 2 3|    rope: 4
5  1    |  Hook 0:1 old
6* 1 5  |  Metadata:
7  1 5 6|    rope: 9
""",
    "lines that begin with dashes": """
        |------
2*      |CRANES
        |------
3  2    |Hook loads: 12 ropes, 4 stones
4* 2    |---CRANE 7311, ACTIVE 16 sec
5  2 4  |4 hook struct(s), rope size 12
6  2 4  |thread id 36, crane id 9970
7* 2    |---CRANE 7312, ACTIVE 19 sec
8  2 7  |9 hook struct(s), rope size 40
""",
    "a key below text": """
1*      |Signature:
2  1    |    old, red
3* 6    |-----BEGIN CRANE-----
4  3 6  |MIIFWjCCA0Kg
5  3 6  |AwIBAgISEdK7
6* 3    |-----END CRANE-----
7       |Signature ends
""",
    "a title inside an indented block": """
1       |Feature: cranes
2  1    |  As a lifter
        |
3* 1    |  Rule: no hook without rope
        |
4  1 3 5|    @slow
5  1 3  |    Scenario: the crane lifts
6  1 3 5|      When the crane has 32 ropes
""",
}  # fmt: skip


@pytest.mark.parametrize("notation", CASES.values(), ids=CASES.keys())
def test_lines_are_kept_whole_and_with_their_heads(notation: str) -> None:
    check_notation(notation)


def open_all(text: str, size: int, whole: int) -> list[Unit]:
    """Return the units of a text. Those of more than `size` code points are opened."""
    units = split_units(text)
    return arrange(text, units, 0, lambda unit: unit.end - unit.start > size, Sizes(size, whole))


def list_kinds(text: str) -> set[str]:
    return {unit.kind for unit in split_units(text)}


def test_assignments_in_columns_are_no_rows_of_a_table() -> None:
    text = """The red crane

    hook                 = "hemp"
    rope                 = 662
    lamp                 = null
    oil                  = {
"""
    assert "row" not in list_kinds(text)


def test_title_between_rules_may_follow_text_without_a_blank_line() -> None:
    text = "------\nCRANES\n------\nHook lifts: 4 stones\n-----\nLAMPS\n-----\nOil size 40\n"
    units = split_units(text)
    assert [unit.kind for unit in units] == ["heading", "line", "heading", "line"]
    assert units[3].link.needs == (2,)


def test_slash_closes_a_namelist() -> None:
    text = "&crane\n" + "".join(f"  hook_{n} = {n},\n" for n in range(20)) + "/\n"
    opened = open_all(text, 100, 100)
    closer = len(opened) - 1
    assert text[opened[closer].start :].strip() == "/"
    assert opened[closer].link.role != "content"
    assert all(closer in unit.link.needs for unit in opened[1:closer])


def test_record_with_a_tag_in_each_line_is_no_code() -> None:
    assert list_kinds("P: /devices/crane\nN: crane\nE: HOOK=4\nE: ROPE=9\n") == {"line"}


def test_line_with_a_sign_in_brackets_is_no_sentence() -> None:
    text = "Found 13 errors.\n[*] The tool can mend 7 of them with a single option.\n"
    assert [unit.kind for unit in split_units(text)] == ["sentence", "line"]


def test_statements_that_end_with_a_question_mark_are_no_sentences() -> None:
    text = "def lift(stone)\n  return 2547 if stone.nil?\n\n  return 4929 if hook.empty?\nend\n"
    assert "sentence" not in list_kinds(text)


def test_code_does_not_start_with_a_word_that_closes_a_block() -> None:
    text = """    def lift(stone, hook: 5038)
      unless stone == 7981
        raise HookError, "rope 7102"
      end
      unless stone == 980
        if rope.lift?(685)
          @lamp += 5443
        end
      end
      @hook += 8034
    end
"""
    assert not any(unit.kind == "code" and text.startswith("end", unit.start) for unit in split_units(text))


def test_too_large_function_is_opened_at_its_blocks() -> None:
    blocks = "".join(
        f"    {name} {{\n" + "".join(f"        key{n}  = {n}\n" for n in range(9)) + "    }\n"
        for name in ("hook", "rope", "lamp")
    )
    text = "crane(red) {\n" + blocks + "}\n"
    opened = open_all(text, 240, 2000)
    for unit in opened:
        shown = [text[opened[at].start : opened[at].end] for at in unit.link.needs]
        if "key3" in text[unit.start : unit.end]:
            assert shown[0] == "crane(red) {"
            assert any(
                name in line
                for line in [*shown, text[unit.start : unit.end]]
                for name in ("hook", "rope", "lamp")
            )
