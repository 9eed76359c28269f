"""Questions on package documentation: their rows, and the checks of the files that they refer to."""

from __future__ import annotations

import gzip
import hashlib
import itertools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.shared.tasks import negatives
from tersely.metrics import Range
from training.adapt import questions as adapt
from training.package_questions import __main__ as command
from training.package_questions.build import Corpus, render_table
from training.package_questions.fetch import list_download_command
from training.package_questions.passages import PASSAGE, split_text
from training.package_questions.texts import PackageQuestion, extract_html, read_questions, read_text
from training.selector_model.groups import label_document
from training.selector_model.questions import parse_question

KINDS = {"why", "how", "option", "not", "compare", "number", "code"}
FILLER = "The harbour keeps a list of boats and their moorings, which changes daily. " * 12

MARKDOWN = f"""# Ferry

{FILLER}

## Departures

The ferry sails at noon.
It waits for the post.

## Cargo

Barley is cheap. {FILLER}

## Crew

The ferry has a crew of four.
"""
MANUAL = "Tides\n=====\n\nThe tide turns twice a day.\n"
PAGE = """<html><head><title>No</title></head><body><nav>Menu</nav><h1>Fares</h1><p>A  ticket &amp; a seat
cost <b>three</b> coins.<ul><li>Dogs<li>Bikes</ul><table><tr><th>Day<td>Fare</table><pre>a  b

  c</pre><!-- no --><script>no()</script><br/>End&nbsp;</body></html>"""
PAGE_TEXT = (
    "Fares\n\nA ticket & a seat cost three coins.\n\n- Dogs\n- Bikes\n\n | Day | Fare\n\na  b\n\n  c\n\nEnd\n"
)

TEXTS = {"README.md": MARKDOWN, "docs/manual.txt.gz": MANUAL, "docs/fares.html": PAGE_TEXT}


def ask(packages: Path, file: str, question: str, evidence: str, **values: Any) -> PackageQuestion:
    start = TEXTS[file].index(evidence)
    found: dict[str, Any] = {
        "id": file,
        "question": question,
        "answer": "unknown",
        "kind": "how",
        "package": "ferry",
        "version": "1.0",
        "origin": "npm",
        "file": file,
        "sha256": hashlib.sha256((packages / "ferry-1.0" / file).read_bytes()).hexdigest(),
        "evidence": ((start, start + len(evidence)),),
        "split": "train",
    }
    return PackageQuestion(**{**found, **values})


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    folder = tmp_path / "ferry-1.0"
    (folder / "docs").mkdir(parents=True)
    (folder / "README.md").write_text(MARKDOWN, encoding="utf-8")
    (folder / "docs/manual.txt.gz").write_bytes(gzip.compress(MANUAL.encode()))
    (folder / "docs/fares.html").write_text(PAGE, encoding="utf-8")
    return tmp_path


@pytest.fixture
def questions(packages: Path) -> list[PackageQuestion]:
    manual, fares = "docs/manual.txt.gz", "docs/fares.html"
    return [
        ask(packages, "README.md", "When does the ferry leave?", "The ferry sails at noon."),
        ask(packages, manual, "How often is high water?", "The tide turns twice a day.", extract="gzip"),
        ask(packages, fares, "What do I pay?", "A ticket & a seat cost three coins.", extract="html"),
    ]


def test_rows_point_to_the_evidence(packages: Path, questions: list[PackageQuestion]) -> None:
    corpus = Corpus(packages, questions, "bm25")
    assert corpus.problems == []
    for question in questions:
        row = corpus.make_row(question, negatives=2)
        gold = [doc for doc in row["docs"] if doc["gold"]]
        (a, b), text = question.evidence[0], read_text(packages, question)
        assert len(gold) == 1
        assert gold[0]["sentences"] == [text[a:b]]
        assert gold[0]["support"] == [0]
        parsed = parse_question(row)
        assert parsed.articles == (f"ferry {Path(question.file).name.removesuffix('.gz')}".lower(),)
        assert 1 in label_document(parsed.passage).labels
    assert corpus.make_row(questions[0], 0)["docs"][0]["title"] == "ferry README.md § Departures"
    assert "split train                            3  67%" in render_table(corpus)


def test_adapting_takes_the_requests(
    packages: Path, questions: list[PackageQuestion], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "read_questions", lambda: questions)
    out = tmp_path / "own.jsonl"
    build = ["build", "--packages", str(packages), "--requests", "--neighbours", "bm25", "--out", str(out)]
    assert command.main([*build, "--only", "ferry"]) == 0
    monkeypatch.setattr(adapt, "FEWEST", 3)
    groups, unlabelled = adapt.read_questions(out)
    assert (len(groups), unlabelled) == (3, 0)
    needed = {
        d.text[start:end]
        for group in groups
        for d in group.documents
        for (start, end), label in zip(d.units, d.labels, strict=True)
        if label == 1
    }
    assert "The tide turns twice a day." in needed
    command.main([*build, "--only", "raft"])
    assert out.read_text(encoding="utf-8") == ""


def test_negatives_come_from_the_same_package_and_split(
    packages: Path, questions: list[PackageQuestion]
) -> None:
    other = packages / "boat-2.0" / "README.md"
    other.parent.mkdir()
    other.write_text(MARKDOWN.replace("of four", "of five"), encoding="utf-8")
    checksum = hashlib.sha256(other.read_bytes()).hexdigest()
    boat = replace(questions[0], id="boat", package="boat", version="2.0", sha256=checksum)
    held_out = replace(questions[1], split="held_out")
    corpus = Corpus(packages, [questions[0], held_out, boat], "bm25")
    docs = corpus.make_row(questions[0], negatives=9)["docs"][1:]
    titles = [doc["title"] for doc in docs]
    assert titles[:2] == ["ferry README.md § Crew", "ferry README.md § Ferry"]
    assert titles[-1] == "boat README.md § Crew"  # its other passages are copies
    assert not any(doc["gold"] or doc["support"] or "manual" in doc["title"] for doc in docs)


def test_negatives_come_from_embeddings_too(
    packages: Path, questions: list[PackageQuestion], monkeypatch: pytest.MonkeyPatch
) -> None:
    def embed(texts: Sequence[str], _: object = None) -> NDArray[np.float32]:
        is_near = ["leave?" in text or "coins" in text for text in texts]
        return np.array([[near, not near] for near in is_near], np.float32)

    monkeypatch.setattr(negatives, "embed_cached", embed)
    first: dict[str, list[str]] = {}
    for neighbours in get_args(negatives.Neighbours):
        row = Corpus(packages, questions, neighbours).make_row(questions[0], 2)
        first[neighbours] = [doc["title"] for doc in row["docs"][1:]]
    assert "ferry fares.html" in first["mixed"]
    assert "ferry fares.html" not in first["bm25"]


def test_problems_are_named(packages: Path, questions: list[PackageQuestion]) -> None:
    (packages / "ferry-1.0/README.md").write_text("changed", encoding="utf-8")
    (packages / "ferry-1.0/docs/fares.html").unlink()
    missing = [replace(questions[0], package="raft", file=f"{i}.md") for i in range(2)]
    corpus = Corpus(packages, [*questions, *missing], "bm25")
    assert corpus.questions == questions[1:2]
    assert corpus.problems == [
        f"ferry-1.0/README.md: expected sha256 {questions[0].sha256}, "
        f"found {hashlib.sha256(b'changed').hexdigest()}",
        "ferry-1.0/docs/fares.html: the file is missing",
        "raft-1.0: the package is missing",
    ]


def test_html_becomes_lines_of_text() -> None:
    assert extract_html(PAGE) == PAGE_TEXT


def test_passages_hold_the_whole_text() -> None:
    text = f"{FILLER}\n{'word ' * 900}\n\n```\n\n# not a heading\n```\n\n{FILLER}\n\nLast\n----\n\nEnd.\n"
    passages = split_text(text, marks_headings=True)
    assert all(text[p.start : p.end] == p.text and len(p.text) <= PASSAGE for p in passages)
    assert "".join("".join(p.text for p in passages).split()) == "".join(text.split())
    assert {p.heading for p in passages} == {None, "Last"}


@pytest.mark.parametrize(
    ("origin", "end"),
    [("pypi", "ferry==1.0"), ("npm", "ferry@1.0"), ("debian", "ferry=1.0")],
)
def test_download_names_the_version(questions: list[PackageQuestion], origin: Any, end: str) -> None:
    assert list_download_command(replace(questions[0], origin=origin))[-1] == end


def test_committed_questions_are_well_formed() -> None:
    rows = list(read_questions())
    assert len({q.id for q in rows}) == len({q.question for q in rows}) == len(rows)
    assert {q.kind for q in rows} == KINDS
    assert {q.split for q in rows} == {"train", "held_out"}
    splits: defaultdict[tuple[str, str | None], set[str]] = defaultdict(set)
    for q in rows:
        splits[q.path, q.section].add(q.split)
        bounds: list[Range] = [(0, 0), *q.evidence]
        assert q.answer
        assert len(q.sha256) == 64
        assert q.evidence, q.id
        assert all(a < b for a, b in q.evidence), q.id
        assert all(x[1] <= y[0] for x, y in itertools.pairwise(bounds)), q.id
    # The chapters of three long files are split separately.
    assert all(len(found) == 1 for found in splits.values())
