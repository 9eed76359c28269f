"""Two pieces that were apart in a document never read as one record or statement."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tersely import Compression, Compressor, Document
from tersely.pack.render import render_document
from tersely.split.sentences import split_units
from tersely.units import Unit
from tests.audit.tool_results import run_case
from tests.sdk import checks
from tests.sdk.fakes import FakeScorer

YEARS = {number: 1700 + 3 * number for number in range(60)}
QUESTION = "When was lighthouse 17 built?"


def records(count: int) -> list[dict[str, object]]:
    return [{"id": n, "name": f"lighthouse {n}", "built": YEARS[n]} for n in range(count)]


def json_array(count: int) -> str:
    return json.dumps(records(count))


def json_in_an_envelope(count: int) -> str:
    return json.dumps({"status": "ok", "results": records(count), "total": count})


def indented_json(count: int) -> str:
    return json.dumps(records(count), indent=2)


def json_lines(count: int) -> str:
    return "\n".join(map(json.dumps, records(count)))


def key_value_lines(count: int) -> str:
    return "\n\n".join(f"Name: lighthouse {n}\nBuilt: {YEARS[n]}" for n in range(count))


def comma_list(count: int) -> str:
    return ", ".join(f"lighthouse {n} built {YEARS[n]}" for n in range(count))


def table(count: int) -> str:
    return "| name | built |\n|---|---|\n" + "\n".join(
        f"| lighthouse {n} | {YEARS[n]} |" for n in range(count)
    )


FORMS: list[Callable[[int], str]] = [
    json_array,
    json_in_an_envelope,
    indented_json,
    json_lines,
    key_value_lines,
    comma_list,
    table,
]


def unmarked_parts(result: Compression) -> list[str]:
    """Return the texts between the marks."""
    edges = [0, *(edge for mark in result.marks for edge in (mark.text_start, mark.text_end)), None]
    return [result.text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)]


def stated_years(part: str) -> list[tuple[int, int]]:
    """Return (lighthouse, year) for each year that follows a name, with no other name between the two."""
    return [
        (int(number), int(year))
        for number, year in re.findall(r"lighthouse (\d+)\b(?:(?!lighthouse)[^\d]){0,40}?(1[78]\d\d)", part)
    ]


@given(
    form=st.sampled_from(FORMS),
    count=st.integers(2, 60),
    budget=st.integers(8, 400),
    wanted=st.integers(0, 59),
)
@settings(max_examples=150)
def test_no_record_is_made_of_two(form: Callable[[int], str], count: int, budget: int, wanted: int) -> None:
    question = f"When was lighthouse {wanted} built?"
    result = Compressor(FakeScorer()).compress(question, [form(count)], budget=budget)
    for part in unmarked_parts(result):
        assert all(YEARS[number] == year for number, year in stated_years(part)), result.text


@given(form=st.sampled_from(FORMS), count=st.integers(2, 60), budget=st.integers(8, 400))
@settings(max_examples=100)
def test_a_mark_stands_wherever_a_block_was_cut(form: Callable[[int], str], count: int, budget: int) -> None:
    document = Document(form(count), "Coast")
    result = Compressor(FakeScorer()).compress(QUESTION, [document, "Another text."], budget=budget)
    parts = [c for c in result.citations().entries if c.doc == 0]
    marked = {(mark.text_start, mark.text_end) for mark in result.marks}
    for unit in split_units(document.text):
        own = [c for c in parts if unit.start <= c.start < unit.end]
        for left, right in pairwise(own):
            assert any(left.text_end <= a and b <= right.text_start for a, b in marked), result.text
        if own and own[0].start > unit.start:
            assert any(b <= own[0].text_start for _, b in marked)
        if own and own[-1].end < unit.end:
            assert any(a >= own[-1].text_end for a, _ in marked)


def test_a_mark_names_what_was_left_out_there() -> None:
    document = Document(json_array(40))
    result = Compressor().compress(QUESTION, [document], budget=60)
    assert result.marks
    for mark in result.marks:
        assert re.fullmatch(r'"\[… \d+ more\]",?', result.text[mark.text_start : mark.text_end])
        assert document.text[mark.start : mark.end].strip()
        assert result.citations().locate(mark.text_start) is None
    assert [m["text_start"] for m in result.to_dict()["marks"]] == [m.text_start for m in result.marks]


def units(*ranges: tuple[int, int, int], kind: str = "json") -> list[Unit]:
    return [
        Unit(start, end, kind, atomic=True, parent=parent, is_piece=True) for start, end, parent in ranges
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
        Unit(start, start + len(line), kind, atomic=kind == "code", parent=parent)
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


@pytest.mark.parametrize("number", range(0, 12 * 7, 5))
def test_structure_stays_true_with_marks_in_prose(number: int) -> None:
    run_case(number, asks=True, marks="all")
