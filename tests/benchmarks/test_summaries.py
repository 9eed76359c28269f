"""The benchmark of summaries: its measures, and a run with scripted models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.records import read_record
from benchmarks.shared.readers import Prompt
from benchmarks.shared.tasks import Example
from benchmarks.summaries import __main__ as program
from benchmarks.summaries import shorter
from benchmarks.summaries.contradiction import contradicts
from benchmarks.summaries.report import OURS, SYSTEMS, render
from benchmarks.summaries.rouge import rouge_l
from benchmarks.summaries.rows import SummariesRun
from tersely import Document
from tersely.chat import ScriptedChat
from tersely.summarize.grounding import Sources
from tersely.summarize.local import TrainedModel

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


def test_a_run_is_recorded_and_rendered(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def script(name: str, _: object) -> TrainedModel:
        reply = "Ada Penrose founded Orvelle in 1700. Its harbour exports salt to the islands every spring."
        return TrainedModel(ScriptedChat([reply] * 20), preselect=60, max_tokens=40)

    monkeypatch.setattr(program, "load_trained", script)
    monkeypatch.setattr(program, "LocalChat", lambda **_: ScriptedChat(["Dragons guard it."] * 20))
    monkeypatch.setattr(program, "describe_summarizer", lambda: "tiny")
    monkeypatch.setattr(program, "REFERENCES", ("qmsum",))
    out = tmp_path / "summaries.json"
    assert program.main(["--data", str(data), "--limit", "2", "--long-limit", "1", "--out", str(out)]) == 0
    run = read_record(out, SummariesRun)
    assert {row.system for row in run.rows} == set(SYSTEMS)
    ours = [row for row in run.rows if row.system == OURS]
    assert all(row.supported == row.sentences and row.unknown == 0 for row in ours)
    assert {row.task for row in run.rows if row.rouge is not None} == {"qmsum"}
    text = render(run)
    assert "### HotpotQA, 10 paragraphs, 2 questions" in text


class FirstWord:
    """A reader that answers with the first word of the context."""

    name = "first word"

    def answer(self, prompts: Sequence[Prompt]) -> list[str | None]:
        return [prompt.context.split()[0] for prompt in prompts]


def test_a_shorter_context_is_compared_with_the_raw_passages_of_the_same_questions() -> None:
    asked = [("Who is it?", "Ada"), ("Where is it?", "Orvelle")]
    examples = [Example(q, q, (answer,), (), None, None, findable=True) for q, answer in asked]
    contexts = [("Bo was here for long", "Ada was here"), ("Orvelle is old and large", "Orvelle is old")]
    row = shorter.compare("some", examples, contexts, FirstWord(), lambda text: len(text.split()), seed=0)
    assert (row.questions, row.tokens) == (2, 3.0)
    assert row.shorter.value == pytest.approx(0.4)  # 6 words instead of 10
    assert (row.f1.value, row.difference.value) == (1.0, 0.5)
