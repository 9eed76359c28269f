"""Sources of manual pages: requests come with their text, and sentences stay whole."""

from __future__ import annotations

import pytest

from tersely.split.arrange import arrange
from tersely.split.nodes import Sizes
from tersely.split.sentences import split_units

PAGE = r""".TH CRANE 1
.SH NAME
crane \- lifts stones
.SH OPTIONS
.sp
.RS 4
.ie n \{\
\h'-04'\(bu\h'+03'\c
.\}
.el \{\
.sp -1
.IP \(bu 2.3
.\}
It lifts what the crew has tied.
.sp
.if n \{\
.RS 4
.\}
.nf
crane --lift 40
crane --drop 40
.fi
.if n \{\
.RE
.\}
.RE
.TP
.B \-\-rope
Take the rope of the
.I yard
that hangs at the
mast. Longer ropes are
in the shed.
Nobody ties two ropes.
.RS
.RE
.SH FILES
.TS
l l.
crane.conf	settings
crane.log	what was lifted
.TE
The table says which files the crane reads and which ones it writes.
"""


def list_parts(page: str) -> tuple[list[str], list[set[str]]]:
    """Return the texts of the units of a page, and the texts of those that each needs."""
    units = arrange(page, split_units(page), 0, lambda unit: True, Sizes(30, 30))
    parts = [page[unit.start : unit.end] for unit in units]
    return parts, [{parts[need] for need in unit.link.needs} for unit in units]


def test_a_sentence_of_a_page_stays_whole() -> None:
    parts, _ = list_parts(PAGE)
    assert "Take the rope of the\n.I yard\nthat hangs at the\nmast. Longer ropes are\nin the shed." in parts
    assert any(part.startswith("Nobody ties two ropes.") for part in parts)


@pytest.mark.parametrize(
    ("text", "head"),
    [("the crew has tied", r"\(bu 2.3"), ("--lift 40", ".RS 4"), ("two ropes", r".B \-\-rope")],
)
def test_text_needs_the_requests_above_it(text: str, head: str) -> None:
    parts, needs = list_parts(PAGE)
    at = next(at for at, part in enumerate(parts) if text in part)
    assert head in parts[at] or any(head in need for need in needs[at])


def test_indented_lines_end_where_they_began() -> None:
    parts, needs = list_parts(PAGE)
    at = next(at for at, part in enumerate(parts) if "--lift 40" in part)
    kept = "\n".join({parts[at]} | needs[at])
    assert kept.count(".RS") == kept.count(".RE") == 2


def test_lines_that_are_shown_as_they_are_stand_alone() -> None:
    parts, _ = list_parts(PAGE)
    assert "crane --lift 40" in parts


def test_other_requests_have_the_same_effect() -> None:
    page = PAGE.replace(".if n \\{\\\n.RS 4\n.\\}\n.nf", ".if n .RS 4\n.EX")
    page = page.replace(".fi\n.if n \\{\\\n.RE\n.\\}", ".EE\n.if n .RE")
    assert ".if n .RS 4\n.EX" in page
    assert ".EE\n.if n .RE" in page
    parts, needs = list_parts(page)
    at = parts.index("crane --lift 40")
    assert {".if n .RS 4", ".if n .RE"} <= needs[at]


def test_a_table_is_one_part() -> None:
    parts, _ = list_parts(PAGE)
    assert any(part.startswith(".TS") and part.endswith(".TE") for part in parts)


def test_a_request_without_text_is_never_kept_alone() -> None:
    units = arrange(PAGE, split_units(PAGE), 0, lambda unit: True, Sizes(30, 30))
    alone = [PAGE[unit.start : unit.end] for unit in units if unit.link.role == "content"]
    assert not [part for part in alone[1:] if all(line.startswith(".") for line in part.splitlines())]
    assert len(alone) > 5


def test_an_excerpt_without_sections_is_a_page() -> None:
    parts, needs = list_parts(PAGE[PAGE.index(".TP") : PAGE.index(".SH FILES")] + PAGE[PAGE.index(".TP") :])
    at = next(at for at, part in enumerate(parts) if "two ropes" in part)
    assert any(r".B \-\-rope" in need for need in needs[at])


def test_a_macro_that_does_not_end_does_not_hide_a_section() -> None:
    page = ".TH CRANE 1\n.SH NAME\n.de XX\ncrane lifts stones\n.SH USE\nThe crane lifts stones of the yard.\n"
    parts, needs = list_parts(page)
    at = next(at for at, part in enumerate(parts) if "of the yard" in part)
    assert ".SH USE" in parts[at] or ".SH USE" in needs[at]


def test_sentences_in_quotes_are_no_requests() -> None:
    text = "".join(f"'I saw {n} cranes,' she said.\n'P is the pier,' he said.\n\n" for n in range(9))
    assert {unit.kind for unit in split_units(text)} == {"sentence"}
