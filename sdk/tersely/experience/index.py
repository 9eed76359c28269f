"""Which experiences are nearest: exact search over all of them, or FAISS where it is installed.

Each entry has two vectors, one of the experience and one of its problem. An index knows them by their
position; the bank knows the ids.
"""

from __future__ import annotations

import importlib
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tersely.errors import MissingDependencyError
from tersely.experience.types import Vectors

Found = list[tuple[int, float]]
"""(position, score), best first; equal scores go by position."""


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
    """Compares with every entry. Rows hold both vectors side by side, so that a search reads memory once."""

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._rows: Vectors = np.zeros((0, 2 * dimension), dtype=np.float32)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, experiences: Vectors, problems: Vectors) -> None:
        """See `Index.add`."""
        needed = self._size + len(experiences)
        if needed > len(self._rows):
            grown = np.zeros((max(needed, 2 * len(self._rows), 64), self._rows.shape[1]), dtype=np.float32)
            grown[: self._size] = self._rows[: self._size]
            self._rows = grown
        self._rows[self._size : needed, : self._dimension] = experiences
        self._rows[self._size : needed, self._dimension :] = problems
        self._size = needed

    def replace(self, position: int, experience: Vectors, problem: Vectors) -> None:
        """See `Index.replace`."""
        self._rows[position] = np.concatenate([experience, problem])

    def remove(self, position: int) -> None:
        """See `Index.remove`."""
        self._size -= 1
        self._rows[position] = self._rows[self._size]

    def search(self, query: Vectors, problem: Vectors, alpha: float, k: int) -> Found:
        """See `Index.search`."""
        wanted = np.concatenate([alpha * query, (1 - alpha) * problem]).astype(np.float32)
        return _top(self._rows[: self._size] @ wanted, k)

    def nearest(self, experience: Vectors) -> tuple[int, float] | None:
        """See `Index.nearest`."""
        found = _top(self._rows[: self._size, : self._dimension] @ experience, 1)
        return found[0] if found else None


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


def _top(scores: NDArray[np.float32], k: int) -> Found:
    k = min(k, len(scores))
    if not k:
        return []
    best = np.argpartition(-scores, k - 1)[:k]
    order = best[np.lexsort((best, -scores[best]))]
    return [(int(i), float(scores[i])) for i in order]
