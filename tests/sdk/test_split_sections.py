"""Sections and records without indentation: lines keep the heads of their own section."""

from __future__ import annotations

import pytest

from tersely.split.sentences import split_units
from tests.sdk.test_split_outline import check_notation
from tests.sdk.units import find_needs, grows_linearly

CASES = {
    "records with a paragraph": """
1*      |Name        : crane
2 1     |Code        : 7
3 1     |Owner       : Ada
4* 1    |Description :
5~ 1 4  |The crane lifts the rope of the yard, which holds the hook
        |above the quay in the north of the town.
6*      |Name        : lamp
7 6     |Code        : 9
8 6     |Owner       : Ben
9* 6    |Description :
10~ 6 9 |The lamp lights the yard of the quay, which the keeper
        |crosses at night on the way to the town.
""",
    "titles in capitals": """
1*      |ADA HOLM
2  1    |7 Crane Lane, Northport
        |
3*      |PROFILE
4  3    |Keeper of the crane since 1998
        |
5*      |SPOKEN LANGUAGES
6  5    |Dutch (well), Greek (a little)
7  5    |Thai (none)
""",
    "titles in capitals above others": """
1*      |ROPE LADDER
2  1    |Takes 5 hours, for two people
        |
3* 1    |Parts
        |
4  1 3  |- 40 m of rope
5  1 3  |- 12 rungs
        |
6*      |LAMP POST
7  6    |Takes 9 hours, for one person
        |
8* 6    |Parts
        |
9  6 8  |- 1 lamp
10 6 8  |- 3 m of pipe
""",
    "records between rules, with paragraphs": """
2       |12 Pier Lane, Northport
3  2    |Price 700
        |
4* 2    |Upper deck
5  2 4  |  hook 3 m
6* 2    |Lower deck
7  2 6  |  rope 9 m
        |
8* 9    |--------------------
9  8    |40 Quay Road, Southport
10 9    |Price 900
        |
11* 9   |Upper deck
12 9 11 |  hook 5 m
        |
13* 14  |--------------------
14 13   |51 Yard Street, Eastport
15 14   |Price 300
        |
16 14   |No deck
""",
    "posts with the name of the author in the third line": """
1  2 3  |The crane does not lift
2  1 3  |Posted: Mon Mar 11, 2024 5:52 pm
3  1 2  |by ada
        |
4~ 1 2 3|Mine did not lift the rope of the yard for two days.
        |
5  6 7  |Re: The crane does not lift
6  5 7  |Posted: Tue Mar 12, 2024 7:12 am
7  5 6  |by ben
        |
8~ 5 6 7|Grease the hook first, and then the rope of the crane.
        |
9 10 11 |Re: The crane does not lift
10 9 11 |Posted: Tue Mar 12, 2024 9:40 am
11 9 10 |by ada
        |
12~ 9 10 11|It lifts again, because the hook has grease now.
""",
    "replies with the author in the first line": """
1*      |[-]ada 64 points 8 hours ago
        |
2~ 1    |Grease the hook first, and then the rope of the crane.
        |
3*      |    [-]ben 19 points 3 hours ago
        |
4~ 3    |    The rope of my crane has no grease, and it lifts.
        |
5*      |[-]cleo 2 points 5 hours ago
        |
6~ 5    |Sell the crane and buy another one at the quay.
""",
    "messages with a line about what they answer": """
1*      |Ada Holm, [01.03.2024 08:00]
2  1    |no, the yard is closed
        |
3*      |Ben Roy, [01.03.2024 08:03]
4  3    |[In reply to Ada Holm]
5  3    |not on Sunday
        |
6*      |Ada Holm, [01.03.2024 08:04]
7  6    |on Sunday too
""",
    "columns that numbers name": """
1*      |                 1    2    3   All
2  1    |North crane     35   20   19    74
3  1    |South crane     32   21   24    77
        |
4*      |                     Rope        Hook
5* 4    |             All   18-34   35-54   55+
6  4 5  |Each day     42%      8%     23%   53%
7  4 5  |Each week    17%     45%     29%   36%
""",
    "columns with counted names": """
1*      |Rank  Name       Load   1.Lift   2.Lift   Sum
2  1    |1     Red Crane  2175   3w1      4b0      4.5
3  1    |2     Old Crane  1987   1b0      2w1      4.0
""",
    "columns with numbers and units in their names": """
1*      |Crane no.     2849   3106   2096
2  1    |North yard    0636   0818   0914
3  1    |South yard    0527   0733   1000
        |
4*      |Rope    Hook   8 h [kg/m]   15 min [kg/m]
5  4    |hemp    none         727            1668
6  4    |steel   none         537            1181
""",
    "paths above commands": """
1*      |/yard crane
2 1     |add name=north load=7
3 1     |add name=south load=9
4*      |/quay lamp
5 4     |add name=east light=3
6 4     |set name=west light=4
7*      |/quay rope
8 7     |set length=40
9 7     |set colour=red
""",
    "parts of a chart": """
1       |chart
2 1     |    title Work in the yard
3* 1    |    part Old crane
4 1 3   |    paint it         :done, 4, 2d
5 1 3   |    oil the hook     :5, 3d
6* 1    |    part New crane
7 1 6   |    buy a rope       :done, 6, 1d
8 1 6   |    lift it          :7, 9d
9* 1    |    part Lamp
10 1 9  |    light it         :8, 2d
11 1 9  |    clean the glass  :9, 1d
""",
    "steps in brackets": """
1       |yard 1.2
2*      |[1/2] Which crane is in the yard...?
3 2     |[2/2] Counting the hooks...
4 2     |info Load of the crane: "7 t"
5 2     |info Hooks of the crane: 4
6*      |[1/2] Which lamp is in the yard...?
7 6     |[2/2] Counting the wicks...
8 6     |info Load of the lamp: "2 t"
9 6     |info Hooks of the lamp: 1
10*     |[1/2] Which rope is in the yard...?
11 10   |[2/2] Counting the knots...
12 10   |info Load of the rope: "1 t"
13 10   |info Hooks of the rope: 2
""",
    "numbered minutes": """
1*      |1  CRANES
2~ 1    |1.1  The report on the old crane was read.
3~ 1 2  |1.2  The hook of the crane was sold.
4* 1 2 3|    Actions:
5 1 2 3 4|    - Ada: buy a rope
        |
6*      |2  LAMPS
7~ 6    |2.1  The lamp of the quay was lit.
8~ 6    |2.2  The wick of the lamp was cut.
""",
    "labels inside functions": """
0       |	.quay
1*      |lift:
2 1     |	push	hook
3 1     |	move	rope, 4
4* 1    |.L1:
5 1 4   |	pull	rope
6 1 4   |	stop
7*      |drop:
8 7     |	push	rope
9* 7    |.L2:
10 7 9  |	stop
""",
    "answers after a list": """
1*      |$ fetch -v quay.example
2* 1    |* Certificate of the quay:
3 1 2   |*  keeper: Ada
4 1 2   |*  end: March
5* 1    |> GET /crane
6 1 5   |> Host: quay.example
7* 1    |< 200 OK
8 1 7   |< Crane: 7
""",
    "directions below speakers": """
1*      |THE YARD - NIGHT
        |
2* 1    |          ADA
3 1 2 4 |     (quietly)
4~ 1 2  |   The crane leaves at nine from the quay.
        |
5* 1    |          BEN
6~ 1 5  |   The lamp is out, and the rope is gone.
""",
}
HUNK = "--- Old\n+++ New\n@@ @@\n-crane 7\n+crane 9"
FIELDS = "DOCK.NAME:   north\nDOCK.CODE:   7A:41:C0\nDOCK.DEPTH:  12\nDOCK.COLOUR: red\n\n"
BOOK = (
    "BOOK        CR_204117    417 leaves\nSHELF       CR_204117\nWORDS       Crane.\n"
    "PART        1  (leaves 1 to 42)\n  WRITERS   Holm,A. and Roy,B.\n  TITLE     The crane of the yard\n"
)
RECORDS = "MSH|A|LAB|1\nPID|1|ADA^HOLM\nOBR|1|Blood\nOBX|1|Iron|11\nOBX|2|Salt|13\n"
YARD = (
    "common\n    log all\n    ropes 7\n\ndefaults\n    mode slow\n    wait 3s\n\n"
    + "quay {0}\n    hold {0}1\n    serve ship {0}1 load 7\n    serve ship {0}2 load 9\n\n".replace(
        "{0}", "north"
    )
    + "quay south\n    hold south1\n    serve ship south1 load 3\n    serve ship south2 load 4\n"
)
CAPITALS = """\
       NAME OF THE YARD.
       YARD-NAME. QUAY.
       LIFT-PARA.
           IF HOOK > 7
               PERFORM DROP-PARA
           END-IF."""


@pytest.mark.parametrize("notation", CASES.values(), ids=CASES.keys())
def test_lines_keep_the_heads_of_their_section(notation: str) -> None:
    check_notation(notation)


@pytest.mark.parametrize(
    ("text", "line", "heads"),
    [
        ("yard 1.2\n\n" + FIELDS, "DOCK.DEPTH:  12", {"DOCK.NAME:   north"}),
        (BOOK, "TITLE     The crane of the yard", {"PART        1  (leaves 1 to 42)"}),
        (RECORDS + RECORDS.replace("ADA", "BEN"), "OBX|2|Salt|13", {"MSH|A|LAB|1", "PID|1|ADA^HOLM"}),
        (YARD, "wait 3s", {"defaults"}),
        (CAPITALS, "END-IF.", {"LIFT-PARA.", "IF HOOK > 7"}),
        (
            "Listing cranes ...\nname\tload\nold\t7\nnew\t9",
            "Listing cranes ...",
            {"name\tload\nold\t7\nnew\t9"},
        ),
    ],
)
def test_lines_need_their_heads(text: str, line: str, heads: set[str]) -> None:
    assert heads <= find_needs(text, line)


def test_lines_of_reports_are_no_prose() -> None:
    text = "\n".join(["[2/4] Counting cranes...", "[3/4] Counting ropes...", *CAPITALS.split("\n")[:2]])
    assert {unit.kind for unit in split_units(text)} == {"line"}
    assert [unit.kind for unit in split_units(f"A crane fell.\n{HUNK}\n")] == ["sentence", "diff"]


def test_lines_without_values_among_others_are_no_sections() -> None:
    text = "\n".join(f"make: step {n}\nmake: rope {n}\ncc -o {n}.o {n}.c" for n in range(5))
    assert "cc -o 1.o 1.c" not in find_needs(text, "make: step 3")


def test_many_sections_take_linear_time() -> None:
    assert grows_linearly(
        lambda size: split_units("".join(f"/yard {n}\nadd a={n}\nadd b=7\n" for n in range(size)))
    )


@pytest.mark.parametrize("text", ["--------\n\n--------\n", "==========\n" * 3])
def test_a_text_of_rules_alone_is_split(text: str) -> None:
    assert "\n".join(text[unit.start : unit.end] for unit in split_units(text)).split() == text.split()


@pytest.mark.parametrize("first", ["==A==", "== Lamps =="])
def test_headings_of_wikitext_may_have_one_letter(first: str) -> None:
    text = f"{first}\nThe crane lifts the rope.\n\n==Horns==\nThe horn is low and loud.\n"
    assert find_needs(text, "The horn is low and loud.") == {"==Horns=="}


def test_versions_in_brackets_have_one_depth() -> None:
    text = "".join(f"[1.{n}.0]\n-------\nThe crane lifts {n} ropes.\n\n" for n in (3, 2, 1))
    assert find_needs(text, "The crane lifts 1 ropes.") == {"[1.1.0]\n-------"}


def test_a_picture_does_not_end_a_section_of_wikitext() -> None:
    page = "== Lamps ==\n[[{}:lamp.jpg]]\nThe lamp of the yard is red.\n"
    sentence = "The lamp of the yard is red."
    assert find_needs(page.format("File"), sentence) == {"== Lamps =="}
    assert find_needs(page.format("Category"), sentence) == set()


def test_an_underlined_heading_is_inside_the_title_after_a_hash() -> None:
    text = "# Crane\n\nA crane lifts.\n\nRepair\n------\n\nThe crane stops.\n\n### Oil\n\nOil the winch.\n"
    assert find_needs(text, "The crane stops.") == {"# Crane", "Repair\n------"}
    assert find_needs(text, "Oil the winch.") == {"# Crane", "Repair\n------", "### Oil"}


def test_a_centred_title_ends_the_clause_above_it() -> None:
    prose = "The keeper of the pier counts all red ropes of the crane in the\nmorning, and in the evening.\n"
    title = "How to Paint the Cranes".center(64)
    text = f"  16. Ropes.\n\n  {prose}\n  17. Lamps.\n\n  {prose}\n{title}\n\n  Paint them. {prose[12:]}"
    assert find_needs(text, "Paint them.") == {title.strip()}
    code = text.replace(title, "    lift --all the red cranes")
    assert find_needs(code, "Paint them.") == {"17. Lamps."}
