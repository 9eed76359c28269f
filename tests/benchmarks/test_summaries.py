"""The benchmark of summaries: its measures, and a run with scripted models."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pytest

from benchmarks.records import read_record
from benchmarks.shared.readers import Prompt
from benchmarks.shared.tasks import Example
from benchmarks.summaries import __main__ as program
from benchmarks.summaries import labels, shorter
from benchmarks.summaries.contradiction import contradicts
from benchmarks.summaries.once import ReadingOnce, WritingOnce
from benchmarks.summaries.report import BASE, EXTRACTIVE, OURS, SYSTEMS, WRITTEN, render
from benchmarks.summaries.rouge import rouge_l
from benchmarks.summaries.rows import CheckedSentence, SummariesRun
from tersely import Document
from tersely_agents.chat import ScriptedChat
from tersely_agents.summaries.grounding import Sources
from tersely_agents.summaries.summarizer import TrainedModel

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


def write_sentences(file: Path) -> list[CheckedSentence]:
    """Ten of each system; tersely-recon's are among those written, and the base model's are refused."""
    rows = [
        CheckedSentence(
            "hotpotqa", f"q{n}", system, f"{'Dragon' if system == BASE else 'Boat'} {n}.", system != BASE
        )
        for system in (BASE, WRITTEN, OURS, EXTRACTIVE, "selection")
        for n in range(10)
    ]
    file.write_text("".join(json.dumps(asdict(row)) + "\n" for row in rows), "utf-8")
    return rows


def test_sentences_are_drawn_of_every_system_and_once(tmp_path: Path) -> None:
    rows = write_sentences(tmp_path / "sentences.jsonl")
    drawn = labels.draw(rows, 12, seed=1)
    assert len({item.id for item in drawn}) == 12
    assert drawn == labels.draw(rows, 12, seed=1) != labels.draw(rows, 12, seed=2)
    assert sum(BASE in item.systems for item in drawn) >= 3
    assert all(set(item.systems) in ({BASE}, {WRITTEN, OURS, EXTRACTIVE}) for item in drawn)
    assert len(labels.draw(rows, 1000, seed=1)) == 20


def test_a_sheet_tells_neither_the_system_nor_the_verdict(data: Path, tmp_path: Path) -> None:
    (example, *_) = program.load_set("hotpotqa", str(data), 13, 2)
    text = example.documents[0].text.split(". ")[0]
    sentence = CheckedSentence("hotpotqa", example.id, OURS, text, True)
    drawn = labels.draw([sentence], 5, seed=1)
    labels.write_sheet(drawn, {("hotpotqa", example.id): example}, tmp_path / "sheet.txt")
    sheet = (tmp_path / "sheet.txt").read_text("utf-8")
    assert f"Sentence: {text}\n" in sheet
    assert example.question in sheet
    assert sheet.count(text) >= 2  # its source, too
    assert OURS not in sheet
    assert "rue" not in sheet.replace(text, "")


def test_labels_are_counted_and_hold_no_text(tmp_path: Path) -> None:
    file, out = tmp_path / "sentences.jsonl", tmp_path / "labels.json"
    rows = write_sentences(file)
    drawn = labels.draw(rows, 50, seed=13)
    wrong = next(item for item in drawn if BASE not in item.systems)
    said = ["no" if BASE in item.systems or item is wrong else "yes" for item in drawn]
    judged = tmp_path / "judged.txt"
    judged.write_text("".join(f"{d.id} {word}\n" for d, word in zip(drawn, said, strict=True)), "utf-8")
    arguments = ["--sentences", str(file), "--judged", str(judged), "--out", str(out)]
    assert labels.main(arguments) == 0
    run = read_record(out, labels.LabelsRun)
    assert "Boat" not in out.read_text("utf-8")
    assert sum(row.grounded for row in run.rows) == 9
    text = labels.render(run)
    assert "| base | 10 | 0.0 [0.0, 0.0] | 0.0 [0.0, 0.0] | 100.0 [100.0, 100.0] |" in text
    assert "the documents do not say: 1." in text


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
