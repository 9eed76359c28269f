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
    """Documents under short ids. Nobody can guess an id, because all clients of a server share them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._documents: dict[str, Document] = {}
        """By id. The one used last is at the end."""
        self._ids: dict[tuple[str | None, str], str] = {}
        """By title and text."""
        self._characters = 0

    def keep(self, document: Document) -> str:
        """The document's id: the same again for the same title and text."""
        key = document.title, document.text
        with self._lock:
            if key in self._ids:
                self._move_to_end(self._ids[key])
                return self._ids[key]
            new_id = self._ids[key] = secrets.token_hex(4)
            self._documents[new_id] = document
            self._characters += _cost(document)
            while self._characters > MAX_CHARACTERS and len(self._documents) > 1:
                oldest = self._documents.pop(next(iter(self._documents)))
                del self._ids[oldest.title, oldest.text]
                self._characters -= _cost(oldest)
            return new_id

    def get(self, document_id: str) -> Document | None:
        """The document, or None where the id is not known or no longer."""
        with self._lock:
            return self._move_to_end(document_id) if document_id in self._documents else None

    def _move_to_end(self, document_id: str) -> Document:
        self._documents[document_id] = self._documents.pop(document_id)
        return self._documents[document_id]


def _cost(document: Document) -> int:
    return len(document.text) + CHARACTERS_PER_DOCUMENT
