"""`python -m benchmarks.latency.prepared`: what it saves to prepare documents, and what the sieve loses.

Times compressions of prepared and of unprepared documents in turns, and compares what both keep of the
evaluation sets. Prints tables, writes the JSON and fills RESULTS.md. Run it on an otherwise idle machine.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from benchmarks.arguments import add_data, add_out, add_seed, add_threads, make_parser
from benchmarks.latency.prepared.report import render
from benchmarks.latency.prepared.rows import (
    RATE,
    RATES,
    WORDS,
    PreparedBytes,
    PreparedQuality,
    PreparedRun,
    PreparedTiming,
)
from benchmarks.latency.rows import Timing
from benchmarks.latency.texts import QUERY, write_documents
from benchmarks.progress import Progress
from benchmarks.quality.rows import Metric, QuestionRow, kept_and_total, score_question
from benchmarks.results import publish
from benchmarks.shared.environment import name_model, read_environment
from benchmarks.shared.statistics import bootstrap, bootstrap_difference
from benchmarks.shared.tasks import Example, load
from tersely import Compression, Compressor, Document, PreparedDocument
from tersely.runtime.artifacts import load_artifact
from tersely.runtime.workers import usable_cores
from tersely.score import DocumentScores, ScoredInput
from tersely.score.selector import Selector

COUNTS = (10, 30)
QUESTIONS = (QUERY, "Who drafted the treaty at the glassworks?")
UNPREPARED, TOKENS, PREPARED = "unprepared", "prepared, without vectors", "prepared"
NAMES = ("hotpotqa", "qed_nq_30")


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command."""

    data: str | None
    limit: int
    rounds: int
    seed: int
    threads: int | None
    out: Path


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = make_parser("benchmarks.latency.prepared", __doc__)
    add_data(parser)
    parser.add_argument("--limit", type=int, default=200, help="questions of each set, at most")
    parser.add_argument("--rounds", type=int, default=20, help="timings of each system and request")
    add_seed(parser)
    add_threads(parser)
    add_out(parser, "prepared")
    options = Options(**vars(parser.parse_args(arguments)))
    return publish("prepared", lambda: measure(options), render, options.out)


def measure(options: Options) -> PreparedRun:
    """Time the requests, then compare what is kept of every task."""
    artifact = load_artifact(None)
    scorer = Remembering(Selector.load(artifact, options.threads))
    compressor = Compressor(scorer)
    stored = _measure_bytes(compressor)
    timings = [
        row
        for count in COUNTS
        for question in QUESTIONS
        for row in _time_request(compressor, scorer, count, question, options.rounds)
    ]
    tasks = {
        name: load(name, "eval", data=options.data, limit=options.limit, seed=options.seed) for name in NAMES
    }
    quality: list[PreparedQuality] = []
    for name, examples in tasks.items():
        rows, taken = keep_both_ways(compressor, scorer, examples)
        timings += _make_rows(name, taken)
        quality += _summarise(name, rows, options.seed)
    return PreparedRun(
        benchmark="prepared",
        model=name_model(artifact),
        threads=options.threads or usable_cores(),
        seed=options.seed,
        environment=read_environment(),
        timings=tuple(timings),
        rounds=options.rounds,
        stored=stored,
        questions={name: len(examples) for name, examples in tasks.items()},
        words={name: _mean_words(examples) for name, examples in tasks.items()},
        quality=tuple(quality),
    )


def _measure_bytes(compressor: Compressor) -> PreparedBytes:
    texts = write_documents(max(COUNTS), WORDS)
    started = time.perf_counter()
    prepared = compressor.prepare(texts)
    seconds = (time.perf_counter() - started) / len(texts)

    def mean(sizes: Sequence[int]) -> float:
        return round(float(np.mean(sizes)), 1)

    return PreparedBytes(
        text=mean([len(text.encode()) for text in texts]),
        all=mean([len(document.to_bytes()) for document in prepared]),
        vectors=mean([len(document.preparation.vectors) for document in prepared]),
        seconds=round(seconds, 4),
    )


def _mean_words(examples: Sequence[Example]) -> float:
    counts = [len(document.text.split()) for example in examples for document in example.documents]
    return round(float(np.mean(counts)), 1)


class Remembering:
    """A selector that reads a request once for all rates. It is asked by one thread."""

    def __init__(self, selector: Selector) -> None:
        self._selector = selector
        self.threshold, self.length_price = selector.threshold, selector.length_price
        self.preparation_name, self.prepare = selector.preparation_name, selector.prepare
        self._request: tuple[str, Sequence[ScoredInput]] = ("", ())
        self._scores: Sequence[DocumentScores] = ()

    def score(self, query: str, documents: Sequence[ScoredInput]) -> Sequence[DocumentScores]:
        """As the selector's."""
        if self._request != (query, documents):
            self._request = (query, documents)
            self._scores = self._selector.score(query, documents)
        return self._scores

    def forget(self) -> None:
        """Read the next request, even if it is the last one again."""
        self._request = ("", ())

    def share_read(self) -> float:
        """Share of the sentences of the last request that were read."""
        return float(np.mean([read for own in self._scores for read in own.read or ()]))


@dataclass(slots=True)
class Calls:
    """What calls of one system took, and the share of the sentences that each read."""

    seconds: list[float] = field(default_factory=list[float])
    read: list[float] = field(default_factory=list[float])

    def time(self, scorer: Remembering, compress: Callable[[], Compression]) -> Compression:
        """Compress once, from the first reading on."""
        scorer.forget()
        started = time.perf_counter()
        result = compress()
        self.seconds.append(time.perf_counter() - started)
        self.read.append(scorer.share_read())
        return result


def _time_request(
    compressor: Compressor, scorer: Remembering, count: int, question: str, rounds: int
) -> list[PreparedTiming]:
    texts = write_documents(count, WORDS)
    prepared = compressor.prepare(texts)
    without_vectors = [
        replace(document, preparation=replace(document.preparation, vectors=b"")) for document in prepared
    ]
    stored = {TOKENS: [d.to_bytes() for d in without_vectors], PREPARED: [d.to_bytes() for d in prepared]}

    def compress(system: str) -> Compression:
        if system == UNPREPARED:
            return compressor.compress(question, texts, rate=RATE)
        documents = map(PreparedDocument.from_bytes, stored[system], texts)
        return compressor.compress(question, documents, rate=RATE)

    taken = {system: Calls() for system in (UNPREPARED, TOKENS, PREPARED)}
    for system in taken:
        compress(system)  # to warm up
    for _ in range(rounds):
        for system, calls in taken.items():
            calls.time(scorer, lambda system=system: compress(system))
    return _make_rows(f"{count} documents: {question}", taken)


def _make_rows(request: str, taken: dict[str, Calls]) -> list[PreparedTiming]:
    timings = {system: Timing.of(calls.seconds) for system, calls in taken.items()}
    return [
        PreparedTiming(
            request,
            system,
            round(float(np.mean(taken[system].read)), 3),
            t.p50,
            t.p95,
            round(t.p50 / timings[UNPREPARED].p50, 3),
        )
        for system, t in timings.items()
    ]


def keep_both_ways(
    compressor: Compressor, scorer: Remembering, examples: Sequence[Example]
) -> tuple[dict[tuple[str, float], list[QuestionRow]], dict[str, Calls]]:
    """By system and rate a row for each example; by system what the calls at the first rate took."""
    known: dict[tuple[str, str | None], PreparedDocument] = {}
    rows: dict[tuple[str, float], list[QuestionRow]] = {
        (system, rate): [] for system in (UNPREPARED, PREPARED) for rate in RATES
    }
    taken = {UNPREPARED: Calls(), PREPARED: Calls()}
    progress = Progress(len(examples))
    for example in examples:
        given = [Document(d.text, d.title) for d in example.documents]
        new = [d for d in given if (d.text, d.title) not in known]
        known |= {(d.text, d.title): d for d in compressor.prepare(new)}
        prepared = [known[d.text, d.title] for d in given]
        for system, documents in ((UNPREPARED, given), (PREPARED, prepared)):
            for rate, row in _keep(compressor, scorer, example, documents, taken[system]):
                rows[system, rate].append(row)
        progress.step("questions")
    progress.close()
    return rows, taken


def _keep(
    compressor: Compressor,
    scorer: Remembering,
    example: Example,
    documents: Sequence[Document | PreparedDocument],
    taken: Calls,
) -> Iterator[tuple[float, QuestionRow]]:
    """A row for each rate; the call at the first one is timed."""
    for rate in RATES:

        def compress(rate: float = rate) -> Compression:
            return compressor.compress(example.question, documents, rate=rate)

        result = taken.time(scorer, compress) if rate == RATES[0] else compress()
        kept = [(span.doc, span.start, span.end) for span in result.kept]
        yield rate, score_question(example, kept, result.tokens_before, result.tokens_after)


def _summarise(
    task: str, rows: dict[tuple[str, float], list[QuestionRow]], seed: int
) -> list[PreparedQuality]:
    out: list[PreparedQuality] = []
    metrics: tuple[Metric, ...] = ("answers", "support")
    for rate in RATES:
        for metric in metrics:
            before, total = kept_and_total(rows[UNPREPARED, rate], metric)
            after, _ = kept_and_total(rows[PREPARED, rate], metric)
            there = total > 0
            if there.any():
                lead = bootstrap_difference(after[there], before[there], total[there], seed)
                estimate = bootstrap(before[there], total[there], seed)
                out.append(PreparedQuality(task, rate, metric, estimate.round(), lead.round()))
    return out


if __name__ == "__main__":
    sys.exit(main())
