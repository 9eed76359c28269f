"""Comments, names and the heads of blocks come with what they stand above."""

from __future__ import annotations

import pytest

from tersely.split.arrange import arrange
from tersely.split.nodes import Sizes
from tersely.split.sentences import split_units
from tests.sdk.test_split_outline import check_notation
from tests.sdk.units import grows_linearly

CASES = {
    "a comment above a setting": """
1*      |<Yard north>
2  1 6  |    Crane "tall"
3  1 4 6|    # raised for the long ropes
4  1 3 6|    RopeLimit 7962
5  1 6  |    Lamp off
6* 1    |</Yard>
7*      |<Yard south>
8  7 11 |    Crane "low"
9  7 11 |    RopeLimit 512
10 7 11 |    Lamp on
11* 7   |</Yard>
""",
    "a comment of two lines above the first line of a block": """
1*      |crane north
2  1    |    hook 7
3  1    |    rope 9
        |
4  6    |; the old crane
5  4 6  |; stands at the pier
6* 4 5  |crane south
7  4 5 6|    hook 12
8  4 5 6|    rope 14
""",
    "a comment that looks like a heading, inside of a block": """
1          |option yard "north";
2*  11     |pier 10.1.34.0 width 12 {
3  2 11    |  range 10.65.146.123 10.160.128.158;
4* 2 5 11  |  # lamp on floor 8
5* 2 4 11  |  host lamp-eight {
6  2 4 5 7 |    wick ce:66:03;
7* 2 4 5   |  }
8* 2 11    |  host lamp-nine {
9  2 8 10  |    wick ce:66:04;
10* 2 8    |  }
11*  2     |}
""",
    "a comment that looks like a heading, above one of two blocks": """
1* 2      |# the north yard, ask Ada
2*        |Host crane-one
3  1 2    |    Port 7355
4  1 2    |    User ada
          |
5*        |Host crane-two
6  5      |    Port 5250
7  5      |    User bo
          |
8* 9      |# the south yard, ask Bo
9*        |Host crane-three
10 8 9    |    Port 12
""",
    "a function whose body ends with a bare word": """
1          |CREATE FUNCTION lamp_sum(p_pier integer)
2  1       |RETURNS numeric AS
3* 1 6     |BEGIN
4  1 3 6   |    oil := 3;
5  1 3 6   |    RETURN 65 * oil;
6* 1 3     |END;
           |
7          |CREATE FUNCTION rope_sum(p_pier integer)
8  7       |RETURNS numeric AS
9* 7 12    |BEGIN
10 7 9 12  |    hemp := 3;
11 7 9 12  |    RETURN 9 * hemp;
12* 7 9    |END;
""",
    "a branch that ends with a hyphen": """
1* 2     |    IF LAMP-OIL > 660
2  1 3   |        PERFORM FILL-LAMP
3* 1 2   |    END-IF.
4        |    STOP RUN
""",
    "a tree with a colon as a branch": """
1*       |Lift [hook, rope]
2* 1     |+- Sort [hook]
3* 1 2   |   +- Join Inner
4* 1 2 3 |      :- Filter (hook > 3)
5  1 2 3 4|      :  +- Scan cranes [hook, weight]
6* 1 2 3 |      +- Filter (rope > 9)
7  1 2 3 6|         +- Scan ropes [rope, length]
""",
    "a tree that begins with a plus": """
1*       |northYard - the cranes of the north
2  1     |+--- org.pier:crane:4.1
3  1     |+--- org.pier:hook:2.0
4* 1     |\\\\--- com.yard:lamp:3.2
5  1 4   |     +--- org.pier:wick:1.1
6* 1 4   |     \\\\--- org.pier:oil:2.2
7  1 4 6 |          \\\\--- org.pier:can:1.0
""",
    "a label above a line that is indented less": """
1*       |Lift[0]:
2  1     |  Crane: red
3* 1     |  Advice:
4  1 3   |The hook of the red crane was greased.
         |
5*       |Lift[1]:
6  5     |  Crane: old
7* 5     |  Advice:
8  5 7   |The rope of the old crane was cut.
""",
    "names of columns that are indented more than the rows": """
1*       |Rests:
2  1     |    Low   High
3  1     |    0.2    0.4
         |
4*       |Weights:
5* 4     |            Crane  Hook  Rope
6  4 5   |north 0.2698  0.1263   4.683
7  4 5   |south 7.5094  0.0850   6.882
8  4 5   |east  7.4373  0.7448   9.986
""",
}  # fmt: skip


@pytest.mark.parametrize("notation", CASES.values(), ids=CASES.keys())
def test_lines_are_kept_with_what_stands_above_them(notation: str) -> None:
    check_notation(notation)


THRIFT = """/** Holds one lamp of the pier. */
struct Lamp {
  1: required string wick,
  2: optional i32 weight,
  3: optional i32 height,
}

/** Holds one rope of the yard. */
struct Rope {
  1: required string hemp,
  2: optional i32 length,
}
"""


def open_parts(text: str, size: int = 60) -> list[tuple[str, set[str]]]:
    """Return each part of a text that is opened as far as possible, with the parts that it needs."""
    units = arrange(text, split_units(text), 0, lambda _: True, Sizes(size, size))
    texts = [text[unit.start : unit.end] for unit in units]
    return [(own, {texts[need] for need in unit.link.needs}) for own, unit in zip(texts, units, strict=True)]


def test_a_short_comment_above_a_block_is_a_part_of_its_head() -> None:
    text = "enum Yard {\n  NORTH = 1;\n  SOUTH = 2;\n}\n\n" + THRIFT
    parts = dict(open_parts(text))
    head = "/** Holds one lamp of the pier. */\nstruct Lamp {"
    assert head in parts["2: optional i32 weight,"]


def test_a_long_run_of_code_is_not_cut_inside_of_a_block() -> None:
    block = "  yard.crane{} = {{\n    rope = 7;\n    hook = {{\n      wick = 9;\n    }};\n  }};\n"
    text = "{\n" + "\n".join(f"  # needed since {at}\n" + block.format(at) for at in range(20)) + "}\n"
    starts = [text[unit.start :].split("\n")[0] for unit in split_units(text)]
    assert len(starts) > 3
    assert all(start.startswith(("{", "}", "# needed", "yard.crane")) for start in starts), starts


def test_begin_belongs_to_the_deeper_lines_right_above_it() -> None:
    body = "".join(f"  lamp{at} <= wick{at} when clk = '1' else oil;\n" for at in range(6))
    text = f"architecture rtl of crane is\n  signal wick : unsigned;\nbegin\n{body}end architecture rtl;\n"
    text = "use pier.lamps.all;\n" + text + text.replace("crane", "yard")
    units = arrange(text, split_units(text), 0, lambda _: True, Sizes(60, 60))
    texts = [text[unit.start : unit.end] for unit in units]
    for unit in units:
        if "lamp3" in text[unit.start : unit.end]:
            heads = " ".join(texts[need] for need in unit.link.needs)
            assert ("of crane is" if unit.start < len(text) // 2 else "of yard is") in heads


TABLES = {
    "a rule between all rows": """
1*       |┌────────┬────────┬────────┐
2* 1     |│ Crane  │ Hook   │ Weight │
3* 1 2 7 |├────────┼────────┼────────┤
4 1 2 3 7|│ north  │ iron   │ 12.0   │
5        |├────────┼────────┼────────┤
6 1 2 3 7|│ south  │ steel  │ 9.5    │
7*       |└────────┴────────┴────────┘
""",
    "numbered names": """
1*   |Pier          Crane 1   Crane 2   Crane 3
2  1 |North Mole    18:04     19:42     18:44
3  1 |South Mole    20:22     15:51     21:46
4  1 |West Mole     09:12     21:23     09:11
""",
    "two tables with a rule below the names": """
1*     |Crane    Hook    Weight
2*     |-----------------------
3 1 2  |north    iron    12
4 1 2  |south    steel   9
       |
5*     |Ropes:
6* 5   |Pier     Rope    Length
7* 5 6 |-----------------------
8 5 6 7|east     hemp    40
9 5 6 7|west     wire    55
10     |-----------------------
11 6 7 |total            95
""",
    "a long rule below the names": """
1*     |Number   Crane        Operator     Machine                              Version      Remark
2*     |-------------------------------------------------------------------------------------------
3  1 2 |84687    north        Ada          10.0.0.9 (yard:24121)                3.11         old
4  1 2 |47649    south        Bo           10.0.0.7 (yard:28123)                3.11         new
5  1 2 |67652    west         Cleo         10.0.0.3 (yard:33188)                3.11         old
""",
    "a list of the names above the rows": """
1*         |yard_
2* 1 3 4   | _crane_label
3* 1 2 4   | _crane_height
4* 1 2 3   | _crane_hook
5  1 2 3 4 | north 12.5 iron
6  1 2 3 4 | south 9.5 steel
7  1 2 3 4 | west 3.25 iron
8  1 2 3 4 | east 7.75 steel
9          |yard_keeper
""",
    "rows that go on in the next line": """
1    |1    lamp for the pier     20       450.58            1563.79
2    |2    wick of hemp          50       677.84            1790.23
3    |3    oil for the lamp      41       159.25            5838.55
4 3  |     from the old yard
5    |4    hook of iron          60       804.45            4419.30
6    |5    rope of the crane     91       108.25            2634.15
7 6  |     nine metres long
""",
}  # fmt: skip


@pytest.mark.parametrize("notation", TABLES.values(), ids=TABLES.keys())
def test_rows_are_kept_with_the_names_and_the_row_that_they_need(notation: str) -> None:
    check_notation(notation)


def test_the_lines_of_a_block_need_its_name() -> None:
    fields = (
        '    name = "{}",\n    ropes = [\n        "hemp",\n        "wire",\n    ],\n    size = "{}",\n)\n'
    )
    text = "\n".join(f"crane_rule(\n{fields.format(f'yard{at}', f'length {at}')}" for at in range(4))
    parts = dict(open_parts(text, 40))
    assert any('name = "yard2"' in need for need in parts['size = "length 2",'])


LINES = ("# a\n", "a\n", "a b c\n", "crane  1\n-----------\n", "  # a\n  b {\n", "§ 1:\n", " " * 900 + "a\n")
PARTS = ("YARD {n}\nlow\n\n", "[-]a {n} at 8:12\n\nIt lifts the rope.\n\n", "---------\nrope {n}\n\nhook\n")


@pytest.mark.parametrize("line", [*LINES, *PARTS])
def test_lines_above_others_are_found_in_linear_time(line: str) -> None:
    assert grows_linearly(
        lambda size: split_units("".join(line.replace("{n}", str(n)) for n in range(size * 4 // len(line))))
    )


@pytest.mark.parametrize("line", ["{}a", "a:{}b", "a{}= b", "{}}}", "a{}b", "#{}a"])
def test_a_line_is_read_in_time_linear_in_its_blanks(line: str) -> None:
    assert grows_linearly(lambda size: split_units(4 * f"{line.format(' ' * size * 4)}\n"))
