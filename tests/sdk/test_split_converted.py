"""Markup that a converter such as pandoc has written: wikitext and Markdown with tags, Org mode."""

from __future__ import annotations

import pytest

from tersely import Compressor
from tersely.split.sentences import split_units
from tests.sdk.units import find_needs, grows_linearly, list_units

WIKI = """\
<span id="cranes"></span>
== <span></span>2.4. Cranes ==


</div>

</div>
A crane lifts ropes. It is red.

</div>
<div class="section">

<div class="titlepage">

<span id="lamps"></span>
== <span></span>2.5. Lamps ==


</div>
The lamp shines at night. It is blue.
== Boats ==
The boat sails at noon.
"""


def test_lines_of_tags_hide_no_heading_of_wikitext() -> None:
    assert find_needs(WIKI, "A crane lifts ropes.") == {"== <span></span>2.4. Cranes =="}
    assert find_needs(WIKI, "The lamp shines at night.") == {"== <span></span>2.5. Lamps =="}
    assert find_needs(WIKI, "The boat sails at noon.") == {"== Boats =="}
    tags = {kind for kind, unit in list_units(WIKI) if unit.startswith(("</div", "<div", "<span id"))}
    assert tags == {"comment"}


def test_tags_of_a_fragment_of_html_are_text() -> None:
    text = "# Crane\n\nWrite this:\n\n<div>\n  <b>Crane</b>\n</div>\n\n```\n<div>\n\n</div>\n```\n"
    assert "comment" not in {kind for kind, _ in list_units(text)}
    assert "comment" not in {kind for kind, _ in list_units("# Crane\n\nWrite:\n```\n<div>\n\n</div>\n```\n")}
    code = "def lift():\n    return crane\n\n\n<div>\n\n</div>\n"
    assert "comment" not in {kind for kind, _ in list_units(code)}


ORG = """\
** Cranes
:PROPERTIES:
:CUSTOM_ID: cranes
:END:
=lift()= needs a rope. It is long.

Ask Ada for the key.

** Lamps
:PROPERTIES:
:CUSTOM_ID: lamps
:END:
Note: the lamp shines at night.

Ask Bruno for the lamp.
"""


def test_properties_of_org_mode_are_one_part_below_their_heading() -> None:
    drawer = ":PROPERTIES:\n:CUSTOM_ID: lamps\n:END:"
    assert drawer in [unit for _, unit in list_units(ORG)]
    assert find_needs(ORG, drawer) == {"** Lamps"}
    assert find_needs(ORG, "Ask Bruno for the lamp.") == {"** Lamps"}
    assert find_needs(ORG, "Ask Ada for the key.") == {"** Cranes"}


@pytest.mark.parametrize("line", ["<span></span>\n", "</div>\n\n", "== a ", ":PROPERTIES:\n", "<div> "])
def test_many_tags_and_drawers_take_linear_time(line: str) -> None:
    assert grows_linearly(lambda size: split_units("# A\n\n</p>\n" + line * (size // len(line))))


LYNX = """\
Ropes

   A rope list keeps its ropes in order. It will sort them by their length
   whenever a crane is added to the harbour, or a rope is cut.

   Here is a crane with its ropes:
class Crane(Base):
    name = Column(String)

    ropes = relationship("Rope")

   The usual crane keeps all of its ropes in the order in which it was
   given them, and never sorts them again, so a long rope may stand below
   a short one. When a rope is cut, nobody sees it.

   Make one with a factory:
crane = Crane()
crane.ropes.append(Rope())
print(crane.ropes[0].length)
# a comment
print(crane.name)
"""


def test_a_page_with_code_at_the_margin_is_no_python() -> None:
    kinds = {kind for kind, unit in list_units(LYNX) if "rope may stand" in unit or "A rope list" in unit}
    assert kinds == {"sentence"}


def test_a_comment_in_an_example_is_no_heading() -> None:
    text = "Cranes\n\nLift it as follows.\n\n# Find the rope.\nmkdir /tmp/rope\nls /tmp\n\nAsk Ada.\n"
    assert find_needs(text, "Ask Ada.") == {"Cranes"}
    assert find_needs("# Find the rope.\n\nAsk Ada.\n", "Ask Ada.") == {"# Find the rope."}


DEFINITIONS = """\
The scripts are:

preinst

This script runs before the crane is unpacked.

Many of these scripts stop the crane.

postinst

This script paints the crane.

postrm {0 | 1}

This script sells the crane.

All scripts are kept in one folder.
"""


def test_a_definition_needs_the_term_above_it_although_nothing_marks_it() -> None:
    assert "preinst" in find_needs(DEFINITIONS, "Many of these scripts stop the crane.")
    assert "postrm {0 | 1}" in find_needs(DEFINITIONS, "This script sells the crane.")
    assert "This script sells the crane." in find_needs(DEFINITIONS, "postrm {0 | 1}")
    assert not find_needs(DEFINITIONS, "All scripts are kept in one folder.") & {"postrm {0 | 1}", "postinst"}


def test_a_numbered_title_is_not_inside_a_section_with_another_number() -> None:
    text = "Appendix A. Cranes\n\nA.2. Oiling cranes/ropes\n\nOil it.\n\nA.5. Lamps at night\n\nLight it.\n"
    assert find_needs(text, "Oil it.") == {"A.2. Oiling cranes/ropes", "Appendix A. Cranes"}
    assert find_needs(text, "Light it.") == {"A.5. Lamps at night", "Appendix A. Cranes"}


def test_a_row_between_rules_and_a_described_code_are_no_titles() -> None:
    lines = [
        "STATUS",
        "   It is:",
        "   0      if it lifts",
        "   126    if the crane cannot lift",
        "   1      else.",
    ]
    text = "\n\n".join(lines)
    assert find_needs(text, "126    if the crane cannot lift") >= {"STATUS"}
    table = (
        "CRANES\n\n  Two:\n\n    -----------\n    | <A> | B |\n    -----------\n\n  Ask Ada for the key.\n"
    )
    assert "CRANES" in find_needs(table, "Ask Ada for the key.")


def test_a_paragraph_is_wrapped_although_its_lines_have_links_and_words_of_code() -> None:
    text = (
        "`lift`\n"
        ":   Lift a rope like `hold`, but fall back to holding it if the crane\n"
        "    couldn't lift it.\n"
        "\n"
        "The first step to using more than one crane with a rope is to tell\n"
        "Cranes about the ropes in your harbour. This is done using\n"
        "the [`ROPES`](../../harbour/settings.html#harbour-setting-ROPES) setting. This maps all ropes,\n"
        "which are a way to refer to one crane throughout a harbour.\n"
        "\n"
        "If a rope is not held, but its crane is, its length is found by the\n"
        "`Left`\n"
        "and `Right`\n"
        "options. Set them early.\n"
    )
    sentences = [" ".join(unit.split()) for kind, unit in list_units(text) if kind == "sentence"]
    assert (
        ": Lift a rope like `hold`, but fall back to holding it if the crane couldn't lift it." in sentences
    )
    assert any(one.endswith("is to tell Cranes about the ropes in your harbour.") for one in sentences)
    assert sentences[-1] == "Set them early."


def test_a_quotation_may_have_lines_without_text() -> None:
    quotation = (
        "> The crane of the harbour has been red for as long as anyone can\n> remember.\n>\n> it lifts\n"
    )
    assert any("remember." in unit for _, unit in list_units(quotation))


def test_a_note_is_inside_its_section() -> None:
    text = "Cranes\n\nA crane lifts.\n\nNote\n\nIt is red.\n\nLamps\n\nA lamp shines.\n"
    assert find_needs(text, "It is red.") == {"Cranes", "Note"}
    assert find_needs(text, "A lamp shines.") == {"Lamps"}


def test_lines_below_each_other_after_a_bar_are_whole() -> None:
    text = (
        "The terms are:\n\n | Copyright (C) 1999 The Harbour.  All Rights Reserved.\n |\n | Do not copy it.\n"
    )
    assert "| Copyright (C) 1999 The Harbour.  All Rights Reserved." in [unit for _, unit in list_units(text)]


def test_a_line_of_pydoc_has_its_method_above_it() -> None:
    text = """Help on class Queue in module queue:

class Queue(builtins.object)
 |  Queue(maxsize=0)
 |
 |  Create a queue object with a given maximum size.
 |
 |  Methods defined here:
 |
 |  get(self, block=True, timeout=None)
 |      Remove and return an item from the queue.
 |
 |      If the queue is empty, wait until an item is available.
 |
 |  put(self, item, block=True, timeout=None)
 |      Put an item into the queue.
 |
 |      If a free slot is missing, wait until a slot becomes free.
 |      The Full exception is raised after 'timeout' seconds.
 |
 |  qsize(self)
 |      Return the approximate size of the queue (not reliable!).
"""
    result = Compressor().compress("When is the Full exception raised?", [text], budget=80)
    lines = result.text.splitlines()
    assert " |      The Full exception is raised after 'timeout' seconds." in lines
    assert lines.index(" |  put(self, item, block=True, timeout=None)") < lines.index(
        " |      The Full exception is raised after 'timeout' seconds."
    )
    assert "class Queue(builtins.object)" in lines
