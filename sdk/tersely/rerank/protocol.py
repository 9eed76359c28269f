"""The protocol of rerankers."""

from __future__ import annotations

from tersely.inputs import check_list, check_text
from tersely.types import Document


def check_ranked(query: object, documents: object) -> list[Document]:
    """What is to be ranked, as a list. Raises InvalidInputError for a query that is no text, and for anything
    but documents."""
    check_text(query, "The query", "Pass the question as text.")
    return check_list(documents, Document, "documents", "Pass a list of tersely.Document.")


def format_passage(document: Document) -> str:
    """The text of a document that a reranker reads: its title, if it has one, and its text."""
    return f"{document.title}\n{document.text}" if document.title else document.text
