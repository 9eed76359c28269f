"""`python -m benchmarks.without_question --data DIR`: what is left of texts compressed beforehand."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Mapping, Sequence

from benchmarks.command import Measured, Options, make_parser, run
from benchmarks.quality.controls import HeadScorer
from benchmarks.shared.statistics import bootstrap_mean, bootstrap_mean_difference
from benchmarks.shared.tasks.rows import find_data_folder
from benchmarks.table import Column, Row, Table
from benchmarks.without_question.cases import SIZES, TITLES, OpenCase, load_cases
from benchmarks.without_question.methods import OURS, Method, make_methods
from tersely import Compressor

RATES = (0.1, 0.25)
MEASURES = {
    "words": "words of the summaries",
    "pairs": "pairs of neighbouring words of the summaries",
    "named": "names and numbers of the summaries",
    "answers": "answers to later questions",
}
"""By name in `OpenCase.measure`, what is counted."""
PRINTED = tuple(title for name, title in MEASURES.items() if name != "words")
"""Pairs of words are the stricter measure, so that words are only recorded."""
COLUMNS = (
    Column("set"),
    Column("rate"),
    Column("of"),
    Column("method"),
    Column("kept", "%", interval="bootstrap"),
    Column("tersely's lead", "points", interval="bootstrap"),
    Column("tokens kept", "%", printed=False),
    Column("median seconds", printed=False),
)
"""Means and paired differences over the cases of a set."""


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = make_parser("benchmarks.without_question", __doc__, "data", limit=100)
    return run(parser, arguments, Options(), measure)


def measure(options: Options) -> Measured:
    """Compress every case with every method at every rate."""
    folder = find_data_folder(options.data)
    rows: list[Row] = []
    sizes: dict[str, int] = {}
    for name, size in SIZES.items():
        cases = load_cases(name, folder, min(size, options.limit))
        sizes[TITLES[name]] = len(cases)
        methods = make_methods((d.text for case in cases for d in case.documents), options.seed)
        for rate in RATES:
            rows += measure_set(name, rate, cases, methods, options.seed)
            print(f"{name} {rate:g} done", file=sys.stderr, flush=True)
    table = Table("What is kept", COLUMNS, tuple(rows), across="method", only={"of": PRINTED})
    return Measured([table], settings=sizes)


def measure_set(
    name: str, rate: float, cases: Sequence[OpenCase], methods: Mapping[str, Method], seed: int
) -> list[Row]:
    """Return the rows of every method on the cases of a set."""
    count = Compressor(HeadScorer()).count_tokens
    before = [sum(count(document.text) for document in case.documents) for case in cases]
    results: dict[str, list[dict[str, float]]] = {}
    costs: dict[str, dict[str, float]] = {}
    for method, compress in methods.items():
        seconds: list[float] = []
        shares: list[float] = []
        results[method] = []
        for case, size in zip(cases, before, strict=True):
            start = time.perf_counter()
            text = compress(case.documents, max(1, int(rate * size)))
            seconds.append(time.perf_counter() - start)
            shares.append(count(text) / size)
            results[method].append(case.measure(text))
        costs[method] = {
            "tokens kept": statistics.mean(shares),
            "median seconds": statistics.median(seconds),
        }
    rows: list[Row] = []
    for measured, title in MEASURES.items():
        ours = [result[measured] for result in results[OURS] if measured in result]
        for method in methods if ours else ():
            kept = [result[measured] for result in results[method] if measured in result]
            lead = None if method == OURS else bootstrap_mean_difference(ours, kept, seed).round()
            row: Row = {"set": name, "rate": rate, "of": title, "method": method, "tersely's lead": lead}
            rows.append({**row, "kept": bootstrap_mean(kept, seed).round(), **costs[method]})
    return rows


if __name__ == "__main__":
    sys.exit(main())
