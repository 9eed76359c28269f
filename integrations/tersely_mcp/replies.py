"""Replies of the tools, and the documents that clients may expand later.

A client gets each reply as structured content, and as JSON text.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from mcp_types import CallToolResult, TextContent

from tersely import Compression, Document

MAX_CHARACTERS = 64_000_000
"""Most characters of all originals together. The one used longest ago goes first."""
CHARACTERS_PER_DOCUMENT = 500
"""Cost of a document besides its text, so that empty ones do not pile up."""


@dataclass
class DroppedDocument:
    id: str
    """For `expand`."""
    source: str
    """Its path, or its place among the documents, counted from 1."""


@dataclass
class KeptDocument:
    """A document with at least one kept piece."""

    id: str
    """For `expand`."""
    source: str
    """Its path, or its place among the documents, counted from 1."""
    characters: int
    kept: list[tuple[int, int]]
    """Start and end of each kept piece; everything else was dropped."""


@dataclass
class SkippedFile:
    source: str
    """Its path."""
    reason: str


@dataclass
class CompressReply:
    text: str
    documents: list[KeptDocument]
    dropped: list[DroppedDocument]
    """Documents that were dropped as a whole."""
    skipped: list[SkippedFile]
    """Files that match a pattern and could not be read."""
    tokens_before: int
    tokens_after: int
    status: str
    reason: str | None
    answerable: float | None
    """Probability that the text holds an answer at all."""
    calibrated: bool | None
    """False if the text is unlike those that the probability was calibrated on."""
    best_fits: bool | None
    """False if the unit with the highest score did not fit the limit: a larger budget may answer better."""


@dataclass
class ExpandReply:
    source: str
    start: int
    end: int
    characters: int
    """Length of the whole document."""
    text: str


@dataclass
class RecallReply:
    text: str
    ids: list[str]


@dataclass
class RememberReply:
    id: str
    replaced: str | None
    """Id of the lesson that it replaced, because the two were alike."""


def compress_reply(
    result: Compression,
    documents: Sequence[Document],
    skipped: Sequence[tuple[str, str]],
    keep: Callable[[Document], str],
) -> CallToolResult:
    """Return the reply of `compress` for the compressed `documents`. `keep` gives each an id."""
    pieces: dict[int, list[tuple[int, int]]] = {}
    for citation in sorted(result.citations().entries, key=lambda entry: (entry.doc, entry.start)):
        pieces.setdefault(citation.doc, []).append((citation.start, citation.end))
    ids = [keep(document) for document in documents]
    sources = [document.title or str(number) for number, document in enumerate(documents, 1)]
    reply = CompressReply(
        text=result.text,
        documents=[KeptDocument(ids[i], sources[i], len(documents[i].text), pieces[i]) for i in pieces],
        dropped=[DroppedDocument(ids[i], sources[i]) for i in range(len(documents)) if i not in pieces],
        skipped=[SkippedFile(*file) for file in skipped],
        tokens_before=result.tokens_before,
        tokens_after=result.tokens_after,
        status=result.status,
        reason=result.reason,
        answerable=result.answerable,
        calibrated=result.calibrated,
        best_fits=result.best_fits,
    )
    content = asdict(reply)
    # The package would indent the JSON, and models pay for every blank.
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=content)


class Originals:
    """Compressed documents under ids that nobody can guess. Only its owner can use an id."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._documents: dict[str, tuple[str, Document]] = {}
        """Owner and document by id. The one used last is at the end."""
        self._ids: dict[tuple[str, str | None, str], str] = {}
        """Ids by owner, title and text."""
        self._characters = 0

    def keep(self, document: Document, owner: str) -> str:
        """Keep a document, and return its id: the same again for the same owner, title and text."""
        key = owner, document.title, document.text
        with self._lock:
            if key in self._ids:
                self._move_to_end(self._ids[key])
                return self._ids[key]
            new_id = self._ids[key] = secrets.token_hex(8)
            self._documents[new_id] = owner, document
            self._characters += len(document.text) + CHARACTERS_PER_DOCUMENT
            while self._characters > MAX_CHARACTERS and len(self._documents) > 1:
                former, oldest = self._documents.pop(next(iter(self._documents)))
                del self._ids[former, oldest.title, oldest.text]
                self._characters -= len(oldest.text) + CHARACTERS_PER_DOCUMENT
            return new_id

    def get(self, document_id: str, owner: str) -> Document | None:
        """Return the owner's document; None for an unknown or forgotten id."""
        with self._lock:
            kept, document = self._documents.get(document_id, ("", None))
            if document is None or kept != owner:
                return None
            self._move_to_end(document_id)
            return document

    def _move_to_end(self, document_id: str) -> None:
        self._documents[document_id] = self._documents.pop(document_id)
