"""`python -m benchmarks.without_question`: what is left of texts that were compressed before any question.

Prints tables, writes the JSON and fills RESULTS.md.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.arguments import add_data, add_out, add_seed, make_parser
from benchmarks.quality.controls import HeadScorer
from benchmarks.results import publish
from benchmarks.shared.environment import read_environment
from benchmarks.shared.statistics import bootstrap_mean, bootstrap_mean_difference
from benchmarks.shared.tasks.rows import find_data_folder
from benchmarks.without_question.cases import SIZES, OpenCase, load_cases
from benchmarks.without_question.methods import OURS, Method, make_methods
from benchmarks.without_question.report import MEASURES, OpenRow, OpenRun, render
from tersely import Compressor

RATES = (0.1, 0.25)


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command."""

    data: str | None
    sets: list[str]
    cases: int | None
    seed: int
    out: Path


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = make_parser("benchmarks.without_question", __doc__)
    add_data(parser)
    parser.add_argument("--sets", nargs="+", choices=list(SIZES), default=list(SIZES))
    parser.add_argument("--cases", type=int, help=f"of each set (default: {SIZES})")
    add_seed(parser)
    add_out(parser, "without_question")
    options = Options(**vars(parser.parse_args(arguments)))
    return publish("without_question", lambda: measure(options), render, options.out)


def measure(options: Options) -> OpenRun:
    """Compress every case with every method at every rate."""
    folder = find_data_folder(options.data)
    rows: list[OpenRow] = []
    sizes: dict[str, int] = {}
    for name in options.sets:
        cases = load_cases(name, folder, options.cases or SIZES[name])
        sizes[name] = len(cases)
        methods = make_methods((d.text for case in cases for d in case.documents), options.seed)
        for rate in RATES:
            rows += measure_set(name, rate, cases, methods, options.seed)
            print(f"{name} {rate:g} done", file=sys.stderr, flush=True)
    return OpenRun(
        benchmark="without_question",
        seed=options.seed,
        cases=sizes,
        environment=read_environment(),
        rows=tuple(rows),
    )


def measure_set(
    name: str, rate: float, cases: Sequence[OpenCase], methods: dict[str, Method], seed: int
) -> list[OpenRow]:
    """Every method on the cases of a set."""
    count = Compressor(HeadScorer()).count_tokens
    before = [sum(count(document.text) for document in case.documents) for case in cases]
    results: dict[str, list[dict[str, float]]] = {}
    facts: dict[str, tuple[float, float]] = {}
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
        facts[method] = statistics.mean(shares), statistics.median(seconds)
    rows: list[OpenRow] = []
    for measured in MEASURES:
        ours = [result[measured] for result in results[OURS] if measured in result]
        for method in methods if ours else ():
            kept = [result[measured] for result in results[method] if measured in result]
            lead = None if method == OURS else bootstrap_mean_difference(ours, kept, seed).round()
            rows.append(
                OpenRow(
                    name, rate, method, measured, bootstrap_mean(kept, seed).round(), lead, *facts[method]
                )
            )
    return rows


if __name__ == "__main__":
    sys.exit(main())
