"""`python -m benchmarks.real_results`: which questions can still be answered from shortened tool results.

The results are made again by commands over installed packages, so a question whose answer is gone from its
result is dropped. `--limit` draws some of the questions.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.command import Measured, Options, make_parser, run, track
from benchmarks.real_results.questions import SETS, Question, load
from benchmarks.shared.statistics import estimate_share
from benchmarks.table import Column, Row, Table
from benchmarks.tool_results.methods import MASKING, Shorten, make_methods
from tersely import Compressor
from tersely.errors import TerselyError

BUDGETS = (300, 1_000)
"""Most tokens of a shortened result."""
TOGETHER = (
    Column("method"),
    Column("budget", "tokens", format=",d"),
    Column("answered", "%", interval="wilson"),
    Column("median of a call", "s", format=".3f"),
)
BY_KIND = (
    Column("budget", "tokens", format=",d"),
    Column("kind"),
    Column("questions"),
    Column("method"),
    Column("answered", "%", format=".0f"),
)


class RealResultsOptions(Options):
    """The options of this benchmark."""

    set: str
    python: Path


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = make_parser("benchmarks.real_results", __doc__, "model", "threads", limit=150)
    parser.add_argument("--set", choices=tuple(SETS), default=next(iter(SETS)), help="set of questions")
    parser.add_argument(
        "--python",
        type=Path,
        default=Path(sys.executable),
        help="Python with the packages that the commands read (default: the one that runs this)",
    )
    return run(parser, arguments, RealResultsOptions(), measure)


def measure(options: RealResultsOptions) -> Measured:
    """Shorten the result of every question with every method to every budget."""
    loaded = load(options.set, options.python, options.limit, options.seed)
    if not loaded.questions:
        raise TerselyError(f"{options.python} has none of the packages that the questions are about")
    compressor = Compressor(options.model, threads=options.threads)
    methods = make_methods(compressor)
    del methods[MASKING]  # it keeps no answer
    answered: list[tuple[int, str, list[bool]]] = []
    together: list[Row] = []
    for budget in BUDGETS:
        for name, shorten in methods.items():
            kept, seconds = judge(shorten, loaded.questions, budget, f"{name}, {budget:,} tokens")
            answered.append((budget, name, kept))
            together.append(
                {
                    "budget": budget,
                    "method": name,
                    "answered": estimate_share(sum(kept), len(kept)).round(),
                    "median of a call": statistics.median(seconds),
                }
            )
    tables = [
        Table("All kinds together", TOGETHER, tuple(together), across="budget"),
        Table("Each kind", BY_KIND, split_kinds(loaded.questions, answered), across="method", printed=False),
    ]
    settings = {"set": options.set, "questions": len(loaded.questions), "dropped": len(loaded.dropped)}
    return Measured(tables, compressor.model, settings)


def judge(
    shorten: Shorten, questions: Sequence[Question], budget: int, description: str
) -> tuple[list[bool], list[float]]:
    """Return for each question whether its answer and evidence are kept, and the seconds of the call."""
    kept: list[bool] = []
    seconds: list[float] = []
    for question in track(questions, description):
        start = time.perf_counter()
        text = shorten(question.text, question.question, budget)
        seconds.append(time.perf_counter() - start)
        kept.append(question.is_answered(text))
    return kept, seconds


def split_kinds(
    questions: Sequence[Question], answered: Sequence[tuple[int, str, list[bool]]]
) -> tuple[Row, ...]:
    """Return a row for each budget, kind and method."""
    kinds = {kind: [q.kind == kind for q in questions] for kind in dict.fromkeys(q.kind for q in questions)}
    return tuple(
        {
            "budget": budget,
            "kind": kind,
            "questions": sum(members),
            "method": method,
            "answered": sum(k for k, m in zip(kept, members, strict=True) if m) / sum(members),
        }
        for budget, method, kept in answered
        for kind, members in kinds.items()
    )


if __name__ == "__main__":
    sys.exit(main())
