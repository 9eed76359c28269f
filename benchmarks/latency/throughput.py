"""`python -m benchmarks.latency.throughput`: tokens a second of single calls, batches and threads, compared
with the encoder alone, and RAM over many calls.

Prints a table, writes the JSON and fills RESULTS.md. Run it on an otherwise idle machine.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.arguments import add_out, make_parser
from benchmarks.latency.report import render_throughput
from benchmarks.latency.rows import RamRow, ThroughputRow, ThroughputRun
from benchmarks.latency.texts import QUERY, write_documents
from benchmarks.progress import Progress
from benchmarks.results import publish
from benchmarks.shared.environment import name_model, read_environment
from tersely import Compression, Compressor
from tersely.runtime.artifacts import load_artifact
from tersely.runtime.workers import usable_cores
from tersely.score.layout import Window
from tersely.score.selector import Selector

THREADS = 16
SIZES = (1, 10)
"""Documents of a request."""
REQUESTS = 24
WARM_UP = 0.05
"""Share of the calls after which RAM counts as settled."""
ENCODER = "encoder alone"


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command."""

    rounds: int
    calls: int
    out: Path


class RecordingEncoder:
    """An encoder that records the windows which it is given."""

    def __init__(self, encoder: Any) -> None:
        self.encoder = encoder
        self.windows: list[Window] = []

    def encode(self, windows: Sequence[Window], promise: Sequence[float] | None = None) -> Any:
        self.windows += windows
        return self.encoder.encode(windows, promise)


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = make_parser("benchmarks.latency.throughput", __doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=20_000, help="compressions of the RAM check")
    add_out(parser, "throughput")
    options = Options(**vars(parser.parse_args(arguments)))
    return publish("throughput", lambda: measure(options), render_throughput, options.out)


def measure(options: Options) -> ThroughputRun:
    """Measure RAM, then tokens a second for each size of a request."""
    artifact = load_artifact(None)
    ram = measure_ram(options.calls)  # first, before this process opens other sessions
    return ThroughputRun(
        benchmark="throughput",
        model=name_model(artifact),
        threads=usable_cores(),
        environment=read_environment(),
        ram=ram,
        systems=tuple(row for size in SIZES for row in measure_throughput(size, options.rounds)),
    )


def measure_throughput(size: int, rounds: int) -> list[ThroughputRow]:
    """Median tokens a second of the encoder alone, of one call after the other, of a batch and of threads."""
    texts = write_documents(REQUESTS * size, 120)
    requests = [(QUERY, texts[i * size : (i + 1) * size]) for i in range(REQUESTS)]
    selector = Selector.load(load_artifact(None))
    compressor = Compressor(selector)
    encoder: Any = selector.encoder
    recorder: Any = RecordingEncoder(encoder)
    selector.encoder = recorder
    expected = [compressor.compress(q, d, rate=0.25) for q, d in requests]
    selector.encoder = encoder
    tokens = sum(len(w.input_ids) for w in recorder.windows)

    def compress_in_threads() -> list[Compression]:
        with ThreadPoolExecutor(THREADS) as pool:
            futures = [pool.submit(compressor.compress, q, d, rate=0.25) for q, d in requests]
            return [future.result() for future in futures]

    systems: dict[str, Callable[[], Any]] = {
        ENCODER: lambda: encoder.encode(recorder.windows),
        "compress, one by one": lambda: [compressor.compress(q, d, rate=0.25) for q, d in requests],
        "compress_batch": lambda: compressor.compress_batch(requests, rate=0.25),
        f"{THREADS} threads": compress_in_threads,
    }
    seconds: dict[str, list[float]] = {name: [] for name in systems}
    for _ in range(rounds):
        for name, work in systems.items():
            started = time.perf_counter()
            results = work()
            seconds[name].append(time.perf_counter() - started)
            if name != ENCODER and results != expected:
                raise RuntimeError(f"{name} gave another result than one call after the other")
    return [
        ThroughputRow(size, name, round(tokens / float(np.median(taken)))) for name, taken in seconds.items()
    ]


def measure_ram(calls: int) -> RamRow:
    """Resident bytes after a warm-up, and the most afterwards, over compressions of different sizes."""
    compressor = Compressor()
    texts = write_documents(40, 120)
    process = psutil.Process()
    progress = Progress(calls)
    settled = most = 0
    for call in range(calls):
        first = call % 37
        compressor.compress(QUERY, [texts[first][: 100 + 40 * (call % 7)], texts[first + 1][:90]], rate=0.5)
        if call >= calls * WARM_UP and (call % 50 == 0 or call == calls - 1):
            resident = process.memory_info().rss
            settled, most = settled or resident, max(most, resident)
        progress.step("RAM")
    progress.close()
    return RamRow(calls, settled, most, round(most / settled - 1, 4))


if __name__ == "__main__":
    sys.exit(main())
