"""What the tools reply. A client gets each reply as structured content, and as JSON text."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from mcp_types import CallToolResult, TextContent

from tersely import Compression, Document


@dataclass
class DroppedDocument:
    id: str
    """For `expand`."""
    source: str
    """Its path, or its place among the documents, counted from 1."""


@dataclass
class KeptDocument:
    """A document of which something was kept."""

    id: str
    """For `expand`."""
    source: str
    """Its path, or its place among the documents, counted from 1."""
    characters: int
    kept: list[tuple[int, int]]
    """Start and end of each piece that was kept; everything else was dropped."""


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
    """Documents of which nothing was kept."""
    skipped: list[SkippedFile]
    """Files that a pattern has matched and that could not be read."""
    tokens_before: int
    tokens_after: int
    status: str
    reason: str | None
    best_fits: bool | None
    """False if the unit that scored highest did not fit the limit: a larger budget may answer better."""


@dataclass
class ExpandReply:
    source: str
    start: int
    end: int
    characters: int
    """Of the whole document."""
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
    """The reply of `compress` for what was made of `documents`. `keep` gives each an id."""
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
        best_fits=result.best_fits,
    )
    content = asdict(reply)
    # The package would indent the JSON, and models pay for every blank.
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=content)
