"""Prepared documents: documents with results that a model computed before any question. Their bytes are:

    magic, format | compressed with zlib: a line of JSON, then the vectors

The JSON holds the model's name, the digest, the units, and the token ids of the title and of each unit.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import pairwise
from typing import Any, get_args

from tersely.errors import InvalidInputError
from tersely.inputs import DocumentLike, read_documents, type_name
from tersely.types import Document
from tersely.units import UNLINKED, Kind, Link, Unit

FORMAT = 7
"""Version of the format. It changes when the meaning of the bytes changes, or when the same text is split
differently. Bytes of another format are refused."""

_MAGIC = b"tsly"
_DIGEST_BYTES = 8
_MAX_BYTES = 2**28
"""Largest size, in bytes, of the decompressed data."""


@dataclass(frozen=True, slots=True)
class Preparation:
    """Results that a model computed for a document before any question."""

    name: str
    """Name of the model, with a checksum of the files that it depends on."""
    digest: bytes
    """Digest of the document's text and title; see `compute_digest`."""
    units: tuple[Unit, ...]
    """All units of the document, before any is cut."""
    title_ids: tuple[int, ...]
    """Token ids of the title."""
    ids: tuple[tuple[int, ...], ...]
    """Token ids of each unit."""
    vectors: bytes = field(default=b"", repr=False)
    """Vectors of the units, one after the other, as the model packs them; empty if it makes no vectors."""

    def locate(self, units: Sequence[Unit]) -> list[int | None]:
        """Return the index in `self.units` of each given unit; None if no unit there has the same range."""
        indices = {(unit.start, unit.end): index for index, unit in enumerate(self.units)}
        return [indices.get((unit.start, unit.end)) for unit in units]


@dataclass(frozen=True, slots=True)
class PreparedDocument(Document):
    """A document that `Compressor.prepare` has prepared. `Compressor.compress` takes it like any other.

    Raises:
        InvalidInputError: its preparation belongs to another text or title.
    """

    preparation: Preparation = field(kw_only=True, repr=False)

    def __post_init__(self) -> None:
        digest, units = self.preparation.digest, self.preparation.units
        if digest != compute_digest(self.text, self.title) or not _covers(units, self.text):
            raise InvalidInputError(
                "The preparation belongs to another text or title. Prepare the document again, as it is now."
            )

    def to_bytes(self) -> bytes:
        """Return the preparation as bytes, to be stored with the document.

        They do not replace its text, which `from_bytes` needs. But protect them like the text: they hold
        token ids, from which nearly all of it can be decoded.
        """
        preparation = self.preparation
        units = [
            (
                u.start,
                u.end,
                u.kind,
                u.divisible,
                None if u.link is UNLINKED else (u.link.role == "frame", u.link.needs),
            )
            for u in preparation.units
        ]
        values = [
            preparation.name,
            preparation.digest.hex(),
            units,
            preparation.title_ids,
            preparation.ids,
        ]
        line = json.dumps(values, separators=(",", ":")).encode()
        return _MAGIC + bytes([FORMAT]) + zlib.compress(line + b"\n" + preparation.vectors, 9)

    @classmethod
    def from_bytes(cls, data: bytes, document: DocumentLike) -> PreparedDocument:
        """Return the document with its preparation.

        Args:
            data: the bytes from `to_bytes`.
            document: the document that was prepared, with the same text and title.

        Raises:
            InvalidInputError: the bytes are damaged, of another format, or of another document.
        """
        (source,) = read_documents([document])
        preparation = _read(data)
        return cls(source.text, source.title, source.id, source.metadata, preparation=preparation)


def accept_prepared(
    documents: Sequence[Document], name: str | None
) -> tuple[list[Document], tuple[str, ...]]:
    """Return the documents, without the preparations of other models, and a warning about those."""
    accepted: list[Document] = []
    other_models: list[str] = []
    for document in documents:
        if isinstance(document, PreparedDocument) and document.preparation.name != name:
            other_models.append(document.preparation.name)
            document = Document(document.text, document.title, document.id, document.metadata)
        accepted.append(document)
    if not other_models:
        return accepted, ()
    warning = (
        f"{len(other_models)} of {len(documents)} documents were prepared with another model "
        f"({', '.join(sorted(set(other_models)))}), so they were read as if they were not prepared; prepare "
        "them again"
    )
    return accepted, (warning,)


def _covers(units: Sequence[Unit], text: str) -> bool:
    """Return whether the units are in order, with only white space between them."""
    edges = [0, *(edge for unit in units for edge in (unit.start, unit.end)), len(text)]
    gaps = zip(edges[::2], edges[1::2], strict=True)
    return all(a <= b for a, b in pairwise(edges)) and not any(text[a:b].strip() for a, b in gaps)


def compute_digest(text: str, title: str | None) -> bytes:
    """Return a digest of a document's text and title."""
    both = text if title is None else f"{len(text)} {text}{title}"
    return blake2b(both.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()


def _read(data: object) -> Preparation:
    if not isinstance(data, bytes):
        raise InvalidInputError(f"The prepared bytes are {type_name(data)}. Pass what to_bytes() gave.")
    head, compressed = data[: len(_MAGIC) + 1], data[len(_MAGIC) + 1 :]
    if head[:-1] != _MAGIC:
        raise InvalidInputError("These are not the bytes of a prepared document. Prepare the document again.")
    if head[-1] != FORMAT:
        raise InvalidInputError(
            f"The document was prepared in format {head[-1]}, and this version of tersely reads format "
            f"{FORMAT}. Prepare it again."
        )
    stream = zlib.decompressobj()
    try:
        body = stream.decompress(compressed, _MAX_BYTES)
        if not stream.eof or stream.unused_data:
            raise ValueError("the bytes are cut off, or too many")
        return _read_body(body)
    except (LookupError, RecursionError, TypeError, ValueError, zlib.error) as error:
        raise InvalidInputError(
            "The bytes of a prepared document are damaged. Prepare the document again."
        ) from error


def _read_body(body: bytes) -> Preparation:
    """Raise LookupError, RecursionError, TypeError or ValueError if `to_bytes` did not write `body`."""
    line, _, vectors = body.partition(b"\n")
    name, digest, units, title_ids, ids = json.loads(line)
    if not isinstance(name, str) or len(units) != len(ids):
        raise ValueError("the values have an unknown form")
    return Preparation(
        name,
        bytes.fromhex(digest),
        tuple(_read_unit(unit, len(units)) for unit in units),
        _check_numbers(title_ids),
        tuple(map(_check_numbers, ids)),
        vectors,
    )


def _read_unit(values: Sequence[Any], count: int) -> Unit:
    start, end, kind, divisible, frame_and_needs = values
    _check_numbers((start, end))
    if kind not in get_args(Kind):
        raise ValueError(f"there is no kind {kind!r}")
    link = UNLINKED
    if frame_and_needs is not None:
        is_frame, needs = frame_and_needs
        link = Link(None, 1, _check_numbers(needs, count), "frame" if is_frame else "content")
    return Unit(start, end, kind, bool(divisible), link=link)


def _check_numbers(values: Sequence[Any], stop: int = 2**32) -> tuple[int, ...]:
    """Return the values. Raises ValueError unless they are whole numbers of at least 0 and below `stop`."""
    if not all(type(value) is int and 0 <= value < stop for value in values):
        raise ValueError(f"a value is not a whole number from 0 to below {stop}")
    return tuple(values)
