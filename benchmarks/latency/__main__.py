"""`python -m benchmarks.latency`: time, start-up, RAM and size of tersely, and the time of larger encoders.

Run it on an otherwise idle machine.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tokenizers import Tokenizer

from benchmarks.command import Measured, Options, make_parser, run, track
from benchmarks.latency import probes
from benchmarks.latency.encoders import MAX_LENGTH, SHAPES, ReferenceEncoder
from benchmarks.latency.probes import Job, JobCost
from benchmarks.latency.texts import QUERY, write_documents
from benchmarks.shared.statistics import quantile
from benchmarks.table import Column, Row, Table
from tersely import Compressor
from tersely.runtime.artifacts import Artifact, load_artifact
from tersely.runtime.workers import usable_cores

WORDS = 120
COUNTS = (10, 30)
LONG_WORDS = 200_000
RATE = 0.25
REPEATS = 5
"""Timings of tersely for each timing of a reference encoder."""
STARTS = 7
"""Processes that are started for import and cold start."""
OURS = "tersely"
MEGABYTE = 1e6
CALLS = (
    Column("system"),
    Column("request"),
    Column("p50", "s", format=".3f"),
    Column("p95", "s", format=".3f"),
    Column("times tersely's", format=".1f"),
    Column("timings", printed=False),
)
STARTING = (
    Column("start"),
    Column("p50", "s", format=".2f"),
    Column("p95", "s", format=".2f"),
    Column("timings"),
)
RAM = (
    Column("request"),
    Column("tokens", format=","),
    Column("mean", "s", format=".2f"),
    Column("peak memory", "MB", format=".0f"),
)
SIZE = (
    Column("wheel", "MB", format=".0f"),
    Column("base install with everything it needs", "MB", format=".0f"),
    Column("distributions"),
)

Seconds = dict[tuple[str, str], list[float]]
"""Times of each system and request."""


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = make_parser("benchmarks.latency", __doc__, "model", "threads", rounds=8)
    return run(parser, arguments, Options(), measure)


def measure(options: Options) -> Measured:
    """Measure tersely in processes of its own, then time all systems in turns."""
    artifact = load_artifact(options.model)
    threads = options.threads or usable_cores()
    requests = {f"{count} documents": write_documents(count, WORDS) for count in COUNTS}
    small, large = requests.values()
    job = Job(str(artifact.path), threads, QUERY, small, RATE)
    imports = probes.time_imports(STARTS)
    starts = probes.time_cold_starts(job, STARTS)
    costs = {"30 documents": probes.compress_alone(replace(job, documents=large, times=5))}
    long = replace(job, documents=write_documents(1, LONG_WORDS), rate=0.05)
    costs[f"one document of {LONG_WORDS:,} words, rate 0.05"] = probes.compress_alone(long)
    size = probes.measure_install()
    compressor = Compressor(options.model, threads=threads)
    seconds = _take_turns(compressor, artifact, requests, threads, options.rounds)
    starting = {
        "`from tersely import Compressor`": imports,
        "new process to first result, 10 documents": starts,
    }
    installed: Row = {
        "wheel": size.wheel_bytes / MEGABYTE,
        "base install with everything it needs": size.installed_bytes / MEGABYTE,
        "distributions": size.distributions,
    }
    tables = [
        Table("Calls", CALLS, _list_calls(seconds), across="request"),
        Table("Start", STARTING, tuple({"start": name, **_time_row(s)} for name, s in starting.items())),
        Table("RAM", RAM, tuple(_describe_cost(name, cost) for name, cost in costs.items())),
        Table("Size", SIZE, (installed,)),
    ]
    return Measured(tables, compressor.model, {"threads": threads})


def _time_row(seconds: Sequence[float]) -> dict[str, float]:
    return {"p50": quantile(seconds, 0.5), "p95": quantile(seconds, 0.95), "timings": len(seconds)}


def _list_calls(seconds: Seconds) -> tuple[Row, ...]:
    rows: list[Row] = []
    for (system, request), values in seconds.items():
        ratio = round(quantile(values, 0.5) / quantile(seconds[OURS, request], 0.5), 1)
        place = {"system": system, "request": request, **_time_row(values)}
        rows.append({**place, "times tersely's": None if system == OURS else ratio})
    return tuple(rows)


def _describe_cost(request: str, cost: JobCost) -> Row:
    return {
        "request": request,
        "tokens": cost.tokens_before,
        "mean": cost.seconds,
        "peak memory": cost.peak_bytes / MEGABYTE,
    }


def _take_turns(
    compressor: Compressor,
    artifact: Artifact,
    requests: Mapping[str, Sequence[str]],
    threads: int,
    rounds: int,
) -> Seconds:
    """Return the seconds of every system in every round, after one round of warm-up.

    tersely is timed `REPEATS` times a round.
    """
    encoders = [ReferenceEncoder(name, threads) for name in SHAPES]
    lengths = {name: _count_tokens(artifact.tokenizer_path, texts) for name, texts in requests.items()}
    names = (OURS, *SHAPES.values())
    seconds: Seconds = {(system, request): [] for system in names for request in requests}
    gc.freeze()  # so that a collection before each call takes no time over what was imported
    for number in track(range(rounds + 1), "rounds"):
        for request, texts in requests.items():
            for _ in range(REPEATS):
                taken = _time(lambda texts=texts: compressor.compress(QUERY, texts, rate=RATE))
                if number:
                    seconds[OURS, request].append(taken)
            for encoder in encoders:
                taken = _time(lambda encoder=encoder, request=request: encoder.run(lengths[request]))
                if number:
                    seconds[encoder.title, request].append(taken)
    gc.unfreeze()
    return seconds


def _time(work: Callable[[], object]) -> float:
    gc.collect()
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _count_tokens(tokenizer_path: Path, texts: Sequence[str]) -> list[int]:
    """Count the tokens of the query and each document together, as one row of an encoder would hold them."""
    tokenizer = Tokenizer.from_file(str(tokenizer_path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return [min(MAX_LENGTH, len(tokenizer.encode(QUERY, text).ids)) for text in texts]


if __name__ == "__main__":
    sys.exit(main())
