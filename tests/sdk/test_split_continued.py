"""A line that goes on in the lines below it is one line."""

from __future__ import annotations

import pytest

from tersely.split.arrange import arrange
from tersely.split.nodes import Sizes
from tersely.split.sentences import split_units
from tests.sdk.test_split_outline import check_notation

CASES = {
    "a loop in a rule of a Makefile": """
1       |lift: hook rope | yard
2  1    |\t@for f in $(STONES); do \\
3  1 2  |\t\tcrane "$$f" --high \\
4  1 2  |\t\t|| exit 1; \\
5  1 2  |\tdone
6  1    |\t-crane down $@
        |
7       |clean: yard
8  7    |\trm -rf $@
""",
    "fields of a card that are folded": """
1       |BEGIN:VCARD
2  1    |VERSION:3.0
3  1    |FN:Ada Stone
4  1 3  |NOTE:Met at the pier in spring\\, likes cranes and
5  1 3 4|  old ropes. Call after six.
6  1 3  |PHOTO;TYPE=JPEG:8876d5bbe425f3fbe
7  1 3 6| c9e4db4a749d4443e
8  1 3 6| 1272b41c57ce1ca0a
9  1    |END:VCARD
""",
    "names of the values below them": """
1       |1: red: <UP> rope 40
2 1     |    IN:  metres lifts
3 1 2   |       40     9
4 1     |    OUT: metres lifts
5 1 4   |       12     7
6       |2: old: <DOWN> rope 12
7 6     |    IN:  metres lifts
8 6 7   |        3     1
""",
    "strings of a catalogue in several lines": """
1       |msgid ""
2  1    |"The crane could not lift the stone because "
3  1    |"the rope is old.\\n"
4  1    |msgstr ""
5  1 4  |"Le crochet est rouge, "
6  1 4  |"et la corde est vieille.\\n"
        |
7       |msgid "red hook"
8  7    |msgstr "crochet rouge"
""",
}


@pytest.mark.parametrize("notation", CASES.values(), ids=CASES)
def test_continuation_is_kept_with_its_line(notation: str) -> None:
    check_notation(notation)


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_continued_line_is_one_unit(ending: str) -> None:
    text = ending.join(["red: hook", "\tlift a \\", "\t  --high \\", "\t  --slow", "\tlift b", ""])
    units = [text[unit.start : unit.end] for unit in split_units(text)]
    assert units == ["red: hook", ending.join(["lift a \\", "\t  --high \\", "\t  --slow"]), "lift b"]


@pytest.mark.parametrize(
    "text",
    [
        "C:\\yard\\\nC:\\pier\\\nD:\\rope\\\n",
        "| \\\n|  \\\n|   \\\n",
        "1 & 2 \\\\\n3 & 4 \\\\\n5 & 6 \\\\\n",
    ],
)
def test_backslash_that_is_no_continuation_ends_a_line(text: str) -> None:
    assert len(split_units(text)) == 3


def test_hard_break_of_markdown_stays_in_prose() -> None:
    text = "The crane lifts the red stone at dawn.\\\nThe yard is shut at night, and the gate too.\n"
    assert {unit.kind for unit in split_units(text)} == {"sentence"}


def test_opened_code_keeps_continued_lines_whole() -> None:
    lines = "".join(f"  lift --hook {n} \\\n    --rope {n} \\\n  --stone {n}\n" for n in range(20))
    text = f"function lift_all() {{\n{lines}}}\nfunction rest() {{\n  lift none\n}}\n"
    units = arrange(text, split_units(text), 0, lambda unit: unit.end - unit.start > 60, Sizes(60, 60))
    parts = [text[unit.start : unit.end].rstrip() for unit in units]
    assert not any(part.endswith("\\") for part in parts)


RECORDS = "".join(
    f"{'*' * 27} {n}. row {'*' * 27}\n      id: {90 + n}\n    name: {name}\n   total: {n}.40\n   notes: no\n"
    for n, name in enumerate(["ada", "ben", "cem", "dora"], 1)
)
GUTTER = (
    "error: red\n  |\n1 | hook\n  | ^^^^\n  |\n  = help: old\n\nerror: old\n  |\n4 | rope\n  | ^^^^\n  |\n"
)


@pytest.mark.parametrize("text", [RECORDS, GUTTER, *(CASES[name].replace("|", "") for name in CASES)])
def test_line_ends_of_windows_change_no_unit(text: str) -> None:
    found: list[list[tuple[str, str, tuple[int, ...]]]] = []
    for source in (text, text.replace("\n", "\r\n")):
        units = arrange(source, split_units(source), 0, lambda unit: unit.kind == "row", Sizes(60, 60))
        found.append([(source[u.start : u.end].replace("\r", ""), u.kind, u.link.needs) for u in units])
    assert found[0] == found[1]


def test_mail_with_three_levels_of_quotations_is_read() -> None:
    mail = (
        "On 2021-02-20 at 12:15:22, Ada wrote:\n"
        "> The old parcel of Ben opens the invoice for Dora. The second\n> the engine for Ben.\n>\n"
        "> On 2025-09-19 at 17:14:44, Cid wrote:\n>>\n"
        ">> The empty garden of Emil counts the cache. The old invoice of\n>> closes the harbour.\n>>\n"
        ">> On 2020-07-13 at 14:42:17, Fay wrote:\n"
        ">>> The empty parcel of Gus counts the garden for Hal. The"
    )
    assert "".join(mail[u.start : u.end] for u in split_units(mail))
