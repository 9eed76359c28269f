"""What the adapters to other frameworks share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib import metadata
from typing import Any

from tersely.errors import InvalidInputError, MissingDependencyError
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


def check_ids(documents: Iterable[tuple[str | None, str]]) -> None:
    """Raises InvalidInputError where one id stands for two texts of (id, text); the same document found twice
    is fine, and so are documents without ids."""
    known: dict[str, str] = {}
    for name, text in documents:
        if name is not None and known.setdefault(name, text) != text:
            raise InvalidInputError(
                f"Two documents have the id {name!r} and different texts. Give each its own."
            )


def source(text: str, metadata: Mapping[str, Any], title_key: str | None) -> Document:
    """A framework's document; its title is what stands under `title_key`, where that is a text."""
    title = metadata.get(title_key) if title_key else None
    return Document(text, title if isinstance(title, str) else None)


def note(found: Compression, part: CompressedDocument) -> dict[str, Any]:
    """Relevance, and where every piece of the text stands in the original:
    `part.text[at:at + end - start] == original[start:end]` for each of "spans"."""
    pieces = found.citations().of(part.source).entries
    spans = [{"start": p.start, "end": p.end, "at": p.text_start} for p in pieces]
    return {"relevance": part.relevance, "spans": spans}
