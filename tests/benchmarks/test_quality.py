"""The quality benchmark end to end, on the fixture data and with BM25 in the place of the model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.quality import report
from benchmarks.quality.controls import BM25Scorer, DocumentScorer, HeadScorer, RandomScorer, Scorer
from benchmarks.quality.runner import OURS, OWN, Cells, Remembering, run_task, settings
from benchmarks.quality.slim import locate_pieces, measure, slim_keep
from benchmarks.results import fill_section, processor
from benchmarks.shared.tasks import Example, load
from tersely.compressor import Compressor
from tersely.selector import DocumentScores, ScoredInput
from tersely.text.sentences import split_units


class GoldScorer:
    """Knows the supporting sentences, so that the expected numbers are known too."""

    threshold = 0.5
    length_price = 0.0

    def score(self, query: str, documents: list[ScoredInput]) -> list[DocumentScores]:
        founder = query.partition("founded by ")[2].removesuffix(" export?")
        return (
            HeadScorer().score(query, documents)
            if not founder
            else [self._one(d, founder) for d in documents]
        )

    def _one(self, document: ScoredInput, founder: str) -> DocumentScores:
        wanted = [founder in document.text and 0 < i < 3 for i in range(len(document.units))]
        scores = np.array(wanted, float)
        return DocumentScores(float(scores.max()), scores)


@pytest.fixture(scope="module")
def examples(data: Path) -> list[Example]:
    return load("hotpotqa", "eval", data=data)


@pytest.fixture(scope="module")
def cells(examples: list[Example]) -> Cells:
    scorer = GoldScorer()
    controls: dict[str, Scorer] = {
        "reranker": DocumentScorer(scorer),
        "random": RandomScorer(13),
        "head": HeadScorer(),
        "bm25": BM25Scorer(),
    }
    return run_task(examples, scorer, controls, slim=False, advance=lambda: None)


def test_every_system_stays_within_every_rate(cells: Cells) -> None:
    for by_setting in cells.values():
        for setting in settings():
            cell = by_setting[setting]
            limit = [1.0] * 6 if setting == OWN else [float(setting)] * 6
            assert all(
                after <= share * before
                for after, before, share in zip(cell.after, cell.before, limit, strict=True)
            )
            assert len(cell.answers) == 6


def test_controls_get_as_many_tokens_as_tersely_took(cells: Cells) -> None:
    for name in ("random", "head", "bm25"):
        spent = zip(cells[name][OWN].after, cells[OURS][OWN].after, strict=True)
        assert all(theirs <= max(1, ours) for theirs, ours in spent)


def test_a_scorer_that_knows_keeps_everything_and_chance_does_not(
    cells: Cells, examples: list[Example]
) -> None:
    summary = report.summarise("fixture", examples, cells, seed=1)
    ours = summary["systems"][OURS]
    assert ours[OWN]["support"]["value"] == 1.0
    assert ours[OWN]["answers"]["value"] == 1.0
    assert summary["systems"]["random"]["0.05"]["support"]["value"] < 0.5
    assert summary["answerable"] == 5  # one of six is answered by yes
    assert summary["supports"] == 12
    assert summary["against"][OWN]["support"]["verdict"] in ("ahead", "level")
    assert set(summary["against"][OWN]["support"]["peers"]) == {"random", "head", "bm25"}


def test_the_report_names_systems_tasks_and_verdicts(cells: Cells, examples: list[Example]) -> None:
    result = {
        "model": "gold@0",
        "split": "eval",
        "seed": 1,
        "environment": {
            "cpu": "x",
            "cores": 1,
            "memory_gb": 1,
            "system": "s",
            "python": "3",
            "packages": {},
            "date": "2026-01-01",
        },
        "tasks": {"hotpotqa": report.summarise("Fixture towns", examples, cells, seed=1)},
    }
    text = report.markdown(result)
    for expected in (
        "### Fixture towns",
        "**tersely**",
        "BM25 sentences",
        "own threshold",
        "*ahead*",
        "rate 0.05",
    ):
        assert expected in text


def test_one_scoring_serves_all_rates(examples: list[Example]) -> None:
    class Counting(BM25Scorer):
        calls = 0

        def score(self, query: str, documents: list[ScoredInput]) -> list[DocumentScores]:
            Counting.calls += 1
            return super().score(query, documents)

    compressor = Compressor(Remembering(Counting()))
    documents = [d.text for d in examples[0].documents]
    for rate in (0.3, 0.4, 0.5):
        compressor.compress(examples[0].question, documents, rate=rate)
    assert Counting.calls == 1
    compressor.compress("Which town exports barley?", documents, rate=0.5)
    assert Counting.calls == 2


def test_documents_by_relevance_come_whole_and_best_first(examples: list[Example]) -> None:
    class Relevant:
        threshold = 0.5
        length_price = 0.0

        def score(self, query: str, documents: list[ScoredInput]) -> list[DocumentScores]:
            scored = HeadScorer().score(query, documents)
            return [DocumentScores(float(i == 1), s.scores) for i, s in enumerate(scored)]

    texts = [document.text for document in examples[0].documents[:3]]
    given = [ScoredInput(None, text, split_units(text)) for text in texts]
    scored = DocumentScorer(Relevant()).score("any", given)
    assert scored[1].scores.min() > max(scored[0].scores.max(), scored[2].scores.max())
    assert list(scored[1].scores) == sorted(scored[1].scores, reverse=True)


def test_output_of_a_peer_is_found_in_its_source() -> None:
    source = "Title: X\nOne is first. Two is second.  Three is third. Four is last."
    output = "Title: X\nOne is first. Two is second. ... Four is last."
    pieces = locate_pieces(source, output)
    assert [source[start:end] for start, end in pieces] == [
        "Title: X",
        "One is first. Two is second.",
        "Four is last.",
    ]
    assert locate_pieces(source, "not in there") == []


def test_measure_counts_what_a_compression_renders(examples: list[Example]) -> None:
    from tersely import Document

    example = examples[0]
    compressor = Compressor(BM25Scorer())
    documents = [Document(d.text, d.title) for d in example.documents]
    result = compressor.compress(example.question, documents, rate=0.4)
    kept = [(span.doc, span.start, span.end) for span in result.kept]
    assert measure(example, kept, compressor.token_counter.count) == result.tokens_after
    assert measure(example, [], compressor.token_counter.count) == 0


def test_llmslim_spends_the_same_budget(
    examples: list[Example], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("llmslim")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    count = Compressor(BM25Scorer()).token_counter.count
    kept = slim_keep(examples[0], 120, count)
    assert kept
    assert measure(examples[0], kept, count) <= 120
    assert slim_keep(examples[0], 120, count) == kept  # from the cache
    assert slim_keep(examples[0], 0, count) == []


def test_only_the_marked_section_is_replaced(tmp_path: Path) -> None:
    page = tmp_path / "RESULTS.md"
    page.write_text("before\n<!-- quality:begin -->\nold\n<!-- quality:end -->\nafter\n", encoding="utf-8")
    fill_section("quality", "new \\1", page)
    assert page.read_text(encoding="utf-8") == (
        "before\n<!-- quality:begin -->\n\nnew \\1\n\n<!-- quality:end -->\nafter\n"
    )
    with pytest.raises(ValueError, match="latency:begin"):
        fill_section("latency", "text", page)


def test_a_processor_is_named_with_its_widest_instructions(tmp_path: Path) -> None:
    info = tmp_path / "cpuinfo"
    core = "processor\t: {}\nmodel name\t: AMD EPYC\nflags\t\t: fpu avx2 avx512_vnni bf16\n\n"
    info.write_text("".join(map(core.format, range(2))), encoding="utf-8")
    assert processor(info) == "AMD EPYC with AVX-512 VNNI"
    info.write_text("model name : Old\nflags : fpu sse2\n", encoding="utf-8")
    assert processor(info) == "Old"
    info.write_text("BogoMIPS : 50\n", encoding="utf-8")  # not every architecture names a model
    assert processor(info) == processor(tmp_path / "missing")
