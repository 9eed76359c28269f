"""Structure in a text is found, has the right kind and stays whole, and the prose around it is split."""

from __future__ import annotations

import json

import pytest

from tersely.split.code import LONGEST_RUN
from tersely.split.lines import LONGEST_ITEM, mask
from tersely.split.sentences import split_units
from tests.sdk.units import list_units

TOWERS = [{"id": number, "name": "A. B."} for number in range(9)]
BEFORE = ["The harbour is old.", "Nobody knows its age."]
AFTER = ["The lamp still burns.", "It is lit at dusk."]


def as_sentences(sentences: list[str]) -> list[tuple[str, str]]:
    return [("sentence", sentence) for sentence in sentences]


WHOLE = {
    "fence": ("code", "```python\ndef area(r):\n\n    return r. Then\n# A note. Another.\n```"),
    "tilde fence": ("code", "~~~\nSome text. More text.\n~~~"),
    "longer fence": ("code", "````md\n```\nx = 1\n```\n````"),
    "fence around a table": ("code", "```\n| a | b |\n|---|---|\n| 1 | 2 |\n```"),
    "indented code": ("code", "    cost = 0\n    for row in rows:\n        cost += row.cost\n    show(cost)"),
    "unindented python": ("code", "def name(path):\n    return os.path.basename(path)"),
    "c": ("code", 'int main(void) {\n    printf("Hello. Bye.");\n    return 0;\n}'),
    "sql over more lines": ("code", "SELECT name,\n  year\nFROM towers\nWHERE year < 1900;"),
    "sql": ("code", "SELECT name, year FROM towers\nWHERE year < 1900\nORDER BY year;"),
    "shell": ("code", "$ git clone tower.git\n$ cd tower\n$ make install"),
    "settings": ("yaml", "host: example.net\nport: 8080\ndebug: true"),
    "markdown table": ("table", "| year | place |\n|------|:-----:|\n| 1861 | Elm St. 4 |\n| 1902 | Mill |"),
    "table without outer bars": ("table", "year | place\n-----|------\n1861 | Harbour\n1902 | Mill"),
    "ascii table": ("table", "+------+----+\n| year | at |\n+======+====+\n| 1861 | ad |\n+------+----+"),
    "box table": ("table", "┌────┬────┐\n│ a  │ b  │\n├────┼────┤\n│ 1  │ 2  │\n└────┴────┘"),
    "rest table": ("table", "====  =====\nyear  place\n====  =====\n1861  Elm\n1902  Mill\n====  ====="),
    "stanzas": ("stanza", "Name: mill\nBuilt: 1902\n\nName: tower\nBuilt: 1861\nLamp: new. It\n  is red."),
    "stanzas of properties": ("stanza", "Id=mill\nState=up\n\nId=tower\nState=down"),
    "context diff": (
        "diff",
        "*** a.txt\n--- a.txt\n***************\n*** 1,2 ****\n  one\n! two\n--- 1,2 ----\n  one\n! three",
    ),
    "json object": ("json", '{"name": "Harbour. Light.", "built": 1861, "open": null}'),
    "json over lines": ("json", json.dumps({"towers": [{"id": 1}, {"id": 2}], "note": "A. B."}, indent=2)),
    "json with blank lines": ("json", '{\n\n  "a": [1,\n\n2]\n\n}'),
    "json array": ("json", '["One. Two.", "Three."]'),
    "json behind a label": ("json", "Observation: " + json.dumps(TOWERS)),
    "json over lines behind a label": ("json", "Tool result (search): " + json.dumps(TOWERS, indent=2)),
    "json below a label": ("json", "Output:\n" + json.dumps(TOWERS, indent=2)),
    "list item": ("list_item", "- The first tower. It is old.\n  Its lamp is new."),
    "timestamped log line": ("log", "2024-05-01 12:00:07,123 ERROR worker: lost. Will retry."),
    "web log line": ("log", '10.0.0.7 - - [01/May/2024:12:00:07 +0000] "GET /a.html HTTP/1.1" 200 17'),
    "syslog line": ("log", "May  1 12:00:07 harbour kernel: lamp failed. Restarting."),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "block"), WHOLE.values(), ids=WHOLE.keys())
@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"], ids=ascii)
def test_structure_is_one_unit_between_sentences(kind: str, block: str, line_break: str) -> None:
    block = block.replace("\n", line_break)
    gap = 2 * line_break
    text = gap.join([" ".join(BEFORE), block, " ".join(AFTER)])
    assert list_units(text) == [*as_sentences(BEFORE), (kind, block.strip()), *as_sentences(AFTER)]
    assert [unit.divisible for unit in split_units(text)] == [False, False, True, False, False]
    assert list_units(block) == [(kind, block.strip())]


LINES = {
    "json lines": ("json", ['{"id": 1, "name": "A. B."}', '{"id": 2, "name": "C"}', "[3]"]),
    "bullets": ("list_item", ["- Oil for the lamp. Two cans.", "- A new wick", "- Matches"]),
    "stars": ("list_item", ["* Oil", "* A wick", "* Matches"]),
    "dots": ("list_item", ["• Oil", "• A wick"]),
    "numbers": ("list_item", ["1. Climb the stairs.", "2. Fill the lamp. Do not spill.", "3. Light it."]),
    "brackets": ("list_item", ["(a) climb the stairs", "(b) fill the lamp"]),
    "nested": ("list_item", ["- Oil", "  - for the lamp", "  - for the hinges", "- Matches"]),
    "log": ("log", [f"2024-05-01T12:00:0{n} INFO lamp: step {n}. Fine." for n in range(4)]),
    "severities": ("log", ["ERROR: no oil", "WARNING: lamp is cold", "INFO: filled it. Going on."]),
}


@pytest.mark.parametrize(("kind", "lines"), LINES.values(), ids=LINES.keys())
@pytest.mark.parametrize("line_break", ["\n", "\r\n"], ids=ascii)
def test_each_line_is_a_unit(kind: str, lines: list[str], line_break: str) -> None:
    text = f" {' '.join(BEFORE)}{line_break * 2}{line_break.join(lines)}{line_break * 2}{' '.join(AFTER)}"
    assert list_units(text) == [
        *as_sentences(BEFORE),
        *((kind, line.strip()) for line in lines),
        *as_sentences(AFTER),
    ]


HEADINGS = {
    "hashes": "## The tower. Its history",
    "underlined": "The tower\n=========",
    "underlined with dashes": "The tower\n---------",
    "between rules": "=====\nTower\n=====",
    "title alone": "The History of the Tower",
}


@pytest.mark.parametrize("heading", HEADINGS.values(), ids=HEADINGS.keys())
def test_a_heading_is_a_unit(heading: str) -> None:
    text = f"{' '.join(BEFORE)}\n\n{heading}\n\n{' '.join(AFTER)}"
    assert list_units(text) == [*as_sentences(BEFORE), ("heading", heading), *as_sentences(AFTER)]
    assert not any(unit.divisible for unit in split_units(text))


MIXED = {
    "a heading directly above its text": [("heading", "# Tower\n"), ("sentence", "It is old.")],
    "a block quote": [
        (
            "line",
            "> The lamp was lit for the whole of the harbour by Dr.\n"
            "> Weiss herself. Nobody in the village on the northern\n> cliff saw it that night.\n\n",
        ),
        ("sentence", "That is what the keeper wrote."),
    ],
    "a list after its introduction": [
        ("line", "You need:\n"), ("list_item", "- oil\n"), ("list_item", "- ink\n\n"), ("line", "Go.")
    ],
    "code inside a list item": [
        ("list_item", "- Run this:\n  "), ("code", "```\n  make. all\n  ```\n"), ("list_item", "- Then rest")
    ],
    "a fence that nothing closes": [("code", "```py\nx = f(1)\n\n"), ("sentence", "The lamp burns.")],
    "front matter": [("code", "---\ntitle: Tower. Old\nyear: 1861\n---\n\n"), ("sentence", "It is old.")],
    "a label and a small value": [("line", "Sources: [1]\n"), ("sentence", "They are old.")],
    "dialogue": [("line", "Ada: Is it lit\n"), ("line", "Ben: Not yet\n"), ("line", "Ada: Go")],
}  # fmt: skip


@pytest.mark.parametrize("units", MIXED.values(), ids=MIXED.keys())
def test_mixed_text_is_split_where_structure_starts_and_ends(units: list[tuple[str, str]]) -> None:
    text = "".join(part for _, part in units)
    assert list_units(text) == [(kind, part.strip()) for kind, part in units]


def test_a_long_list_item_is_prose() -> None:
    item = "- " + "The lamp was lit again in the evening. " * 20
    assert len(item) > LONGEST_ITEM
    units = list_units(item)
    assert {kind for kind, _ in units} == {"sentence"}
    assert len(units) == 20


def test_a_long_source_file_is_several_units() -> None:
    source = "\n".join(f"value_{n} = compute({n})" for n in range(3 * LONGEST_RUN))
    units = split_units(source)
    assert [unit.kind for unit in units] == ["code"] * 3
    assert all(source[u.start : u.end].count("\n") < LONGEST_RUN for u in units)


PROSE = {
    "a dash inside": ["The keeper - a quiet man - lived alone.", "He read a lot."],
    "a year first": ["1861 was a hard year.", "The lamp went out."],
    "a name first": ["A. Weiss built the tower.", "She was thirty."],
    "brackets first": ["[Laughter] The keeper rose.", "He bowed."],
    "braces": ["{Editor: check this} The date is wrong.", "It was later."],
    "a bar": ["The choice is tea | coffee.", "Take one."],
    "calls in prose": ["Call open() before read().", "Otherwise it fails."],
    "a word like a severity": ["Error rates fell in May.", "They rose in June."],
    "a hash": ["#1 on the list is oil.", "Wicks are next."],
    "commas": ["Oil, wicks, and matches are sold here.", "Paper is not."],
    "open json": ['{"a": [1, 2 is how it began.', "It was never closed."],
}


@pytest.mark.parametrize("sentences", PROSE.values(), ids=PROSE.keys())
def test_prose_that_looks_like_structure_is_split(sentences: list[str]) -> None:
    assert list_units(" ".join(sentences)) == as_sentences(sentences)


@pytest.mark.parametrize("label", ["", "Observation: ", "Output:\n"])
@pytest.mark.parametrize("indent", [None, 2])
def test_json_below_a_line_of_prose_is_a_unit(label: str, indent: int | None) -> None:
    value = label + json.dumps(TOWERS, indent=indent)
    assert list_units(f"Its lamp is lit.\n{value}\n\nIt is old.") == [
        ("sentence", "Its lamp is lit."),
        ("json", value),
        ("sentence", "It is old."),
    ]


def test_masking_keeps_every_offset() -> None:
    assert mask("a\r\nb\rc\x00\ud800\u2028d\x0be\x85") == "a \nb\nc\ufffd\ufffd\nd\ne\n"


@pytest.mark.parametrize(
    ("lines", "end"),
    [
        (["a | b", "--|--", "1 | 2", "", "3 | 4"], 3),
        (["a | b", "no delimiter"], None),
        (["| a |", "|---|", "| 1 |"], 3),
        (["| only one row |"], None),
        (["+--+", "|x |", "+--+", "text"], 3),
        (["=== ===", "a   b", "=== ===", "text"], 3),
        (["=== ===", "never closed"], None),
    ],
)
def test_the_end_of_a_table_is_found(lines: list[str], end: int | None) -> None:
    units = list_units("\n".join(lines))
    if end is None:
        assert "table" not in {kind for kind, _ in units}
    else:
        assert units[0] == ("table", "\n".join(lines[:end]))


@pytest.mark.parametrize(
    ("lines", "end"),
    [
        (["a,b,c", "1,2,3", "4,5,6", "4,5"], 3),
        (["a,b,c", "1,2,3"], None),
        (["Oil, wicks, rope", "are sold, he said, here", "and there, too, today"], None),
        (["a;b;c", "1;2;3", ";;"], 3),
        (["a\tb", "c\td", "e\tf"], 3),
        (["a   b   c", "1   2   3", "4   5   6", "end"], 3),
    ],
)
def test_the_end_of_rows_is_found(lines: list[str], end: int | None) -> None:
    rows = [text for kind, text in list_units("\n".join(lines)) if kind == "row"]
    assert rows == ([] if end is None else ["\n".join(lines[:end])])


@pytest.mark.parametrize(
    "lines",
    [
        ["type Order {", "id: ID!", 'total: Int! @deprecated(reason: "use price")', "price: Money!", "}"],
        ["drwxr-xr-x 3 root root 4096 May  9  2026 .", "drwxr-xr-x 5 root root 4096 May  9  2026 .."],
        [
            "type Crane {",
            'ropes: Rope! @deprecated(reason: "ask the yard for the hemp that it has left")',
            "}",
        ],
        ["TASK [Install nginx] ***", 'fatal: [web2]: FAILED! => {"changed": false, "msg": "No. It is not."}'],
    ],
)
def test_lines_with_signs_of_sentence_ends_are_no_prose(lines: list[str]) -> None:
    assert list_units("\n".join(lines)) == [("line", line) for line in lines]


def test_a_date_alone_ends_the_sentence_above_it() -> None:
    text = (
        "The licence of the old ferry was renewed last year. The harbour office\n"
        "of Gdansk said that the licence of the small ferry ends finally on the\n2027-03-01."
    )
    assert len(list_units(text)) == 2
