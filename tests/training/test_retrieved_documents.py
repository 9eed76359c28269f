"""Data without labels: retrieved documents with answers, and results of tools."""

from __future__ import annotations

import gzip
import json
import random
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.real_results.questions import Loaded, Question
from tersely import Compressor
from tests.benchmarks.towns import write_rows
from training import tool_questions
from training.reader.data import NEGATIVES, read_sources
from training.rl import recipes as rl
from training.selector_model.config import DataConfig, Labels
from training.selector_model.groups import Group, list_labels, prepare_groups, read_groups
from training.selector_model.tool_results import AROUND, ENOUGH, choose_near, open_result
from training.settings import read_settings
from training.summarizer.examples import Recipe, make_lessons
from training.summarizer.relevance import Candidates, make_choices

PLACES = [f"{start}{end}" for start in ("Orv", "Lin", "Tar", "Bra") for end in ("elle", "dis", "nwick")]
RETRIEVED = 6


def make_row(number: int, **changes: Any) -> dict[str, Any]:
    """Make a question whose third and last retrieved documents hold the answer."""
    place = PLACES[number % len(PLACES)]
    texts = [f"Report {number}-{rank} is about harbours. It rains." for rank in range(RETRIEVED)]
    texts[2] = f"The ferry of line {number} was built in {place}. It sails at noon."
    texts[-1] = f"Salt is sold. Coins of year {number} were also found in {place}."
    docs = [{"title": f"Page {number}-{rank}", "text": text} for rank, text in enumerate(texts)]
    return {
        "id": number,
        "question": f"Where was ferry {number} built?",
        "answers": [place],
        "docs": docs,
        **changes,
    }


def prepare(folder: Path, rows: list[dict[str, Any]], labels: Labels = "string", **settings: Any) -> Path:
    write_rows(folder / "data/train/own.jsonl.gz", rows)
    config = DataConfig(
        questions={"own": 100},
        heldout={"own": 3},
        labels=labels,
        neighbours="bm25",
        **{"documents": RETRIEVED, **settings},
    )
    prepare_groups(folder / "data", folder / "run", config, seed=3)
    return folder / "run"


def show_needed(group: Group) -> list[str]:
    """Return the sentences with label 1."""
    pairs = [
        (d.text[a:b], label) for d in group.documents for (a, b), label in zip(d.units, d.labels, strict=True)
    ]
    return sorted(text for text, label in pairs if label == 1)


def test_answers_alone_label_retrieved_documents(tmp_path: Path) -> None:
    run = prepare(tmp_path, [make_row(number) for number in range(12)])
    heldout, train = read_groups(run, "heldout"), read_groups(run, "train")
    assert (len(heldout), len(train)) == (3, 9)
    for group in (*heldout, *train):
        place = group.answers[0]
        assert sorted(d.title or "" for d in group.documents) == [
            f"Page {group.id}-{rank}" for rank in range(RETRIEVED)
        ]
        assert show_needed(group) == [
            f"Coins of year {group.id} were also found in {place}.",  # the paper's label noise
            f"The ferry of line {group.id} was built in {place}.",
        ]
        assert list_labels(group, "string") == [d.labels for d in group.documents]


def test_own_documents_without_labels_are_kept(tmp_path: Path) -> None:
    rows = [make_row(number) for number in range(12)]
    for row in rows:
        row["docs"][2]["gold"] = True
    run = prepare(tmp_path, rows, documents=RETRIEVED + 1)
    for group in read_groups(run, "train"):
        own = [d for d in group.documents if (d.title or "").startswith(f"Page {group.id}-")]
        assert len(own) == RETRIEVED
        assert len(group.documents) == RETRIEVED + 1  # filled up
        (added,) = (d for d in group.documents if d not in own)
        assert group.answers[0] not in added.text
        assert any(map(any, list_labels(group, "string")))
        assert show_needed(group) == [f"The ferry of line {group.id} was built in {group.answers[0]}."]


def test_reader_trains_on_own_documents_without_labels(tmp_path: Path) -> None:
    rows = [make_row(number) for number in range(12)]
    write_rows(tmp_path / "train/own.jsonl.gz", rows)
    sources = read_sources(tmp_path, ("own",), {"0", "1"}, {"2"}, random.Random(0))
    assert len(sources) == 9
    for source in sources:
        number = source.name.split()[1]
        first, *others = source.documents
        assert first.text[slice(*source.answer)] == PLACES[int(number) % len(PLACES)]
        own = [d.title for d in others if (d.title or "").startswith(f"Page {number}-")]
        assert len(own) == min(RETRIEVED - 2, NEGATIVES)  # but for those with the answer
        assert len(others) == NEGATIVES
    with pytest.raises(ValueError, match="no question of own can train a reader: all are used"):
        read_sources(tmp_path, ("own",), {str(number) for number in range(12)}, set(), random.Random(0))


def test_no_more_documents_than_asked_for(tmp_path: Path) -> None:
    run = prepare(tmp_path, [make_row(number) for number in range(12)], documents=4)
    for group in read_groups(run, "train"):
        ranks = sorted(int((d.title or "").split("-")[1]) for d in group.documents)
        assert ranks == [0, 1, 2, RETRIEVED - 1]  # those with the answer, then the best ranked


@pytest.mark.parametrize(
    ("labels", "changes", "problem"),
    [
        ("support", {}, 'line 1: no document has "spans", "support" or "gold": .* labels = "string"'),
        ("string", {"answers": []}, 'line 1: it has neither labels nor "answers"'),
        ("string", {"answers": ["Nowhere"]}, "line 1: no document holds one of its answers"),
        ("string", {"answers": ["yes"]}, "line 1: no document holds one of its answers"),
        ("string", {"answers": "Orvelle"}, r'line 1: expected "answers": \[string'),
        ("string", {"answers": None}, r'line 1: expected "answers": \[string'),
        ("string", {"docs": None}, 'line 1: expected "docs"'),
        ("string", {"docs": ["a text"]}, 'line 1: expected "docs"'),
        ("string", {"docs": []}, 'line 1: "docs" is empty'),
        ("string", {"question": " "}, 'line 1: "question" is empty'),
        ("string", {"question": None}, 'line 1: expected "id" and "question"'),
    ],
)
def test_names_what_is_missing(tmp_path: Path, labels: Labels, changes: dict[str, Any], problem: str) -> None:
    rows = [make_row(number, **changes) for number in range(3)]
    with pytest.raises(ValueError, match=rf"own\.jsonl\.gz[\s\S]*{problem}"):
        prepare(tmp_path, rows, labels)


def test_reports_questions_that_teach_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [make_row(number) for number in range(12)]
    rows[4]["answers"] = ["Nowhere"]
    run = prepare(tmp_path, rows)
    assert len(read_groups(run, "train")) == 8
    printed = capsys.readouterr().out
    assert "own.jsonl.gz: nothing can be learned from 1 of 12 questions.\nline 5: no document" in printed


def test_summaries_are_learned_from_answers_alone(tmp_path: Path) -> None:
    write_rows(tmp_path / "train/own.jsonl.gz", [make_row(number) for number in range(6)])
    recipe = Recipe({"own": 6}, smallest=60, largest=120)
    lessons = make_lessons(recipe, Compressor(threads=1), tmp_path / "lessons.jsonl", tmp_path)
    assert {lesson.source for lesson in lessons} == {"own"}
    for lesson in lessons:
        assert f"ferry of line {lesson.id} was built in" in lesson.summary
        assert "Coins" not in lesson.messages[1]["content"]  # holds the answer by chance


def test_relevance_is_learned_from_answers_alone(tmp_path: Path) -> None:
    write_rows(tmp_path / "train/own.jsonl.gz", [make_row(number) for number in range(6)])
    choices = make_choices(Candidates({"own": 6}, passages=RETRIEVED - 1, unanswered=0.0), tmp_path)
    assert len(choices) == 6
    for choice in choices:
        assert "was built in" in choice.passages[choice.relevant]
        assert not any("Coins" in passage for passage in choice.passages)
    with pytest.raises(ValueError, match="none of 6 questions of own has one gold passage among 10"):
        make_choices(Candidates({"own": 6}), tmp_path)


@pytest.mark.parametrize("make", ["summaries", "relevance"])
def test_unusable_sets_are_named(tmp_path: Path, make: str) -> None:
    def load(name: str) -> None:
        if make == "relevance":
            make_choices(Candidates({name: 6}), tmp_path)
        else:
            make_lessons(Recipe({name: 6}), Compressor(threads=1), tmp_path / "lessons.jsonl", tmp_path)

    write_rows(
        tmp_path / "train/own.jsonl.gz", [make_row(number, answers=["Nowhere"]) for number in range(6)]
    )
    with pytest.raises(ValueError, match="nothing can be learned from 6 of 6 questions"):
        load("own")
    with pytest.raises(ValueError, match=r"other\.jsonl\.gz does not exist"):
        load("other")


@pytest.mark.parametrize("end", ["jsonl", "jsonl.gz"])
def test_policies_are_trained_on_answers_alone(
    tmp_path: Path, end: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [make_row(number) for number in range(4)]
    rows += [make_row(4, answers=["Nowhere"]), make_row(5, answers=[])]
    file = tmp_path / f"own.{end}"
    write_rows(tmp_path / "own.jsonl.gz", rows)
    if end == "jsonl":
        file.write_bytes(gzip.decompress((tmp_path / "own.jsonl.gz").read_bytes()))
    recipe = read_settings(rl.Recipe, Path(__file__).parents[2] / "training/runs/verl/supo.toml")
    questions, documents = rl.load_questions(replace(recipe, data=[str(file)]))
    assert sorted(q.id for q in questions) == [f"own-{number}" for number in range(1, 5)]
    assert all(len(q.documents) == 2 for q in questions)
    assert len(documents) == 6 * RETRIEVED
    printed = capsys.readouterr().out
    assert "2 of 6 questions are left out: 1 have no answer, of 1 no document holds an answer" in printed


RECORDS = json.dumps(
    [{"berth": n, "boat": f"boat {n}", "note": f"moored at noon on day {n}"} for n in range(400)], indent=1
)


def make_question(number: int, text: str, evidence: tuple[str, ...]) -> Question:
    return Question(f"boats-{number}", "json", f"boats_{number}", "Which boat?", ("7",), evidence, text)


def test_a_result_is_opened_into_the_parts_that_compete() -> None:
    units = open_result(RECORDS)
    assert len(units) > 300
    assert any('"boat 7"' in RECORDS[a:b] and '"boat 8"' not in RECORDS[a:b] for a, b in units)
    assert all(a < b for a, b in units)
    assert units == sorted(units)


def test_training_reads_a_part_of_a_long_result_with_all_that_is_needed() -> None:
    units = [(100 * n, 100 * n + 90) for n in range(1000)]
    labels = [int(n in (3, 700)) for n in range(1000)]
    near = choose_near(units, labels, random.Random(1))
    assert {3, 700} <= set(near)
    assert {2, 4, 699, 701} <= set(near)
    length = sum(units[n][1] - units[n][0] for n in near)
    assert ENOUGH <= length <= ENOUGH + 2 * AROUND + 200
    assert choose_near(units[:5], labels[:5], random.Random(1)) == [0, 1, 2, 3, 4]


def test_rows_become_groups_with_their_evidence_labelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    questions = [make_question(n, f"{RECORDS}\n# list {n}", ('"boat": "boat 7",',)) for n in range(12)]
    questions.append(replace(questions[0], id="tides-1", text=f"tides\n{RECORDS}", evidence=('"boat 9"',)))
    monkeypatch.setattr(tool_questions, "load", lambda *_: Loaded(tuple(questions), ("gone-1",)))
    file = tmp_path / "data" / "train" / "tool_results.jsonl.gz"
    assert tool_questions.main(["--out", str(file), "--python", sys.executable]) == 1
    assert "gone-1: its evidence is not in its result" in capsys.readouterr().err
    with gzip.open(file, "rt", encoding="utf-8") as rows:
        assert len(rows.readlines()) == 13
    config = DataConfig(questions={"tool_results": 20}, heldout={"tool_results": 1}, negatives=0)
    prepare_groups(tmp_path / "data", tmp_path / "run", config, seed=1)
    train, heldout = (read_groups(tmp_path / "run", part) for part in ("train", "heldout"))
    assert train
    assert heldout
    for group in [*train, *heldout]:
        (document,) = group.documents
        needed = [document.text[a:b] for (a, b), y in zip(document.units, document.labels, strict=True) if y]
        assert len(needed) == 1
        assert "boat 7" in needed[0] or "boat 9" in needed[0]
    lengths = [sum(b - a for a, b in group.documents[0].units) for group in train]
    assert max(lengths) < len(RECORDS) / 2
