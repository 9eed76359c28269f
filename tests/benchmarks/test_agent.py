"""The benchmark of the trained agent: what a row says of an episode, and the table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from benchmarks.agent.__main__ import Rows, describe
from benchmarks.agent.report import FREE, SYSTEMS, render
from benchmarks.agent.rows import AgentRun, TaskRow
from benchmarks.shared.environment import read_environment
from benchmarks.shared.episodes import is_inside, make_index
from benchmarks.shared.tasks import Example
from benchmarks.shared.tasks.example import SourceDocument
from tersely import Compressor
from tersely_agents.agent.trained import make_agent
from tersely_agents.chat import ScriptedChat
from tersely_agents.levels import LEVELS
from training.agent.teacher import write_turn

KEYS = (
    "Ada holds the spare key of the lighthouse, says the book of the harbour master of Tarnwick, page nine."
)
EXAMPLE = Example(
    id="q1",
    question="Who holds the spare key of the lighthouse?",
    answers=("Ada",),
    documents=(
        SourceDocument("Keys", KEYS, None),
        SourceDocument("Pears", "The pears are ripe in September.", None),
    ),
    support=None,
    answer_spans=None,
    findable=True,
)
SEARCH = write_turn("Hm.", LEVELS[0], "", "search", {"query": "spare key"})


def run(*script: str) -> TaskRow:
    agent = make_agent(
        ScriptedChat(script), make_index(EXAMPLE), Compressor(threads=1), 60, strict=True, max_turns=3
    )
    return describe(FREE, EXAMPLE, agent.run(EXAMPLE.question))


def finish(summary: str, answer: str = "It is Ada") -> str:
    return write_turn("So.", LEVELS[0], summary, "finish", {"answer": answer, "explanation": "[1.md]"})


def test_a_row_counts_turns_and_summaries_inside_their_level() -> None:
    row = run(SEARCH, finish(KEYS))
    assert (row.outcome, row.replies, row.well_formed) == ("answered", 2, 2)
    assert (row.summaries, row.inside, row.levels) == (1, 1, (1,))
    assert row.correct
    assert 0 < row.f1 < 1
    assert row.tokens_in > row.tokens_out > 0


def test_a_short_summary_is_outside_its_level_and_a_wrong_answer_is_wrong() -> None:
    row = run(SEARCH, finish("Ada.", "Holt"))
    assert (row.summaries, row.inside, row.correct, row.f1) == (1, 0, False, 0.0)


def test_a_reply_that_is_no_turn_ends_the_task_and_counts() -> None:
    row = run(SEARCH, "Ada holds it.")
    assert (row.outcome, row.replies, row.well_formed, row.summaries) == ("malformed", 2, 1, 0)
    assert not row.correct


def test_a_task_without_an_answer_says_so() -> None:
    row = run(SEARCH, *[write_turn("Hm.", LEVELS[0], KEYS, "search", {"query": "key"})] * 2)
    assert (row.outcome, row.replies, row.well_formed, row.inside) == ("turns", 3, 3, 2)


def test_the_table_has_a_line_for_each_system() -> None:
    row = run(SEARCH, finish(KEYS))
    rows = tuple(replace(row, system=name) for name in SYSTEMS)
    text = render(AgentRun("agent", "m", "a", 13, 3, read_environment(), rows))
    assert all(f"| {name} | " in text for name in SYSTEMS)
    assert "1 of level 1" in text


def test_a_system_that_was_not_run_has_no_line() -> None:
    row = run(SEARCH, finish(KEYS))
    text = render(AgentRun("agent", "m", "a", 13, 3, read_environment(), (row,)))
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    assert [line.split(" | ")[:2] for line in lines[2:]] == [[f"| {FREE}", "1"]]


def test_rows_are_found_again_by_the_agent_that_made_them(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    row = run(SEARCH, finish(KEYS))
    Rows(file, "mine@1").add(row)
    assert Rows(file, "mine@1").find(FREE, "q1") == row
    assert Rows(file, "mine@2").find(FREE, "q1") is None
    assert Rows(None, "mine@1").find(FREE, "q1") is None


def test_a_summary_of_the_bounds_is_inside() -> None:
    state = make_agent(ScriptedChat([SEARCH]), make_index(EXAMPLE), Compressor(threads=1), 60, max_turns=1)
    turn = state.run(EXAMPLE.question).trace[0]
    assert [is_inside(replace(turn, summary="x" * n)) for n in (99, 100, 500, 501)] == [
        False,
        True,
        True,
        False,
    ]
