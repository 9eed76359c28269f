"""The command line of every benchmark: shared options, the printed tables, and the recorded run."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar

from rich.console import Console
from rich.progress import track as show_progress

from benchmarks.results import find_baseline, write_results
from benchmarks.rows import Lines, find_rows, write_lines
from benchmarks.shared.environment import read_environment
from benchmarks.table import Record, Table
from tersely.errors import TerselyError

SEED = 13

Shared = Literal["data", "model", "threads"]


class Options(argparse.Namespace):
    """The shared options. A benchmark has `seed`, `out`, `record`, and those it asks `make_parser` for."""

    data: str | None
    model: str | None
    threads: int | None
    limit: int
    rounds: int
    seed: int
    out: Path | None
    record: bool


@dataclass(frozen=True, slots=True)
class Measured:
    """The outcome of a run, from which `run` makes a `Record`."""

    tables: Sequence[Table]
    model: str | None = None
    settings: Mapping[str, str | int | float] = field(default_factory=dict[str, str | int | float])
    rows: Lines = ()
    """Rows that the tables were computed from, if any."""


AnyOptions = TypeVar("AnyOptions", bound=Options)
Item = TypeVar("Item")


def make_parser(
    module: str, description: str | None, *shared: Shared, limit: int = 0, rounds: int = 0
) -> argparse.ArgumentParser:
    """Return a parser for `python -m module`.

    Args:
        shared: the shared options that the benchmark has.
        limit: default of --limit, the largest number of cases of each set; 0 for a benchmark without it.
        rounds: default of --rounds, how often everything is timed; 0 for a benchmark without it.
    """
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=description)
    if "data" in shared:
        parser.add_argument("--data", help="data folder (default: $TERSELY_DATA)")
    if "model" in shared:
        parser.add_argument("--model", help="artifact folder (default: the bundled model)")
    if "threads" in shared:
        parser.add_argument("--threads", type=int, help="threads of the model (default: every usable core)")
    if limit:
        parser.add_argument("--limit", type=int, default=limit, help="largest number of cases of each set")
    if rounds:
        parser.add_argument("--rounds", type=int, default=rounds, help="how often everything is measured")
    parser.add_argument(
        "--seed", type=int, default=SEED, help="seed for drawing questions, resamples and controls"
    )
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="write the run to FILE, and its rows to rows/"
    )
    parser.add_argument(
        "--record", action="store_true", help="write the run to baselines/, and rewrite RESULTS.md"
    )
    return parser


def run(
    parser: argparse.ArgumentParser,
    arguments: Sequence[str] | None,
    options: AnyOptions,
    measure: Callable[[AnyOptions], Measured],
) -> int:
    """Measure with the parsed options, print the tables and write the record.

    Returns the exit code: 0, or 1 after a `TerselyError`, with its message on standard error.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser.parse_args(given, namespace=options)
    name = parser.prog.rpartition(".")[2]
    try:
        measured = measure(options)
    except TerselyError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 1
    record = Record(
        benchmark=name,
        command=_describe_command(parser.prog, given),
        environment=read_environment(),
        seed=options.seed,
        tables=tuple(measured.tables),
        model=measured.model,
        settings=measured.settings,
    )
    print(record.to_markdown())
    if options.out:
        _write(record, measured.rows, options.out)
    if options.record:
        _write(record, measured.rows, find_baseline(name))
        write_results()
    return 0


def track(items: Collection[Item], description: str) -> Iterable[Item]:
    """Yield the items, and show the progress on standard error."""
    return show_progress(items, description, console=Console(stderr=True))


def _write(record: Record, rows: Lines, path: Path) -> None:
    record.write(path)
    if rows:
        write_lines(find_rows(path), rows)


def _split_option(argument: str) -> list[str]:
    """Return the name and the value of an argument such as `--data=DATA`; other arguments as they are."""
    return argument.split("=", 1) if argument.startswith("--") else [argument]


def _describe_command(program: str, arguments: Sequence[str]) -> str:
    """Return the command line, without the paths of this machine."""
    words: list[str] = []
    for word in (part for argument in arguments for part in _split_option(argument)):
        if words and words[-1] in ("--data", "--base", "--summarizer", "--out", "--python"):
            option = words.pop()
            words += [option, option[2:].upper()] if option not in ("--out", "--python") else []
        elif word != "--record":
            words.append(word)
    return " ".join([program, shlex.join(words)]).strip()
