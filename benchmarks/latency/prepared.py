"""`python -m benchmarks.latency.prepared`: what it saves to prepare documents, and what the sieve loses.

Times compressions of prepared and of unprepared documents in turns, and compares what both keep of the
evaluation sets. Prints tables, writes the JSON and fills RESULTS.md. Run it on an otherwise idle machine.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.arguments import add_data, add_out, add_seed, add_threads, make_parser
from benchmarks.latency.rows import Timing
from benchmarks.latency.texts import QUERY, write_documents
from benchmarks.markdown import format_lead, format_percent, format_table
from benchmarks.progress import Progress
from benchmarks.quality.rows import Metric, QuestionRow, kept_and_total, score_question
from benchmarks.results import publish
from benchmarks.shared.environment import Environment, name_model, read_environment
from benchmarks.shared.statistics import Estimate, bootstrap, bootstrap_difference
from benchmarks.shared.tasks import TASKS, Example, load
from tersely import Compression, Compressor, Document, PreparedDocument
from tersely.runtime.artifacts import load_artifact
from tersely.runtime.workers import usable_cores
from tersely.selector import DocumentScores, ScoredInput
from tersely.selector.selector import Selector

WORDS, COUNTS, RATE = 120, (10, 30), 0.25
ONE_HOP = "Who drafted the treaty at the glassworks?"
QUESTIONS = {"two hops": QUERY, "one hop": ONE_HOP}
"""By what the model takes them for."""
UNPREPARED, TOKENS, PREPARED = "unprepared", "prepared, without vectors", "prepared"
NAMES = ("hotpotqa", "qed_nq_30")
RATES = (0.1, 0.25)


@dataclass(frozen=True, slots=True)
class PreparedTiming:
    """One way to hand the documents in, on one request."""

    request: str
    system: str
    p50: float
    p95: float
    ratio: float
    """p50 over that of unprepared documents."""


@dataclass(frozen=True, slots=True)
class PreparedBytes:
    """What is stored, for a document of the requests; means."""

    text: float
    all: float
    vectors: float
    seconds: float
    """To prepare it."""


@dataclass(frozen=True, slots=True)
class PreparedQuality:
    """What is kept of a task at a rate."""

    task: str
    rate: float
    metric: Metric
    unprepared: Estimate
    difference: Estimate
    """What is kept of prepared documents minus what is kept of unprepared ones, paired by question."""


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """One run of the benchmark."""

    benchmark: str
    model: str
    threads: int
    seed: int
    environment: Environment
    timings: tuple[PreparedTiming, ...]
    rounds: int
    stored: PreparedBytes
    questions: dict[str, int]
    """By task."""
    read: dict[str, float]
    """By task, the share of sentences that was read of prepared documents."""
    quality: tuple[PreparedQuality, ...]


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
    compressor = Compressor(threads=options.threads)
    stored = _measure_bytes(compressor)
    timings = tuple(
        row
        for count in COUNTS
        for name, question in QUESTIONS.items()
        for row in _time_request(compressor, count, name, question, options.rounds)
    )
    tasks = {
        name: load(name, "eval", data=options.data, limit=options.limit, seed=options.seed) for name in NAMES
    }
    quality: list[PreparedQuality] = []
    read: dict[str, float] = {}
    for name, examples in tasks.items():
        rows, read[name] = keep_both_ways(examples, options.threads)
        quality += _summarise(name, rows, options.seed)
    return PreparedRun(
        benchmark="prepared",
        model=name_model(artifact),
        threads=options.threads or usable_cores(),
        seed=options.seed,
        environment=read_environment(),
        timings=timings,
        rounds=options.rounds,
        stored=stored,
        questions={name: len(examples) for name, examples in tasks.items()},
        read=read,
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


def _time_request(
    compressor: Compressor, count: int, name: str, question: str, rounds: int
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

    systems = (UNPREPARED, TOKENS, PREPARED)
    seconds: dict[str, list[float]] = {system: [] for system in systems}
    for turn in range(rounds + 1):
        for system in systems:
            taken = _time(lambda system=system: compress(system))
            if turn:
                seconds[system].append(taken)
    timings = {system: Timing.of(taken) for system, taken in seconds.items()}
    request = f"{count} documents, {name}"
    return [
        PreparedTiming(request, system, t.p50, t.p95, round(t.p50 / timings[UNPREPARED].p50, 3))
        for system, t in timings.items()
    ]


def _time(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


class Remembering:
    """A selector that reads a request once for all rates. It is asked by one thread."""

    def __init__(self, selector: Selector) -> None:
        self._selector = selector
        self.threshold, self.length_price = selector.threshold, selector.length_price
        self.preparation_name, self.prepare = selector.preparation_name, selector.prepare
        self._request: tuple[str, Sequence[ScoredInput]] = ("", ())
        self.scores: Sequence[DocumentScores] = ()

    def score(self, query: str, documents: Sequence[ScoredInput]) -> Sequence[DocumentScores]:
        """As the selector's."""
        if self._request != (query, documents):
            self._request = (query, documents)
            self.scores = self._selector.score(query, documents)
        return self.scores


def keep_both_ways(
    examples: Sequence[Example], threads: int | None
) -> tuple[dict[tuple[str, float], list[QuestionRow]], float]:
    """By system and rate a row for each example, and the share of sentences that was read of prepared
    documents."""
    scorer = Remembering(Selector.load(load_artifact(None), threads))
    compressor = Compressor(scorer)
    known: dict[tuple[str, str | None], PreparedDocument] = {}
    rows: dict[tuple[str, float], list[QuestionRow]] = {
        (system, rate): [] for system in (UNPREPARED, PREPARED) for rate in RATES
    }
    was_read: list[bool] = []
    progress = Progress(len(examples))
    for example in examples:
        given = [Document(d.text, d.title) for d in example.documents]
        new = [d for d in given if (d.text, d.title) not in known]
        known |= {(d.text, d.title): d for d in compressor.prepare(new)}
        prepared = [known[d.text, d.title] for d in given]
        for system, documents in ((UNPREPARED, given), (PREPARED, prepared)):
            for rate in RATES:
                result = compressor.compress(example.question, documents, rate=rate)
                kept = [(span.doc, span.start, span.end) for span in result.kept]
                row = score_question(example, kept, result.tokens_before, result.tokens_after)
                rows[system, rate].append(row)
        was_read += [read for own in scorer.scores for read in own.read or ()]
        progress.step("questions")
    progress.close()
    return rows, round(float(np.mean(was_read)), 3)


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


def render(run: PreparedRun) -> str:
    """The section of RESULTS.md."""
    timings = [[t.request, t.system, f"{t.p50:.3f}", f"{t.p95:.3f}", f"{t.ratio:.2f}"] for t in run.timings]
    quality = [
        [
            f"{TASKS[q.task].title} ({run.questions[q.task]})",
            f"{run.read[q.task]:.0%}",
            str(q.rate),
            q.metric,
            format_percent(q.unprepared),
            format_lead(q.difference),
        ]
        for q in run.quality
    ]
    stored = run.stored
    return "\n\n".join(
        [
            f"Model {run.model}, {run.threads} threads. {run.environment.describe()} Seed {run.seed}.",
            f"Documents of {WORDS} words at rate {RATE}, {run.rounds} timings each, in turns. Prepared ones "
            "are read from their bytes within the time. Where the model takes a question for one that needs "
            "another hop, it reads more.",
            format_table(["request", "documents", "p50 s", "p95 s", "of unprepared"], timings),
            f"A document of {stored.text:.0f} bytes takes {stored.all:.0f} bytes when it is prepared, "
            f"{stored.vectors:.0f} of them vectors. Preparing it took {1000 * stored.seconds:.0f} ms.",
            "Answers and supporting sentences kept of unprepared documents in percent, and how much more of "
            "prepared ones in points:",
            format_table(
                ["", "read of prepared", "rate", "metric", "unprepared", "prepared, difference"], quality
            ),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
