"""`python -m benchmarks.latency`: time, start-up, RAM and size of tersely, and the time of larger encoders.

Prints a table, writes the JSON and fills RESULTS.md. Run it on an otherwise idle machine.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tokenizers import Tokenizer

from benchmarks.arguments import add_model, add_out, add_threads, make_parser
from benchmarks.latency import probes
from benchmarks.latency.encoders import MAX_LENGTH, SHAPES, ReferenceEncoder, Shape
from benchmarks.latency.probes import Job
from benchmarks.latency.report import render_latency
from benchmarks.latency.rows import LatencyRun, Timing, TimingRow
from benchmarks.latency.texts import QUERY, write_documents
from benchmarks.progress import Progress
from benchmarks.results import publish
from benchmarks.shared.environment import name_model, read_environment
from tersely import Compressor
from tersely.runtime.artifacts import Artifact, load_artifact
from tersely.runtime.workers import usable_cores

WORDS = 120
COUNTS = (10, 30)
LONG_WORDS = 200_000
RATE = 0.25
REPEATS = 5
"""Timings of tersely for each timing of a reference encoder."""
FIRST_COMMIT = "0974832"
"""The first version with a trained model."""
OURS, FIRST = "tersely", "first"

Seconds = dict[tuple[str, str], list[float]]
"""By system and request."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command."""

    model: str | None
    rounds: int
    starts: int
    encoders: list[str]
    threads: int | None
    first: bool
    install: bool
    out: Path


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    names = [shape.name for shape in SHAPES]
    parser = make_parser("benchmarks.latency", __doc__)
    add_model(parser)
    parser.add_argument("--rounds", type=int, default=8, help="timings of each reference encoder and request")
    parser.add_argument("--starts", type=int, default=7, help="processes started for import and cold start")
    parser.add_argument(
        "--encoders",
        nargs="*",
        choices=names,
        default=names,
        metavar="ENCODER",
        help=f"reference encoders (default: {' '.join(names)})",
    )
    add_threads(parser)
    parser.add_argument(
        "--no-first", dest="first", action="store_false", help="leave out tersely's first version"
    )
    parser.add_argument(
        "--no-install", dest="install", action="store_false", help="do not measure the install size"
    )
    add_out(parser, "latency")
    options = Options(**vars(parser.parse_args(arguments)))
    return publish("latency", lambda: measure(options), render_latency, options.out)


def measure(options: Options) -> LatencyRun:
    """Measure tersely in processes of its own, then time all systems in turns."""
    artifact = load_artifact(options.model)
    threads = options.threads or usable_cores()
    requests = {f"{count} documents": write_documents(count, WORDS) for count in COUNTS}
    small, large = requests.values()
    shapes = [shape for shape in SHAPES if shape.name in options.encoders]
    job = Job(str(artifact.path), threads, QUERY, small, RATE)
    progress = Progress(options.rounds + 5)

    imports = probes.time_imports(options.starts)
    progress.step("import")
    cold_starts = probes.time_cold_starts(job, options.starts)
    progress.step("cold start")
    request = probes.compress_alone(replace(job, documents=large, times=5))
    progress.step("peak memory")
    long = probes.compress_alone(replace(job, documents=write_documents(1, LONG_WORDS), rate=0.05))
    progress.step("long document")
    install = probes.measure_install() if options.install else None
    progress.step("install size")

    first = probes.EarlierVersion(FIRST_COMMIT, threads) if options.first else None
    seconds = _take_turns(
        artifact, shapes, first, requests, threads, options.rounds, lambda: progress.step("rounds")
    )
    if first:
        first.close()
    progress.close()
    return LatencyRun(
        benchmark="latency",
        model=name_model(artifact),
        threads=threads,
        environment=read_environment(),
        titles={
            OURS: "**tersely**",
            **{shape.name: shape.title for shape in shapes},
            FIRST: f"tersely, first version ({FIRST_COMMIT})",
        },
        systems=_make_rows(seconds),
        import_seconds=Timing.of(imports),
        cold_start=Timing.of(cold_starts),
        request=request,
        long_words=LONG_WORDS,
        long=long,
        install=install,
    )


def _make_rows(seconds: Seconds) -> tuple[TimingRow, ...]:
    timings = {key: Timing.of(values) for key, values in seconds.items()}
    rows: list[TimingRow] = []
    for (system, request), timing in timings.items():
        ratio = None if system == OURS else round(timing.p50 / timings[OURS, request].p50, 1)
        rows.append(TimingRow(system, request, timing.p50, timing.p95, timing.timings, ratio))
    return tuple(rows)


def _take_turns(
    artifact: Artifact,
    shapes: Sequence[Shape],
    first: probes.EarlierVersion | None,
    requests: dict[str, list[str]],
    threads: int,
    rounds: int,
    advance: Callable[[], None],
) -> Seconds:
    """Seconds of every system in every round, after one round of warm-up.

    tersely and its first version are timed `REPEATS` times a round.
    """
    compressor = Compressor(artifact.path, threads=threads)
    encoders = [ReferenceEncoder(shape, threads) for shape in shapes]
    lengths = {name: _count_tokens(artifact.tokenizer_path, texts) for name, texts in requests.items()}
    names = (OURS, *(shape.name for shape in shapes), *([FIRST] if first else []))
    seconds: Seconds = {(system, request): [] for system in names for request in requests}
    for number in range(rounds + 1):
        for request, texts in requests.items():
            for _ in range(REPEATS):
                taken = _time(lambda texts=texts: compressor.compress(QUERY, texts, rate=RATE))
                if number:
                    seconds[OURS, request].append(taken)
                if first:
                    taken = first.time(QUERY, texts, RATE)
                    if number:
                        seconds[FIRST, request].append(taken)
            for encoder in encoders:
                taken = _time(lambda encoder=encoder, request=request: encoder.run(lengths[request]))
                if number:
                    seconds[encoder.shape.name, request].append(taken)
        if number:
            advance()
    return seconds


def _time(work: Callable[[], object]) -> float:
    gc.collect()
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _count_tokens(tokenizer_path: Path, texts: Sequence[str]) -> list[int]:
    """Tokens of the query and each document together, as one row of an encoder would hold them."""
    tokenizer = Tokenizer.from_file(str(tokenizer_path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return [min(MAX_LENGTH, len(tokenizer.encode(QUERY, text).ids)) for text in texts]


if __name__ == "__main__":
    sys.exit(main())
