"""`python -m benchmarks.surfaces.server`: the throughput of `tersely serve`, compared with the SDK's own.

The server runs in a process of its own; clients and SDK run in this one. All of them use the same cores.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from typing import Any

import httpx2
import numpy as np

from benchmarks.command import Measured, Options, make_parser, run, track
from benchmarks.latency.texts import QUERY, write_documents
from benchmarks.shared.statistics import bootstrap, quantile
from benchmarks.surfaces.processes import TERSELY, start_process
from benchmarks.table import Column, Row, Table
from tersely import Compressor

REQUESTS, DOCUMENTS, WORDS, RATE = 16, 10, 120, 0.25
CLIENTS = 8
SDK = "compress_batch"
PARALLEL = f"server, /v1/compress, {CLIENTS} clients"
THROUGHPUT = (
    Column("system"),
    Column("median", "requests/s", format=".1f"),
    Column("of the SDK", "%", format=".0f", interval="bootstrap"),
    Column("p50 of a request", "s", format=".2f"),
    Column("p99 of a request", "s", format=".2f"),
)
"""The last two: the time of a request while all clients send."""


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    return run(make_parser("benchmarks.surfaces.server", __doc__, rounds=20), arguments, Options(), measure)


def measure(options: Options) -> Measured:
    """Time the SDK, a batch over HTTP, and clients in parallel, in turns."""
    compressor = Compressor()
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
            PARALLEL: ask_in_parallel,
        }
        taken = _take_turns(systems, expected, options.rounds)
    seconds = seconds[REQUESTS:]  # the first round warms up
    rows = tuple(
        {
            **_compare(name, times, taken[SDK], options.seed),
            "p50 of a request": quantile(seconds, 0.5) if name == PARALLEL else None,
            "p99 of a request": quantile(seconds, 0.99) if name == PARALLEL else None,
        }
        for name, times in taken.items()
    )
    frameworks = {name: version(name) for name in ("fastapi", "uvicorn", "httpx2")}
    return Measured(
        [Table("Throughput", THROUGHPUT, rows)], compressor.model, {"rounds": options.rounds, **frameworks}
    )


def _take_turns(
    systems: Mapping[str, Callable[[], list[str]]], expected: list[str], rounds: int
) -> dict[str, list[float]]:
    """Return the seconds of every system in every round, after a warm-up. All must give the same texts."""
    taken: dict[str, list[float]] = {name: [] for name in systems}
    for number in track(range(rounds + 1), "rounds"):
        for name, work in systems.items():
            started = time.perf_counter()
            texts = work()
            if number:
                taken[name].append(time.perf_counter() - started)
            if texts != expected:
                raise RuntimeError(f"{name} did not give the same texts as {SDK}")
    return taken


def _compare(name: str, seconds: list[float], sdk: list[float], seed: int) -> Row:
    share = None if name == SDK else bootstrap(np.array(sdk), np.array(seconds), seed).round()
    return {"system": name, "median": round(REQUESTS / float(np.median(seconds)), 2), "of the SDK": share}


if __name__ == "__main__":
    sys.exit(main())
