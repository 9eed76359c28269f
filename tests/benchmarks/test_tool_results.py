"""The benchmark of tool results: its cases are what they claim, and a run says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.records import read_record
from benchmarks.tool_results import __main__ as program
from benchmarks.tool_results.kinds import KINDS, make_case
from benchmarks.tool_results.report import ToolResultsRun, render


@pytest.mark.parametrize("kind", KINDS)
def test_the_whole_of_a_case_answers_its_question_and_is_true(kind: str) -> None:
    case = make_case(kind, 1)
    assert case.is_answered(case.text)
    assert not case.is_false(case.text)
    assert not case.is_answered("")
    assert case.parses is None or case.parses(case.text)


def test_a_value_behind_the_name_of_another_is_false() -> None:
    case = make_case("CSV", 2)
    (first, _), (second, value) = list(case.values.items())[:2]
    assert case.is_false(f"{first},{value}")
    assert not case.is_false(f"{first},\n[… 3 more]\n{value}")
    assert not case.is_false(f"{first} {second},{value}")


def test_a_run_has_a_row_for_every_method(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "KINDS", ("CSV", "JSON lines"))
    out = tmp_path / "tool_results.json"
    assert program.main(["--cases", "1", "--out", str(out)]) == 0
    run = read_record(out, ToolResultsRun)
    ours = [row for row in run.rows if row.method == "tersely"]
    assert len(ours) == 2 * len(program.RATES)
    assert all(row.answered == 1.0 and not row.false and row.parses == 1.0 for row in ours)
    assert all(row.tokens <= row.rate for row in ours)
    assert "| CSV |" in render(run)
