"""What the tools answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from mcp_types import CallToolResult, TextContent

from tersely import Compression, Document
from tersely_mcp.originals import Originals


@dataclass
class Source:
    id: str
    source: str


@dataclass
class Part:
    """A document of which something was kept."""

    id: str
    """For `expand`."""
    source: str
    """Its path, or its place among the documents, counted from 1."""
    characters: int
    kept: list[tuple[int, int]]
    """Start and end of what was kept; everything else was dropped."""


@dataclass
class Compressed:
    text: str
    documents: list[Part]
    dropped: list[Source]
    """Documents of which nothing was kept."""
    tokens_before: int
    tokens_after: int
    status: str
    reason: str | None


@dataclass
class Passage:
    source: str
    start: int
    end: int
    characters: int
    """Of the whole document."""
    text: str


@dataclass
class Lessons:
    text: str
    ids: list[str]


@dataclass
class Remembered:
    id: str
    replaced: str | None
    """Id of the lesson whose place it took, because the two were alike."""


def compressed(found: Compression, read: Sequence[Document], originals: Originals) -> CallToolResult:
    """The reply of `compress`; every document can be expanded from now on."""
    kept: dict[int, list[tuple[int, int]]] = {}
    for piece in sorted(found.citations().entries, key=lambda p: (p.doc, p.start)):
        kept.setdefault(piece.doc, []).append((piece.start, piece.end))
    ids = [originals.keep(document) for document in read]
    sources = [document.title or str(place) for place, document in enumerate(read, 1)]
    parts = [Part(ids[i], sources[i], len(read[i].text), kept[i]) for i in kept]
    dropped = [Source(ids[i], sources[i]) for i in range(len(read)) if i not in kept]
    sizes = found.tokens_before, found.tokens_after
    result = asdict(Compressed(found.text, parts, dropped, *sizes, found.status, found.reason))
    # Written here, because the package would indent it, and models pay for every blank.
    told = json.dumps(result, ensure_ascii=False, separators=(",", ":"))
    return CallToolResult(content=[TextContent(type="text", text=told)], structured_content=result)
