"""What a compressor asks of a reranker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tersely.types import Document


class Reranker(Protocol):
    """Scores documents for a query. Called from several threads at once."""

    def rank(self, query: str, documents: Sequence[Document]) -> Sequence[float]:
        """One finite score per document, in their order; the higher, the more relevant."""
        ...


def passage(document: Document) -> str:
    """What a reranker reads of a document: its title, where it has one, and its text."""
    return f"{document.title}\n{document.text}" if document.title else document.text
