"""`python -m benchmarks.tool_results`: what is kept of tool results, beside LLMSlim, Headroom and cuts.

Prints tables, writes the JSON and fills RESULTS.md. Needs no data: the cases come from generators. Headroom
runs where `python -m benchmarks.peers.install` has installed it.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.arguments import add_model, add_out, add_seed, add_threads, make_parser
from benchmarks.peers.install import find_python
from benchmarks.peers.process import PeerProcess
from benchmarks.results import publish
from benchmarks.shared.environment import name_model, read_environment
from benchmarks.tool_results.kinds import KINDS, Case, make_case
from benchmarks.tool_results.methods import OURS, Shorten, make_methods
from benchmarks.tool_results.report import MethodRow, ToolResultsRun, render
from tersely import Compressor
from tersely.runtime.artifacts import load_artifact

RATES = (0.02, 0.05, 0.2)


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command."""

    cases: int
    model: str | None
    threads: int | None
    seed: int
    out: Path


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = make_parser("benchmarks.tool_results", __doc__)
    parser.add_argument("--cases", type=int, default=20, help="of each kind")
    add_model(parser)
    add_threads(parser)
    add_seed(parser)
    add_out(parser, "tool_results")
    options = Options(**vars(parser.parse_args(arguments)))
    return publish("tool_results", lambda: measure(options), render, options.out)


def measure(options: Options) -> ToolResultsRun:
    """Shorten every case with every method at every rate."""
    compressor = Compressor(options.model, threads=options.threads)
    methods = make_methods(compressor)
    rows: list[MethodRow] = []
    tokens: dict[str, float] = {}
    by_kind: dict[str, list[Case]] = {}
    for kind in KINDS:
        cases = [make_case(kind, options.seed * 1000 + number) for number in range(options.cases)]
        by_kind[kind] = cases
        sizes = [compressor.count_tokens(case.text) for case in cases]
        tokens[kind] = statistics.mean(sizes)
        for rate in RATES:
            budgets = [max(1, int(rate * size)) for size in sizes]
            rows += [
                measure_method(compressor, kind, rate, name, shorten, cases, budgets)
                for name, shorten in methods.items()
            ]
    headroom = measure_headroom(compressor, methods[OURS], by_kind) if find_python().exists() else ()
    return ToolResultsRun(
        benchmark="tool_results",
        model=name_model(load_artifact(options.model)),
        seed=options.seed,
        cases=options.cases,
        tokens_before=tokens,
        environment=read_environment(),
        rows=tuple(rows),
        headroom=tuple(headroom),
    )


def measure_headroom(
    compressor: Compressor, ours: Shorten, by_kind: dict[str, list[Case]]
) -> list[MethodRow]:
    """Headroom, which chooses its size by itself, and tersely at the same size of every case."""
    rows: list[MethodRow] = []
    with PeerProcess("headroom") as peer:

        def run_headroom(text: str, question: str, _: int) -> str:
            return peer.compress(question, [(None, text)], RATES[0]).text

        for kind, cases in by_kind.items():
            sizes = [compressor.count_tokens(run_headroom(c.text, c.question, 0)) for c in cases]
            for name, shorten in (("Headroom", run_headroom), (OURS, ours)):
                rows.append(measure_method(compressor, kind, None, name, shorten, cases, sizes))
    return rows


def measure_method(
    compressor: Compressor,
    kind: str,
    rate: float | None,
    method: str,
    shorten: Shorten,
    cases: Sequence[Case],
    budgets: Sequence[int],
) -> MethodRow:
    """One method on the cases of one kind. `budgets`: most tokens of each."""
    seconds: list[float] = []
    texts: list[str] = []
    for case, budget in zip(cases, budgets, strict=True):
        start = time.perf_counter()
        texts.append(shorten(case.text, case.question, budget))
        seconds.append(time.perf_counter() - start)
    parsed = [case.parses(text) for case, text in zip(cases, texts, strict=True) if case.parses and text]
    return MethodRow(
        kind=kind,
        rate=rate,
        method=method,
        answered=statistics.mean(c.is_answered(t) for c, t in zip(cases, texts, strict=True)),
        false=statistics.mean(c.is_false(t) for c, t in zip(cases, texts, strict=True)),
        parses=statistics.mean(parsed) if parsed else None,
        tokens=statistics.mean(
            compressor.count_tokens(text) / compressor.count_tokens(case.text)
            for text, case in zip(texts, cases, strict=True)
        ),
        seconds=statistics.median(seconds),
    )


if __name__ == "__main__":
    sys.exit(main())
