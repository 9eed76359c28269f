"""How long a full experience bank takes to recall and to take in, apart from making the vectors."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tersely.experience import ExactIndex, Experience, ExperienceBank, FaissIndex, Index

Vectors = NDArray[np.float32]

ENTRIES = 100_000
CALLS = 200
INDICES: dict[str, Callable[[int], Index]] = {"exact": ExactIndex, "FAISS": FaissIndex}


def bank_times(vectors: Vectors, queries: Vectors, seed: int) -> dict[str, Any]:
    """Milliseconds by index. The entries' vectors are mixtures of two of `vectors` (n, dimension)."""
    out: dict[str, Any] = {"entries": ENTRIES}
    with tempfile.TemporaryDirectory() as folder:
        known = _Known(vectors, queries, seed)
        file = Path(folder) / "bank.db"
        lines = Path(folder) / "entries.jsonl"
        with lines.open("w", encoding="utf-8") as stream:
            for number in range(ENTRIES):
                stream.write(json.dumps(_entry(number).to_dict()) + "\n")
        bank = ExperienceBank(file, known)
        bank.import_jsonl(lines)
        bank.close()
        for turn, (name, index) in enumerate(INDICES.items()):
            started = perf_counter()
            bank = ExperienceBank(file, known, index=index)
            opened = perf_counter() - started
            first = ENTRIES + turn * CALLS
            out[name] = {
                "recall": _times(bank.recall, [f"query {q}" for q in range(CALLS)]),
                "insert": _times(bank.add, [_entry(n) for n in range(first, first + CALLS)]),
                "open_s": round(opened, 1),
            }
            bank.close()
        out["bytes"] = file.stat().st_size
    return out


def _entry(number: int) -> Experience:
    return Experience(f"Lesson {number}", "When it applies.", "What to do. " * 10, f"Problem {number}", True)


class _Known:
    """Gives a text that ends in a number the vector of that number."""

    def __init__(self, vectors: Vectors, queries: Vectors, seed: int) -> None:
        r = np.random.default_rng(seed)
        rows = ENTRIES + 2 * CALLS
        left, right = (vectors[r.integers(0, len(vectors), 2 * rows)] for _ in range(2))
        share = r.uniform(0.3, 1.0, (2 * rows, 1)).astype(np.float32)
        mixed = share * left + (1 - share) * right
        self._entries = mixed / np.linalg.norm(mixed, axis=1, keepdims=True)
        self._queries = queries
        self.name, self.dimension = f"known {seed}", int(vectors.shape[1])

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.embed`."""
        return np.stack([self._one(text) for text in texts])

    def _one(self, text: str) -> Vectors:
        kind, number = text.split(".")[0].rsplit(" ", 1)
        if kind == "query":
            return self._queries[int(number) % len(self._queries)]
        return self._entries[2 * int(number) + (kind == "Problem")]


def _times(call: Callable[[Any], object], arguments: Sequence[Any]) -> dict[str, float]:
    """Milliseconds of a call with each argument."""
    taken: list[float] = []
    for argument in arguments:
        started = perf_counter()
        call(argument)
        taken.append(1000 * (perf_counter() - started))
    return {"p50": round(float(np.median(taken)), 2), "p95": round(float(np.quantile(taken, 0.95)), 2)}
