"""The protocol of rerankers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tersely.types import Document


class Reranker(Protocol):
    """Scores documents for a query. Several threads may call it at once."""

    def rank(self, query: str, documents: Sequence[Document]) -> Sequence[float]:
        """One finite score per document, in order. A higher score means more relevant."""
        ...


def format_passage(document: Document) -> str:
    """The text of a document that a reranker reads: its title, if it has one, and its text."""
    return f"{document.title}\n{document.text}" if document.title else document.text
