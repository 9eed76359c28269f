"""The relevance that the selector finds beside its sentences."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tersely.runtime.artifacts import load_artifact
from tersely.selector import ScoredInput
from tersely.selector.selector import Selector
from tersely.text.sentences import split_units
from tersely.types import Document


class Relevance:
    """The selector as a reranker of its own, for use outside of a `Compressor`, which ranks by it anyway.

    Args:
        model: as for `Compressor`: None for the bundled model, a folder, or a hub name.
        threads: the most that may run; None for every usable core.

    Raises:
        ArtifactError: the model cannot be used.
    """

    def __init__(self, model: str | Path | None = None, *, threads: int | None = None) -> None:
        self._selector = Selector.load(load_artifact(model), threads)

    def rank(self, query: str, documents: Sequence[Document]) -> list[float]:
        """Probability in [0, 1] that each document helps to answer the query; 0 for one without text."""
        units = [split_units(d.text) for d in documents]
        filled = [i for i, found in enumerate(units) if found]
        read = [ScoredInput(documents[i].title, documents[i].text, units[i]) for i in filled]
        scores = [0.0] * len(documents)
        if read:
            for i, found in zip(filled, self._selector.score(query, read), strict=True):
                scores[i] = found.relevance
        return scores
