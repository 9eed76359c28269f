"""`python -m benchmarks.real_results`: which questions can still be answered from shortened tool results.

The results are made again by commands over installed packages. A question is dropped if its answer is no
longer in its result. `--limit` draws some of the questions.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.command import Measured, Options, make_parser, run, track
from benchmarks.real_results.questions import SETS, Question, load
from benchmarks.rows import Line, Lines, group_lines
from benchmarks.shared.statistics import estimate_share
from benchmarks.table import Column, Row, Table
from benchmarks.tool_results.methods import MASKING, Shorten, make_methods
from tersely import Compressor
from tersely.errors import TerselyError

BUDGETS = (300, 1_000)
"""Largest number of tokens of a shortened result."""
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
    parser.add_argument("--set", choices=SETS, default=SETS[0], help="set of questions")
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
    lines: list[Line] = []
    for budget in BUDGETS:
        for name, shorten in methods.items():
            lines += judge(name, shorten, loaded.questions, budget)
    settings = {"set": options.set, "questions": len(loaded.questions), "dropped": len(loaded.dropped)}
    return Measured(make_tables(lines), compressor.model, settings, lines)


def judge(method: str, shorten: Shorten, questions: Sequence[Question], budget: int) -> list[Line]:
    """Return for each question 1 if its answer and evidence are kept, else 0, and the seconds of the call."""
    lines: list[Line] = []
    for question in track(questions, f"{method}, {budget:,} tokens"):
        start = time.perf_counter()
        text = shorten(question.text, question.question, budget)
        seconds = round(time.perf_counter() - start, 6)
        place = {"budget": budget, "method": method, "id": question.id, "kind": question.kind}
        lines.append({**place, "answered": int(question.is_answered(text)), "seconds": seconds})
    return lines


def make_tables(lines: Lines) -> list[Table]:
    """Return the tables, from a line for each question, method and budget."""
    groups = group_lines(lines, "budget", "method")
    together = tuple(
        {
            "budget": budget,
            "method": method,
            "answered": estimate_share(sum(line["answered"] for line in own), len(own)).round(),
            "median of a call": statistics.median(line["seconds"] for line in own),
        }
        for (budget, method), own in groups.items()
    )
    by_kind = tuple(
        {"budget": budget, "method": method, **row}
        for (budget, method), own in groups.items()
        for row in split_kinds(own)
    )
    return [
        Table("All kinds together", TOGETHER, together, across="budget"),
        Table("Each kind", BY_KIND, by_kind, across="method", printed=False),
    ]


def split_kinds(lines: Lines) -> Iterator[Row]:
    """Yield for each kind its number of questions and the share that is answered."""
    for kind in dict.fromkeys(line["kind"] for line in lines):
        answered = [line["answered"] for line in lines if line["kind"] == kind]
        yield {"kind": kind, "questions": len(answered), "answered": sum(answered) / len(answered)}


if __name__ == "__main__":
    sys.exit(main())
