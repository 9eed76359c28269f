"""Vectors of lessons: an embedder makes them, the file keeps them, and one matrix product searches them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tersely.errors import InvalidInputError
from tersely.inputs import check_count, check_members, type_name
from tersely_agents.experience.types import DamagedError, Experience, ExperienceError

Vectors = NDArray[np.float32]

_LENGTH_TOLERANCE = 0.01
"""Largest difference between the length of a vector and 1; float16 rounds."""
_FLOAT = np.dtype("<f4")


class Embedder(Protocol):
    """An embedder of texts. The dot product of two vectors is the similarity of their texts."""

    name: str
    """Name of the embedder. It must change when the same text would get another vector."""
    dimension: int

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return vectors of length 1, shape (texts, dimension)."""
        ...


class Index:
    """The lessons that can be recalled: a matrix with a row for each, its two vectors side by side."""

    def __init__(self, keys: Sequence[str], rows: Vectors) -> None:
        self._keys, self._rows = list(keys), rows

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, key: str, row: Vectors) -> None:
        """Append a lesson. `row` has the shape (2 * dimension,)."""
        size = len(self._keys)
        if size == len(self._rows):  # room for twice as many, so that not every lesson copies the matrix
            room = np.zeros((max(64, size), self._rows.shape[1]), np.float32)
            self._rows = np.concatenate([self._rows, room])
        self._rows[size] = row
        self._keys.append(key)

    def replace(self, old: str, new: str, row: Vectors) -> None:
        """Put another lesson in the place of `old`."""
        place = self._keys.index(old)
        self._keys[place], self._rows[place] = new, row

    def search(self, vector: Vectors, above: float = -np.inf) -> Iterator[tuple[str, float]]:
        """Yield the ids of lessons and the dot products of their rows with `vector`, the highest first."""
        scores = self._rows[: len(self._keys)] @ vector
        found = np.flatnonzero(scores > above)
        for place in found[np.argsort(-scores[found], kind="stable")]:
            yield self._keys[place], float(scores[place])


def check_embedder(embedder: Embedder) -> Embedder:
    """Return the embedder. Raises InvalidInputError if it cannot be one."""
    remedy = "Pass an object with embed(), name and dimension, such as SentenceEmbedder()."
    check_members(embedder, ("embed", "name", "dimension"), "The embedder", remedy)
    if not isinstance(embedder.name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInputError(f"The embedder's name is {type_name(embedder.name)}. Give it a name as text.")
    check_count(embedder.dimension, "The embedder's dimension", "numbers")
    return embedder


def embed_texts(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Return the vectors of texts. Raises ExperienceError, which names the embedder, if it gives anything
    else."""
    given, shape = embedder.embed(texts), (len(texts), embedder.dimension)
    try:
        vectors = np.asarray(given, np.float32)
    except (TypeError, ValueError) as error:
        raise _make_error(embedder, f"no rows of numbers: {error}") from error
    if vectors.shape != shape:
        raise _make_error(embedder, f"the shape {vectors.shape}, not {shape}")
    lengths = np.linalg.norm(vectors, axis=1)
    is_wrong = ~(np.abs(lengths - 1) <= _LENGTH_TOLERANCE)  # nan too
    if is_wrong.any():
        raise _make_error(embedder, f"a vector of length {lengths[is_wrong][0]:.3g}, not 1")
    return vectors


def embed_experiences(embedder: Embedder, experiences: Sequence[Experience]) -> Vectors:
    """Return the rows of lessons, shape (lessons, 2 * dimension): the vectors of title and description, then
    of the problem."""
    texts = [*(e.key_text for e in experiences), *(e.problem for e in experiences)]
    vectors = embed_texts(embedder, texts)
    return np.hstack([vectors[: len(experiences)], vectors[len(experiences) :]])


def pack_row(row: Vectors) -> bytes:
    """Write a row as the bytes that a file keeps."""
    return row.astype(_FLOAT).tobytes()


def unpack_row(packed: object, dimension: int) -> Vectors:
    """Read the bytes of a row. Raises DamagedError."""
    if not isinstance(packed, bytes) or len(packed) != 2 * dimension * _FLOAT.itemsize:
        raise DamagedError("its vectors have the wrong length")
    row = np.frombuffer(packed, dtype=_FLOAT)
    if not np.isfinite(row).all():
        raise DamagedError("its vectors contain numbers that are not finite")
    return row


def _make_error(embedder: Embedder, problem: str) -> ExperienceError:
    return ExperienceError(f"The embedder {embedder.name!r} gave {problem}. Correct the embedder.")
