"""`python -m benchmarks.latency`: time, start-up, memory and size of tersely beside larger encoders.

Prints a table, writes the JSON and fills RESULTS.md. Run it on an otherwise idle machine.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from benchmarks.latency import probes
from benchmarks.latency.encoders import MAX_LENGTH, SHAPES, Encoder
from benchmarks.latency.report import markdown, ratios, timing
from benchmarks.latency.texts import QUERY, documents
from benchmarks.progress import Progress
from benchmarks.results import add_out, environment, publish
from tersely import Compressor
from tersely.runtime.artifacts import Artifact, load_artifact
from tersely.runtime.session import usable_cores

WORDS = 120
COUNTS = (10, 30)
LONG_WORDS = 200_000
RATE = 0.25
FIRST = "0974832"
"""Commit of the first version with a trained model."""

Timings = dict[str, dict[str, list[float]]]
"""System to job to seconds."""


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; 0 on success, 1 with one line on standard error for anything the caller can mend."""
    options = _parser().parse_args(arguments)
    return publish("latency", lambda: run(options), markdown, options.out)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """The JSON of a run."""
    artifact = load_artifact(options.model)
    threads = options.threads or usable_cores()
    jobs = {f"{count} documents": documents(count, WORDS) for count in COUNTS}
    shapes = [shape for shape in SHAPES if shape.name in options.encoders]
    job = {"model": str(artifact.path), "threads": threads, "query": QUERY, "rate": RATE}
    progress = Progress(options.rounds + 5)

    imports = probes.import_seconds(options.starts)
    progress.step("import")
    cold = probes.cold_start_seconds({**job, "documents": jobs["10 documents"]}, options.starts)
    progress.step("cold start")
    memory = probes.compress_alone({**job, "documents": jobs["30 documents"]}, 5)
    progress.step("memory")
    long_text = documents(1, LONG_WORDS)
    long = probes.compress_alone({**job, "documents": long_text, "rate": 0.05}, 1)
    progress.step("long document")
    alone: dict[str, Any] = {
        "import": timing(imports),
        "cold_start": timing(cold),
        "memory": memory,
        "long": {"words": LONG_WORDS, **long},
    }
    if options.install:
        alone["install"] = probes.install_size()
    progress.step("install size")

    first = probes.EarlierVersion(FIRST, threads) if options.first else None
    seconds = _take_turns(
        artifact, shapes, first, jobs, threads, options.rounds, lambda: progress.step("rounds")
    )
    if first:
        first.close()
    progress.close()
    systems = {name: {j: timing(s) for j, s in found.items()} for name, found in seconds.items()}
    return {
        "benchmark": "latency",
        "model": f"{artifact.name}@{artifact.fingerprint}",
        "threads": threads,
        "environment": environment(),
        "titles": {
            "tersely": "**tersely**",
            **{shape.name: shape.title for shape in shapes},
            "first": f"tersely, first version ({FIRST})",
        },
        "systems": systems,
        "ratios": ratios(systems),
        "alone": alone,
    }


def _take_turns(
    artifact: Artifact,
    shapes: list[Any],
    first: probes.EarlierVersion | None,
    jobs: dict[str, list[str]],
    threads: int,
    rounds: int,
    advance: Callable[[], None],
) -> Timings:
    """Every system in every round, after one round that does not count; tersely and its first version five
    times a round."""
    compressor = Compressor(artifact.path, threads=threads)
    encoders = [Encoder(shape, threads) for shape in shapes]
    lengths = {job: _lengths(artifact.tokenizer_path, texts) for job, texts in jobs.items()}
    names = ("tersely", *(shape.name for shape in shapes), *(["first"] if first else []))
    seconds: Timings = {name: {job: [] for job in jobs} for name in names}
    for number in range(rounds + 1):
        for job, texts in jobs.items():
            for _ in range(5):
                taken = _timed(lambda texts=texts: compressor.compress(QUERY, texts, rate=RATE))
                if number:
                    seconds["tersely"][job].append(taken)
                if first:
                    taken = first.seconds({"query": QUERY, "documents": texts, "rate": RATE})
                    if number:
                        seconds["first"][job].append(taken)
            for encoder in encoders:
                taken = _timed(lambda encoder=encoder, job=job: encoder.run(lengths[job]))
                if number:
                    seconds[encoder.shape.name][job].append(taken)
        if number:
            advance()
    return seconds


def _timed(work: Callable[[], object]) -> float:
    gc.collect()
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _lengths(tokenizer_path: Path, texts: list[str]) -> list[int]:
    """Tokens of the query and each document together, as one encoder row would hold them."""
    tokenizer = Tokenizer.from_file(str(tokenizer_path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return [min(MAX_LENGTH, len(tokenizer.encode(QUERY, text).ids)) for text in texts]


def _parser() -> argparse.ArgumentParser:
    names = [shape.name for shape in SHAPES]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latency", description=__doc__)
    parser.add_argument("--model", help="artifact folder (default: the bundled model)")
    parser.add_argument("--rounds", type=int, default=8, help="timings of each reference encoder and job")
    parser.add_argument("--starts", type=int, default=7, help="processes started for import and cold start")
    parser.add_argument(
        "--encoders",
        nargs="*",
        choices=names,
        default=names,
        metavar="ENCODER",
        help=f"reference encoders (default: {' '.join(names)})",
    )
    parser.add_argument("--threads", type=int, help="threads that run a model (default: every usable core)")
    parser.add_argument(
        "--no-first", dest="first", action="store_false", help="leave the first version out of it"
    )
    parser.add_argument(
        "--no-install", dest="install", action="store_false", help="do not measure the install size"
    )
    add_out(parser, "latency")
    return parser


if __name__ == "__main__":
    sys.exit(main())
