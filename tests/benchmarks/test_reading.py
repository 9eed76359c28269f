"""Contexts, prompts and answers on the fixture data, from the first step to the tables; published rows."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from benchmarks.pages import BASELINES
from benchmarks.quality.controls import HeadScorer
from benchmarks.reading import collect, meetings, tables
from benchmarks.reading.contexts import ALL, PairScorer
from benchmarks.reading.rows import ROWS, append, get_key, read_contexts
from benchmarks.reading.tables import MEAN, make_tables
from benchmarks.rows import Line, read_lines, write_lines
from benchmarks.table import Record
from tersely import Compressor
from tersely.errors import InvalidInputError
from tersely.score import DocumentScores, ScoredInput


@pytest.fixture(scope="module")
def work(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the contexts of three questions of two sets."""
    folder = tmp_path_factory.mktemp("work")
    assert (
        collect.main(["compress", str(folder), "--data", str(data), "--sets", "hotpotqa", "--limit", "3"])
        == 0
    )
    return folder


def test_all_systems_get_the_same_sizes_of_every_question(work: Path) -> None:
    contexts = read_contexts(work)
    by_question = {
        key: [(c.system, c.size) for c in own] for key, own in groupby(contexts, lambda c: (c.set, c.id))
    }
    assert len(by_question) == 3
    assert len({tuple(own) for own in by_question.values()}) == 1
    assert len(contexts) == len({c.key for c in contexts}) == 3 * 38
    for context in contexts:
        share = 1.0 if context.size in ("all", "recall 0.95") else float(context.size)
        assert context.tokens <= share * context.before + 1
        if context.size == "all":
            assert context.system == ALL


def test_a_stopped_step_goes_on(work: Path, data: Path, tmp_path: Path) -> None:
    lines = (work / "contexts.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    cut = "".join(lines[:50]) + lines[50][:20]  # within the second question
    (tmp_path / "contexts.jsonl").write_text(cut, encoding="utf-8")
    collect.main(["compress", str(tmp_path), "--data", str(data), "--sets", "hotpotqa", "--limit", "3"])
    assert {c.key: c for c in read_contexts(tmp_path)} == {c.key: c for c in read_contexts(work)}


def test_prompts_that_are_answered_elsewhere_come_back(work: Path, tmp_path: Path) -> None:
    prompts = tmp_path / "prompts"
    assert (
        collect.main(["prompts", str(work), "--out", str(prompts), "--batches", "40", "--name", "people"])
        == 0
    )
    files = sorted(prompts.glob("prompts-*.jsonl"))
    rows = {file.name: list(read_lines(file)) for file in files}
    for own in rows.values():
        assert len({row["question"] for row in own}) == len(own)
    texts = {(c.question, c.text) for c in read_contexts(work)}
    assert {(row["question"], row["context"]) for own in rows.values() for row in own} == texts
    for name, own in rows.items():
        answers = [{"id": row["id"], "answer": row["context"][:20]} for row in own]
        path = prompts / name.replace("prompts", "answers")
        path.write_text("".join(json.dumps(a) + "\n" for a in answers), encoding="utf-8")
    asked = ["ask", str(work), "--reader", f"file:{prompts}", "--name", "people"]
    assert collect.main(asked) == 0
    answers = list(read_lines(work / "answers-people.jsonl"))
    by_key = {c.key: c for c in read_contexts(work)}
    assert len(answers) == len(by_key)
    assert all(answer["answer"] == by_key[get_key(answer)].text[:20] for answer in answers)
    assert collect.main(asked) == 0
    assert len(list(read_lines(work / "answers-people.jsonl"))) == len(by_key)  # none is asked again
    assert collect.main(["prompts", str(work), "--out", str(tmp_path / "rest"), "--name", "people"]) == 0
    assert not (tmp_path / "rest" / "prompts-01.jsonl").read_text(encoding="utf-8")


def test_too_few_batches_and_bad_answers_are_named(
    work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert collect.main(["prompts", str(work), "--out", str(tmp_path), "--batches", "3", "--name", "x"]) == 1
    assert "3 batches are too few" in capsys.readouterr().err
    (tmp_path / "answers-1.jsonl").write_text('{"id": "a", "answer": "b"}\n{"id": "c"}\n', encoding="utf-8")
    with pytest.raises(InvalidInputError, match=r'line 2 of .* is not a JSON object with "id" and "answer"'):
        collect.open_reader(f"file:{tmp_path}")
    with pytest.raises(InvalidInputError, match="neither a file of answers nor a folder"):
        collect.open_reader(f"file:{tmp_path / 'missing'}")


def test_an_unfinished_last_line_is_written_again(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    first, second = ({"set": "s", "id": key, "answer": "x"} for key in "ab")
    append(path, [first])
    with path.open("a", encoding="utf-8") as stream:
        stream.write('{"set": "s", "id"')
    assert list(read_lines(path)) == [first]
    append(path, [second])
    assert list(read_lines(path)) == [first, second]


def test_leads_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "FEWEST", 1)

    def give(name: str, key: str, system: str, size: str, f1: float) -> Line:
        scores = {"em": int(f1), "f1": f1, "abstained": int(not f1)}
        return {"set": name, "id": key, "system": system, "size": size, **scores}

    answers = [
        *(give("squad", key, "tersely", "0.1", f1) for key, f1 in (("a", 1.0), ("b", 0.0))),
        *(give("squad", key, "BM25", "0.1", f1) for key, f1 in (("a", 0.0), ("b", 0.0))),
        *(give("squad", key, ALL, "all", f1) for key, f1 in (("a", 1.0), ("b", 1.0))),
        give("hotpotqa", "c", "tersely", "0.1", 1.0),
        give("hotpotqa", "c", "BM25", "0.1", 0.0),
    ]
    sizes = {get_key(a): {"tokens": 10 if a["size"] == "0.1" else 100, "before": 100} for a in answers}
    read, leads = make_tables({"people": answers}, sizes, seed=1)
    row = read.find(set="SQuAD, 10 hard negatives", system="tersely")
    assert (row["questions"], row["tokens"], row["exact"], row["abstained"]) == (2, 0.1, 0.5, 0.5)

    def lead(name: str, against: str) -> float:
        return leads.find(set=name, against=against)["lead in F1"].value

    assert lead("SQuAD, 10 hard negatives", "BM25") == 0.5
    assert lead("SQuAD, 10 hard negatives", ALL) == -0.5
    assert lead(MEAN, "BM25") == 0.75  # the sets count alike, not the questions
    assert not leads.select(set=MEAN, against=ALL)  # only one set has both


class SecondScorer(HeadScorer):
    """A scorer that wants only the second unit of each document."""

    def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
        return [DocumentScores(1.0, [float(at == 1) for at in range(len(d.units))]) for d in documents]


def test_a_sentence_comes_with_the_one_before() -> None:
    text = "The crane was built in 1871. It still works. The museum is closed. Entry is free."
    plain, paired = Compressor(SecondScorer()), Compressor(PairScorer(SecondScorer()))
    assert plain.compress("Which crane still works?", [text], budget=5).text == "It still works."
    both = "The crane was built in 1871. It still works."
    assert paired.compress("Which crane still works?", [text], budget=15).text == both


def test_questions_about_meetings_find_their_answers_in_the_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "Ada: The lamp costs nine crowns.\nBen: Then we take two."
    folder = tmp_path / "eval"
    folder.mkdir()
    write_lines(folder / "qmsum.docs.jsonl.gz", [{"docs_ref": "val/X1", "docs": [{"text": text}]}])
    start = text.index("nine crowns")
    place = [start, start + 11, zlib.crc32(b"nine crowns")]
    row: dict[str, Any] = {
        "id": "X1-1",
        "meeting": "val/X1",
        "question": "What is the price?",
        "answer": place,
        "also": ["9"],
    }
    monkeypatch.setattr(meetings, "FILE", tmp_path / "meetings.jsonl")
    meetings.FILE.write_text(json.dumps(row) + "\n", encoding="utf-8")
    (example,) = meetings.load_meetings(str(tmp_path), 5)
    assert example.answers == ("nine crowns", "9")
    assert example.full_text == text
    row["answer"][0] += 1
    meetings.FILE.write_text(json.dumps(row) + "\n", encoding="utf-8")
    with pytest.raises(InvalidInputError, match="differs"):
        meetings.load_meetings(str(tmp_path), 5)


def test_published_rows_are_those_of_the_model_that_the_record_names() -> None:
    run = next(read_lines(ROWS / "contexts.jsonl.gz"))
    assert run["model"] == Record.read(BASELINES / "reading.json").model
