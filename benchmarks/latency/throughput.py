"""`python -m benchmarks.latency.throughput`: tokens a second of calls, batches and threads; RAM over time.

Compared with the encoder alone, on the windows that the calls read. Run it on an otherwise idle machine.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import psutil

from benchmarks import command
from benchmarks.command import Measured, make_parser, run, track
from benchmarks.latency.texts import QUERY, write_documents
from benchmarks.quality.controls import load_selector
from benchmarks.table import Column, Row, Table
from tersely import Compression, Compressor
from tersely.runtime.workers import usable_cores

THREADS = 16
SIZES = (1, 10)
"""Documents of a request."""
REQUESTS = 24
WARM_UP = 0.05
"""Share of the calls after which RAM counts as settled."""
ENCODER = "encoder alone"
SPEED = (
    Column("system"),
    Column("documents"),
    Column("speed", "tokens/s", format=","),
    Column("of the encoder", "%", format=".0f"),
)
RAM = (
    Column("calls", format=","),
    Column("after a twentieth", "MB", format=".0f"),
    Column("most afterwards", "MB", format=".0f"),
    Column("growth", "%"),
)


class Options(command.Options):
    """The options of the command."""

    calls: int


class RecordingEncoder:
    """An encoder that records the windows that it is given."""

    def __init__(self, encoder: Any) -> None:
        self.encoder = encoder
        self.windows: list[Any] = []

    def encode(self, windows: Sequence[Any], estimates: Sequence[float] | None = None) -> Any:
        self.windows += windows
        return self.encoder.encode(windows, estimates)


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = make_parser("benchmarks.latency.throughput", __doc__, rounds=5)
    parser.add_argument("--calls", type=int, default=20_000, help="compressions of the RAM check")
    return run(parser, arguments, Options(), measure)


def measure(options: Options) -> Measured:
    """Measure RAM, then tokens a second for each size of a request."""
    ram = measure_ram(options.calls)  # first, before this process opens other sessions
    speed = tuple(row for size in SIZES for row in measure_speed(size, options.rounds))
    tables = [Table("Speed", SPEED, speed, across="documents"), Table("Resident RAM", RAM, (ram,))]
    return Measured(tables, Compressor().model, {"threads": usable_cores(), "rounds": options.rounds})


def measure_speed(size: int, rounds: int) -> list[Row]:
    """Return the median speed of the encoder alone, of single calls, of a batch and of threads."""
    texts = write_documents(REQUESTS * size, 120)
    requests = [(QUERY, texts[i * size : (i + 1) * size]) for i in range(REQUESTS)]
    selector, _ = load_selector(None)
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
    speed = {name: round(tokens / float(np.median(taken))) for name, taken in seconds.items()}
    return [
        {"system": name, "documents": size, "speed": value, "of the encoder": value / speed[ENCODER]}
        for name, value in speed.items()
    ]


def measure_ram(calls: int) -> Row:
    """Return resident RAM after a warm-up, and the most afterwards, over compressions of different sizes."""
    compressor = Compressor()
    texts = write_documents(40, 120)
    process = psutil.Process()
    settled = most = 0
    for call in track(range(calls), "RAM"):
        first = call % 37
        compressor.compress(QUERY, [texts[first][: 100 + 40 * (call % 7)], texts[first + 1][:90]], rate=0.5)
        if call >= calls * WARM_UP and (call % 50 == 0 or call == calls - 1):
            resident = process.memory_info().rss
            settled, most = settled or resident, max(most, resident)
    return {
        "calls": calls,
        "after a twentieth": settled / 1e6,
        "most afterwards": most / 1e6,
        "growth": round(most / settled - 1, 4),
    }


if __name__ == "__main__":
    sys.exit(main())
