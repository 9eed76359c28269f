"""`python -m benchmarks.tool_results`: answers kept in tool results, by tersely, others and simple cuts.

Needs no data: the cases come from generators.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence

from benchmarks.command import Measured, Options, make_parser, run
from benchmarks.rows import Line, Lines, group_lines
from benchmarks.shared.statistics import estimate_share
from benchmarks.table import Column, Row, Table
from benchmarks.tool_results.kinds import KINDS, Case, make_case
from benchmarks.tool_results.methods import Shorten, make_methods
from tersely import Compressor

RATES = (0.02, 0.05, 0.2)
BY_KIND = (
    Column("rate"),
    Column("kind"),
    Column("tokens", format=",.0f"),
    Column("method"),
    Column("answered", "%", format=".0f"),
    Column("false", "%", format=".0f"),
    Column("parses", "%", format=".0f"),
    Column("tokens kept", "%", printed=False),
    Column("seconds", printed=False),
)
"""Shares of a kind's cases; tokens before, the mean share of tokens kept, and the median of a call."""
TOGETHER = (
    Column("method"),
    Column("rate"),
    Column("answered", "%", interval="wilson"),
    Column("false", "%", interval="wilson"),
    Column("parses", "%", format=".0f"),
    Column("tokens kept", "%"),
    Column("mean of the kinds' medians", "s", format=".3f"),
)


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = make_parser("benchmarks.tool_results", __doc__, "model", "threads", limit=20)
    return run(parser, arguments, Options(), measure)


def measure(options: Options) -> Measured:
    """Shorten every case with every method at every rate."""
    compressor = Compressor(options.model, threads=options.threads)
    methods = make_methods(compressor)
    cases = {
        kind: [make_case(kind, options.seed * 1000 + number) for number in range(options.limit)]
        for kind in KINDS
    }
    lines: list[Line] = []
    for rate in RATES:
        for kind, same_kind in cases.items():
            budgets = [max(1, int(rate * compressor.count_tokens(case.text))) for case in same_kind]
            for name, shorten in methods.items():
                place = {"rate": f"{rate:.0%}", "kind": kind, "method": name}
                measured = measure_method(compressor, shorten, same_kind, budgets)
                lines += [{**place, "case": number, **line} for number, line in enumerate(measured)]
    return Measured(make_tables(lines), compressor.model, {"cases of each kind": options.limit}, lines)


def measure_method(
    compressor: Compressor, shorten: Shorten, cases: Sequence[Case], budgets: Sequence[int]
) -> list[Line]:
    """Return the result of one method on each case. `budgets` holds the largest number of tokens of each."""
    lines: list[Line] = []
    for case, budget in zip(cases, budgets, strict=True):
        start = time.perf_counter()
        text = shorten(case.text, case.question, budget)
        seconds = time.perf_counter() - start
        lines.append(
            {
                "before": compressor.count_tokens(case.text),
                "after": compressor.count_tokens(text),
                "answered": int(case.is_answered(text)),
                "false": int(case.is_false(text)),
                "parses": int(case.parses(text)) if case.parses and text else None,
                "seconds": round(seconds, 6),
            }
        )
    return lines


def make_tables(lines: Lines) -> list[Table]:
    """Return the table of all kinds and that of their sums, from a line for each case of each method."""
    groups = group_lines(lines, "rate", "kind", "method")
    rows = [
        {"rate": rate, "kind": kind, "method": method, **_summarise(own)}
        for (rate, kind, method), own in groups.items()
    ]
    cases = len(lines) // len(rows)  # all kinds have as many
    return [
        Table("All kinds together", TOGETHER, join_kinds(rows, cases), across="rate"),
        Table("Each kind", BY_KIND, tuple(rows), across="method", printed=False),
    ]


def _summarise(lines: Lines) -> dict[str, float | None]:
    """Return the cells of one method on the cases of one kind."""
    parsed = [line["parses"] for line in lines if line["parses"] is not None]
    return {
        "tokens": statistics.mean(line["before"] for line in lines),
        "answered": statistics.mean(line["answered"] for line in lines),
        "false": statistics.mean(line["false"] for line in lines),
        "parses": statistics.mean(parsed) if parsed else None,
        "tokens kept": statistics.mean(line["after"] / line["before"] for line in lines),
        "seconds": statistics.median(line["seconds"] for line in lines),
    }


def join_kinds(rows: Sequence[Row], cases: int) -> tuple[Row, ...]:
    """Return the shares of each method over all kinds. `cases` is the number of cases of a kind."""
    joined: list[Row] = []
    for rate, method in dict.fromkeys((row["rate"], row["method"]) for row in rows):
        group = [row for row in rows if (row["rate"], row["method"]) == (rate, method)]
        shares = {
            name: estimate_share(sum(_list_numbers(group, name)) * cases, cases * len(group)).round()
            for name in ("answered", "false")
        }
        parsed = _list_numbers(group, "parses")
        joined.append(
            {
                "rate": rate,
                "method": method,
                **shares,
                "parses": statistics.mean(parsed) if parsed else None,
                "tokens kept": statistics.mean(_list_numbers(group, "tokens kept")),
                "mean of the kinds' medians": statistics.mean(_list_numbers(group, "seconds")),
            }
        )
    return tuple(joined)


def _list_numbers(rows: Sequence[Row], name: str) -> list[float]:
    return [cell for row in rows if isinstance(cell := row[name], int | float)]


if __name__ == "__main__":
    sys.exit(main())
