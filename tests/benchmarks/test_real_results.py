"""Questions over real tool results, from sources that need no installed package."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

import pytest

from benchmarks.real_results import __main__ as real_results
from benchmarks.real_results.questions import FOLDER, SETS, Loaded, Question, load
from benchmarks.real_results.workbench import Workbench
from benchmarks.table import Record
from benchmarks.tool_results.methods import MASKING

BENCH = Workbench(Path(sys.executable), Path(sys.prefix))


def make_question(set_name: str, name: str, kind: str, answer: str, evidence: str) -> Question:
    text = BENCH.make_result(FOLDER / set_name, name)
    return Question(f"{name}-1", kind, name, "Which one?", (answer,), (evidence,), text)


@pytest.fixture(scope="module")
def questions() -> tuple[Question, ...]:
    """Return a question about a small project and one about a written log."""
    return (
        make_question("development", "settings_toml", "configuration", "yara", 'scan = "yara"'),
        make_question("evaluation", "gradle_log", "log", "roundToKrona()", "use roundToKrona()"),
    )


def test_an_answer_counts_only_with_its_evidence(questions: tuple[Question, ...]) -> None:
    for question in questions:
        assert question.is_answered(question.text)
        assert question.is_answered(question.evidence[0])
        assert not question.is_answered(question.answers[0])
        assert not question.is_answered("")


@pytest.mark.parametrize("name", SETS)
def test_drawn_questions_are_kept_or_dropped(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Workbench, "make_result", lambda *_: "an empty result")
    loaded = load(name, Path(sys.executable), limit=5)
    assert (loaded.questions, len(loaded.dropped)) == ((), 5)


@pytest.mark.parametrize("name", SETS)
def test_each_question_has_its_written_text_or_command(name: str) -> None:
    folder = FOLDER / name
    commands = tomllib.loads((folder / "commands.toml").read_text(encoding="utf-8"))
    made = {result for own in commands.values() for result in own}
    written = {path.stem for path in (folder / "texts").iterdir()}
    lines = (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    assert made & written == set()
    assert made | written == {json.loads(line)["source"] for line in lines}
    assert {path.stem for path in (folder / "projects").iterdir()} == commands.keys() - {"packages"}


def test_results_have_neither_times_nor_paths_of_the_machine() -> None:
    export = FOLDER / "development" / "projects" / "settings.export"
    assert BENCH.run_in_project(export, "echo took 1.23s; pwd") == "took 0.05s\n/app\n"


def test_a_run_has_both_tables(
    questions: tuple[Question, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = Loaded(questions, ("gone-1",))
    methods = {"all": lambda text, *_: text, "none": lambda *_: "", MASKING: lambda *_: ""}
    monkeypatch.setattr(real_results, "load", lambda *_: loaded)
    monkeypatch.setattr(real_results, "make_methods", lambda _: methods)
    out = tmp_path / "run.json"
    assert real_results.main(["--python", sys.executable, "--out", str(out)]) == 0
    record = Record.read(out)
    assert record.command == "python -m benchmarks.real_results"
    assert record.settings == {"set": "evaluation", "questions": 2, "dropped": 1}
    together = record.find("All kinds together")
    assert [together.find(budget=300, method=name)["answered"].value for name in ("all", "none")] == [1, 0]
    kinds = [row["kind"] for row in record.find("Each kind").select(budget=300, method="all")]
    assert kinds == ["configuration", "log"]
