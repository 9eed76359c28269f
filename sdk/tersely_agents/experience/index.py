"""Find the most similar experiences: exact search in numpy, or FAISS if it is installed.

Each entry has two vectors, one of the experience and one of its problem. An `Index` knows entries by their
position, a `KeyedIndex` by their id.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tersely.errors import InvalidInputError, MissingDependencyError
from tersely.inputs import check_count, check_members, type_name
from tersely_agents.experience.types import Vectors

HEAD = 64
"""Leading numbers of each vector, from which its score is bounded."""
PROBE = 64
"""Likely entries that are scored first. Their scores tell which bounds are too low."""
FEW = 8
"""If more than one in `FEW` entries are left, scoring all of them in order is faster than selecting."""
ROUNDING = 1e-5
"""Added to the bounds, since float32 rounds."""

INDEX_MEMBERS = ("add", "replace", "remove", "search", "nearest", "__len__")

Scores = NDArray[np.float32]
Matches = list[tuple[int, float]]
"""(position, score), best first; equal scores in the order of their positions."""


class Index(Protocol):
    """Holds entries in a row. Positions count from 0. Vectors are float32 of length 1."""

    def __len__(self) -> int: ...

    def add(self, experiences: Vectors, problems: Vectors) -> None:
        """Append entries. Both arrays have the shape (n, dimension)."""
        ...

    def replace(self, position: int, experience: Vectors, problem: Vectors) -> None:
        """Replace the vectors at a position. Both have the shape (dimension,)."""
        ...

    def remove(self, position: int) -> None:
        """Remove the entry at a position. The last entry moves there."""
        ...

    def search(self, query: Vectors, problem: Vectors, alpha: float, k: int) -> Matches:
        """The k entries with the highest alpha * query @ experience + (1 - alpha) * problem @ its problem."""
        ...

    def nearest(self, experience: Vectors) -> tuple[int, float] | None:
        """Position of the most similar experience, and the similarity; None if the index is empty."""
        ...


class KeyedIndex:
    """An index that knows its entries by their id."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._keys: list[str] = []
        self._positions: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, keys: Sequence[str], experiences: Vectors, problems: Vectors) -> None:
        """Append entries. Both arrays have the shape (keys, dimension)."""
        self._index.add(experiences, problems)
        for key in keys:
            self._positions[key] = len(self._keys)
            self._keys.append(key)

    def replace(self, old: str, new: str, experience: Vectors, problem: Vectors) -> None:
        """Put another entry in the place of `old`."""
        position = self._positions.pop(old)
        self._index.replace(position, experience, problem)
        self._keys[position] = new
        self._positions[new] = position

    def remove(self, key: str) -> None:
        """Remove an entry."""
        position = self._positions.pop(key)
        last = self._keys.pop()
        self._index.remove(position)
        if last != key:
            self._keys[position] = last
            self._positions[last] = position

    def search(self, query: Vectors, problem: Vectors, alpha: float, k: int) -> list[tuple[str, float]]:
        """Ids and scores of the k best entries, as `Index.search` finds them."""
        return [(self._keys[at], score) for at, score in self._index.search(query, problem, alpha, k)]

    def find_nearest(self, experience: Vectors) -> tuple[str, float] | None:
        """Id of the most similar experience, and the similarity; None if the index is empty."""
        match = self._index.nearest(experience)
        return None if match is None else (self._keys[match[0]], match[1])


def make_index(make: Callable[[int], Index], dimension: int) -> KeyedIndex:
    """An empty index. Raises InvalidInputError if `make` is no function that makes one."""
    remedy = "Pass a function that makes one, such as ExactIndex."
    if not callable(make):
        raise InvalidInputError(f"index is {type_name(make)}. {remedy}")
    index = make(dimension)
    check_members(index, INDEX_MEMBERS, "What index made for the bank", remedy)
    return KeyedIndex(index)


class ExactIndex:
    """Exact search that scores only the entries that may be among the best.

    The leading numbers of a vector bound its score (Cauchy-Schwarz inequality). The bound is tight if they
    hold most of the vector's length, as those of `SentenceEmbedder` do.
    """

    def __init__(self, dimension: int) -> None:
        dimension = check_count(dimension, "dimension", "numbers")
        self._experiences = _BoundedRows(dimension)
        self._problems = _BoundedRows(dimension)

    def __len__(self) -> int:
        return len(self._experiences)

    def add(self, experiences: Vectors, problems: Vectors) -> None:
        """Append entries. Both arrays have the shape (n, dimension)."""
        self._experiences.add(experiences)
        self._problems.add(problems)

    def replace(self, position: int, experience: Vectors, problem: Vectors) -> None:
        """Replace the vectors at a position. Both have the shape (dimension,)."""
        self._experiences.put(position, experience[None])
        self._problems.put(position, problem[None])

    def remove(self, position: int) -> None:
        """Remove the entry at a position. The last entry moves there."""
        self._experiences.remove(position)
        self._problems.remove(position)

    def search(self, query: Vectors, problem: Vectors, alpha: float, k: int) -> Matches:
        """The k entries with the highest weighted similarity, as in `Index.search`."""
        return _find_best([(self._experiences, alpha * query), (self._problems, (1 - alpha) * problem)], k)

    def nearest(self, experience: Vectors) -> tuple[int, float] | None:
        """Position of the most similar experience, and the similarity; None if the index is empty."""
        matches = _find_best([(self._experiences, experience)], 1)
        return matches[0] if matches else None


class _BoundedRows:
    """A growing array (n, dimension) that can bound dot products with its rows.

    It keeps the leading numbers of each row apart, and the length of the rest.
    """

    def __init__(self, dimension: int) -> None:
        self._rows: Vectors = np.zeros((0, dimension), np.float32)
        self._heads: Vectors = np.zeros((0, min(HEAD, dimension)), np.float32)
        self._rests: Vectors = np.zeros(0, np.float32)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, rows: Vectors) -> None:
        needed = self._size + len(rows)
        if needed > len(self._rows):
            room = max(needed, 2 * len(self._rows), 64)
            self._rows, self._heads, self._rests = (
                np.concatenate([old, np.zeros((room - len(old), *old.shape[1:]), np.float32)])
                for old in (self._rows, self._heads, self._rests)
            )
        at, self._size = self._size, needed
        self.put(at, rows)

    def put(self, at: int, rows: Vectors) -> None:
        place = slice(at, at + len(rows))
        self._rows[place] = rows
        self._heads[place] = rows[:, :HEAD]
        self._rests[place] = np.linalg.norm(rows[:, HEAD:], axis=1)

    def remove(self, position: int) -> None:
        self._size -= 1
        for part in (self._rows, self._heads, self._rests):
            part[position] = part[self._size]

    def bound(self, vector: Vectors) -> Scores:
        """The highest possible dot product of each row with a vector, shape (n,)."""
        estimate: Scores = self._heads[: self._size] @ vector[:HEAD]
        slack: Scores = np.float32(np.linalg.norm(vector[HEAD:])) * self._rests[: self._size]
        return estimate + slack

    def multiply(self, vector: Vectors, rows: NDArray[np.intp] | slice) -> Scores:
        """Dot products of a vector with some of the rows."""
        return self._rows[: self._size][rows] @ vector


def _find_best(parts: Sequence[tuple[_BoundedRows, Vectors]], k: int) -> Matches:
    """The k positions with the highest sums of dot products over all parts, and these sums."""
    parts = [(rows, vector.astype(np.float32)) for rows, vector in parts]
    size = len(parts[0][0])
    k = min(k, size)
    if not k:
        return []

    def score(rows: NDArray[np.intp] | slice) -> Scores:
        return np.sum([part.multiply(vector, rows) for part, vector in parts], axis=0)

    bounds = np.sum([part.bound(vector) for part, vector in parts], axis=0) + ROUNDING
    probe = min(size, max(PROBE, 4 * k))
    likely = np.argpartition(bounds, size - probe)[size - probe :]
    kth_best = np.partition(score(likely), probe - k)[probe - k]
    left = np.flatnonzero(bounds >= kth_best)
    if len(left) > size // FEW:
        left, scores = np.arange(size), score(slice(None))
    else:
        scores = score(left)
    best = np.flatnonzero(scores >= np.partition(scores, len(scores) - k)[len(scores) - k])
    return [(int(left[i]), float(scores[i])) for i in best[np.lexsort((best, -scores[best]))][:k]]


class FaissIndex:
    """Exact search by FAISS (IndexFlatIP), which uses several cores. Needs the extra `tersely[faiss]`."""

    def __init__(self, dimension: int) -> None:
        try:
            self._faiss: Any = importlib.import_module("faiss")
        except ImportError as error:
            raise MissingDependencyError("FaissIndex needs faiss: pip install 'tersely[faiss]'") from error
        self._dimension = dimension = check_count(dimension, "dimension", "numbers")
        self._both: Any = self._faiss.IndexFlatIP(2 * dimension)
        self._experiences: Any = self._faiss.IndexFlatIP(dimension)

    def __len__(self) -> int:
        return int(self._both.ntotal)

    def add(self, experiences: Vectors, problems: Vectors) -> None:
        """Append entries. Both arrays have the shape (n, dimension)."""
        self._experiences.add(np.ascontiguousarray(experiences, dtype=np.float32))
        self._both.add(np.hstack([experiences, problems]).astype(np.float32))

    def replace(self, position: int, experience: Vectors, problem: Vectors) -> None:
        """Replace the vectors at a position. Both have the shape (dimension,)."""
        self._view(self._experiences)[position] = experience
        self._view(self._both)[position] = np.concatenate([experience, problem])

    def remove(self, position: int) -> None:
        """Remove the entry at a position. The last entry moves there."""
        last = len(self) - 1
        for index in (self._experiences, self._both):
            view = self._view(index)
            view[position] = view[last]
            index.remove_ids(np.array([last], dtype=np.int64))

    def search(self, query: Vectors, problem: Vectors, alpha: float, k: int) -> Matches:
        """The k entries with the highest weighted similarity, as in `Index.search`."""
        vector = np.concatenate([alpha * query, (1 - alpha) * problem]).astype(np.float32)
        return self._search(self._both, vector, k)

    def nearest(self, experience: Vectors) -> tuple[int, float] | None:
        """Position of the most similar experience, and the similarity; None if the index is empty."""
        matches = self._search(self._experiences, experience, 1)
        return matches[0] if matches else None

    def _view(self, index: Any) -> Vectors:
        """The memory of a FAISS index as rows, shape (n, dimension), for writing."""
        flat = self._faiss.rev_swig_ptr(index.get_xb(), index.ntotal * index.d)
        return flat.reshape(index.ntotal, index.d)

    def _search(self, index: Any, vector: Vectors, k: int) -> Matches:
        k = min(k, len(self))
        if not k:
            return []
        scores, positions = index.search(vector[None].astype(np.float32), k)
        matches = [(int(p), float(s)) for p, s in zip(positions[0], scores[0], strict=True)]
        return sorted(matches, key=lambda match: (-match[1], match[0]))
