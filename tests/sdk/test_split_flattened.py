"""Text that a converter has made of pages: joined pages of a PDF, and pages of the web in fragments."""

from __future__ import annotations

import pytest

from tersely import Compressor
from tersely.split.sentences import split_units
from tests.sdk.units import find_needs, grows_linearly, list_units

LINE = "The keeper of the pier counts the red ropes of the crane in the morning, and in the evening too."


def join_pages(first: int, count: int, *, footer: str = "{}") -> str:
    """Return pages of prose, with the number of each in its footer, below which the next page goes on."""
    pages: list[str] = []
    for page in range(first, first + count):
        lines = [f"Rope {page}.{line} is long. {LINE}" for line in range(14)]
        last = f"Nobody has seen the old lamp {page} of the harbour since"
        below = f"the day of storm {page}, when it fell."
        pages.append("\n".join([*lines, last, footer.format(page), below]))
    return "\n".join(pages) + "\n"


@pytest.mark.parametrize("footer", ["{}", "Chapter 3: Cranes and ropes   {}", "{}\n\nThe harbour manual"])
def test_numbers_of_joined_pages_are_no_text(footer: str) -> None:
    text = join_pages(41, 4, footer=footer)
    kinds = {
        kind for kind, unit in list_units(text) if unit[:2] == "41" or "Chapter" in unit or "manual" in unit
    }
    assert kinds == {"comment"}
    assert not any("since\n41" in unit or "41\nthe day" in unit for _, unit in list_units(text))


def test_a_sentence_goes_on_in_the_next_joined_page() -> None:
    text = join_pages(41, 4)
    halves = [unit for unit in split_units(text) if "old lamp" in text[unit.start : unit.end]]
    assert all(unit.link.needs for unit in halves)
    result = Compressor().compress("When did the old lamp 42 fall?", [text], budget=60)
    assert "lamp 42 of the harbour since\nthe day of storm 42, when it fell." in result.text


RISING = {
    "items": "\n".join(
        f"{n}\n" + "\n".join(f"Rope {n}.{k} is long. {LINE}" for k in range(13)) for n in range(1, 5)
    ),
    "a log": "\n".join(
        f"Training of the third epoch {n}\n" + "\n".join(f"loss {k}: 0.{k}" for k in range(13))
        for n in range(7, 12)
    ),
    "numbers": "\n".join(f"{n % 9}\n{n % 7}" for n in range(80)),
}


@pytest.mark.parametrize("text", RISING.values(), ids=RISING)
def test_other_rising_numbers_are_no_pages(text: str) -> None:
    assert "comment" not in {kind for kind, _ in list_units(text)}


def test_joined_pages_are_found_in_linear_time() -> None:
    assert grows_linearly(lambda size: split_units(join_pages(1, size // 100)))


TITLES = f"""C.1 Ropes and hooks
{LINE} It is a long rope that nobody has seen so far.
Care of the lamp
{LINE} The lamp is dark, because nobody has cleaned it.
C.2.2 What does a hook cost?
{LINE} A hook costs twelve euros in every shop.
Oil of the crane
{LINE} The oil is kept in a red can below the stairs.
"""


@pytest.mark.parametrize(
    ("part", "title"),
    [
        ("It is a long rope", "C.1 Ropes and hooks"),
        ("The lamp is dark", "Care of the lamp"),
        ("A hook costs", "C.2.2 What does a hook cost?"),
        ("The oil is kept", "Oil of the crane"),
    ],
)
def test_titles_in_a_text_without_blank_lines(part: str, title: str) -> None:
    line = next(unit for _, unit in list_units(TITLES) if unit.startswith(part))
    assert title in find_needs(TITLES, line)
    assert len([need for need in find_needs(TITLES, line) if len(need) < 60]) <= 2


FRAGMENTS = """4.4.3.
The lamp server
The main lamp is
lamp.harbour.example
. It holds the
oil
, the wick and the glass of the pier.
If you find a broken lamp, report it to the

Keeper of Lamps
.
4.4.4.
The rope server
The ropes are in the
red
shed.
A new lamp burns
Red Oil
.
The
Old Lamp
 burns gas.
"""


def test_sentences_in_fragments_are_whole() -> None:
    sentences = [" ".join(unit.split()) for kind, unit in list_units(FRAGMENTS) if kind == "sentence"]
    assert sentences == [
        "The main lamp is lamp.harbour.example .",
        "It holds the oil , the wick and the glass of the pier.",
        "If you find a broken lamp, report it to the Keeper of Lamps .",
        "The ropes are in the red shed.",
        "A new lamp burns Red Oil .",
        "The Old Lamp burns gas.",
    ]


def test_a_number_alone_is_kept_with_its_title() -> None:
    line = "The ropes are in the\nred\nshed."
    assert find_needs(FRAGMENTS, line) == {"4.4.4.", "The rope server"}


def test_a_comment_in_an_example_is_no_heading() -> None:
    example = "lift(crane)\n# the crane is red\nlower(crane)\n"
    text = f"1.2 Ropes\n\nCount the ropes like this:\n\n{example}\nThe crane is red.\n"
    assert find_needs(text, "The crane is red.") == {"1.2 Ropes"}


def test_a_definition_needs_its_term() -> None:
    text = """## Ropes

rope.red

BLANKS

It is the rope of the crane. Nobody may cut it.

`rope.blue`(_length_)

BLANKS

It is the rope of the pier. Everybody may cut it.
""".replace("BLANKS", " " * 4)
    assert find_needs(text, "Nobody may cut it.") == {"## Ropes", "rope.red"}
    assert find_needs(text, "Everybody may cut it.") == {"## Ropes", "`rope.blue`(_length_)"}


def test_paragraphs_of_descriptions_are_no_fragments() -> None:
    description = "Description: a crane\n It lifts ropes.\n .\n It is red.\n .\n It is old.\n"
    stanza = f"Package: crane{{}}\nVersion: 1.{{}}\n{description}Homepage: https://crane.example/\n"
    text = "It is old.\n\nThe crane was painted.\n\n" + "\n".join(stanza.format(n, n) for n in range(4))
    assert [kind for kind, _ in list_units(text)] == ["sentence", "sentence", "stanza"]


def test_a_paragraph_whose_lines_are_alike_is_prose() -> None:
    text = (
        "The pilot of the harbour counts the ropes on 2020-04-12. The\n"
        "second pilot of the pier counts the lamps on 2024-12-14. The\n"
        "third sleeps.\n"
    )
    assert [" ".join(unit.split()) for _, unit in list_units(text)] == [
        "The pilot of the harbour counts the ropes on 2020-04-12.",
        "The second pilot of the pier counts the lamps on 2024-12-14.",
        "The third sleeps.",
    ]


MANUAL = """\
       LIFT    The crane lifts the rope.

       There    is    one   file   for   each   user's   rope   under   the
       /var/spool/cranes/ropes  directory.  Users are not allowed to edit a
       rope by hand, because the crane would not see it.

       NAME_REGEX
              ACCEPT  means  that  the  name is taken.  DROP means the name
              that does not match ^[a-z][-a-z0-9_]*$ is dropped  with  hook=1
              and rope=2 set.  Nobody else sees it.

       The mode of all ropes that are kept on the pier is 0700.   Note  that
       there are ropes (such as --red, or the long ones) which require other
       modes.
"""


def test_justified_lines_are_prose_although_they_have_wide_gaps_and_signs_of_code() -> None:
    sentences = [" ".join(unit.split()) for kind, unit in list_units(MANUAL) if kind == "sentence"]
    assert sentences == [
        "There is one file for each user's rope under the /var/spool/cranes/ropes directory.",
        "Users are not allowed to edit a rope by hand, because the crane would not see it.",
        "ACCEPT means that the name is taken.",
        "DROP means the name that does not match ^[a-z][-a-z0-9_]*$ is dropped with hook=1 and rope=2 set.",
        "Nobody else sees it.",
        "The mode of all ropes that are kept on the pier is 0700.",
        "Note that there are ropes (such as --red, or the long ones) which require other modes.",
    ]
