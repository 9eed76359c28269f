"""`python -m benchmarks.latency.throughput`: tokens a second of batches and of many threads, against the
model's own, and memory over many calls.

Prints a table, writes the JSON and fills RESULTS.md. Run it on an otherwise idle machine.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import psutil

from benchmarks.latency.texts import QUERY, documents
from benchmarks.progress import Progress
from benchmarks.results import add_out, describe, environment, publish, table
from tersely import Compression, Compressor
from tersely.runtime.artifacts import load_artifact
from tersely.runtime.session import usable_cores
from tersely.selector.layout import Window
from tersely.selector.selector import Selector

THREADS = 16
SIZES = (1, 10)
"""Documents of a request."""
REQUESTS = 24
WARM_UP = 0.05
"""Share of the calls after which memory counts as settled."""


class RecordingEncoder:
    """An encoder that records its windows."""

    def __init__(self, encoder: Any) -> None:
        self.encoder = encoder
        self.windows: list[Window] = []

    def encode(self, windows: Sequence[Window]) -> Any:
        self.windows += windows
        return self.encoder.encode(windows)


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latency.throughput", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=20_000, help="compressions of the memory check")
    add_out(parser, "throughput")
    options = parser.parse_args(arguments)
    return publish("throughput", lambda: run(options), markdown, options.out)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """The JSON of a run."""
    artifact = load_artifact(None)
    return {
        "benchmark": "throughput",
        "model": f"{artifact.name}@{artifact.fingerprint}",
        "threads": usable_cores(),
        "environment": environment(),
        "memory": memory(options.calls),  # first, before other sessions are open in this process
        "requests": {str(size): throughput(size, options.rounds) for size in SIZES},
    }


def throughput(size: int, rounds: int) -> dict[str, float]:
    """Median tokens a second of the encoder alone, of one call after the other, of a batch, and of
    threads."""
    texts = documents(REQUESTS * size, 120)
    requests = [(QUERY, texts[i * size : (i + 1) * size]) for i in range(REQUESTS)]
    selector = Selector.load(load_artifact(None))
    compressor = Compressor(selector)
    encoder: Any = selector.encoder
    recording: Any = RecordingEncoder(encoder)
    selector.encoder = recording
    expected = [compressor.compress(q, d, rate=0.25) for q, d in requests]
    selector.encoder = encoder
    tokens = sum(len(w.input_ids) for w in recording.windows)

    def together() -> list[Compression]:
        with ThreadPoolExecutor(THREADS) as pool:
            return list(pool.map(lambda r: compressor.compress(*r, rate=0.25), requests))

    systems: dict[str, Callable[[], Any]] = {
        "encoder alone": lambda: encoder.encode(recording.windows),
        "compress, one by one": lambda: [compressor.compress(q, d, rate=0.25) for q, d in requests],
        "compress_batch": lambda: compressor.compress_batch(requests, rate=0.25),
        f"{THREADS} threads": together,
    }
    seconds: dict[str, list[float]] = {name: [] for name in systems}
    for _ in range(rounds):
        for name, work in systems.items():
            started = time.perf_counter()
            found = work()
            seconds[name].append(time.perf_counter() - started)
            if name != "encoder alone" and found != expected:
                raise RuntimeError(f"{name} gave another result than one call after the other")
    return {name: round(tokens / float(np.median(taken))) for name, taken in seconds.items()}


def memory(calls: int) -> dict[str, float]:
    """Resident bytes after a warm-up and the most of them afterwards, over compressions of different
    sizes."""
    compressor = Compressor()
    texts = documents(40, 120)
    process = psutil.Process()
    progress = Progress(calls)
    settled = most = 0
    for call in range(calls):
        first = call % 37
        compressor.compress(QUERY, [texts[first][: 100 + 40 * (call % 7)], texts[first + 1][:90]], rate=0.5)
        if call >= calls * WARM_UP and (call % 50 == 0 or call == calls - 1):
            resident = process.memory_info().rss
            settled, most = settled or resident, max(most, resident)
        progress.step("memory")
    progress.close()
    return {
        "calls": calls,
        "settled_bytes": settled,
        "most_bytes": most,
        "growth": round(most / settled - 1, 4),
    }


def markdown(result: dict[str, Any]) -> str:
    """The section of RESULTS.md for a run's JSON."""
    names = list(next(iter(result["requests"].values())))
    rows: list[list[str]] = []
    for name in names:
        cells: list[str] = []
        for found in result["requests"].values():
            cells += [f"{found[name]:,}", f"{found[name] / found[names[0]]:.0%}"]
        rows.append([name, *cells])
    header = [""]
    for size in result["requests"]:
        header += [f"{size} document(s) a request, tokens/s", "of the encoder"]
    held = result["memory"]
    return "\n\n".join(
        [
            f"Model {result['model']}, {result['threads']} threads. {describe(result['environment'])}",
            "The same requests, windows and results everywhere; all take turns in one process.",
            table(header, rows),
            f"Resident memory over {held['calls']:,} calls: {held['settled_bytes'] / 1e6:.0f} MB after the "
            f"first twentieth, {held['most_bytes'] / 1e6:.0f} MB at most afterwards ({held['growth']:+.1%}).",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
