"""How a result is rendered: titles, blank lines, and marks where something was left out."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tersely import Compressor, Document
from tersely.pack.marks import mark_between
from tersely.pack.render import join_documents, render_document, render_ranges
from tersely.split.sentences import split_units
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


@pytest.mark.parametrize(
    "name", ["Cleo: ", "Cleo May: ", "[00:05:48] Cleo: ", "12:04 Cleo May: ", "**Cleo:** "]
)
def test_a_mark_is_where_the_words_of_a_speaker_are_missing(name: str) -> None:
    text = f"The lamp is lit at dusk.\n{name}The rope is wet in the morning.\nThe lamp is lit at dawn."
    parts = split_units(text)
    assert mark_between(text, parts, 0, len(parts) - 1, everywhere=False).strip() == "[…]"


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
    text = f"{tables[0]}\n\nBread is baked in the morning, and fish is smoked.\n\n{tables[1]}"
    result = Compressor(FakeScorer()).compress("lamp year red", [text], rate=0.9)
    assert result.text == f"{tables[0]}\n\n[…]\n\n{tables[1]}"
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


def test_a_missing_numbered_clause_has_a_mark() -> None:
    clauses = [
        f"1.{n}. The {name} is owned by the town of Maren."
        for n, name in enumerate(("pier", "crane", "lamp"), 7)
    ]
    text = "\n\n".join(clauses)
    result = Compressor(FakeScorer(), token_counter=len).compress("pier lamp", [text], budget=110)
    assert result.text == f"{clauses[0]}\n\n[…]\n\n{clauses[2]}"


Ranges = list[tuple[int, int]]


def ranges_of(text: str, *parts: str) -> Ranges:
    """Return the ranges of `parts` in `text`, in order."""
    ranges: Ranges = []
    for part in parts:
        start = text.index(part, ranges[-1][1] if ranges else 0)
        ranges.append((start, start + len(part)))
    return ranges


@pytest.mark.parametrize(
    ("text", "units", "kept", "expected"),
    [
        ("A b.  C d.\tE f.", ("A b.", "C d.", "E f."), [0, 1, 2], "A b.  C d.\tE f."),
        ("A b. C d. E f.", ("A b.", "C d.", "E f."), [0, 2], "A b. E f."),
        ("A b.\n\nC d.\n\nE f.", ("A b.", "C d.", "E f."), [0, 2], "A b.\n\nE f."),
        ("A b.\r\n \r\nC d. E f.", ("A b.", "C d.", "E f."), [0, 2], "A b.\r\n\r\nE f."),
        ("A b.\nC d. E f.", ("A b.", "C d.", "E f."), [0, 2], "A b.\nE f."),
        ("甲乙。丙丁。戊己。", ("甲乙。", "丙丁。", "戊己。"), [0, 2], "甲乙。戊己。"),
        ("- a\n  - b\n    - c", ("- a", "- b", "- c"), [0, 2], "- a\n    - c"),
        ("x\r\ny\r\nz", ("x", "y", "z"), [0, 2], "x\r\nz"),
        ("x\ry\rz", ("x", "y", "z"), [0, 2], "x\rz"),
        ("    def f():\n        pass", ("def f():\n        pass",), [0], "    def f():\n        pass"),
        ("  \n A b. ", ("A b.",), [0], " A b."),
        ("A b.", ("A b.",), [], ""),
    ],
)
def test_a_separator_comes_from_the_source(
    text: str, units: tuple[str, ...], kept: list[int], expected: str
) -> None:
    rendered = render_ranges(text, ranges_of(text, *units), kept)
    assert rendered.text == expected
    assert rendered.marks == ()
    for citation in rendered.citations:
        cited = rendered.text[citation.text_start : citation.text_end]
        assert cited == text[citation.start : citation.end]


def test_kept_neighbours_share_one_citation() -> None:
    text = "A b. C d.  E f. G h."
    citations = render_ranges(text, ranges_of(text, "A b.", "C d.", "E f.", "G h."), [0, 1, 3]).citations
    assert [(citation.start, citation.end) for citation in citations] == [(0, 9), (16, 20)]


def test_blank_lines_separate_documents_and_titles_have_lines() -> None:
    documents = [Document("A b.", "One"), Document("C d."), Document("E f.", " "), Document("G h.", "Four")]
    bodies = [render_ranges(d.text, [(0, 4)], [] if d.title == "Four" else [0]) for d in documents]
    rendered = join_documents((i, documents[i], bodies[i]) for i in (2, 0, 3, 1))
    assert rendered.text == "E f.\n\nOne\nA b.\n\nC d."
    assert rendered.bodies == ("E f.", "A b.", "C d.")
    assert [(citation.doc, citation.text_start, citation.text_end) for citation in rendered.citations] == [
        (2, 0, 4),
        (0, 10, 14),
        (1, 16, 20),
    ]


def test_no_selection_of_a_mixed_text_is_longer_than_the_text() -> None:
    text = (
        "# Head\n\nOne two. Three four!\n\n```py\nx = 1\n\ny = 2\n```\n\n"
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n- i\n- ii\n结束。完。"
    )
    units = [replace(unit, parent=number) for number, unit in enumerate(split_units(text))]
    for mask in range(1 << len(units)):
        kept = [index for index in range(len(units)) if mask >> index & 1]
        assert len(render_document(text, units, range(len(units)), kept).text) <= len(text)
