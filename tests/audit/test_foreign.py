"""A small part of `python -m tests.audit.foreign`, and a proof that its judges can fail."""

from __future__ import annotations

import json

import pytest

from tests.audit.foreign import Document, judge, run_all
from tests.audit.foreign_draw import FORMATS, Format
from tests.audit.foreign_readers import flat, outline, records, table
from tests.audit.foreign_texts import definitions, markdown, quoted_mail, restructured, roff, spoken, usage

INI = "[red]\nsize = 1\ncolour = 2\n\n[blue]\nsize = 3\ncolour = 4\n"
LISTING = "a.py\nb.py\nc.py\nd.py\n"
NAMES = "NAME   SIZE\nred    1\nblue   2\n"
PROSE = (
    "# Boats\n\nThe light is red and burns at night. Boats are blue\nor green in most harbours. Bread is\n"
    "baked every day of the week.\n\n# Food\n\n- bread\n- fish\n- milk\n"
)
MAIL = "I agree with all of it.\n\nAda wrote:\n> The light is red\n> and burns. Boats are always blue.\n"
CHAT = "Ada: The light is red today. Boats are blue.\nBen: Bread is baked daily.\n"
PAGE = (
    "<h2>Boats</h2><dl><dt>red</dt><dd>It is fast.</dd><dt>blue</dt><dd>It is slow.</dd></dl>"
    "<table><tr><th>Port</th><th>Pier</th></tr>"
    '<tr><td rowspan="2">Maren</td><td>1</td></tr><tr><td>2</td></tr></table>'
)
MANUAL = ".SH OPTIONS\n.TP\n.B \\-a\nShow all.\n.TP\n.B \\-b\nShow none.\n"
REST = "Boats\n=====\n\nred\n  It is fast.\nblue\n  It is slow.\n"
PEOPLE = [{"name": "Ada", "age": 1}, {"name": "Ben", "age": 2}, {"name": "Cem", "age": 3}]
YAML = "name: red\nports:\n  - 1\n  - 2\n---\nname: blue\nports:\n  - 3\n"
CARDS = "BEGIN:VCARD\nFN:Ada\nTEL:1\nEND:VCARD\nBEGIN:VCARD\nFN:Ben\nTEL:2\nEND:VCARD\n"

HELP = (
    "Usage: wc [OPTION]... [FILE]...\nPrint the newline and word counts of each file, and a total line if\n"
    "there are more files than one. A word is made of printable\ncharacters.\n\n"
    "METHOD decides how it works. Values are:\n"
    "  none  keep no backup\n  all   keep all of them\n\nHelp: <https://example.org/help>\n"
    "Report bugs to <https://example.org/bugs/of/wc>.\n"
)
STATUS = (
    "Package: red\nSection: java\nDescription: a boat\n The red boat is fast and has a sail. It\n"
    " sails at night when the wind is up.\n\nPackage: blue\nSection: c\n"
)
RIGHTS = "Files:\n a.c\nCopyright:\n 1995 A.M. Castro\n 1997 Ben Dietz of Bern\nLicense: MIT\n"
COMMENTED = "# Boats\n\n<!-- YAML\nadded: 1\n-->\n\n* red\n* blue\n"
CELLS = [{"type": "text"}, {"type": "code"}, {"type": "text"}, {"type": "code"}]

PARTS = Format("parts", lambda d: "", outline(r"\["))
LIST = Format("list", lambda d: "", flat)
SECTIONS = Format("sections", lambda d: "", outline(r"\["), "ini")
TABLE = Format("table", lambda d: "", table())
TEXT = Format("text", lambda d: "", markdown)
JSON = Format("json", lambda d: "", None, "json")
CSV = Format("csv", lambda d: "", flat, "csv")
DATA = Format("data", lambda d: "", flat, "yaml")
WEB = Format("web", lambda d: "", None, web=True)
USAGE = Format("usage", lambda d: "", usage)
PACKAGES = Format("packages", lambda d: "", records("Package: ", nested=True, prose="Description:"))
RECORDS = Format("records", lambda d: "", records("Package: ", nested=True))
DEFINITIONS = Format("definitions", lambda d: "", definitions)
BLOCKS = Format("blocks", lambda d: "", flat, "blocks")
XML = Format("xml", lambda d: "", flat, "xml")


def complaints(form: Format, source: str, result: str, limit_tokens: float = 1000) -> set[str]:
    return set(judge(Document(form, source), result, limit_tokens).found)


@pytest.mark.parametrize(
    ("form", "source", "result", "expected"),
    [
        (LIST, LISTING, "a.py\nd.py", {"gaps"}),
        (LIST, LISTING, "a.p\n[…]", {"lines"}),
        (LIST, LISTING, "b.py\na.py", {"lines"}),
        (SECTIONS, INI, "[red]\nsize = 1\n# [… 3 more]\nsize = 3\n# [… 1 more]", {"heads"}),
        (SECTIONS, INI, "[red]\n# [… 2 more]\n[blue]\nsize = 3\n# [… 1 more]", {"orphans"}),
        (SECTIONS, INI, "# [… 1 more]\nsize = 1\n# [… 4 more]", {"lost", "parses"}),
        (TABLE, NAMES, "[… 1 more]\nblue   2", {"lost"}),
        (TABLE, NAMES, "NAME   SIZE\n[… 2 more]", {"orphans"}),
        (TEXT, PROSE, "# Boats\n\nBoats are blue", {"lines"}),
        (
            TEXT,
            PROSE,
            "# Boats\n\nThe light is red and burns at night.\n- bread\n[… 2 more]",
            {"gaps", "heads"},
        ),
        (TEXT, PROSE, "# Food\n\n- milk", {"gaps"}),
        (TEXT, PROSE, "# Boats\n\n[…]\n# Food\n\n- bread\n[…]", {"orphans"}),
        (JSON, json.dumps(PEOPLE), json.dumps(PEOPLE[1:]), {"gaps"}),
        (JSON, json.dumps(PEOPLE), '[{"name": "Ada", "age": 2}, "[… 1 more]"]', {"heads"}),
        (JSON, json.dumps(PEOPLE), '[{"age": 1, "[… 1 more]": "…"}, "[… 2 more]"]', {"lost"}),
        (JSON, json.dumps(PEOPLE), '[{"name": "Ada"', {"parses"}),
        (CSV, "a,b\n1,2\n3,4\n", "[… 1 more]\n3,4\n", {"lost"}),
        (CSV, 'a,b\n1,"p\nq"\n', 'a,b\n[…]\nq"\n', {"heads"}),
        (DATA, YAML, "name: red\nports:\n  # [… 3 more]\n  - 3\n", {"heads"}),
        (DATA, YAML, "name: red\nports:\n  [… 1 more]\n  - 2\n", {"parses"}),
        (
            Format("mail", lambda d: "", quoted_mail),
            MAIL,
            "Ada wrote:\nBoats are always blue.",
            {"edges", "lost", "orphans"},
        ),
        (
            Format("chat", lambda d: "", spoken),
            CHAT,
            "Ada: The light is red today.\n[…]\nBread is baked daily.",
            {"heads"},
        ),
        (WEB, PAGE, "Boats\nred\n[… 2 more]\nIt is slow.\n[… 2 more]", {"heads"}),
        (WEB, PAGE, "Boats\nPort Pier\n2", {"gaps", "lost"}),
        (Format("roff", lambda d: "", roff), MANUAL, ".SH OPTIONS\n.TP\n.B \\-a\n[…]\nShow none.", {"heads"}),
        (
            Format("rst", lambda d: "", restructured),
            REST,
            "Boats\n=====\n\nred\n[…]\n  It is slow.\n",
            {"heads"},
        ),
        (USAGE, HELP, "[…]\nA word is made of printable\n[…]", {"lines"}),
        (USAGE, HELP, "[…]\n  all   keep all of them\n[…]", {"lost"}),
        (PACKAGES, STATUS, "Package: red\n[…]\n sails at night when the wind is up.", {"heads"}),
        (RECORDS, STATUS, "Package: red\n[… 4 more]\nSection: c", {"heads"}),
        (DEFINITIONS, RIGHTS, "[…]\nCopyright:\n[…]\nLicense: MIT", {"orphans"}),
        (TEXT, COMMENTED, "# Boats\n\n* blue", {"gaps"}),
        (JSON, json.dumps(CELLS), json.dumps(["[… 2 more]", CELLS[3]], ensure_ascii=False), {"gaps"}),
        (BLOCKS, CARDS, "BEGIN:VCARD\nFN:Ada\n[… 4 more]\nTEL:2\nEND:VCARD\n", {"heads"}),
        (BLOCKS, CARDS, "BEGIN:VCARD\nFN:Ada\n[…]", {"parses"}),
        (XML, "<a>\n<b>1</b>\n<c>2</c>\n</a>", "<a>\n[…]\n<c>2</c>", {"parses"}),
    ],
)
def test_judges_notice_what_misleads(form: Format, source: str, result: str, expected: set[str]) -> None:
    assert complaints(form, source, result) == expected


def test_row_is_cut_only_if_it_exceeds_the_limit() -> None:
    row = " ".join(f"word{number}" for number in range(40))
    piece = " ".join(row.split()[:10]) + "\n[…]"
    assert complaints(LIST, row, piece, limit_tokens=30) == set()
    assert complaints(LIST, row, piece) == {"lines"}


def test_message_around_a_text_is_left_out() -> None:
    document = Document(LIST, LISTING, ["The list is new."], ["It was made today.", "Read it."], "```")
    whole = "The list is new.\n\n```\na.py\n[… 3 more]\n```\n\nIt was made today."
    assert judge(document, whole, 1000).found == {}
    assert set(judge(document, whole.replace("```\n\n", "\n"), 1000).found) == {"parses"}
    assert set(judge(document, "The list is new.\n\nb.py\n[…]", 1000).found) == {"gaps"}


def test_head_above_the_message_alone_is_excused() -> None:
    document = Document(PARTS, INI, ["The list is new."], ["It was made today.", "Read it."])
    result = "[red]\nsize = 1\n[… 1 more]\n[blue]\n[… 2 more]\n\nRead it."
    assert judge(document, result, 1000).found == {}
    assert set(judge(document, result.replace("size = 1\n[… 1 more]", "[… 2 more]"), 1000).found) == {
        "orphans"
    }


def test_texts_of_writers_come_out_as_they_are_read() -> None:
    # The other texts come from the machine, so they are not the same everywhere.
    writers = {f"tests.audit.foreign_{name}" for name in ("data", "documents", "formats", "logs")}
    names = [name for name, form in FORMATS.items() if form.make.__module__ in writers]
    counts = run_all(names, 2 * len(names), 1)
    assert len(counts.results) >= len(names)
    assert counts.failed == {}
