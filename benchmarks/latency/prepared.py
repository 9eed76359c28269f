"""`python -m benchmarks.latency.prepared --data DIR`: what preparing documents saves, and what it loses.

Times compressions of prepared and of unprepared documents in turns, and compares what both keep of the
evaluation sets. Run it on an otherwise idle machine.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from benchmarks.command import Measured, Options, make_parser, run, track
from benchmarks.latency.texts import QUERY, write_documents
from benchmarks.quality.controls import load_selector
from benchmarks.quality.runner import Metric, kept_and_total, list_spans, score_question
from benchmarks.rows import Line, Lines, group_lines
from benchmarks.shared.statistics import bootstrap, bootstrap_difference, quantile
from benchmarks.shared.tasks import TASKS, Example, load
from benchmarks.table import Column, Row, Table
from tersely import Compression, Compressor, Document, PreparedDocument
from tersely.runtime.workers import usable_cores
from tersely.score import DocumentScores, ScoredInput
from tersely.score.selector import Selector

WORDS, RATE = 120, 0.25
"""Words of a made document, and the rate of its compressions."""
RATES = (0.1, 0.25)
"""Rates on evaluation sets. The calls at the first one are timed."""
COUNTS = (10, 30)
QUESTIONS = (QUERY, "Who drafted the treaty at the glassworks?")
UNPREPARED, TOKENS, PREPARED = "unprepared", "prepared, without vectors", "prepared"
NAMES = ("hotpotqa", "qed_nq_30")
TIMES = (
    Column("request"),
    Column("questions"),
    Column("words a document", format=".0f"),
    Column("documents"),
    Column("read", "%", format=".0f"),
    Column("p50", "s", format=".3f"),
    Column("p95", "s", format=".3f"),
    Column("of unprepared", format=".2f"),
)
"""*read* is the share of the sentences that the model reads."""
STORED = (
    Column("text", "bytes", format=".0f"),
    Column("prepared", "bytes", format=".0f"),
    Column("vectors", "bytes", format=".0f"),
    Column("time to prepare", "s", format=".4f"),
)
KEPT = (
    Column("set"),
    Column("kept"),
    Column("rate"),
    Column(UNPREPARED, "%", interval="bootstrap"),
    Column("difference if prepared", "points", interval="bootstrap"),
)


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = make_parser("benchmarks.latency.prepared", __doc__, "data", "threads", limit=200, rounds=20)
    return run(parser, arguments, Options(), measure)


def measure(options: Options) -> Measured:
    """Time the requests, then compare the kept texts of every task."""
    selector, model = load_selector(None, options.threads)
    scorer = Remembering(selector)
    compressor = Compressor(scorer)
    stored = _measure_bytes(compressor)
    times: list[Row] = []
    for count in COUNTS:
        for question in QUESTIONS:
            taken = _time_request(compressor, scorer, count, question, options.rounds)
            times += _list_times(f"{count} documents: {question}", 1, WORDS, taken)
    lines: list[Line] = []
    for name in NAMES:
        examples = load(name, "eval", data=options.data, limit=options.limit, seed=options.seed)
        own, taken = keep_both_ways(compressor, scorer, examples)
        times += _list_times(TASKS[name].title, len(examples), _mean_words(examples), taken)
        lines += [{"task": name, **line} for line in own]
    tables = [
        Table("Times", TIMES, tuple(times), across="documents"),
        Table("A stored document", STORED, (stored,)),
        *make_tables(lines, options.seed),
    ]
    settings = {"threads": options.threads or usable_cores(), "rounds": options.rounds}
    return Measured(tables, model, settings, lines)


def make_tables(lines: Lines, seed: int) -> list[Table]:
    """Return the table of kept answers and support, from a line for each question, rate and kind of
    documents."""
    kept: list[Row] = []
    for task in dict.fromkeys(line["task"] for line in lines):
        kept += _summarise(TASKS[task].title, [line for line in lines if line["task"] == task], seed)
    return [Table("Kept", KEPT, tuple(kept), across="rate", only={"kept": ("answers",)})]


def _measure_bytes(compressor: Compressor) -> Row:
    """Return the mean sizes of made documents, and the mean time to prepare one."""
    texts = write_documents(max(COUNTS), WORDS)
    started = time.perf_counter()
    prepared = compressor.prepare(texts)
    seconds = (time.perf_counter() - started) / len(texts)
    sizes = {
        "text": [len(text.encode()) for text in texts],
        "prepared": [len(document.to_bytes()) for document in prepared],
        "vectors": [len(document.preparation.vectors) for document in prepared],
    }
    means = {name: round(float(np.mean(values)), 1) for name, values in sizes.items()}
    return {**means, "time to prepare": round(seconds, 4)}


def _mean_words(examples: Sequence[Example]) -> float:
    counts = [len(document.text.split()) for example in examples for document in example.documents]
    return round(float(np.mean(counts)), 1)


class Remembering:
    """A selector that reads a request once for all rates. Only one thread may ask it."""

    def __init__(self, selector: Selector) -> None:
        self._selector = selector
        self.threshold, self.length_price = selector.threshold, selector.length_price
        self.preparation_name, self.prepare = selector.preparation_name, selector.prepare
        self._request: tuple[str, Sequence[ScoredInput]] = ("", ())
        self._scores: Sequence[DocumentScores] = ()

    def score(self, query: str, documents: Sequence[ScoredInput]) -> Sequence[DocumentScores]:
        if self._request != (query, documents):
            self._request = (query, documents)
            self._scores = self._selector.score(query, documents)
        return self._scores

    def forget(self) -> None:
        """Read the next request, even if it is the last one again."""
        self._request = ("", ())

    def share_read(self) -> float:
        """Return the share of the sentences of the last request that the model read."""
        return float(np.mean([r for s in self._scores if s.read is not None for r in s.read]))


@dataclass(slots=True)
class Calls:
    """Seconds of the calls of one system, and the share of the sentences that each read."""

    seconds: list[float] = field(default_factory=list[float])
    read: list[float] = field(default_factory=list[float])

    def time(self, scorer: Remembering, compress: Callable[[], Compression]) -> Compression:
        """Compress once, and read anew."""
        scorer.forget()
        started = time.perf_counter()
        result = compress()
        self.seconds.append(time.perf_counter() - started)
        self.read.append(scorer.share_read())
        return result


def _time_request(
    compressor: Compressor, scorer: Remembering, count: int, question: str, rounds: int
) -> dict[str, Calls]:
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
    return taken


def _list_times(request: str, questions: int, words: float, taken: Mapping[str, Calls]) -> list[Row]:
    whole = quantile(taken[UNPREPARED].seconds, 0.5)
    return [
        {
            "request": request,
            "questions": questions,
            "words a document": words,
            "documents": system,
            "read": round(float(np.mean(calls.read)), 3),
            "p50": quantile(calls.seconds, 0.5),
            "p95": quantile(calls.seconds, 0.95),
            "of unprepared": round(quantile(calls.seconds, 0.5) / whole, 3),
        }
        for system, calls in taken.items()
    ]


def keep_both_ways(
    compressor: Compressor, scorer: Remembering, examples: Sequence[Example]
) -> tuple[list[Line], dict[str, Calls]]:
    """Return a line for each example, rate and kind of documents, and the calls at the first rate by kind."""
    known: dict[tuple[str, str | None], PreparedDocument] = {}
    lines: list[Line] = []
    taken = {UNPREPARED: Calls(), PREPARED: Calls()}
    for example in track(examples, "questions"):
        given = example.to_documents()
        new = [d for d in given if (d.text, d.title) not in known]
        known |= {(d.text, d.title): d for d in compressor.prepare(new)}
        prepared: list[Document] = [known[d.text, d.title] for d in given]
        for system, documents in ((UNPREPARED, given), (PREPARED, prepared)):
            for rate in RATES:
                compress = partial(compressor.compress, example.question, documents, rate=rate)
                result = taken[system].time(scorer, compress) if rate == RATES[0] else compress()
                row = score_question(example, list_spans(result), result.tokens_before, result.tokens_after)
                lines.append({"id": example.id, "documents": system, "rate": rate, **row})
    return lines, taken


def _summarise(title: str, lines: Lines, seed: int) -> list[Row]:
    rows = group_lines(lines, "documents", "rate")
    table: list[Row] = []
    metrics: tuple[Metric, ...] = ("answers", "support")
    for rate in RATES:
        for metric in metrics:
            before, total = kept_and_total(rows[UNPREPARED, rate], metric)
            after, _ = kept_and_total(rows[PREPARED, rate], metric)
            there = total > 0
            if there.any():
                lead = bootstrap_difference(after[there], before[there], total[there], seed).round()
                share = bootstrap(before[there], total[there], seed).round()
                place = {"set": title, "rate": rate, "kept": metric}
                table.append({**place, UNPREPARED: share, "difference if prepared": lead})
    return table


if __name__ == "__main__":
    sys.exit(main())
