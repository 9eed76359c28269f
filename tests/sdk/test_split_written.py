"""Documents that people write: handbooks, answers to questions, itineraries, contracts, mails and notes."""

from __future__ import annotations

import pytest

from tersely import Compressor
from tersely.split.sentences import split_units
from tests.sdk.test_split_outline import RandomScorer, check_notation
from tests.sdk.units import find_needs, grows_linearly

CASES = {
    "answers below questions in lines of their own": """
1*       |Boats
         |
2* 1     |When does the first boat leave?
3~ 1 2   |The first boat leaves at six.
         |
4~ 1 2   |In winter it leaves at seven.
         |
5* 1     |Where can I buy a ticket?
6~ 1 5   |Tickets are sold on the pier.
         |
7*       |Lamps
         |
8* 7     |Can I rent a lamp?
9~ 7 8   |The keeper rents lamps by the week.
""",
    "titles in capitals below the title of the text": """
0        |Pier handbook
         |
1*       |CRANES
         |
2* 1     |Ropes
         |
3~ 1 2   |The rope of a crane is red.
         |
4* 1     |Horns
         |
5~ 1 4   |The horn is heard twice a day.
         |
6*       |LAMPS
         |
7* 6     |Ropes
         |
8~ 6 7   |A lamp hangs on a short rope.
""",
    "a title in capitals after other titles": """
1*       |Pump
         |
2  1     |Weight: 12 kg
3  1     |Colour: red
         |
4*       |Horn
         |
5  4     |Weight: 2 kg
6  4     |Colour: blue
         |
7*       |HOW TO ORDER
         |
8  7     |Call the keeper
""",
    "numbered titles above titles with two numbers": """
1*       |1. Cranes
         |
2~ 1     |A crane lifts ropes all day.
         |
3* 1     |1.1 Horns
         |
4~ 1 3   |Each crane has a horn.
         |
5* 1     |1.2 Ropes
         |
6~ 1 5   |The ropes are counted in May.
         |
7*       |2. Lamps
         |
8* 7     |2.1 Oil
         |
9~ 7 8   |The oil of the lamps is kept cold.
""",
    "articles with clauses and items": """
1*       |Article 1. Cranes
         |
2~ 1     |1.1 A crane lifts ropes.
         |
3* 1     |1.2 The keeper brings:
         |
4  1 3   |(a) a rope; and
5  1 3   |(b) a lamp.
         |
6*       |Article 2. Ropes
         |
7~ 6     |2.1 A rope is long.
""",
    "days with times": """
0        |Tour of the piers
         |
1*       |Day 1 - Sunday, 4 May 2025: Lysö
         |
2  1     |07:30  Walk with Ada Holm
3  1     |09:10  Boat to Maren
4  1 3   |       Seat 4
         |
5  1     |Hotel: Pier Inn, room 41, tel. 20788
         |
6*       |Day 2 - Monday, 5 May 2025: Maren
         |
7  6     |08:15  Walk with Ben Roy
8  6     |10:40  Boat to Holm
         |
9  6     |Hotel: Rope Inn, room 7, tel. 74510
         |
10*      |Day 3 - Tuesday, 6 May 2025: Holm
         |
11 10    |07:50  Walk with Eva Lind
12 10    |09:25  Boat to Lysö
""",
    "lists below one word": """
1*       |New ropes:
         |
2  1     |- The red rope is longer now.
3  1     |- A rope holds two lamps.
         |
4*       |Deprecated:
         |
5  4     |- The old rope goes in May (#12)
6  4 5   |  unless the keeper needs it.
7  4     |- No rope is green any more.
8  4     |- Lamps without oil.
""",
    "counted titles without blank lines": """
1*         |Item 1 - Cranes
2  1       |- The rope of the crane is 40 m long
3* 1       |Actions:
4  1 3     |* Ada: oil the crane before the first of May
5*         |Item 2 - Lamps
6* 5       |Actions:
7  5 6     |* Ben: light the lamp of the pier
8* 5       |Options discussed:
9  5 8     |  a) two lamps
10 5 8     |  b) one lamp
11*        |Item 3 - Horns
12 11      |Decision: blow the horn twice
""",
    "items whose lines are indented": """
1*       |Yard
         |
2* 1     |1. Cranes (Ada, 10 min)
3  1 2   |   - The rope is 40 m long
4  1 2   |   Decision: buy a rope
5* 1     |2. Lamps (Ben, 15 min)
6  1 5   |   - The oil costs 221 EUR
7  1 5   |   Decision: buy oil for a year, 7 for, 2 against
8* 1     |3. Horns (Eva, 15 min)
9  1 8   |   - The oil costs 285 EUR
""",
    "long titles in bold type": """
1*       |**To let the crane of the yard lift "stones" as well as the ropes of the ships**
         |
2* 1     |Command::
         |
3  1 2   |    crane --lift stones
         |
4*       |**To stop the crane**
         |
5* 4     |Command::
         |
6  4 5   |    crane --stop
""",
}  # fmt: skip


@pytest.mark.parametrize("notation", CASES.values(), ids=CASES.keys())
def test_lines_keep_the_titles_above_them(notation: str) -> None:
    check_notation(notation)


def test_each_forwarded_mail_keeps_its_own_sender() -> None:
    senders, text = ("Ada", "Ben", "Eva"), ""
    for number, name in enumerate(senders):
        text += "-----Original Message-----\n" * bool(number)
        text += f"From: {name} <{name.lower()}@pier.example>\nSent: {number + 3} May 2026 10:1{number}\n"
        text += (
            f"Subject: Ropes\n\nHello,\n\nThe rope of {name} is {number + 2} m long.\n\nRegards,\n{name}\n\n"
        )
    for number, name in enumerate(senders):
        needs = find_needs(text, f"The rope of {name} is {number + 2} m long.")
        assert {need for need in needs if need.startswith("From")} == {
            f"From: {name} <{name.lower()}@pier.example>"
        }


def test_lines_of_a_paragraph_that_resemble_each_other_are_joined() -> None:
    text = """The long crane of the pier is always checked by all of
the keepers of the yard. Each lamp costs about 6910 crowns and is paid
for by the office here. Each horn costs about 1861 crowns and is
sold in May."""
    sentences = [" ".join(text[unit.start : unit.end].split()) for unit in split_units(text)]
    assert sentences == [
        "The long crane of the pier is always checked by all of the keepers of the yard.",
        "Each lamp costs about 6910 crowns and is paid for by the office here.",
        "Each horn costs about 1861 crowns and is sold in May.",
    ]


def test_a_clause_goes_on_in_lines_that_are_indented_like_its_text() -> None:
    text = """1.2.1. Ropes. The keeper of the pier counts all of the ropes and
       writes their number into the book. Old ropes
       are burnt."""
    sentences = [" ".join(text[unit.start : unit.end].split()) for unit in split_units(text)]
    assert sentences == [
        "1.2.1. Ropes.",
        "The keeper of the pier counts all of the ropes and writes their number into the book.",
        "Old ropes are burnt.",
    ]


@pytest.mark.parametrize("budget", range(20, 110, 6))
def test_the_value_of_a_field_loses_no_part_of_a_paragraph(budget: int) -> None:
    ropes = """ Every rope of the pier may be copied by the keepers of other
 piers if they say whose rope it was and pay for the oil of the
 lamp beside it."""
    lamps = """ No lamp of this pier may be copied by anybody, because its oil
 burns too fast and the keeper of the lamps wants to sleep in the
 night."""
    text = f"Files: *\nKeeper: Ada\nTerms: pier-2\n\nTerms: pier-2\n{ropes}\n .\n{lamps}\n"
    result = Compressor(RandomScorer(budget)).compress("Which ropes may be copied?", [text], budget=budget)
    for paragraph in (ropes, lamps):
        lines = paragraph.split("\n")
        assert [line in result.text for line in lines] in ([True] * 3, [False] * 3), result.text


def test_a_note_inside_a_message_of_a_compiler_keeps_the_message() -> None:
    error = (
        "error[E030{0}]: mismatched ropes\n   --> src/pier.rs:{0}4:9\n    |\n{0}4 |     tie(rope);\n    |\n"
    )
    note = "note: rope made here\n   --> src/rope.rs:{0}:8\n    |\n"
    warning = "warning: unused lamp: `lamp{0}`\n   --> src/lamp.rs:{0}:4\n    |\n"
    parts = (warning, error + note, warning, error + note)
    text = "\n".join(part.format(number) for number, part in enumerate(parts, 1))
    assert "error[E0302]: mismatched ropes" in find_needs(text, "--> src/rope.rs:2:8")
    assert "error[E0304]: mismatched ropes" in find_needs(text, "--> src/rope.rs:4:8")


def test_the_questions_of_a_story_are_no_titles() -> None:
    days = [f"On day {n} the crane lifted stones.\n\nNobody came." for n in range(20)]
    answer = "He did not know that, and nobody said so."
    end = "It was gone, and all the others were gone with it."
    text = "\n\n".join([*days[:10], "Who had the key?", answer, *days[10:], "Where was the rope?", end])
    assert not find_needs(text, answer)
    assert not find_needs(text, end)


def test_questions_are_found_in_linear_time() -> None:
    assert grows_linearly(lambda size: split_units("Where is the rope?\nThe rope is here.\n\n" * size))


@pytest.mark.parametrize(
    "item", ["## Ropes and lamps", "Item 4. Ropes and lamps", "AGENDA ITEM 4: Ropes and lamps"]
)
@pytest.mark.parametrize("turn", ["{} Reed [00:0{}:23]: ", "{} Reed   {}:23\n", "00:0{1}:23 {0} Reed\n"])
def test_turns_keep_their_speaker_and_the_item_of_the_agenda(item: str, turn: str) -> None:
    words = "The crane lifts the stone {0}. It is heavy, and the rope is old.\n\nNobody holds the lamp {0}."
    turns = [turn.format(name, at) + words.format(at) for at, name in enumerate(("Ada", "Ben", "Ada", "Eva"))]
    text = "\n\n".join([*turns[:2], item, *turns[2:]])
    for at, name in enumerate(("Ada", "Ben", "Ada", "Eva")):
        needs = find_needs(text, f"Nobody holds the lamp {at}.")
        assert any(need.startswith(turn.format(name, at).strip()) for need in needs)
        assert (item in needs) == (at > 1)
