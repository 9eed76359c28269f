"""`python -m benchmarks.recompute`: compute tables from their rows again, and compare them with the records.

A record is a file of recorded tables in `benchmarks/baselines`. Nothing is measured, and no data is needed.
Tables without rows, such as tables of times, are named and not compared.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from benchmarks.agent import __main__ as agent
from benchmarks.attacks import __main__ as attacks
from benchmarks.command import Options
from benchmarks.compaction import __main__ as compaction
from benchmarks.latency import prepared
from benchmarks.pages import BASELINES
from benchmarks.peers import published
from benchmarks.peers import tables as peers
from benchmarks.quality import __main__ as quality
from benchmarks.quality import abstention, calibration
from benchmarks.reading import __main__ as reading
from benchmarks.real_results import __main__ as real_results
from benchmarks.retrieval import __main__ as retrieval
from benchmarks.retrieval import merging
from benchmarks.rows import Lines, find_rows, read_lines
from benchmarks.summaries import __main__ as summaries
from benchmarks.table import Record, Table
from benchmarks.tool_results import __main__ as tool_results
from benchmarks.without_question import __main__ as without_question

READING = "reading"
"""The record that has its rows in separate files, one for each reader."""
PROGRAMS: Mapping[str, Callable[[Lines, int], Sequence[Table]]] = {
    "abstention": lambda lines, _: abstention.make_tables(lines),
    "agent": lambda lines, _: agent.make_tables(lines),
    "attacks": lambda lines, _: attacks.make_tables(lines),
    "calibration": lambda lines, _: calibration.make_tables(lines),
    "compaction": lambda lines, _: compaction.make_tables(lines),
    "merging": lambda lines, _: merging.make_tables(lines),
    "peers": peers.make_tables,
    "prepared": prepared.make_tables,
    "published": published.make_tables,
    "quality": quality.make_tables,
    READING: lambda _, seed: reading.measure(Options(seed=seed)).tables,
    "real_results": lambda lines, _: real_results.make_tables(lines),
    "retrieval": lambda lines, _: retrieval.make_tables(lines),
    "summaries": summaries.make_tables,
    "tool_results": lambda lines, _: tool_results.make_tables(lines),
    "without_question": without_question.make_tables,
}
"""The function that makes the tables of each record from its rows and its seed."""

Verdict = Literal["same", "different", "no rows"]


def main(arguments: list[str] | None = None) -> int:
    """Compare the records and return the exit code: 1 if a table differs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recompute", description=__doc__)
    parser.add_argument("records", nargs="*", type=Path, help="records (default: all that have rows)")
    verdicts: set[Verdict] = set()
    records: list[Path] = parser.parse_args(arguments).records
    for path in records:
        if not path.is_file() or Record.read(path).benchmark not in PROGRAMS:
            parser.error(f"{path} is not a record with rows; pass one like benchmarks/baselines/quality.json")
    for path in records or list_records():
        for title, verdict in compare(path).items():
            print(f"{verdict:9} {path.stem}: {title}")
            verdicts.add(verdict)
    return int("different" in verdicts)


def list_records() -> list[Path]:
    """Return the paths of the committed records that have rows."""
    records = sorted(BASELINES.glob("*.json"))
    return [path for path in records if find_rows(path).is_file() or path.stem == READING]


def compare(path: Path) -> dict[str, Verdict]:
    """Return a verdict for each title of a table: whether the rows give exactly the recorded table."""
    record = Record.read(path)
    computed = PROGRAMS[record.benchmark](list(read_lines(find_rows(path))), record.seed)
    texts = {table.title: table.to_json() for table in computed}
    verdicts: dict[str, Verdict] = dict.fromkeys(texts, "different")
    for table in record.tables:
        if table.title not in texts:
            verdicts[table.title] = "no rows"
        elif texts[table.title] == table.to_json():
            verdicts[table.title] = "same"
    return verdicts


if __name__ == "__main__":
    sys.exit(main())
