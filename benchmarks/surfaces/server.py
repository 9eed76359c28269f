"""`python -m benchmarks.surfaces.server`: the throughput of `tersely serve`, compared with the SDK's own, and
the times that clients see.

The server runs in a process of its own; clients and SDK run in this one. All of them use the same cores.
Prints a table, writes the JSON and fills RESULTS.md.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import httpx2
import numpy as np

from benchmarks.latency.texts import QUERY, write_documents
from benchmarks.markdown import format_table
from benchmarks.progress import Progress
from benchmarks.results import publish
from benchmarks.shared.environment import Environment, name_model, read_environment
from benchmarks.shared.statistics import Estimate, bootstrap
from benchmarks.surfaces.processes import TERSELY, Options, read_options, start_process
from tersely import Compressor
from tersely.runtime.artifacts import load_artifact

REQUESTS, DOCUMENTS, WORDS, RATE = 16, 10, 120, 0.25
CLIENTS = 8
SDK = "compress_batch"


@dataclass(frozen=True, slots=True)
class ServerRow:
    """One way to compress the same requests."""

    name: str
    requests_per_second: float
    """Median over the rounds."""
    share: Estimate | None
    """Of the SDK's throughput, over the rounds; None for the SDK."""


@dataclass(frozen=True, slots=True)
class ServerRun:
    """One run of the benchmark."""

    benchmark: str
    model: str
    seed: int
    rounds: int
    environment: Environment
    frameworks: dict[str, str]
    """Version by distribution."""
    systems: tuple[ServerRow, ...]
    clients: int
    p50: float
    """Median seconds of a request while `clients` clients send."""
    p99: float


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    options = read_options("server", __doc__, 20, arguments)
    return publish("server", lambda: measure(options), render, options.out)


def measure(options: Options) -> ServerRun:
    """Time the SDK, a batch over HTTP, and clients in parallel, in turns."""
    artifact = load_artifact(None)
    compressor = Compressor(artifact.path)
    texts = write_documents(REQUESTS * DOCUMENTS, WORDS)
    requests = [texts[i : i + DOCUMENTS] for i in range(0, len(texts), DOCUMENTS)]
    pairs = [(QUERY, documents) for documents in requests]

    def compress() -> list[str]:
        return [result.text for result in compressor.compress_batch(pairs, rate=RATE)]

    expected = compress()
    seconds: list[float] = []
    with (
        start_process([*TERSELY, "serve", "--port", "0"]) as server,
        httpx2.Client(base_url=server.url, timeout=120) as client,
    ):

        def ask(documents: list[str]) -> str:
            started = time.perf_counter()
            body = {"query": QUERY, "documents": documents, "rate": RATE}
            reply = client.post("/v1/compress", json=body).raise_for_status()
            seconds.append(time.perf_counter() - started)
            return reply.json()["text"]

        def ask_batch() -> list[str]:
            body = {"requests": [{"query": QUERY, "documents": r} for r in requests], "rate": RATE}
            reply = client.post("/v1/compress/batch", json=body).raise_for_status()
            lines: list[Any] = [json.loads(line) for line in reply.text.splitlines()]
            return [line["text"] for line in sorted(lines, key=lambda line: line["index"])]

        def ask_in_parallel() -> list[str]:
            with ThreadPoolExecutor(CLIENTS) as pool:
                return list(pool.map(ask, requests))

        systems: dict[str, Callable[[], list[str]]] = {
            SDK: compress,
            "server, /v1/compress/batch": ask_batch,
            f"server, /v1/compress, {CLIENTS} clients": ask_in_parallel,
        }
        taken = _take_turns(systems, expected, options.rounds)
    seconds = seconds[REQUESTS:]  # the first round warms up
    return ServerRun(
        benchmark="server",
        model=name_model(artifact),
        seed=options.seed,
        rounds=options.rounds,
        environment=read_environment(),
        frameworks={name: version(name) for name in ("fastapi", "uvicorn", "httpx2")},
        systems=tuple(_compare(name, own, taken[SDK], options.seed) for name, own in taken.items()),
        clients=CLIENTS,
        p50=round(float(np.quantile(seconds, 0.5)), 4),
        p99=round(float(np.quantile(seconds, 0.99)), 4),
    )


def _take_turns(
    systems: dict[str, Callable[[], list[str]]], expected: list[str], rounds: int
) -> dict[str, list[float]]:
    """Seconds of every system in every round, after one round of warm-up. All must give the same texts."""
    taken: dict[str, list[float]] = {name: [] for name in systems}
    progress = Progress(rounds + 1)
    for number in range(rounds + 1):
        for name, work in systems.items():
            started = time.perf_counter()
            texts = work()
            if number:
                taken[name].append(time.perf_counter() - started)
            if texts != expected:
                raise RuntimeError(f"{name} gave other texts than {SDK}")
        progress.step("rounds")
    progress.close()
    return taken


def _compare(name: str, own: list[float], sdk: list[float], seed: int) -> ServerRow:
    share = None if name == SDK else bootstrap(np.array(sdk), np.array(own), seed).round()
    return ServerRow(name, round(REQUESTS / float(np.median(own)), 2), share)


def render(run: ServerRun) -> str:
    """The section of RESULTS.md."""
    frameworks = ", ".join(f"{name} {number}" for name, number in run.frameworks.items())
    rows = [
        [
            row.name,
            f"{row.requests_per_second:.1f}",
            ""
            if row.share is None
            else f"{row.share.value:.0%} ({row.share.low:.0%} to {row.share.high:.0%})",
        ]
        for row in run.systems
    ]
    return "\n\n".join(
        [
            f"Model {run.model}, seed {run.seed}. {run.environment.describe()}",
            f"{REQUESTS} requests of {DOCUMENTS} documents of {WORDS} words at rate {RATE}, {run.rounds} "
            f"rounds in turns, {frameworks}. The share is that of the SDK's throughput in the same rounds, "
            "with a 95 % bootstrap interval.",
            format_table(["", "requests/s", "of the SDK"], rows),
            f"With {run.clients} clients a request takes {run.p50:.2f} s at the median and {run.p99:.2f} s "
            f"at the 99th percentile, {run.p99 / run.p50:.1f} times the median.",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
