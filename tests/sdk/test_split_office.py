"""Documents of offices: leaflets, policies, newsletters, licences, articles with pages and references."""

from __future__ import annotations

import pytest

from tersely import Compressor
from tersely.split.sentences import split_units
from tests.sdk.test_split_outline import check_notation
from tests.sdk.units import find_needs, grows_linearly, list_units

CASES = {
    "titles right above paragraphs": """
1*       |If you take too much rope
2~ 1     |Call the keeper of the pier at once, because he knows what to do with a crane that hangs too low.
         |
3*       |If you forget the lamp
4~ 3     |Do not light two lamps instead, but take the next one at the usual time of the evening.
""",
    "a name right below a title between blank lines": """
1*       |Cranes of the pier
         |
2*  1    |Old cranes
3~  1 2  |The old cranes stand in the north, and lift no more than forty barrels of oil a day.
         |
4*  1    |New cranes
5~  1 4  |The new cranes stand in the south, and lift as much as the ships of the harbour need.
""",
    "questions right above short answers": """
1*       |Who painted the boat?
2~ 1     |Ada did.
         |
3*       |Can I bring a dog?
4~ 3     |Yes, on a rope.
""",
    "a list in a list that a colon announces": """
1*       |We pay for:
2* 1     |- meals on a ship:
3  1 2   |    - lunch
4  1 2   |    - dinner
5  1     |- trains in second class
6  1     |- a boat of your own
""",
    "a list in a list between blank lines": """
1*       |We pay for:
         |
2* 1     |- meals on a ship:
         |
3  1 2   |    - lunch
         |
4  1 2   |    - dinner
         |
5  1     |- trains in second class
""",
    "items below a title between stars": """
1*       |*** EVENTS ***
         |
2  1     |* Sat 4 April: walk on the pier
3  1     |* Sun 5 April: fair of the ropes
         |
4*       |*** JOBS ***
         |
5  4     |* Keeper of the lamp
""",
    "a clause that begins with its title": """
1~       |7. Disclaimer of Warranty.
2~ 1     |The keeper provides the crane as it is.
""",
}


@pytest.mark.parametrize("name", CASES)
def test_heads_of_office_documents(name: str) -> None:
    check_notation(CASES[name])


def test_a_sentence_goes_on_behind_a_page_break() -> None:
    text = (
        "The crane of the old pier was painted by the keeper himself. We found that a\n\n23\n\n"
        "\fCranes of the pier\n\nrope of red wool is stronger than one of grass. It was dear.\n\n"
        "   o  Once a lamp has been lit, its keeper cannot be\n\n"
        "Okafor                    Standards Track                       [Page 24]\n"
        "\fCranes of the pier\n\n      sent away.\n"
    )
    units = split_units(text)
    shown = [text[unit.start : unit.end].replace("\n", "/") for unit in units]
    assert shown == [
        "The crane of the old pier was painted by the keeper himself.",
        "We found that a",
        "23//\fCranes of the pier",
        "rope of red wool is stronger than one of grass.",
        "It was dear.",
        "o  Once a lamp has been lit, its keeper cannot be",
        "Okafor                    Standards Track                       [Page 24]/\fCranes of the pier",
        "sent away.",
    ]
    assert [unit.kind for unit in units].count("comment") == 2
    ties = [(at, need) for at, unit in enumerate(units) for need in unit.link.needs]
    assert {(1, 3), (3, 1), (5, 7), (7, 5)} <= {*ties}


def test_a_page_break_between_sentences_leaves_the_first_line_that_does_not_recur() -> None:
    text = "The crane is red.\n\n1\n\fThe rope is blue.\n\n2\n\fThe lamp is lit.\n"
    assert [body for kind, body in list_units(text) if kind == "sentence"] == [
        "The crane is red.",
        "The rope is blue.",
        "The lamp is lit.",
    ]


def test_running_heads_are_dropped_without_a_mark() -> None:
    page = "\fCranes of the pier\n\nThe {} crane lifts {} barrels of oil a day. Its rope is red.\n\n{}\n"
    text = "".join(page.format(name, at, at) for at, name in enumerate(("old", "new", "far", "low"), 2))
    result = Compressor().compress("How many barrels does the new crane lift?", [text], budget=30)
    assert "The new crane lifts 3 barrels" in result.text
    assert "Cranes of the pier" not in result.text


def test_page_breaks_take_linear_time() -> None:
    assert grows_linearly(lambda size: split_units("The crane is\n\n3\n\fCranes\n\nred. " * (size // 8)))


def test_an_entry_of_the_references_is_whole() -> None:
    text = (
        "References\n\n"
        "[1] E. Alvarez, T. Brandt. Ropes for old cranes with\n"
        "a short hook. In Proceedings of the Third Meeting on How the\n"
        "Keeper Pulls, pages 96-128, 2001.\n"
        "[2] T. Brandt. Lamps. Journal of Piers, 37(4), 2004.\n"
    )
    entries = [text[12 : text.index("\n[2]")], text[text.index("[2]") :].strip()]
    assert list_units(text)[1:] == [("list_item", entry) for entry in entries]
    cited = "The rope was shown to be strong by\n[3] and others. The crane is old."
    assert ("list_item", cited[35:]) not in list_units(cited)


def test_a_field_has_its_wrapped_lines() -> None:
    text = (
        ":param str rope: This means that no crane pulls the\n    rope unless the keeper allows it.\n"
        ":param hook: Keepers ask why the hook opens\n    before the rope is ready.\n:rtype: int\n"
    )
    assert [body.count("\n") for _, body in list_units(text)] == [1, 1, 0]


@pytest.mark.parametrize("short", ["i.e.", "e.g.", "cf."])
def test_an_abbreviation_at_the_end_of_a_line_ends_no_sentence(short: str) -> None:
    text = f"Names such as crane.conf or rope.6 are kept, {short}\nthey survive a storm. Others do not.\n"
    assert len(list_units(text)) == 2


def test_small_roman_numbers_begin_items() -> None:
    text = "  i. the right to pull;\n ii. the right of keepers to\n     a lamp;\niii. the right to sail.\n"
    assert [kind for kind, _ in list_units(text)] == ["list_item"] * 3


@pytest.mark.parametrize("sign", ["> ", "# "])
def test_quotations_and_comments_are_cut_after_sentences(sign: str) -> None:
    words = "The old crane of the northern pier lifts forty barrels. The new one in the south\nlifts ninety."
    text = "\n".join(sign + line for line in words.splitlines() * 8)
    bodies = [body for _, body in list_units(text)]
    assert len(bodies) == 8
    assert all(body.endswith("lifts ninety.") for body in bodies)


def test_a_numbered_title_in_a_paragraph_is_no_part_of_it() -> None:
    text = (
        "The rope of the crane is red, and the lamp of the keeper is lit until the last ship is in.\n"
        "3.1 Choosing a rope\n\nThe keeper chooses the rope in spring, and pays for it in winter.\n"
    )
    assert "3.1 Choosing a rope" in [body for _, body in list_units(text)]
    assert find_needs(text, "The keeper chooses the rope in spring, and pays for it in winter.") == {
        "3.1 Choosing a rope"
    }


def test_a_gap_that_loses_a_speaker_has_a_mark() -> None:
    text = (
        "Ada: The crane of the pier is red. It was painted in spring.\n\n"
        "Ben: The rope is new. It came by ship.\n\n"
        "Cleo: The lamp of the keeper is lit. It burns all night.\n"
    )
    result = Compressor().compress("What colour is the crane? When is the lamp lit?", [text], budget=32)
    assert "Ben" not in result.text
    assert result.text.index("red") < result.text.index("[…]") < result.text.index("Cleo")


def test_two_lists_below_labels_that_are_alone() -> None:
    text = (
        "Your work:\n\nYou will:\n* pull the rope of 4 cranes\n\nSkills:\n\nWe seek:\n* 3 years on a pier\n"
    )
    assert find_needs(text, "* 3 years on a pier") >= {"We seek:"}


def test_a_warning_is_kept_with_its_sentence() -> None:
    text = "1 Safety\n\nA crane is high.\n\nWARNING!\nDo not stand below it.\n\nNote\nThe lamp is lit.\n"
    assert "WARNING!" in find_needs(text, "Do not stand below it.")
    assert "Do not stand below it." in find_needs(text, "WARNING!")


def test_a_title_below_a_page_break_heads_the_rows_right_below() -> None:
    text = (
        "4 Troubles\n\nThe crane stands still.\n\n6\n\fCranes of the pier\n\n5 Technical data\n"
        "Pressure                0.5 - 10 bar\nNoise                   38 dB\n\n7\n\fCranes of the pier\n\n"
        "6 Service\n\nCall the keeper.\n"
    )
    assert "5 Technical data" in find_needs(text, "Noise                   38 dB")


@pytest.mark.parametrize("stamp", ["  9:08 AM", " (08:57:30)", " [9:10 PM]"])
def test_messages_need_the_name_and_the_time_above(stamp: str) -> None:
    said = ("The crane is down again", "I will look at the rope", "It runs again now", "Thanks to all of you")
    names = ("Ada King", "Ben Ode", "Ada King", "Cleo Ray")
    text = "\n\n".join(f"{name}{stamp}\n{line}" for name, line in zip(names, said, strict=True)) + "\n"
    assert find_needs(text, "I will look at the rope") == {f"Ben Ode{stamp}"}


def test_a_line_above_a_list_heads_it() -> None:
    text = "Pier Ltd, Cardiff\nKeeper (2017)\n* lit lamps\n* pulled ropes\nPainter (2015)\n* painted cranes\n"
    assert "Painter (2015)" in find_needs(text, "* painted cranes")


def test_nested_lists_of_markdown_are_no_yaml() -> None:
    text = (
        "# Course\n\n## Week 1\n\n- Reading:\n  - Ropes, ch. 2\n- Lab: sheet 4\n- Other:\n  - Lamps, ch. 3\n"
    )
    assert {kind for kind, _ in list_units(text)} == {"heading", "list_item"}


def test_a_paragraph_needs_the_title_in_bold_that_it_begins_with() -> None:
    text = (
        "## Rules\n\n**Late work.** Hand it in by noon. Ask the keeper first.\n\n"
        "**Ropes.** Do not cut them. Send questions to the pier.\n"
    )
    needs = find_needs(text, "Send questions to the pier.")
    assert any(need.startswith("**Ropes.**") for need in needs)
