from __future__ import annotations

import pytest

from tersely import Document
from tersely.packing.render import join_documents, render_document
from tersely.text.sentences import split_units

Ranges = list[tuple[int, int]]


def ranges(text: str, *pieces: str) -> Ranges:
    found: Ranges = []
    for piece in pieces:
        start = text.index(piece, found[-1][1] if found else 0)
        found.append((start, start + len(piece)))
    return found


@pytest.mark.parametrize(
    ("text", "pieces", "kept", "expected"),
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
def test_separators(text: str, pieces: tuple[str, ...], kept: list[int], expected: str) -> None:
    rendered, cited = render_document(text, ranges(text, *pieces), kept)
    assert rendered == expected
    for piece in cited:
        assert rendered[piece.text_start : piece.text_end] == text[piece.start : piece.end]


def test_neighbours_are_one_piece() -> None:
    text = "A b. C d.  E f. G h."
    _, cited = render_document(text, ranges(text, "A b.", "C d.", "E f.", "G h."), [0, 1, 3])
    assert [(piece.start, piece.end) for piece in cited] == [(0, 9), (16, 20)]


def test_documents_titles_and_blank_lines() -> None:
    documents = [Document("A b.", "One"), Document("C d."), Document("E f.", " "), Document("G h.", "Four")]
    bodies = [render_document(d.text, [(0, 4)], [] if d.title == "Four" else [0]) for d in documents]
    text, cited = join_documents((i, documents[i], *bodies[i]) for i in (2, 0, 3, 1))
    assert text == "E f.\n\nOne\nA b.\n\nC d."
    assert [(piece.doc, piece.text_start, piece.text_end) for piece in cited] == [
        (2, 0, 4),
        (0, 10, 14),
        (1, 16, 20),
    ]


def test_every_selection_of_a_mixed_text_is_no_longer_than_the_text() -> None:
    text = (
        "# Head\n\nOne two. Three four!\n\n```py\nx = 1\n\ny = 2\n```\n\n"
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n- i\n- ii\n结束。完。"
    )
    units = [(unit.start, unit.end) for unit in split_units(text)]
    for mask in range(1 << len(units)):
        kept = [index for index in range(len(units)) if mask >> index & 1]
        assert len(render_document(text, units, kept)[0]) <= len(text)
