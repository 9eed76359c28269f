"""Sentence embeddings from the bundled selector's encoder.

The graph gives a text's mean states after each third of its layers; a linear projection, distilled from
all-MiniLM-L6-v2 and then trained on questions and their passages (`training/export/embedding.py`), turns them
into a vector. How good it is beside MiniLM itself is in the model card.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tersely.errors import ArtifactError
from tersely.runtime.artifacts import Artifact, load_artifact
from tersely.runtime.session import EncoderSession, Workers, allowed_threads
from tersely.selector.layout import POOLED_NAME, Layout, Window, collate

PROJECTION = "embedding.npz"


class Pooler:
    """The encoder's mean states of texts.

    Each text is read in a run of its own: int8 activations are scaled over a whole batch, so that beside
    other texts the same one would get another vector.
    """

    def __init__(self, artifact: Artifact, threads: int | None = None) -> None:
        self._layout = Layout.load(artifact)
        self._session = EncoderSession(artifact.model_path, 1)
        self._workers = Workers(allowed_threads(threads))
        if POOLED_NAME not in self._session.outputs:
            raise ArtifactError(f"{artifact.path} gives no embeddings. Export the model again.")

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(texts, 3 * hidden), each third of length 1; of a long text, its first window."""
        rows = self._workers.map(self._states, self._layout.tokenize(texts))
        return np.array(rows, np.float32) if rows else np.zeros((0, 0), np.float32)

    def _states(self, ids: Sequence[int]) -> NDArray[np.float32]:
        c = self._layout.config
        ids = [c.cls_id, *ids[: c.max_length - 2], c.sep_id]
        window = Window(ids, [0] * len(ids), [0], [0])
        (found,) = self._session.run(collate([window], c.pad_id), [POOLED_NAME])
        thirds = found.reshape(3, -1)
        return (thirds / np.linalg.norm(thirds, axis=1, keepdims=True)).ravel()


class SentenceEmbedder:
    """Turns texts into vectors whose dot product says how alike they are.

    Args:
        model: as for `Compressor`: None for the bundled model, a folder, or a hub name.
        threads: the most that may run; None for every usable core.

    Raises:
        ArtifactError: the model cannot be used, or was exported without an embedding head.
    """

    def __init__(self, model: str | Path | None = None, *, threads: int | None = None) -> None:
        artifact = load_artifact(model)
        path = artifact.path / PROJECTION
        if not path.is_file():
            raise ArtifactError(f"{artifact.path} has no {PROJECTION}. Export the model again.")
        self._pooler = Pooler(artifact, threads)
        with np.load(path) as stored:
            self._projection: NDArray[np.float32] = stored["projection"].astype(np.float32)
        self.dimension = int(self._projection.shape[1])
        self.name = f"{artifact.name}-{_digest(artifact, PROJECTION, 'tokenizer.json')}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(texts, dimension), each of length 1. The same text always gets the same vector."""
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        # Row by row: a product of many rows at once is rounded differently.
        vectors = np.stack([states @ self._projection for states in self._pooler(texts)])
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _digest(artifact: Artifact, *names: str) -> str:
    """Changes with the graph and the named files, and with nothing else in the artifact."""
    files: dict[str, Any] = artifact.manifest["files"]
    graph = artifact.model_path.relative_to(artifact.path).as_posix()
    return hashlib.sha256("".join(files[n]["sha256"] for n in (graph, *names)).encode()).hexdigest()[:8]
