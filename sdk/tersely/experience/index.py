"""Which experiences are nearest: exact search over all of them, or FAISS where it is installed.

Each entry has two vectors, one of the experience and one of its problem. An index knows them by their
position; the bank knows the ids.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tersely.errors import MissingDependencyError
from tersely.experience.types import Vectors

HEAD = 64
"""Numbers of each vector that bound its score."""
PROBE = 64
"""Likely entries that are compared first, to know what is good enough."""
FEW = 8
"""Above one in so many, reading every entry in order is faster than picking."""
ROUNDING = 1e-5

Scores = NDArray[np.float32]
Found = list[tuple[int, float]]
"""(position, score), best first; equal scores by position."""


class Index(Protocol):
    def __len__(self) -> int: ...

    def add(self, experiences: Vectors, problems: Vectors) -> None:
        """Append rows (n, dimension) of both kinds."""
        ...

    def replace(self, position: int, experience: Vectors, problem: Vectors) -> None:
        """Put other vectors (dimension,) at a position."""
        ...

    def remove(self, position: int) -> None:
        """Forget a position; the last entry moves there."""
        ...

    def search(self, query: Vectors, problem: Vectors, alpha: float, k: int) -> Found:
        """The k entries of highest alpha * query.experience + (1 - alpha) * problem.problem."""
        ...

    def nearest(self, experience: Vectors) -> tuple[int, float] | None:
        """The entry whose experience is most alike, and how much; None where there is none."""
        ...


class ExactIndex:
    """Compares with every entry, as far as needed: the first numbers of all vectors bound each score (by the
    Cauchy-Schwarz inequality), and only what may be among the best is read in full. That saves most where the
    first numbers hold most of a vector's length, as those of `SentenceEmbedder` do.
    """

    def __init__(self, dimension: int) -> None:
        self._experiences = _Bounded(dimension)
        self._problems = _Bounded(dimension)

    def __len__(self) -> int:
        return len(self._experiences)

    def add(self, experiences: Vectors, problems: Vectors) -> None:
        """See `Index.add`."""
        self._experiences.add(experiences)
        self._problems.add(problems)

    def replace(self, position: int, experience: Vectors, problem: Vectors) -> None:
        """See `Index.replace`."""
        self._experiences.put(position, experience[None])
        self._problems.put(position, problem[None])

    def remove(self, position: int) -> None:
        """See `Index.remove`."""
        self._experiences.remove(position)
        self._problems.remove(position)

    def search(self, query: Vectors, problem: Vectors, alpha: float, k: int) -> Found:
        """See `Index.search`."""
        return _best([(self._experiences, alpha * query), (self._problems, (1 - alpha) * problem)], k)

    def nearest(self, experience: Vectors) -> tuple[int, float] | None:
        """See `Index.nearest`."""
        found = _best([(self._experiences, experience)], 1)
        return found[0] if found else None


class _Bounded:
    """Growing rows (n, dimension), their first numbers apart, and the length of the others."""

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

    def bounds(self, wanted: Vectors) -> tuple[Scores, Scores]:
        """Of every row's dot product: an estimate, and how far off it can be."""
        estimate = self._heads[: self._size] @ wanted[:HEAD]
        return estimate, np.float32(np.linalg.norm(wanted[HEAD:])) * self._rests[: self._size]

    def scores(self, wanted: Vectors, rows: NDArray[np.intp] | slice) -> Scores:
        return self._rows[: self._size][rows] @ wanted


def _best(parts: Sequence[tuple[_Bounded, Vectors]], k: int) -> Found:
    """The k rows of highest sums of dot products, and these sums."""
    wanted = [(rows, vector.astype(np.float32)) for rows, vector in parts]
    size = len(parts[0][0])
    k = min(k, size)
    if not k:
        return []

    def exactly(rows: NDArray[np.intp] | slice) -> Scores:
        return np.sum([part.scores(vector, rows) for part, vector in wanted], axis=0)

    bounds = [part.bounds(vector) for part, vector in wanted]
    highest = np.sum([estimate + slack for estimate, slack in bounds], axis=0) + ROUNDING
    probe = min(size, max(PROBE, 4 * k))
    likely = np.argpartition(highest, size - probe)[size - probe :]
    enough = np.partition(exactly(likely), probe - k)[probe - k]
    left = np.flatnonzero(highest >= enough)
    if len(left) > size // FEW:
        left, scores = np.arange(size), exactly(slice(None))
    else:
        scores = exactly(left)
    best = np.flatnonzero(scores >= np.partition(scores, len(scores) - k)[len(scores) - k])
    return [(int(left[i]), float(scores[i])) for i in best[np.lexsort((best, -scores[best]))][:k]]


class FaissIndex:
    """FAISS's exact inner-product search (IndexFlatIP): faster where it uses more of the processor."""

    def __init__(self, dimension: int) -> None:
        try:
            self._faiss: Any = importlib.import_module("faiss")
        except ImportError as error:
            raise MissingDependencyError("FaissIndex needs faiss: pip install 'tersely[faiss]'") from error
        self._dimension = dimension
        self._both: Any = self._faiss.IndexFlatIP(2 * dimension)
        self._experiences: Any = self._faiss.IndexFlatIP(dimension)

    def __len__(self) -> int:
        return int(self._both.ntotal)

    def add(self, experiences: Vectors, problems: Vectors) -> None:
        """See `Index.add`."""
        self._experiences.add(np.ascontiguousarray(experiences, dtype=np.float32))
        self._both.add(np.hstack([experiences, problems]).astype(np.float32))

    def replace(self, position: int, experience: Vectors, problem: Vectors) -> None:
        """See `Index.replace`."""
        self._view(self._experiences)[position] = experience
        self._view(self._both)[position] = np.concatenate([experience, problem])

    def remove(self, position: int) -> None:
        """See `Index.remove`."""
        last = len(self) - 1
        for index in (self._experiences, self._both):
            view = self._view(index)
            view[position] = view[last]
            index.remove_ids(np.array([last], dtype=np.int64))

    def search(self, query: Vectors, problem: Vectors, alpha: float, k: int) -> Found:
        """See `Index.search`."""
        wanted = np.concatenate([alpha * query, (1 - alpha) * problem]).astype(np.float32)
        return self._search(self._both, wanted, k)

    def nearest(self, experience: Vectors) -> tuple[int, float] | None:
        """See `Index.nearest`."""
        found = self._search(self._experiences, experience, 1)
        return found[0] if found else None

    def _view(self, index: Any) -> Vectors:
        """The index's own memory, as rows."""
        flat = self._faiss.rev_swig_ptr(index.get_xb(), index.ntotal * index.d)
        return flat.reshape(index.ntotal, index.d)

    def _search(self, index: Any, wanted: Vectors, k: int) -> Found:
        k = min(k, len(self))
        if not k:
            return []
        scores, positions = index.search(wanted[None].astype(np.float32), k)
        found = [(int(p), float(s)) for p, s in zip(positions[0], scores[0], strict=True)]
        return sorted(found, key=lambda f: (-f[1], f[0]))
