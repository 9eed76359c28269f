"""What can be known of documents before any question: token ids, and a vector of each unit."""

from __future__ import annotations

from collections.abc import Sequence

from tersely.prepared import Preparation, digest
from tersely.score.layout import Layout
from tersely.score.protocol import ScoredInput
from tersely.score.tokens import tokenise
from tersely.score.vectors import Embedder, pack


def prepare_inputs(
    name: str, layout: Layout, embedder: Embedder | None, documents: Sequence[ScoredInput]
) -> list[Preparation]:
    """One preparation for each document, in order, under the `name` of the model."""
    encoded = tokenise(layout, "", documents).group_by_document(documents)
    return [
        Preparation(
            name,
            digest(document.text, document.title),
            tuple(document.units),
            tuple(own.title),
            tuple(map(tuple, own.sentences)),
            pack(embedder(own.sentences)) if embedder and own.sentences else b"",
        )
        for document, own in zip(documents, encoded, strict=True)
    ]
