"""The benchmarks of the trained agent and summarizer, with scripted models."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.agent.__main__ import (
    BASE,
    FREE,
    FREE_TASKS,
    REACT,
    Options,
    count_tasks,
    make_line,
    make_tables,
)
from benchmarks.agent.__main__ import OURS as AGENT
from benchmarks.rows import find_rows, read_lines
from benchmarks.shared.episodes import is_inside, make_index
from benchmarks.summaries import __main__ as program
from benchmarks.summaries.__main__ import OURS, SYSTEMS
from benchmarks.summaries.contradiction import contradicts
from benchmarks.summaries.once import WritingOnce
from benchmarks.summaries.rouge import rouge_l
from benchmarks.table import Record, Row
from tersely import Compressor, Document
from tersely.runtime.artifacts import load_artifact
from tersely_agents.agent.trained import make_agent
from tersely_agents.chat import ScriptedChat
from tersely_agents.chat.trained import TrainedModel
from tersely_agents.summaries.grounding import Sources
from tests.benchmarks.fakes import BeginningReader
from tests.spare_key import EXAMPLE, SEARCH, finish


def run(*script: str, system: str = FREE) -> Row:
    agent = make_agent(
        ScriptedChat(script), make_index(EXAMPLE), Compressor(threads=1), 60, strict=True, max_turns=3
    )
    (table,) = make_tables([make_line(system, EXAMPLE, agent.run(EXAMPLE.question))])
    return table.rows[0]


@pytest.mark.parametrize("others", [0, 7, None])
def test_only_the_base_model_has_as_many_tasks_as_asked(others: int | None) -> None:
    options = Options()
    options.others = others
    counts = [count_tasks(system, options) for system in (AGENT, FREE, BASE, REACT)]
    assert counts == [None, FREE_TASKS, others, others]


def test_a_row_counts_turns_and_summaries_inside_their_level() -> None:
    row = run(SEARCH, finish("It is Ada"))
    assert (row["tasks"], row["turns"], row["levels"]) == (1, 2, "1 of level 1")
    shares = [row[name].value for name in ("well-formed", "inside", "answered", "right")]
    assert shares == [1, 1, 1, 1]
    assert 0 < row["F1"][0] < 1
    assert row["tokens in"] > row["tokens out"] > 0
    assert run(SEARCH, finish("It is Ada"), system=REACT)["well-formed"] is None, "its replies have no form"


def test_short_summaries_and_wrong_answers_are_counted() -> None:
    row = run(SEARCH, finish("Holt", "Ada."))
    assert (row["inside"].value, row["right"].value, row["F1"]) == (0, 0, (0.0,))


def test_a_malformed_reply_ends_the_task() -> None:
    row = run(SEARCH, "Ada holds it.")
    assert (row["turns"], row["well-formed"].value, row["inside"]) == (2, 0.5, None)
    assert (row["answered"].value, row["right"].value) == (0, 0)


def test_summaries_at_the_bounds_are_inside() -> None:
    state = make_agent(ScriptedChat([SEARCH]), make_index(EXAMPLE), Compressor(threads=1), 60, max_turns=1)
    turn = state.run(EXAMPLE.question).trace[0]
    assert [is_inside(replace(turn, summary="x" * n)) for n in (99, 100, 500, 501)] == [
        False,
        True,
        True,
        False,
    ]


DOCS = [
    Document("The ferry leaves Port Maren at seven. It does not run on Sundays.", "Ferry"),
    Document("The museum opened in 1904 with twelve rooms and a garden.", "Museum"),
]


@pytest.mark.parametrize(
    ("text", "reference", "score"),
    [
        ("the cat sat", "the cat sat", 1.0),
        ("the cat sat", "the dog sat", 2 / 3),  # "the sat" is common: 2 * 2 / (3 + 3)
        ("a b c d", "d c b a", 0.25),  # one word is common: 2 * 1 / (4 + 4)
        ("", "the cat", 0.0),
    ],
)
def test_rouge_matches_values_worked_by_hand(text: str, reference: str, score: float) -> None:
    assert rouge_l(text, [reference]) == pytest.approx(score)
    assert rouge_l(text, ["nothing in common here", reference]) == pytest.approx(score)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The ferry leaves Port Maren at seven.", False),
        ("The ferry never leaves Port Maren at seven.", True),
        ("The ferry does run on Sundays.", True),
        ("The museum opened in 1904 with rooms and a garden.", False),
        ("The museum opened in 1905 with twelve rooms and a garden.", True),
        ("Dragons guard every treasure chest.", False),
    ],
)
def test_the_rule_for_contradictions(sentence: str, expected: bool) -> None:
    assert contradicts(sentence, DOCS, Sources(DOCS)) == expected


def test_a_run_has_a_row_for_each_system_and_set(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def script(*_: object, **__: object) -> TrainedModel:
        reply = "Ada Penrose founded Orvelle in 1700. Its harbour exports salt to the islands every spring."
        return TrainedModel(ScriptedChat([reply] * 20), input_tokens=60, max_tokens=40)

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(program, "load_trained", script)
    monkeypatch.setattr(program, "load_artifact", lambda *_, **__: load_artifact(None))
    monkeypatch.setattr(program, "LocalChat", lambda **_: ScriptedChat(["Dragons guard it."] * 20))
    monkeypatch.setattr(program, "open_reader", BeginningReader)
    monkeypatch.setattr(program, "QUESTIONS", ("hotpotqa",))  # the only one that needs no MiniLM
    monkeypatch.setattr(program, "REFERENCES", ("qmsum",))
    out = tmp_path / "summaries.json"
    limits = ["--limit", "2", "--long-limit", "1"]
    assert (
        program.main(
            [
                "--data",
                str(data),
                "--summarizer",
                "tersely-mini",
                *limits,
                "--reader",
                "quick",
                "--out",
                str(out),
            ]
        )
        == 0
    )
    record = Record.read(out)
    table = record.find("Summaries")
    assert program.make_tables(list(read_lines(find_rows(out))), record.seed) == list(record.tables)
    assert [row["system"] for row in table.rows] == [*SYSTEMS, *SYSTEMS]
    for row in table.select(system=OURS):
        assert (row["grounded"].value, row["unknown"].value) == (1, 0)
    questions = table.select(set="HotpotQA, 10 paragraphs")
    assert {(row["questions"], row["scored by"]) for row in questions} == {(2, "F1")}
    assert all(row["scored by"] == "ROUGE-L" for row in table.rows[5:])
    assert all((row["lead of the trained one"] is None) == (row["system"] == OURS) for row in table.rows)


def test_a_prompt_is_written_once_and_timed_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    prompt = [{"role": "user", "content": "Who?"}]
    first = WritingOnce(ScriptedChat(["Ada.", "Bo."]), "tiny@1")
    assert [first.complete(prompt, max_tokens=5).text for _ in "ab"] == ["Ada.", "Ada."]
    assert first.saved > 0
    later = WritingOnce(ScriptedChat(["Bo."]), "tiny@1")  # a run that goes on
    assert later.complete(prompt, max_tokens=5).text == "Ada."
    assert later.saved == first.saved
    assert later.complete(prompt, max_tokens=6).text == "Bo."
    assert WritingOnce(ScriptedChat(["Cy."]), "tiny@2").complete(prompt, max_tokens=5).text == "Cy."
