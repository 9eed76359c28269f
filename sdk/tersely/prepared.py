"""Prepared documents: documents with results that a model computed before any question, and their bytes.

    magic, version, CRC-32 | a line of JSON | units | needs | lengths of texts in tokens | token ids | vectors

The JSON holds the model's name, the digest, and the counts and type of the little-endian numbers after it.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import pairwise
from typing import get_args

from tersely.errors import InvalidInputError
from tersely.inputs import DocumentLike, read_documents, type_name
from tersely.types import Document
from tersely.units import Kind, Link, Unit

FORMAT = 6
"""Incremented when the bytes change their meaning, or the same text gets other units. Bytes of another format
are refused."""

_MAGIC = b"tsly"
_HEAD = len(_MAGIC) + 1 + 4
_DIGEST = 8
_KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class Preparation:
    """Results that a model computed for a document before any question."""

    name: str
    """Name of the model, with a checksum of the files that it depends on."""
    digest: bytes
    """Digest of the document's text and title; see `digest`."""
    units: tuple[Unit, ...]
    """All units of the document, whole."""
    title_ids: tuple[int, ...]
    """Token ids of the title."""
    ids: tuple[tuple[int, ...], ...]
    """Token ids of each unit."""
    vectors: bytes = field(default=b"", repr=False)
    """A vector of each unit, one after the other, as the model packs them; empty if it makes none."""

    def locate(self, units: Sequence[Unit]) -> list[int | None]:
        """Return the index in `self.units` of each given unit; None if no unit there has the same range."""
        places = {(unit.start, unit.end): place for place, unit in enumerate(self.units)}
        return [places.get((unit.start, unit.end)) for unit in units]


@dataclass(frozen=True, slots=True)
class PreparedDocument(Document):
    """A document that `Compressor.prepare` has prepared. `Compressor.compress` takes it like any other.

    Raises:
        InvalidInputError: it was prepared with another text.
    """

    preparation: Preparation = field(kw_only=True, repr=False)

    def __post_init__(self) -> None:
        own = self.preparation
        if own.digest != digest(self.text, self.title) or not _covers(own.units, self.text):
            raise InvalidInputError(
                "The document was prepared with another text or title. Prepare it again, as it is now."
            )

    def to_bytes(self) -> bytes:
        """Return the preparation as bytes, to be stored with the document. They do not contain its text."""
        body = _write_body(self.preparation)
        return _MAGIC + bytes([FORMAT]) + zlib.crc32(body).to_bytes(4, "little") + body

    @classmethod
    def from_bytes(cls, data: bytes, document: DocumentLike) -> PreparedDocument:
        """Return the document with its preparation.

        Args:
            data: the bytes from `to_bytes`.
            document: the document that was prepared, with the same text and title.

        Raises:
            InvalidInputError: the bytes are damaged, of another format, or of another document.
        """
        (given,) = read_documents([document])
        preparation = _read_preparation(data)
        return cls(given.text, given.title, given.id, given.metadata, preparation=preparation)


def accept_prepared(
    documents: Sequence[Document], name: str | None
) -> tuple[list[Document], tuple[str, ...]]:
    """Return the documents, without the preparations of other models, and a warning about those."""
    others = [d for d in documents if isinstance(d, PreparedDocument) and d.preparation.name != name]
    if not others:
        return list(documents), ()
    made_with = ", ".join(sorted({document.preparation.name for document in others}))
    warning = (
        f"{len(others)} of {len(documents)} documents were prepared with another model ({made_with}), so "
        "they were read as if they were not prepared; prepare them again"
    )
    stale = set(map(id, others))
    return [Document(d.text, d.title, d.id, d.metadata) if id(d) in stale else d for d in documents], (
        warning,
    )


def _covers(units: Sequence[Unit], text: str) -> bool:
    """Return whether the units are in order with nothing but white space between them."""
    edges = [0, *(edge for unit in units for edge in (unit.start, unit.end)), len(text)]
    gaps = zip(edges[::2], edges[1::2], strict=True)
    return all(a <= b for a, b in pairwise(edges)) and not any(text[a:b].strip() for a, b in gaps)


def digest(text: str, title: str | None) -> bytes:
    """Return eight bytes that depend on a document's text and title."""
    both = text if title is None else f"{len(text)} {text}{title}"
    return blake2b(both.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).digest()


def _write_body(preparation: Preparation) -> bytes:
    import numpy as np  # `import tersely` does without it

    texts = (preparation.title_ids, *preparation.ids)
    ids = [token for text in texts for token in text]
    id_type = "<u2" if max(ids, default=0) < 2**16 else "<u4"
    header = [preparation.name, preparation.digest.hex(), len(preparation.units), len(ids), id_type]
    units = [
        (unit.start, unit.end, _KINDS.index(unit.kind), unit.atomic, *_write_link(unit.link))
        for unit in preparation.units
    ]
    needs = [need for unit in preparation.units for need in unit.needs]
    lengths = [*map(len, texts)]
    parts = (*(np.array(numbers, "<u4") for numbers in (units, needs, lengths)), np.array(ids, id_type))
    line = json.dumps(header, separators=(",", ":")).encode() + b"\n"
    return b"".join([line, *(part.tobytes() for part in parts), preparation.vectors])


def _write_link(link: Link | None) -> tuple[int, int]:
    """Return the number of heads that a unit needs, and its type: 0 no link, 1 content, 2 frame."""
    return (0, 0) if link is None else (len(link.needs), 1 + link.is_frame)


def _read_preparation(data: object) -> Preparation:
    if not isinstance(data, bytes):
        raise InvalidInputError(f"The prepared bytes are {type_name(data)}. Pass what to_bytes() gave.")
    if data[: len(_MAGIC)] != _MAGIC or len(data) < _HEAD:
        raise InvalidInputError("These are not the bytes of a prepared document. Prepare the document again.")
    if data[len(_MAGIC)] != FORMAT:
        raise InvalidInputError(
            f"The document was prepared in format {data[len(_MAGIC)]}, and this tersely reads {FORMAT}. "
            "Prepare it again."
        )
    try:
        if zlib.crc32(data[_HEAD:]) != int.from_bytes(data[_HEAD - 4 : _HEAD], "little"):
            raise ValueError("the checksum is another")
        return _read_body(data[_HEAD:])
    except (LookupError, TypeError, ValueError) as error:  # a valid checksum does not prove the rest
        raise InvalidInputError(
            "The bytes of a prepared document are damaged. Prepare the document again."
        ) from error


def _read_body(body: bytes) -> Preparation:
    """Raises LookupError, TypeError or ValueError for anything that `_write_body` did not make."""
    import numpy as np

    line, _, rest = body.partition(b"\n")
    name, hex_digest, unit_count, id_count, id_type = json.loads(line)
    if not (isinstance(name, str) and id_type in ("<u2", "<u4") and min(unit_count, id_count) >= 0):
        raise ValueError("the header is of another form")
    units = np.frombuffer(rest, "<u4", 6 * unit_count).reshape(-1, 6)
    at = units.nbytes
    ends: list[int] = np.cumsum(units[:, 4], dtype=np.int64).tolist()
    needs = np.frombuffer(rest, "<u4", ends[-1] if ends else 0, at)
    at += needs.nbytes
    if (needs >= unit_count).any():
        raise ValueError("a unit needs one that does not exist")
    lengths = np.frombuffer(rest, "<u4", unit_count + 1, at)
    at += lengths.nbytes
    ids = np.frombuffer(rest, id_type, id_count, at)
    at += ids.nbytes
    edges = [0, *np.cumsum(lengths).tolist()]
    if edges[-1] != id_count:
        raise ValueError("the token ids are more or fewer than their texts have")
    flat: list[int] = ids.tolist()
    rows: list[tuple[int, ...]] = list(map(tuple, units.tolist()))
    positions: list[int] = needs.tolist()
    title, *texts = (tuple(flat[a:b]) for a, b in pairwise(edges))
    return Preparation(
        name,
        bytes.fromhex(hex_digest),
        tuple(
            Unit(
                start, end, _KINDS[kind], bool(atomic), link=_read_link(link, positions[stop - count : stop])
            )
            for (start, end, kind, atomic, count, link), stop in zip(rows, ends, strict=True)
        ),
        title,
        tuple(texts),
        rest[at:],
    )


def _read_link(link: int, needs: Sequence[int]) -> Link | None:
    return Link(None, 1, tuple(needs), is_frame=link > 1) if link else None
