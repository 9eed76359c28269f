"""Tests of the quality benchmark on the fixture data, with a scorer that knows the answers, LLMSlim, and
promised recall."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from benchmarks.quality import abstention, calibration
from benchmarks.quality.__main__ import make_tables
from benchmarks.quality.calibration import Part, mix
from benchmarks.quality.controls import (
    HEAD,
    OURS,
    RANDOM,
    WHOLE,
    WORDS,
    BM25Scorer,
    CachedScorer,
    DocumentScorer,
    HeadScorer,
    RandomScorer,
)
from benchmarks.quality.runner import OWN, QuestionRows, list_spans, read_rows, run_task
from benchmarks.quality.slim import compress_to, count_rendered, locate_pieces
from benchmarks.rows import Line
from benchmarks.shared.tasks import Example, load, score_kept
from benchmarks.table import Record, Table
from tersely.compressor import Compressor
from tersely.score import DocumentScores, ScoredInput, Scorer
from tests.benchmarks.fakes import GoldScorer

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def examples(data: Path) -> list[Example]:
    return load("hotpotqa", "eval", data=data)


@pytest.fixture(scope="module")
def lines(examples: list[Example]) -> list[Line]:
    scorer = GoldScorer()
    scorers: dict[str, Scorer] = {
        OURS: scorer,
        WHOLE: DocumentScorer(scorer),
        RANDOM: RandomScorer(13),
        HEAD: HeadScorer(),
        WORDS: BM25Scorer(),
    }
    return run_task("hotpotqa", examples, scorers, slim=False)


@pytest.fixture(scope="module")
def tables(lines: list[Line]) -> dict[str, Table]:
    return {table.title: table for table in make_tables(json.loads(json.dumps(lines)), seed=1)}


def test_every_system_stays_within_every_rate(lines: list[Line]) -> None:
    rows: QuestionRows = read_rows(lines)
    for (system, setting), questions in rows.items():
        assert len(questions) == 6
        for row in questions:
            limit = row["tokens_before"] * (1.0 if setting == OWN else float(setting))
            assert row["tokens_after"] <= limit, system


def test_lines_have_what_tersely_keeps_of_each_question(examples: list[Example], lines: list[Line]) -> None:
    assert [line["id"] for line in lines] == [example.id for example in examples]
    for example, line in zip(examples, lines, strict=True):
        score = score_kept(example, line["kept"][OWN])
        assert line["systems"][OURS].get("answers", [None])[-1] == score.answer_kept


def test_a_scorer_that_knows_keeps_everything(tables: dict[str, Table]) -> None:
    assert tables["Answers"].find(system=OURS, rate=OWN)["answers kept"].value == 1.0
    assert tables["Support"].find(system=OURS, rate=OWN)["support kept"].value == 1.0
    assert tables["Support"].find(system=RANDOM, rate="0.05")["support kept"].value < 0.5
    (described,) = tables["Sets"].rows
    assert described["with an answer"] == 5  # one of six is answered by yes
    assert described["supporting sentences"] == 12
    assert described["unanswerable"] is None


def test_tersely_is_compared_with_every_peer(tables: dict[str, Table]) -> None:
    leads = tables["Lead over each peer"].select(rate="0.25", kept="support")
    assert [row["peer"] for row in leads] == [RANDOM, HEAD, WORDS]
    strongest = tables["Lead over the strongest peer"].find(rate="0.25", kept="support")
    assert strongest["lead"].low == min(row["lead"].low for row in leads)
    assert strongest["standing"] in ("ahead", "level")


def test_one_scoring_serves_all_rates(examples: list[Example]) -> None:
    asked: list[str] = []

    class Recording(BM25Scorer):
        def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
            asked.append(query)
            return super().score(query, documents)

    compressor = Compressor(CachedScorer(Recording()))
    for question in ("Which town exports salt?", "Which town exports barley?"):
        for rate in (0.3, 0.4, 0.5):
            compressor.compress(question, examples[0].to_documents(), rate=rate)
    assert asked == ["Which town exports salt?", "Which town exports barley?"]


def test_output_is_located_in_its_source() -> None:
    source = "Title: X\nOne is first. Two is second.  Three is third. Four is last."
    output = "Title: X\nOne is first. Two is second. ... Four is last."
    pieces = locate_pieces(source, output)
    assert [source[start:end] for start, end in pieces] == [
        "Title: X",
        "One is first. Two is second.",
        "Four is last.",
    ]
    assert locate_pieces(source, "not in there") == []


def test_tokens_are_counted_as_a_compression_renders_them(examples: list[Example]) -> None:
    compressor = Compressor(BM25Scorer())
    example = examples[0]
    result = compressor.compress(example.question, example.to_documents(), rate=0.4)
    kept = list_spans(result)
    assert count_rendered(example, kept, compressor.count_tokens) == result.tokens_after
    assert count_rendered(example, [], compressor.count_tokens) == 0


def test_llmslim_stays_within_the_budget(
    examples: list[Example], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("llmslim")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    count = Compressor(BM25Scorer()).count_tokens
    kept = compress_to(examples[0], 120, count)
    assert kept
    assert count_rendered(examples[0], kept, count) <= 120
    assert compress_to(examples[0], 120, count) == kept  # from the cache
    assert compress_to(examples[0], 0, count) == []


def test_parts_are_mixed_in_the_proportions_of_the_calibration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "RECALLS", (0.9,))

    def make_part(name: str, rate: float, kept: Sequence[int], represented: int) -> list[Line]:
        results = [{"0.9": {"answer": answer, "rate": rate}} for answer in kept]
        return [{"part": name, "represented": represented, "recalls": recalls} for recalls in results]

    (mixed,) = mix([make_part("A", 0.4, (1, 1, 0, 0), 15), make_part("B", 0.2, (1, 1), 5)])
    assert mixed["promised"] == 0.9
    assert mixed["rate"] == pytest.approx(0.75 * 0.4 + 0.25 * 0.2)
    kept = mixed["kept"]
    assert kept.value == pytest.approx(0.75 * 0.5 + 0.25 * 1.0)
    assert kept.high - kept.value == pytest.approx(1.96 * (0.75**2 * 0.25 / 4) ** 0.5, abs=1e-4)


def test_a_higher_promise_keeps_more(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "PROMISED", (Part("hotpotqa", "HotpotQA dev", ("hotpotqa",)),))
    monkeypatch.setattr(calibration, "OTHER", (Part("hotpotqa", "again"),))
    monkeypatch.setattr(calibration, "RECALLS", (0.5, 0.8))
    out = tmp_path / "calibration.json"
    assert calibration.main(["--data", str(data), "--out", str(out)]) == 0
    record = Record.read(out)
    table = record.find("What is kept")
    low, high = (table.find(set="HotpotQA dev", promised=recall) for recall in (0.5, 0.8))
    assert low["questions"] == 5  # one of six is answered by yes
    assert sum(high["kept"]) >= sum(low["kept"])
    assert high["rate"] >= low["rate"]
    assert "hotpotqa" in str(record.settings["calibrated on"])


def test_abstention_is_compared_with_other_scores(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(abstention, "SETS", ("hotpotqa", "packages"))
    monkeypatch.setattr(abstention, "FEWEST", 2)
    monkeypatch.setattr(abstention, "_rate_cosine", lambda question, documents: float(len(documents)))
    out = tmp_path / "abstention.json"
    assert abstention.main(["--data", str(data), "--out", str(out)]) == 0
    record = Record.read(out)
    curve = record.find("Questions without an answer that are refused")
    # Both sides of a question have equally many documents, so their number tells nothing.
    assert {row["AUROC"] for row in curve.select(score=abstention.MINILM)} == {0.5}
    assert {row["score"] for row in curve.rows} >= {OURS, abstention.BEST, abstention.WORDS}
    row, whole, domain = record.find("What is kept if 90% are promised").rows
    assert domain["set"] == f"of these: {abstention.OTHER_DOMAIN}"
    assert {**domain, "set": ""} == {**whole, "set": ""}  # all questions of this set are of one domain
    assert len(row["let through"]) == len(row["refused"]) == row["questions"]


def test_every_domain_of_the_package_questions_gets_a_row() -> None:
    lines = (ROOT / "training/package_questions/questions.jsonl").read_text(encoding="utf-8").splitlines()
    held_out = [row for row in map(json.loads, lines) if row["split"] == "held_out"]
    counts = Counter(abstention.find_domain(f"{row['package']} README.md § Use") for row in held_out)
    assert counts.keys() == {*abstention.DOMAINS, abstention.OTHER_DOMAIN}
    assert min(counts.values()) >= abstention.FEWEST
    assert len(held_out) <= abstention.MORE * 150


def test_a_curve_counts_what_lies_below_the_threshold() -> None:
    scores = abstention.Scores(np.array([0.2, 0.6, 0.7, 0.9]), np.array([0.1, 0.3, 0.65, 0.9]))
    assert scores.refused(0.0) == (1.0, 0.0, 0.0, 0.0)
    assert scores.refused(0.25) == (1.0, 1.0, 0.0, 0.0)
    assert scores.area() == pytest.approx((1 + 2 + 3 + 3.5) / 16)
