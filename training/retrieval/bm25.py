"""BM25 on disk: an inverted index in parts of a million passages, which are mapped, not read.

INDEX/bm25/terms.db        the number of each term
INDEX/bm25/lengths.npy     terms of each passage
INDEX/bm25/PART.*.npy      for each term where its entries start; of each entry the passage, and how often the
                           term occurs in it (255 at most)
"""

from __future__ import annotations

import re
import sqlite3
import threading
from array import array
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

PART = 1_000_000
"""Number of passages of one part: building it takes about 1.5 GB of RAM."""
K1, B = 1.2, 0.75
COMMON = 0.1
"""Share of passages with a term above which the term is not looked up, because it says too little, unless the
query has no other term."""
_TERM = re.compile(r"\w+")


def split_terms(text: str) -> list[str]:
    return _TERM.findall(text.lower())


def build_bm25(texts: Iterable[str], folder: Path) -> None:
    """Index texts in order."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers: dict[str, int] = {}
    lengths, parts = array("H"), 0
    terms, passages, counts = array("I"), array("I"), bytearray()
    for place, text in enumerate(texts):
        words = split_terms(text)
        lengths.append(min(len(words), 65_535))
        for term, count in Counter(words).items():
            terms.append(numbers.setdefault(term, len(numbers)))
            passages.append(place)
            counts.append(min(count, 255))
        if (place + 1) % PART == 0:
            _write_part(folder, parts, terms, passages, counts, len(numbers))
            parts += 1
            terms, passages, counts = array("I"), array("I"), bytearray()
    if terms:
        _write_part(folder, parts, terms, passages, counts, len(numbers))
    np.save(folder / "lengths.npy", np.frombuffer(lengths, np.uint16))
    (folder / "terms.db").unlink(missing_ok=True)
    with sqlite3.connect(folder / "terms.db") as connection:
        connection.execute("CREATE TABLE terms (term TEXT PRIMARY KEY, number INTEGER) WITHOUT ROWID")
        connection.executemany("INSERT INTO terms VALUES (?, ?)", sorted(numbers.items()))
    connection.close()


def _write_part(
    folder: Path, part: int, terms: array[int], passages: array[int], counts: bytearray, known: int
) -> None:
    keys = np.frombuffer(terms, np.uint32)
    order = np.argsort(keys, kind="stable")
    starts = np.zeros(known + 1, np.int64)
    np.cumsum(np.bincount(keys, minlength=known), out=starts[1:])
    np.save(folder / f"{part:03}.starts.npy", starts)
    np.save(folder / f"{part:03}.passages.npy", np.frombuffer(passages, np.uint32)[order])
    np.save(folder / f"{part:03}.counts.npy", np.frombuffer(counts, np.uint8)[order])


class DiskBM25:
    """An index that `build_bm25` wrote. Threads share it."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._local = folder, threading.local()
        lengths = np.load(folder / "lengths.npy").astype(np.float32)
        self._norms = K1 * (1 - B + B * lengths / max(1.0, float(lengths.mean())))
        names = sorted(path.name.removesuffix(".starts.npy") for path in folder.glob("*.starts.npy"))
        self._parts = [
            [np.load(folder / f"{n}.{kind}.npy", mmap_mode="r") for kind in ("starts", "passages", "counts")]
            for n in names
        ]

    def search(self, query: str, k: int) -> list[tuple[int, float]]:
        """Return numbers and scores of the `k` best texts, best first; fewer if fewer match."""
        size = len(self._norms)
        sizes = {number: self._count(number) for number in map(self._find, dict.fromkeys(split_terms(query)))}
        known = {number: count for number, count in sizes.items() if count}
        rare = {n: count for n, count in known.items() if count <= COMMON * size} or known
        found: list[tuple[int, float]] = []
        for part in range(len(self._parts)):
            first = part * PART
            scores = np.zeros(min(PART, size - first), np.float32)
            for number, count in rare.items():
                passages, counts = self._read(part, number)
                weight = np.log1p((size - count + 0.5) / (count + 0.5))
                scores[passages - first] += weight * counts * (K1 + 1) / (counts + self._norms[passages])
            best = np.argpartition(-scores, min(k, len(scores) - 1))[:k]
            found += [(first + int(place), float(scores[place])) for place in best if scores[place] > 0]
        return sorted(found, key=lambda item: (-item[1], item[0]))[:k]

    def _read(self, part: int, number: int) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
        """Return the passages with a term in one part, and how often it occurs in them."""
        starts, passages, counts = self._parts[part]
        if number + 1 >= len(starts):  # a term of a later part
            return np.zeros(0, np.uint32), np.zeros(0, np.float32)
        entries = slice(starts[number], starts[number + 1])
        return passages[entries], counts[entries].astype(np.float32)

    def _count(self, number: int) -> int:
        """Return the number of texts with a term."""
        return sum(int(s[number + 1] - s[number]) for s, _, _ in self._parts if 0 <= number < len(s) - 1)

    def _find(self, term: str) -> int:
        """Return the number of a term; -1 for an unknown one."""
        if not hasattr(self._local, "connection"):
            self._local.connection = sqlite3.connect(self._folder / "terms.db")
        row = self._local.connection.execute("SELECT number FROM terms WHERE term = ?", (term,)).fetchone()
        return row[0] if row else -1
