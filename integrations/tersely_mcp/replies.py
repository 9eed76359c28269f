"""Replies of the tools, and the documents that clients may expand later.

A model pays for every word of a reply, so it gets plain text. Programs find the rest in `_meta` of the reply,
under `META`.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mcp_types import CallToolResult, TextContent

from tersely import Compression, Document

META = "tersely"
NOTES_TOKENS = 60
"""Largest number of tokens of the notes below a text."""
LEAST_WITH_NOTES = 200
"""Smallest budget that keeps a part for the notes."""
MAX_CHARACTERS = 64_000_000
"""Largest number of characters of all originals together. The one used longest ago goes first."""
CHARACTERS_PER_DOCUMENT = 500
"""Cost of a document besides its text, so that empty ones do not pile up."""


@dataclass
class DroppedDocument:
    number: int
    """Number by which `expand` opens the document."""
    source: str
    """Its path, or its place among the documents, counted from 1."""


@dataclass
class KeptDocument:
    """A document with at least one kept piece."""

    number: int
    """Number by which `expand` opens the document."""
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
    id: str
    """Id of all documents together, for `expand`."""
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


@dataclass
class RememberReply:
    id: str
    replaced: str | None
    """Id of the lesson that it replaced, because the two were alike."""


def make_reply(texts: Sequence[str], details: dict[str, Any]) -> CallToolResult:
    """Return a reply with texts for the model, and details for programs."""
    content: list[Any] = [TextContent(type="text", text=text) for text in texts]
    return CallToolResult(content=content, _meta={META: details})


def reserve_notes(documents: Sequence[Document], budget: int, count: Callable[[str], int]) -> int:
    """Return the budget of the text: less than `budget` if something is left out, so that notes fit too."""
    if budget < LEAST_WITH_NOTES or sum(count(f"{d.title or ''}\n{d.text}\n") for d in documents) <= budget:
        return budget
    return budget - NOTES_TOKENS


def compress_reply(
    result: Compression,
    documents: Sequence[Document],
    skipped: Sequence[tuple[str, str]],
    reply_id: str,
    budget: int | None,
    count: Callable[[str], int],
) -> CallToolResult:
    """Return the reply of `compress` for the compressed `documents`.

    The notes below the text are those that fit `budget`, the most important first.
    """
    pieces: dict[int, list[tuple[int, int]]] = {}
    for citation in sorted(result.citations().entries, key=lambda entry: (entry.doc, entry.start)):
        pieces.setdefault(citation.doc, []).append((citation.start, citation.end))
    sources = [document.title or str(number) for number, document in enumerate(documents, 1)]
    reply = CompressReply(
        id=reply_id,
        documents=[KeptDocument(i + 1, sources[i], len(documents[i].text), pieces[i]) for i in pieces],
        dropped=[DroppedDocument(i + 1, sources[i]) for i in range(len(documents)) if i not in pieces],
        skipped=[SkippedFile(*file) for file in skipped],
        tokens_before=result.tokens_before,
        tokens_after=result.tokens_after,
        status=result.status,
        reason=result.reason,
        answerable=result.answerable,
        calibrated=result.calibrated,
        best_fits=result.best_fits,
    )
    notes = ""
    for note in _find_notes(result, skipped, reply_id):
        longer = f"{notes}\n{note}".strip()
        if budget is None or result.tokens_after + count(longer) <= budget:
            notes = longer
    return make_reply([result.text, notes] if notes else [result.text], asdict(reply))


def _find_notes(result: Compression, skipped: Sequence[tuple[str, str]], reply_id: str) -> list[str]:
    notes: list[str] = []
    if result.status in ("degraded", "failed_open"):
        notes.append(f"[{result.status}: the model failed]")
    if result.tokens_after < result.tokens_before:
        notes.append(
            f"[{result.tokens_after} of {result.tokens_before} tokens; expand shows the rest of document N: "
            f"id {reply_id}, document N]"
        )
    if result.best_fits is False:
        notes.append("[the best part exceeds the budget; a larger one may answer better]")
    return notes + [f"[not read: {source}: {reason}]" for source, reason in skipped]


class Originals:
    """Documents of each call under ids that nobody can guess. Only its owner can use an id."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._documents: dict[str, tuple[str, tuple[Document, ...]]] = {}
        """Owner and documents by id. Those used last are at the end."""
        self._ids: dict[tuple[str, tuple[tuple[str | None, str], ...]], str] = {}
        """Ids by owner, titles and texts."""
        self._characters = 0

    def keep(self, documents: Sequence[Document], owner: str) -> str:
        """Keep documents, and return their id: the same again for the same owner, titles and texts."""
        key = owner, tuple((document.title, document.text) for document in documents)
        with self._lock:
            if key in self._ids:
                self._move_to_end(self._ids[key])
                return self._ids[key]
            new_id = self._ids[key] = secrets.token_hex(8)
            self._documents[new_id] = owner, tuple(documents)
            self._characters += _size(documents)
            while self._characters > MAX_CHARACTERS and len(self._documents) > 1:
                former, oldest = self._documents.pop(next(iter(self._documents)))
                del self._ids[former, tuple((document.title, document.text) for document in oldest)]
                self._characters -= _size(oldest)
            return new_id

    def get(self, reply_id: str, owner: str) -> tuple[Document, ...]:
        """Return the owner's documents; none for an unknown or forgotten id."""
        with self._lock:
            kept, documents = self._documents.get(reply_id, ("", ()))
            if kept != owner or not documents:
                return ()
            self._move_to_end(reply_id)
            return documents

    def _move_to_end(self, reply_id: str) -> None:
        self._documents[reply_id] = self._documents.pop(reply_id)


def _size(documents: Sequence[Document]) -> int:
    return sum(len(document.text) + CHARACTERS_PER_DOCUMENT for document in documents)
