"""Markup that a converter such as pandoc has written: wikitext and Markdown with tags, Org mode."""

from __future__ import annotations

import pytest

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
