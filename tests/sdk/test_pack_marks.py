"""Two pieces that were apart in a document never read as one record or statement."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tersely import Compressor, Document
from tersely.pack.render import render_document
from tersely.units import Unit
from tests.sdk import checks
from tests.sdk.fakes import FakeScorer

QUESTION = "When was lighthouse 17 built?"


@given(count=st.integers(40, 60), budget=st.integers(20, 400))
def test_a_mark_is_wherever_a_long_sentence_was_cut(count: int, budget: int) -> None:
    text = ", ".join(f"lighthouse {n} was built in {1700 + 3 * n}" for n in range(count)) + "."
    result = Compressor(FakeScorer()).compress(QUESTION, [Document(text, "Coast"), "Bread."], budget=budget)
    pieces = [citation for citation in result.citations().entries if citation.doc == 0]
    assert pieces
    marked = {(mark.text_start, mark.text_end) for mark in result.marks}
    for left, right in pairwise(pieces):
        assert any(left.text_end <= start and end <= right.text_start for start, end in marked), result.text
    if pieces and pieces[0].start:
        assert any(end <= pieces[0].text_start for _, end in marked)
    if pieces and pieces[-1].end < len(text):
        assert any(start >= pieces[-1].text_end for start, _ in marked)


@pytest.mark.parametrize("before", [True, False])
@given(count=st.integers(40, 60), budget=st.integers(60, 400))
def test_a_mark_is_between_a_cut_sentence_and_the_next(before: bool, count: int, budget: int) -> None:
    long = ", ".join(f"lighthouse {n} was built in {1700 + 3 * n}" for n in range(count)) + "."
    other = "Lighthouse 17 was built of granite."
    text = f"{other} {long}" if before else f"{long} {other}"
    result = Compressor(FakeScorer()).compress(QUESTION, [text], budget=budget)
    pieces = result.citations().entries
    marked = {(mark.text_start, mark.text_end) for mark in result.marks}
    for left, right in pairwise(pieces):
        if text[left.end : right.start].strip():
            assert any(left.text_end <= start and end <= right.text_start for start, end in marked), (
                result.text
            )


@pytest.mark.parametrize("text", ["<!-- a -->\n\nThe lamp is lit.", "The lamp is lit.\n\n<!-- a -->"])
def test_a_comment_at_the_edge_leaves_no_mark(text: str) -> None:
    documents = [text, "Bread is sold here. It is sold every day."]
    result = Compressor(FakeScorer()).compress("lamp", documents, budget=6, marks="all")
    assert result.text == "The lamp is lit."


def test_a_mark_names_what_was_left_out_there() -> None:
    records = [{"id": n, "name": f"lighthouse {n}", "built": 1700 + 3 * n} for n in range(40)]
    document = Document(json.dumps(records))
    result = Compressor().compress(QUESTION, [document], budget=60)
    assert result.marks
    for mark in result.marks:
        assert re.fullmatch(r'"\[… \d+ more\]",?', result.text[mark.text_start : mark.text_end])
        assert document.text[mark.start : mark.end].strip()
        assert result.citations().locate(mark.text_start) is None
    assert [m["text_start"] for m in result.to_dict()["marks"]] == [m.text_start for m in result.marks]


def units(*ranges: tuple[int, int, int], kind: str = "json") -> list[Unit]:
    return [
        Unit(start, end, kind, divisible=True, parent=parent, is_part=True) for start, end, parent in ranges
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{a: 1, b: 2, c: 3}", "{a: 1,\n[…]\nc: 3}"),  # seven characters are missing
        ("{a: 1,b:, c: 3}", "{a: 1,\n…\nc: 3}"),  # four
        ("{a: 1,b,c: 3}", "{a: 1,…c: 3}"),  # one
    ],
)
def test_a_mark_is_never_longer_than_what_it_replaces(text: str, expected: str) -> None:
    first, last = text.index(",") + 1, text.index("c")
    pieces = units((0, first, 0), (first, last, 0), (last, len(text), 0))
    rendered = render_document(text, pieces, range(len(pieces)), [0, 2]).text
    assert rendered == expected
    assert len(rendered) <= len(text)


def test_a_line_of_broken_json_is_not_joined_with_prose() -> None:
    lines = ["The lamp of lighthouse 90 is lit.", '{\n  "name": "lighthouse 4",', '  "built": 1704', "}"]
    text = "\n".join(lines)
    kinds = ("sentence", "code", "code", "code")
    starts = [text.index(line) for line in lines]
    pieces = [
        Unit(start, start + len(line), kind, divisible=kind == "code", parent=parent)
        for parent, (start, line, kind) in enumerate(zip(starts, lines, kinds, strict=True))
    ]
    assert render_document(text, pieces, range(len(pieces)), [0, 2]).text == f"{lines[0]}\n[…]\n{lines[2]}"
    assert render_document(text, pieces, range(len(pieces)), [2, 3]).text == f"{lines[2]}\n{lines[3]}"


def test_tables_with_a_gap_between_them_stay_two() -> None:
    tables = [f"| lamp | year |\n|---|---|\n| red {n} | {1800 + n} |" for n in range(2)]
    text = f"{tables[0]}\n\nBread is baked in the morning.\n\n{tables[1]}"
    result = Compressor(FakeScorer()).compress("lamp year red", [text], rate=0.9)
    assert result.text == f"{tables[0]}\n[…]\n{tables[1]}"
    assert len(result.marks) == 1


PROSE = (
    "The lamp is red. The tide is low. A crane lifts stone.\n\nThe pier is old. Nobody knows. It ends here."
)


@given(st.sets(st.sampled_from(["red", "tide", "crane", "pier", "knows", "ends"]), min_size=1))
def test_every_gap_in_prose_is_marked_where_that_is_asked(words: set[str]) -> None:
    docs = [Document(PROSE)]
    compressor = Compressor(FakeScorer(), token_counter=len)
    result = compressor.compress(" ".join(sorted(words)), docs, marks="all", budget=90)
    checks.check_all(result, docs, len, budget=90)
    bare = result.text
    for mark in reversed(result.marks):
        assert bare[mark.text_start : mark.text_end] in ("[…]", "…")
        bare = bare[: mark.text_start] + "#" + bare[mark.text_end :]
    gaps = [bool(PROSE[a.end : b.start].strip()) for a, b in pairwise(result.citations().entries)]
    cut = [result.kept[0].start > 0, *gaps, result.kept[-1].end < len(PROSE)]
    assert len(result.marks) == sum(cut)


def test_prose_has_no_marks_unless_asked() -> None:
    compressor = Compressor(FakeScorer(), token_counter=len)
    assert compressor.compress("tide", [PROSE], budget=20).text == "The tide is low."
    marked = compressor.compress("tide", [PROSE], budget=24, marks="all")
    inside = compressor.compress("red crane", [PROSE], budget=46, marks="all")
    assert inside.text == "The lamp is red. […] A crane lifts stone.\n[…]"
    assert marked.text == "[…]\nThe tide is low.\n[…]"
