"""Check the arguments of rerankers, and format documents for them."""

from __future__ import annotations

from tersely.inputs import check_list, check_text
from tersely.types import Document


def check_ranked(query: object, documents: object) -> list[Document]:
    """Return the documents as a list. Raises InvalidInputError unless they are documents and the query is
    text."""
    check_text(query, "The query", "Pass the question as text.")
    return check_list(documents, Document, "documents", "Pass a list of tersely.Document.")


def format_passage(document: Document) -> str:
    """Join the title of a document, if it has one, and its text."""
    return f"{document.title}\n{document.text}" if document.title else document.text
