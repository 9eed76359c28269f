"""What the adapters to other frameworks share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import metadata
from typing import Any

from tersely.errors import MissingDependencyError
from tersely.types import CompressedDocument, Compression, Document

KEY = "tersely"
"""Key of the note in a framework's metadata."""
OPTIONS = ("budget", "rate", "recall", "level", "max_docs", "order")
"""Options of `Compressor.compress` that an adapter has as attributes."""


def require(package: str, extra: str, lowest: tuple[int, ...], below: tuple[int, ...]) -> None:
    """Raises MissingDependencyError unless the package is there, in a version that the adapter was made
    for."""
    remedy = f"pip install 'tersely[{extra}]'"
    try:
        version = str(metadata.version(package))
    except metadata.PackageNotFoundError as error:
        raise MissingDependencyError(f"{package} is not installed: {remedy}") from error
    if not lowest <= tuple(map(int, re.findall(r"\d+", version)))[:3] < below:
        low, high = (".".join(map(str, bound)) for bound in (lowest, below))
        raise MissingDependencyError(
            f"{package} {version} is installed, and tersely needs {low} or newer, below {high}: {remedy}"
        )


def options(adapter: object) -> dict[str, Any]:
    """What `Compressor.compress` is to be called with."""
    return {name: getattr(adapter, name) for name in OPTIONS}


def source(text: str, metadata: Mapping[str, Any], title_key: str | None) -> Document:
    """A framework's document; its title is what stands under `title_key`, where that is a text."""
    title = metadata.get(title_key) if title_key else None
    return Document(text, title if isinstance(title, str) else None)


def note(found: Compression, part: CompressedDocument) -> dict[str, Any]:
    """Relevance, and where every piece of the text stands in the original:
    `part.text[at:at + end - start] == original[start:end]` for each of "spans"."""
    pieces = found.citations().of(part.source).pieces
    spans = [{"start": p.start, "end": p.end, "at": p.text_start} for p in pieces]
    return {"relevance": part.relevance, "spans": spans}
