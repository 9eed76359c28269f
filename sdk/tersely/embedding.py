"""Vectors of texts, from the sentence encoder in a model.

In the bundled model, this encoder is the published MiniLM, rounded to int8.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tersely.inputs import check_list
from tersely.runtime.artifacts import load_artifact
from tersely.score.vectors import Embedder


class SentenceEmbedder:
    """An embedder of texts. The dot product of two vectors is the similarity of their texts.

    Args:
        model: as for `Compressor`: None for the bundled model, a folder, or a hub name.
        threads: the largest number of threads of one call; None for every core this process may use.

    Raises:
        ArtifactError: the model cannot be used, or has no graph for sentences.
    """

    def __init__(self, model: str | Path | None = None, *, threads: int | None = None) -> None:
        self._embedder = Embedder(load_artifact(model), threads)
        self.dimension, self.name = self._embedder.dimension, self._embedder.name

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return vectors of length 1, shape (texts, dimension). A text always gets the same vector.

        Raises InvalidInputError for anything but a list of texts.
        """
        texts = check_list(texts, str, "texts", "Pass a list of texts, even for one.")
        return self._embedder(self._embedder.layout.tokenize(texts))
