"""The documents that were compressed, so that a client can read what was left out."""

from __future__ import annotations

import secrets
import threading

from tersely import Document

MAX_CHARACTERS = 64_000_000
"""Most characters of all documents together. The one used longest ago goes first."""
CHARACTERS_PER_DOCUMENT = 500
"""What a document costs besides its text, so that empty ones do not pile up."""


class Originals:
    """Documents under ids that nobody can guess. An id belongs to its owner: for others there is none."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._documents: dict[str, tuple[str, Document]] = {}
        """Owner and document by id. The one used last is at the end."""
        self._ids: dict[tuple[str, str | None, str], str] = {}
        """By owner, title and text."""
        self._characters = 0

    def keep(self, document: Document, owner: str) -> str:
        """The document's id: the same again for the same owner, title and text."""
        key = owner, document.title, document.text
        with self._lock:
            if key in self._ids:
                self._move_to_end(self._ids[key])
                return self._ids[key]
            new_id = self._ids[key] = secrets.token_hex(8)
            self._documents[new_id] = owner, document
            self._characters += _cost(document)
            while self._characters > MAX_CHARACTERS and len(self._documents) > 1:
                former, oldest = self._documents.pop(next(iter(self._documents)))
                del self._ids[former, oldest.title, oldest.text]
                self._characters -= _cost(oldest)
            return new_id

    def get(self, document_id: str, owner: str) -> Document | None:
        """The owner's document, or None where the owner has no such id, or no longer."""
        with self._lock:
            kept, document = self._documents.get(document_id, ("", None))
            if document is None or kept != owner:
                return None
            self._move_to_end(document_id)
            return document

    def _move_to_end(self, document_id: str) -> None:
        self._documents[document_id] = self._documents.pop(document_id)


def _cost(document: Document) -> int:
    return len(document.text) + CHARACTERS_PER_DOCUMENT
