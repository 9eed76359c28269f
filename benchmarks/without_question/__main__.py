"""`python -m benchmarks.without_question --data DIR`: what is left of texts compressed beforehand."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence

from benchmarks.command import Measured, Options, make_parser, run
from benchmarks.quality.controls import HeadScorer
from benchmarks.rows import Line, Lines, group_lines
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
"""Titles of the numbers that `OpenCase.measure` counts, by name."""
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
    lines: list[Line] = []
    sizes: dict[str, int] = {}
    for name, size in SIZES.items():
        cases = load_cases(name, folder, min(size, options.limit))
        sizes[TITLES[name]] = len(cases)
        methods = make_methods((d.text for case in cases for d in case.documents), options.seed)
        for rate in RATES:
            lines += measure_set(name, rate, cases, methods)
            print(f"{name} {rate:g} done", file=sys.stderr, flush=True)
    return Measured(make_tables(lines, options.seed), settings=sizes, rows=lines)


def measure_set(
    name: str, rate: float, cases: Sequence[OpenCase], methods: Mapping[str, Method]
) -> list[Line]:
    """Return a line for each method and case of a set, with the parts that the method keeps."""
    count = Compressor(HeadScorer()).count_tokens
    before = [sum(count(document.text) for document in case.documents) for case in cases]
    lines: list[Line] = []
    for method, compress in methods.items():
        for case, size in zip(cases, before, strict=True):
            start = time.perf_counter()
            text = compress(case.documents, max(1, int(rate * size)))
            seconds = round(time.perf_counter() - start, 6)
            place = {"set": name, "rate": rate, "method": method, "case": case.id}
            tokens = {"before": size, "after": count(text)}
            lines.append({**place, **tokens, "seconds": seconds, "kept": case.measure(text)})
    return lines


def make_tables(lines: Lines, seed: int) -> list[Table]:
    """Return the table, from the lines of all cases."""
    sets = {key: group_lines(own, "method") for key, own in group_lines(lines, "set", "rate").items()}
    rows = [
        {"set": name, "rate": rate, **row}
        for (name, rate), methods in sets.items()
        for row in compare_methods(methods, seed)
    ]
    return [Table("What is kept", COLUMNS, tuple(rows), across="method", only={"of": PRINTED})]


def compare_methods(methods: Mapping[str, Lines], seed: int) -> Iterator[Row]:
    """Yield the rows of every method on the cases of a set at a rate."""
    for measured, title in MEASURES.items():
        kept = {
            method: [line["kept"][measured] for line in lines if measured in line["kept"]]
            for method, lines in methods.items()
        }
        for method, lines in methods.items() if kept[OURS] else ():
            lead = None if method == OURS else bootstrap_mean_difference(kept[OURS], kept[method], seed)
            yield {
                "of": title,
                "method": method,
                "kept": bootstrap_mean(kept[method], seed).round(),
                "tersely's lead": lead and lead.round(),
                "tokens kept": statistics.mean(line["after"] / line["before"] for line in lines),
                "median seconds": statistics.median(line["seconds"] for line in lines),
            }


if __name__ == "__main__":
    sys.exit(main())
