"""Times of a full experience bank, without the time to make the vectors."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.shared.statistics import quantile
from benchmarks.table import Column, Row
from tersely_agents.experience import Experience, ExperienceBank

Vectors = NDArray[np.float32]

ENTRIES = 100_000
CALLS = 200
BANK = (
    Column("index"),
    Column("entries", format=","),
    Column("on disk", "MB", format=".0f"),
    Column("recall, p50", "ms", format=".2f"),
    Column("recall, p95", "ms", format=".2f"),
    Column("insert with merge, p50", "ms", format=".2f"),
    Column("insert with merge, p95", "ms", format=".2f"),
    Column("opening", "s", format=".1f"),
)


def time_bank(vectors: Vectors, queries: Vectors, seed: int) -> Row:
    """Return the times of a full bank.

    Vectors of entries are mixtures of two of `vectors` (n, dimension).
    """
    with tempfile.TemporaryDirectory() as folder:
        embedder = _KnownVectors(vectors, queries, seed)
        file = Path(folder) / "bank.db"
        lines = Path(folder) / "entries.jsonl"
        with lines.open("w", encoding="utf-8") as stream:
            for number in range(ENTRIES):
                stream.write(json.dumps(_make_entry(number).to_dict()) + "\n")
        bank = ExperienceBank(file, embedder)
        bank.import_jsonl(lines)
        bank.close()
        started = perf_counter()
        bank = ExperienceBank(file, embedder)
        opened = perf_counter() - started
        recall = _time(bank.recall, [f"query {q}" for q in range(CALLS)])
        insert = _time(bank.add, [_make_entry(n) for n in range(ENTRIES, ENTRIES + CALLS)])
        bank.close()
        return {
            "index": "exact",
            "entries": ENTRIES,
            "on disk": file.stat().st_size / 1e6,
            "recall, p50": quantile(recall, 0.5, 2),
            "recall, p95": quantile(recall, 0.95, 2),
            "insert with merge, p50": quantile(insert, 0.5, 2),
            "insert with merge, p95": quantile(insert, 0.95, 2),
            "opening": round(opened, 1),
        }


def _make_entry(number: int) -> Experience:
    return Experience(f"Lesson {number}", "When it applies.", "What to do. " * 10, f"Problem {number}", True)


class _KnownVectors:
    """An embedder that gives a text that ends in a number the vector of that number."""

    def __init__(self, vectors: Vectors, queries: Vectors, seed: int) -> None:
        draw = np.random.default_rng(seed)
        rows = ENTRIES + CALLS
        left, right = (vectors[draw.integers(0, len(vectors), 2 * rows)] for _ in range(2))
        share = draw.uniform(0.3, 1.0, (2 * rows, 1)).astype(np.float32)
        mixed = share * left + (1 - share) * right
        self._entries = mixed / np.linalg.norm(mixed, axis=1, keepdims=True)
        self._queries = queries
        self.name, self.dimension = f"known {seed}", int(vectors.shape[1])

    def embed(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self._embed_one(text) for text in texts])

    def _embed_one(self, text: str) -> Vectors:
        kind, number = text.split(".")[0].rsplit(" ", 1)
        if kind == "query":
            return self._queries[int(number) % len(self._queries)]
        return self._entries[2 * int(number) + (kind == "Problem")]


def _time(call: Callable[[Any], object], arguments: Sequence[Any]) -> list[float]:
    """Return the milliseconds of a call with each of `arguments`."""
    milliseconds: list[float] = []
    for argument in arguments:
        started = perf_counter()
        call(argument)
        milliseconds.append(1000 * (perf_counter() - started))
    return milliseconds
