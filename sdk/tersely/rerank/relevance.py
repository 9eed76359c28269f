"""Rank documents by the relevance that the selector computes together with the scores of sentences."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tersely.rerank.inputs import check_ranked
from tersely.runtime.artifacts import load_artifact
from tersely.score import ScoredInput
from tersely.score.selector import Selector
from tersely.split.sentences import split_units
from tersely.types import Document


class Relevance:
    """The selector as a reranker without a `Compressor`. A compressor ranks by this relevance by default.

    Args:
        model: as for `Compressor`: None for the bundled model, a folder, or a hub name.
        threads: the largest number of threads of one call; None for every core this process may use.

    Raises:
        ArtifactError: the model cannot be used.
    """

    def __init__(self, model: str | Path | None = None, *, threads: int | None = None) -> None:
        self._selector = Selector.load(load_artifact(model), threads)

    def rank(self, query: str, documents: Sequence[Document]) -> list[float]:
        """Return the probability in [0, 1] that each document helps to answer; 0 for one without text.

        Raises InvalidInputError unless the query is text and the documents are documents.
        """
        documents = check_ranked(query, documents)
        units = [split_units(d.text) for d in documents]
        with_text = [i for i, spans in enumerate(units) if spans]
        inputs = [ScoredInput(documents[i].title, documents[i].text, units[i]) for i in with_text]
        relevance = [0.0] * len(documents)
        if inputs:
            for i, scores in zip(with_text, self._selector.score(query, inputs), strict=True):
                relevance[i] = scores.relevance
        return relevance
