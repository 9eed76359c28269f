"""The texts that were compressed, so that what was left out can be read after all."""

from __future__ import annotations

import secrets
import threading

from tersely import Document

MOST_CHARACTERS = 64_000_000
"""Of all texts that are held; those used longest ago go first."""


class Originals:
    """Documents under short ids that nobody can guess, because clients of one server share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[str, Document] = {}
        """By id, the one used last at the end."""
        self._ids: dict[tuple[str | None, str], str] = {}
        self._characters = 0

    def keep(self, document: Document) -> str:
        """Its id; the same again for the same title and text."""
        key = document.title, document.text
        with self._lock:
            if key in self._ids:
                self._touch(self._ids[key])
                return self._ids[key]
            name = self._ids[key] = secrets.token_hex(4)
            self._held[name] = document
            self._characters += _cost(document)
            while self._characters > MOST_CHARACTERS and len(self._held) > 1:
                old = self._held.pop(next(iter(self._held)))
                del self._ids[old.title, old.text]
                self._characters -= _cost(old)
            return name

    def get(self, name: str) -> Document | None:
        """None for an id that is not known, or no longer."""
        with self._lock:
            return self._touch(name) if name in self._held else None

    def _touch(self, name: str) -> Document:
        self._held[name] = self._held.pop(name)
        return self._held[name]


def _cost(document: Document) -> int:
    """Characters, and what the smallest document takes all the same."""
    return len(document.text) + 500
