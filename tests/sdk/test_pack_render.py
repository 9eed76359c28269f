"""Rendering: separators, titles, and citations that lead back to the source."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tersely import Document
from tersely.pack.render import join_documents, render_document, render_ranges
from tersely.split.sentences import split_units

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
        ("A b.\n\nC d.\n\nE f.", ("A b.", "C d.", "E f."), [0, 2], "A b.\nE f."),
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
