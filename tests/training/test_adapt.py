"""A model fitted to questions of one's own."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.shared.statistics import Estimate
from tersely import Compressor
from tersely.score.fusion import LinearLayer
from training import adapt
from training.export.fit_fusion import Case, fit_towards
from training.selector_model.groups import Group, GroupDocument

NAMES = ("Ada", "Bert", "Cleo", "Dora", "Egon", "Fay", "Gus", "Hild", "Ivo", "Jana", "Kurt", "Lena")
Write = Callable[[list[Any]], Path]


def make_row(name: str) -> dict[str, Any]:
    number = 100 + 7 * NAMES.index(name)
    kept = f"{name} owns {number} sheep. The barn is red. Rain is rare in the valley."
    other = f"{name} was born in a village. The village has a mill. The mill is old."
    return {"query": f"How many sheep does {name} own?", "documents": [kept, other], "answers": [str(number)]}


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    monkeypatch.setattr(adapt, "FEWEST", len(NAMES))

    def write(rows: list[Any]) -> Path:
        path = tmp_path / "own.jsonl"
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        path.write_text("\n".join(lines), encoding="utf-8")
        return path

    return write


def test_sentences_with_an_answer_are_needed(write: Write) -> None:
    unanswered = make_row("Ada") | {"answers": ["no such thing"]}
    groups, unlabelled = adapt.read_questions(write([*map(make_row, NAMES), unanswered]))
    assert unlabelled == 1
    assert [d.labels for d in groups[0].documents] == [[1, 0, 0], [0, 0, 0]]


def test_evidence_goes_before_answers(write: Write) -> None:
    rows = [make_row(name) | {"evidence": ["The mill is old."]} for name in NAMES]
    groups, _ = adapt.read_questions(write(rows))
    assert [d.labels for d in groups[0].documents] == [[0, 0, 0], [0, 0, 1]]


def test_empty_evidence_leaves_the_answers(write: Write) -> None:
    groups, _ = adapt.read_questions(write([make_row(name) | {"evidence": []} for name in NAMES]))
    assert [d.labels for d in groups[0].documents] == [[1, 0, 0], [0, 0, 0]]


def test_a_byte_order_mark_hides_no_evidence(write: Write) -> None:
    path = write([make_row(name) | {"evidence": ["The mill is old."]} for name in NAMES])
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    groups, _ = adapt.read_questions(path)
    assert [d.labels for d in groups[0].documents] == [[0, 0, 0], [0, 0, 1]]


def test_a_line_that_is_not_utf8_is_named(write: Write) -> None:
    path = write([make_row(name) for name in NAMES])
    path.write_bytes(path.read_bytes() + b'\n{"query": "\xe9"}')
    with pytest.raises(adapt.UnusableDataError, match="line 13: not UTF-8"):
        adapt.read_questions(path)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("{", "line 2: not valid JSON"),
        (make_row("Bert") | {"evidence": "The mill is old."}, 'line 2: expected "evidence": \\[string'),
        (make_row("Bert") | {"evidence": ["The mill is old.", 3]}, 'line 2: expected "evidence": \\[string'),
        ({"query": "Why?", "documents": ["So."]}, 'line 2: it has neither "answers" nor "evidence"'),
        ({"query": " ", "documents": ["So."], "answers": ["So"]}, 'line 2: "query" is missing or empty'),
        ({"query": "Why?", "documents": ["So."], "answers": "So"}, 'line 2: expected "answers": \\[string'),
        (
            {"query": "Why?", "documents": ["So."], "evidence": ["Thus."]},
            "line 2: the evidence 'Thus.' is in no",
        ),
    ],
)
def test_a_wrong_line_is_named(write: Write, row: Any, problem: str) -> None:
    with pytest.raises(adapt.UnusableDataError, match=problem):
        adapt.read_questions(write([make_row("Ada"), row]))


def test_too_few_questions_are_refused(write: Write) -> None:
    with pytest.raises(adapt.UnusableDataError, match="At least 12 are needed"):
        adapt.read_questions(write([make_row("Ada")]))


def test_a_model_that_is_as_good_is_not_replaced(
    write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, out = write([*map(make_row, NAMES)]), tmp_path / "model"
    assert adapt.main(["--data", str(data), "--out", str(out)]) == adapt.NOT_BETTER
    assert not out.exists()
    assert "nothing was written" in capsys.readouterr().out


def test_a_better_model_is_written(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(adapt, "compare", lambda *_: Estimate(0.1, 0.05, 0.15))
    data, out = write([*map(make_row, NAMES)]), tmp_path / "model"
    assert adapt.main(["--data", str(data), "--out", str(out)]) == 0
    assert "+10.0 (+5.0 to +15.0)" in capsys.readouterr().out
    result = Compressor(out).compress(make_row("Ada")["query"], make_row("Ada")["documents"], rate=0.3)
    assert result.text == "Ada owns 100 sheep."


def test_layer_moves_only_as_far_as_the_labels_ask() -> None:
    group = Group("q", "own", "?", [], [GroupDocument(None, "a b", [(0, 1), (2, 3)], [1, 0], 1, 0)])
    case = Case.make(group)
    prior = LinearLayer(np.zeros(2), np.ones(2), np.array([1.0, 0.0]), 0.0)
    same = fit_towards(prior, [np.array([[6.0, 0.0], [-6.0, 0.0]])], [case])
    assert same.weights == pytest.approx(prior.weights, abs=0.3)
    moved = fit_towards(prior, [np.array([[-1.0, 3.0], [1.0, -3.0]])], [case])
    assert moved.weights[1] > 0.5 > moved.weights[0]
    assert replace(moved, weights=prior.weights, bias=prior.bias) == prior
