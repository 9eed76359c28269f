"""Vectors of texts from the encoder, and their form as bytes.

The graph returns the mean states of a text after each third of its layers. A linear projection turns them
into a vector.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tersely.errors import ArtifactError
from tersely.runtime.artifacts import Artifact
from tersely.runtime.session import EncoderSession
from tersely.runtime.workers import Workers, allowed_threads
from tersely.score.layout import POOLED_NAME, Ids, Layout, Window, collate

PROJECTION = "embedding.npz"
_PROOF = "The bridge was built in 1861."

_STEPS = 24.0
"""Steps of a stored number in the range of 1. A number has four bits, so it reaches from -7 to 7 steps."""

Vectors = NDArray[np.float32]


class Pooler:
    """Computes the encoder's mean states of texts.

    Each text has a run of its own. The int8 graph scales activations over a whole batch, so the vector of a
    text would otherwise depend on the other texts.
    """

    def __init__(self, artifact: Artifact, threads: int | None = None, layout: Layout | None = None) -> None:
        """`layout`: that of the artifact, if it is already loaded."""
        self.layout = layout or Layout.load(artifact)
        self._session = EncoderSession(artifact.model_path, 1)
        self._workers = Workers(allowed_threads(threads))
        if POOLED_NAME not in self._session.outputs:
            raise ArtifactError(f"{artifact.path} has no embedding output. Export the model again.")

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Return the mean states of each text's first window, shape (texts, 3 * hidden); each third has
        length 1."""
        return self.pool(self.layout.tokenize(texts))

    def pool(self, texts: Sequence[Ids]) -> Vectors:
        """Return the same for texts as token ids."""
        rows = self._workers.map(self._compute_states, texts)
        return np.array(rows, np.float32) if rows else np.zeros((0, 0), np.float32)

    def _compute_states(self, ids: Sequence[int]) -> Vectors:
        config = self.layout.config
        ids = [config.cls_id, *ids[: config.max_length - 2], config.sep_id]
        window = Window(ids, [0] * len(ids), [0], [0])
        (states,) = self._session.run(collate([window], config.pad_id), [POOLED_NAME])
        thirds = states.reshape(3, -1)
        return (thirds / np.linalg.norm(thirds, axis=1, keepdims=True)).ravel()


class Embedder:
    """Turns texts, as token ids, into vectors of length 1. Arguments are those of `Pooler`.

    Raises ArtifactError if the artifact has no embedding head, or one that fails on a small text.
    """

    def __init__(self, artifact: Artifact, threads: int | None = None, layout: Layout | None = None) -> None:
        if not artifact.lists(PROJECTION):
            raise ArtifactError(f"{artifact.path} has no {PROJECTION}. Export the model again.")
        self._pooler = Pooler(artifact, threads, layout)
        self.layout = self._pooler.layout
        with artifact.usable():
            with np.load(artifact.file(PROJECTION)) as stored:
                self._projection: Vectors = stored["projection"].astype(np.float32)
            self.dimension = int(self._projection.shape[1])
            if not np.isfinite(self._pooler([_PROOF]) @ self._projection).all():
                raise ValueError(f"{PROJECTION} or the graph gives vectors that are not numbers")
        graph = artifact.model_path.relative_to(artifact.path).as_posix()
        self.name = f"{artifact.name}-{artifact.hash_of(graph, PROJECTION, 'tokenizer.json')}"
        """Name of the model, with a checksum of the files that vectors depend on."""

    def __call__(self, texts: Sequence[Ids]) -> Vectors:
        """Return vectors, shape (texts, dimension). A text always gets the same vector."""
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        # One product per row, because a product of all rows is rounded differently.
        vectors = np.stack([states @ self._projection for states in self._pooler.pool(texts)])
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def pack(vectors: Vectors) -> bytes:
    """Pack vectors of length 1: four bits for each number. Their dimension is even."""
    steps = np.clip(np.round(vectors * _STEPS), -7, 7).astype(np.int8) + 8
    return (steps[:, ::2] << 4 | steps[:, 1::2]).astype(np.uint8).tobytes()


def unpack(stored: bytes, dimension: int) -> Vectors:
    """Return the vectors that `pack` packed, up to its rounding: of length 1, shape (texts, dimension).

    Raises ValueError for bytes that are not vectors of this dimension.
    """
    pairs = np.frombuffer(stored, np.uint8).reshape(-1, dimension // 2)
    steps = np.stack([pairs >> 4, pairs & 15], axis=2).reshape(-1, dimension).astype(np.float32) - 8.0
    return steps / np.maximum(np.linalg.norm(steps, axis=1, keepdims=True), 1.0)
