"""The quality benchmark on the fixture data, with a scorer that knows the answers in place of the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.quality.__main__ import merge
from benchmarks.quality.controls import (
    OURS,
    BM25Scorer,
    CachedScorer,
    DocumentScorer,
    HeadScorer,
    RandomScorer,
)
from benchmarks.quality.report import SINGLE_HOP, render, summarise
from benchmarks.quality.rows import OWN, RATES, SETTINGS, QualityRun, QuestionRows, TaskSummary
from benchmarks.quality.runner import run_task
from benchmarks.records import write_record
from benchmarks.shared.tasks import Example, load
from tersely.compressor import Compressor
from tersely.score import DocumentScores, ScoredInput, Scorer
from tersely.split.sentences import split_units
from tests.benchmarks.fakes import ENVIRONMENT, GoldScorer


@pytest.fixture(scope="module")
def examples(data: Path) -> list[Example]:
    return load("hotpotqa", "eval", data=data)


@pytest.fixture(scope="module")
def rows(examples: list[Example]) -> QuestionRows:
    scorer = GoldScorer()
    controls: dict[str, Scorer] = {
        "reranker": DocumentScorer(scorer),
        "random": RandomScorer(13),
        "head": HeadScorer(),
        "bm25": BM25Scorer(),
    }
    return run_task(examples, scorer, controls, slim=False, advance=lambda: None)


@pytest.fixture(scope="module")
def summary(rows: QuestionRows, examples: list[Example]) -> TaskSummary:
    return summarise("hotpotqa", "Fixture towns", examples, rows, seed=1)


@pytest.fixture
def run(summary: TaskSummary) -> QualityRun:
    return QualityRun(
        benchmark="quality",
        model="gold@0",
        split="eval",
        seed=1,
        limit=None,
        neighbours="mixed",
        rates=RATES,
        systems=("reranker", "random", "head", "bm25"),
        environment=ENVIRONMENT,
        tasks=(summary,),
    )


def test_every_system_stays_within_every_rate(rows: QuestionRows) -> None:
    for (_, setting), questions in rows.items():
        limit = 1.0 if setting == OWN else float(setting)
        assert len(questions) == 6
        assert all(row.tokens_after <= limit * row.tokens_before for row in questions)


def test_controls_get_as_many_tokens_as_tersely_took(rows: QuestionRows) -> None:
    for name in ("random", "head", "bm25"):
        pairs = zip(rows[name, OWN], rows[OURS, OWN], strict=True)
        assert all(theirs.tokens_after <= max(1, ours.tokens_after) for theirs, ours in pairs)


def test_a_scorer_that_knows_keeps_everything_and_chance_does_not(summary: TaskSummary) -> None:
    own = summary.find_cell(OURS, OWN)
    assert own.support is not None
    assert own.answers is not None
    assert own.support.value == own.answers.value == 1.0
    by_chance = summary.find_cell("random", "0.05").support
    assert by_chance is not None
    assert by_chance.value < 0.5
    assert summary.answerable == 5  # one of six is answered by yes
    assert summary.supports == 12


def test_tersely_is_compared_with_every_peer_that_ran(summary: TaskSummary) -> None:
    comparison = summary.find_comparison(OWN, "support")
    assert comparison is not None
    assert comparison.standing in ("ahead", "level")
    assert set(comparison.differences) == {"random", "head", "bm25"}


def test_the_report_names_systems_tasks_and_standings(run: QualityRun) -> None:
    text = render(run)
    for expected in (
        "### Fixture towns",
        "**tersely**",
        "BM25 sentences",
        "own threshold",
        "*ahead*",
        "rate 0.05",
    ):
        assert expected in text


def test_sets_with_one_hop_are_compared_together(run: QualityRun) -> None:
    assert "with one hop together" not in render(run)
    tasks = tuple(replace(run.tasks[0], name=name, title=name) for name in SINGLE_HOP)
    text = render(replace(run, tasks=tasks))
    assert "the 15 answers of qed_nq_30, squad, and wikiqa" in text
    (line,) = (line for line in text.splitlines() if line.startswith("| tersely - random sentences |"))
    assert line.count("*ahead*") + line.count("*level*") == len(SETTINGS)


def test_tasks_that_did_not_run_keep_their_record(run: QualityRun, tmp_path: Path) -> None:
    record = tmp_path / "quality.json"
    assert merge(run, record) == run
    old = (replace(run.tasks[0], name="squad"), replace(run.tasks[0], questions=99))
    write_record(record, replace(run, tasks=old))
    assert [(task.name, task.questions) for task in merge(run, record).tasks] == [
        ("hotpotqa", 6),
        ("squad", 6),
    ]
    assert merge(replace(run, seed=2), record).tasks == run.tasks  # of another seed nothing is kept


def test_one_scoring_serves_all_rates(examples: list[Example]) -> None:
    class Counting(BM25Scorer):
        calls = 0

        def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
            Counting.calls += 1
            return super().score(query, documents)

    compressor = Compressor(CachedScorer(Counting()))
    documents = [d.text for d in examples[0].documents]
    for rate in (0.3, 0.4, 0.5):
        compressor.compress(examples[0].question, documents, rate=rate)
    assert Counting.calls == 1
    compressor.compress("Which town exports barley?", documents, rate=0.5)
    assert Counting.calls == 2


def test_documents_by_relevance_come_whole_and_best_first(examples: list[Example]) -> None:
    class SecondIsRelevant:
        threshold = 0.5
        length_price = 0.0

        def score(self, query: str, documents: Sequence[ScoredInput]) -> list[DocumentScores]:
            scored = HeadScorer().score(query, documents)
            return [DocumentScores(float(i == 1), s.scores) for i, s in enumerate(scored)]

    texts = [document.text for document in examples[0].documents[:3]]
    documents = [ScoredInput(None, text, split_units(text)) for text in texts]
    scored = DocumentScorer(SecondIsRelevant()).score("any", documents)
    assert min(scored[1].scores) > max(*scored[0].scores, *scored[2].scores)
    assert list(scored[1].scores) == sorted(scored[1].scores, reverse=True)


def test_settings_are_the_rates_and_the_own_threshold() -> None:
    assert SETTINGS == ("0.05", "0.1", "0.25", "0.5", "own")
