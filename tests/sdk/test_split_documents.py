"""Documents become one flat list of units that know their document, their parent and their cost."""

from __future__ import annotations

from typing import Any

import pytest

from tersely import Document
from tersely.options import CompressionOptions
from tersely.split.cutting import SMALLEST_PIECE
from tersely.split.documents import Split, split
from tersely.units import Unit
from tests.sdk.counters import count_each_word

ROWS = "".join(f"row_{n} = count({n}) + 1\n" for n in range(20))
CODE = f"```\n{ROWS}```"
DOCS = [
    Document("One is short. Two is a little longer.", title="First title"),
    Document(""),
    Document(f"Three comes before code.\n\n{CODE}\n\nFour comes after it."),
]
WORDS = 2 + 3 + 5 + 4 + 2 + 20 * 5 + 4


def split_docs(*docs: Document, **options: Any) -> Split:
    return split(docs or DOCS, CompressionOptions(**options), count_each_word)


def units_of(own: Split, doc: int) -> list[Unit]:
    return [own.units[at] for at in own.positions(doc)]


def code_of(own: Split) -> list[Unit]:
    """Return the units that come from the code of the last document."""
    return [unit for unit in units_of(own, len(own.documents) - 1) if unit.kind == "code"]


def test_every_document_is_split_into_units() -> None:
    own = split_docs()
    assert own.texts == [
        "One is short.",
        "Two is a little longer.",
        "Three comes before code.",
        CODE,
        "Four comes after it.",
    ]
    assert own.offsets == [0, 2, 2, 5]
    assert [(unit.doc, unit.parent) for unit in own.units] == [(0, 0), (0, 1), (2, 0), (2, 1), (2, 2)]
    assert not any(unit.is_part for unit in own.units)


def test_without_a_limit_costs_are_code_points() -> None:
    own = split_docs()
    assert (own.tokens_before, own.limit, own.costs_in_tokens) == (WORDS, WORDS, False)
    assert [unit.cost for unit in own.units] == list(map(len, own.texts))
    assert own.title_costs == [len("First title\n"), 0, 0]


def test_under_a_limit_costs_are_tokens() -> None:
    own = split_docs(budget=30)
    assert own.costs_in_tokens
    assert [unit.cost for unit in units_of(own, 0)] == [3, 5]
    assert own.title_costs == [2, 0, 0]
    assert (split_docs(budget=50).limit, split_docs(rate=0.25).limit) == (50, 30)


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ({}, None),  # without a limit the threshold decides
        ({"budget": WORDS}, "unchanged"),
        ({"budget": 5000}, "unchanged"),
        ({"budget": WORDS - 1}, None),
        ({"rate": 1.0}, "unchanged"),
        ({"rate": 1.0, "order": "rerank"}, None),
        ({"rate": 1.0, "level": 5}, None),
        ({"rate": 1.0, "max_docs": 2}, "unchanged"),  # the third document is empty
        ({"rate": 1.0, "max_docs": 1}, None),
        ({"min_tokens": WORDS}, None),
        ({"min_tokens": WORDS + 1}, "bypassed"),
        ({"min_tokens": WORDS + 1, "rate": 0.5}, "bypassed"),
        ({"min_tokens": WORDS + 1, "budget": WORDS - 1}, None),  # a budget is a hard limit
        ({"min_tokens": WORDS + 1, "level": 1}, "bypassed"),
    ],
)
def test_some_requests_need_no_scores(options: dict[str, Any], status: str | None) -> None:
    own = split_docs(**options)
    assert (own.bypass.status if own.bypass else None) == status
    if own.bypass:
        assert not any(unit.is_part for unit in own.units)


def test_documents_without_text_are_bypassed() -> None:
    own = split_docs(Document(" "), Document(""), budget=5)
    assert own.bypass is not None
    assert (own.bypass.status, len(own.units)) == ("bypassed", 0)


def test_a_unit_above_the_limit_becomes_pieces() -> None:
    own = split_docs(budget=30)
    pieces = code_of(own)
    assert len(pieces) > 1
    assert {unit.parent for unit in pieces} == {1}
    assert [unit.is_part for unit in units_of(own, 2)] == [False, *[True] * len(pieces), False]
    assert all(unit.cost <= 30 for unit in pieces)
    assert " ".join(map(own.text, pieces)).split() == CODE.split()


@pytest.mark.parametrize("options", [{"budget": 30}, {"level": 1}])
def test_a_later_piece_of_an_item_needs_the_first(options: dict[str, Any]) -> None:
    lines = (f"  and line {n} says that the valve of pump {n} was closed" for n in range(10))
    own = split_docs(Document("Some prose.\n\n- The pumps of Kiel:\n" + "\n".join(lines)), **options)
    first, *later = (at for at, unit in enumerate(own.units) if unit.kind == "list_item")
    assert later
    assert own.text(own.units[first]).startswith("- The pumps of Kiel:")
    assert not own.units[first].link.needs
    assert all(own.units[at].link.needs == (first,) for at in later)


def test_a_unit_that_fits_stays_whole_if_the_limit_has_room_for_most_of_the_input() -> None:
    assert [own.text(code_of(own)[0]) for own in (split_docs(budget=102), split_docs(budget=110))] == [
        CODE
    ] * 2


def test_a_block_that_takes_more_than_half_of_the_limit_is_opened() -> None:
    after = Document("x " * 400)
    limits = {limit: len(code_of(split_docs(after, Document(CODE), budget=limit))) for limit in (203, 204)}
    assert limits[203] > limits[204] == 1


def test_a_title_takes_its_share_of_the_limit() -> None:
    row = Document("```\n" + "row = count(7) + 1\n" * 7 + "```")  # small enough to stay whole
    after = Document("x " * 100)
    limit = split_docs(after, row, budget=100).units[-1].cost + 2
    titled = Document(row.text, title="A title of five words")
    assert len(units_of(split_docs(after, titled, budget=limit), 1)) > 1
    assert len(units_of(split_docs(after, row, budget=limit), 1)) == 1


def test_a_sentence_without_room_stays_whole() -> None:
    own = split_docs(budget=SMALLEST_PIECE - 4)
    assert [own.text(unit) for unit in units_of(own, 0)] == ["One is short.", "Two is a little longer."]
    assert units_of(own, 0)[1].cost > own.limit


def test_a_unit_above_its_level_becomes_pieces() -> None:
    long = Document("```\n" + "row = count(7) + 1\n" * 60 + "```")
    own = split_docs(long, level=1)
    assert len(own.units) > 1
    assert {unit.parent for unit in own.units} == {0}
    assert all(unit.is_part and unit.cost == unit.end - unit.start <= 500 for unit in own.units)


def test_needs_point_at_positions_of_the_same_document() -> None:
    rows = '[{"name": "lighthouse %d", "built": 1871}]'
    docs = [Document("Some prose."), *(Document(f"[{', '.join([rows % n] * 60)}]") for n in range(2))]
    own = split_docs(*docs, budget=60)
    linked = [(at, unit) for at, unit in enumerate(own.units) if unit.link.needs]
    assert linked
    for at, unit in linked:
        assert all(need in own.positions(unit.doc) and need != at for need in unit.link.needs)
