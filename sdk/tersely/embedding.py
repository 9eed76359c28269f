"""Sentence embeddings from the encoder of the bundled selector.

The graph returns the mean states of a text after each third of its layers. A linear projection turns them
into a vector. It was distilled from all-MiniLM-L6-v2 and trained on questions and their passages
(`training/export/embedding.py`). The model card compares it with MiniLM.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tersely.errors import ArtifactError
from tersely.inputs import check_list
from tersely.runtime.artifacts import Artifact, load_artifact
from tersely.runtime.session import EncoderSession
from tersely.runtime.workers import Workers, allowed_threads
from tersely.selector.layout import POOLED_NAME, Layout, Window, collate

PROJECTION = "embedding.npz"
_PROOF = "The bridge was built in 1861."


class Pooler:
    """Computes the encoder's mean states of texts.

    Each text has a run of its own. The int8 graph scales activations over a whole batch, so the vector of a
    text would otherwise depend on the other texts.
    """

    def __init__(self, artifact: Artifact, threads: int | None = None) -> None:
        self._layout = Layout.load(artifact)
        self._session = EncoderSession(artifact.model_path, 1)
        self._workers = Workers(allowed_threads(threads))
        if POOLED_NAME not in self._session.outputs:
            raise ArtifactError(f"{artifact.path} has no embedding output. Export the model again.")

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Mean states of each text's first window, shape (texts, 3 * hidden); each third has length 1."""
        rows = self._workers.map(self._compute_states, self._layout.tokenize(texts))
        return np.array(rows, np.float32) if rows else np.zeros((0, 0), np.float32)

    def _compute_states(self, ids: Sequence[int]) -> NDArray[np.float32]:
        config = self._layout.config
        ids = [config.cls_id, *ids[: config.max_length - 2], config.sep_id]
        window = Window(ids, [0] * len(ids), [0], [0])
        (states,) = self._session.run(collate([window], config.pad_id), [POOLED_NAME])
        thirds = states.reshape(3, -1)
        return (thirds / np.linalg.norm(thirds, axis=1, keepdims=True)).ravel()


class SentenceEmbedder:
    """Turns texts into vectors. The dot product of two vectors is the similarity of their texts.

    Args:
        model: as for `Compressor`: None for the bundled model, a folder, or a hub name.
        threads: most threads of one call; None for every core this process may use.

    Raises:
        ArtifactError: the model cannot be used or has no embedding head.
    """

    def __init__(self, model: str | Path | None = None, *, threads: int | None = None) -> None:
        artifact = load_artifact(model)
        if not artifact.lists(PROJECTION):
            raise ArtifactError(f"{artifact.path} has no {PROJECTION}. Export the model again.")
        self._pooler = Pooler(artifact, threads)
        with artifact.usable():
            with np.load(artifact.file(PROJECTION)) as stored:
                self._projection: NDArray[np.float32] = stored["projection"].astype(np.float32)
            self.dimension = int(self._projection.shape[1])
            if not np.isfinite(self._pooler([_PROOF]) @ self._projection).all():
                raise ValueError(f"{PROJECTION} or the graph gives vectors that are not numbers")
        graph = artifact.model_path.relative_to(artifact.path).as_posix()
        self.name = f"{artifact.name}-{artifact.hash_of(graph, PROJECTION, 'tokenizer.json')}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of length 1, shape (texts, dimension). A text always gets the same vector.

        Raises InvalidInputError for anything but a list of texts.
        """
        texts = check_list(texts, str, "texts", "Pass a list of texts, even for one.")
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        # One product per row, because a product of all rows is rounded differently.
        vectors = np.stack([states @ self._projection for states in self._pooler(texts)])
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
