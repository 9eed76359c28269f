"""The benchmark of summaries: its measures, and a run with scripted models."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.records import read_record
from benchmarks.shared.readers import Prompt
from benchmarks.shared.tasks import Example
from benchmarks.summaries import __main__ as program
from benchmarks.summaries import shorter
from benchmarks.summaries.contradiction import contradicts
from benchmarks.summaries.once import ReadingOnce, WritingOnce
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
    def script(*_: object, **__: object) -> TrainedModel:
        reply = "Ada Penrose founded Orvelle in 1700. Its harbour exports salt to the islands every spring."
        return TrainedModel(ScriptedChat([reply] * 20), preselect=60, max_tokens=40)

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(program, "load_trained", script)
    monkeypatch.setattr(program, "LocalChat", lambda **_: ScriptedChat(["Dragons guard it."] * 20))
    monkeypatch.setattr(program, "describe_summarizer", lambda: "tiny")
    monkeypatch.setattr(program, "REFERENCES", ("qmsum",))
    out, sentences = tmp_path / "summaries.json", tmp_path / "sentences.jsonl"
    arguments = ["--data", str(data), "--limit", "2", "--long-limit", "1", "--sentences", str(sentences)]
    assert program.main([*arguments, "--out", str(out)]) == 0
    run = read_record(out, SummariesRun)
    rows = [json.loads(line) for line in sentences.read_text("utf-8").splitlines()]
    assert len(rows) == sum(row.sentences for row in run.rows)
    assert sum(row["supported"] for row in rows) == sum(row.supported for row in run.rows)
    assert {row.system for row in run.rows} == set(SYSTEMS)
    ours = [row for row in run.rows if row.system == OURS]
    assert all(row.supported == row.sentences and row.unknown == 0 for row in ours)
    assert {row.task for row in run.rows if row.rouge is not None} == {"qmsum"}
    text = render(run)
    assert "### HotpotQA, 10 paragraphs, 2 questions" in text


def test_a_prompt_is_written_once_and_the_clock_counts_it_each_time(
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


def test_a_long_text_is_read_once() -> None:
    compressor = ReadingOnce()
    first = compressor.compress("When does the ferry leave?", DOCS, budget=20)
    assert compressor.saved == 0
    assert compressor.compress("When does the ferry leave?", DOCS, budget=20) is first
    before = compressor.saved
    assert before > 0
    assert compressor.compress("When does the ferry leave?", DOCS, budget=40) is not first
    assert compressor.saved == before


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
