"""A document with what a model can know of it before any question, and its form as bytes.

    magic, version, checksum | name | digest | units | token ids | vectors

Numbers are unsigned and little-endian; those of the units are written in groups of seven bits, the low ones
first, as in Protocol Buffers.
"""

from __future__ import annotations

import sys
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import accumulate, pairwise
from typing import get_args

from tersely.errors import InvalidInputError
from tersely.inputs import DocumentLike, read_documents, type_name
from tersely.types import Document
from tersely.units import Kind, Unit

FORMAT = 2
"""Incremented when the bytes mean something else, or the same text gets other units. Bytes of another version
are refused."""

_MAGIC = b"tsly"
_HEAD = len(_MAGIC) + 1 + 4
_DIGEST = 8
_KINDS: tuple[Kind, ...] = get_args(Kind)
_ID_TYPES = {2: "H", 4: "I"}
"""Array types of token ids, by the bytes of one."""


@dataclass(frozen=True, slots=True)
class Preparation:
    """What a model can know of a document before any question."""

    name: str
    """Of the model, with a checksum of the files that it depends on."""
    digest: bytes
    """Of the document's text and title; see `digest`."""
    units: tuple[Unit, ...]
    """All of the document's, whole."""
    title_ids: tuple[int, ...]
    """Token ids of the title."""
    ids: tuple[tuple[int, ...], ...]
    """Token ids of each unit."""
    vectors: bytes = field(default=b"", repr=False)
    """A vector of each unit, one after the other, as the model packs them; empty where it makes none."""

    def locate(self, units: Sequence[Unit]) -> list[int | None]:
        """The place of each of some units among the document's; None for a piece of one, or another range."""
        places = {(unit.start, unit.end): place for place, unit in enumerate(self.units)}
        return [places.get((unit.start, unit.end)) for unit in units]


@dataclass(frozen=True, slots=True)
class PreparedDocument(Document):
    """A document that `Compressor.prepare` has prepared. `Compressor.compress` takes it as it takes others.

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
        """What was prepared, to be stored beside the document. The bytes do not hold its text.

        A document of 120 words takes about 1,000 bytes.
        """
        body = b"".join(_write_body(self.preparation))
        return _MAGIC + bytes([FORMAT]) + zlib.crc32(body).to_bytes(4, "little") + body

    @classmethod
    def from_bytes(cls, data: bytes, document: DocumentLike) -> PreparedDocument:
        """The document with what was prepared of it.

        Args:
            data: what `to_bytes` gave.
            document: the document that was prepared, with the same text and title.

        Raises:
            InvalidInputError: the bytes are damaged or of another version of tersely, or were made of another
                document.
        """
        (given,) = read_documents([document])
        preparation = _read_preparation(data)
        return cls(given.text, given.title, given.id, given.metadata, preparation=preparation)


def accept_prepared(
    documents: Sequence[Document], name: str | None
) -> tuple[list[Document], tuple[str, ...]]:
    """The documents, without what was prepared with another model than that of this name; and a warning."""
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
    """Whether the units are in order, and no more than white space is between them."""
    edges = [0, *(edge for unit in units for edge in (unit.start, unit.end)), len(text)]
    gaps = zip(edges[::2], edges[1::2], strict=True)
    return all(a <= b for a, b in pairwise(edges)) and not any(text[a:b].strip() for a, b in gaps)


def digest(text: str, title: str | None) -> bytes:
    """Eight bytes that depend on a document's text and title."""
    both = text if title is None else f"{len(text)} {text}{title}"
    return blake2b(both.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).digest()


def _write_body(preparation: Preparation) -> Iterator[bytes]:
    name = preparation.name.encode()
    yield from (_write_numbers([len(name)]), name, preparation.digest)
    numbers = [len(preparation.units)]
    end = 0
    for unit in preparation.units:
        numbers += [unit.start - end, unit.end - unit.start, _KINDS.index(unit.kind), unit.atomic]
        end = unit.end
    texts = (preparation.title_ids, *preparation.ids)
    ids = [token for text in texts for token in text]
    size = 2 if max(ids, default=0) < 2**16 else 4
    yield _write_numbers([*numbers, *map(len, texts), size])
    yield _swap(array(_ID_TYPES[size], ids)).tobytes()
    yield preparation.vectors


def _write_numbers(numbers: Iterable[int]) -> bytes:
    out = bytearray()
    for number in numbers:
        while number > 0x7F:
            out.append(number & 0x7F | 0x80)
            number >>= 7
        out.append(number)
    return bytes(out)


def _swap(numbers: array[int]) -> array[int]:
    """The numbers as they are in little-endian bytes."""
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def _read_preparation(data: object) -> Preparation:
    if not isinstance(data, bytes):
        raise InvalidInputError(f"The prepared bytes are {type_name(data)}. Pass what to_bytes() gave.")
    if data[: len(_MAGIC)] != _MAGIC or len(data) < _HEAD:
        raise InvalidInputError("These are no bytes of a prepared document. Prepare the document again.")
    if data[len(_MAGIC)] != FORMAT:
        raise InvalidInputError(
            f"The document was prepared in format {data[len(_MAGIC)]}, and this tersely reads {FORMAT}. "
            "Prepare it again."
        )
    damaged = InvalidInputError("The bytes of a prepared document are damaged. Prepare the document again.")
    if zlib.crc32(data[_HEAD:]) != int.from_bytes(data[_HEAD - 4 : _HEAD], "little"):
        raise damaged
    try:
        return _read_body(_Reader(data, _HEAD))
    except (LookupError, UnicodeDecodeError) as error:  # valid checksum, but not written by `to_bytes`
        raise damaged from error


def _read_body(reader: _Reader) -> Preparation:
    name, own_digest = reader.take(reader.number()).decode(), reader.take(_DIGEST)
    units: list[Unit] = []
    end = 0
    for _ in range(reader.number()):
        start = end + reader.number()
        end = start + reader.number()
        units.append(Unit(start, end, _KINDS[reader.number()], bool(reader.number())))
    lengths = [reader.number() for _ in range(len(units) + 1)]
    size = reader.number()
    ids: array[int] = array(_ID_TYPES[size])
    ids.frombytes(reader.take(size * sum(lengths)))
    flat = _swap(ids).tolist()
    title, *texts = (tuple(flat[a:b]) for a, b in pairwise(accumulate(lengths, initial=0)))
    return Preparation(name, own_digest, tuple(units), title, tuple(texts), reader.rest())


class _Reader:
    """Reads bytes from a place on. Raises IndexError behind their end."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data, self._at = data, at

    def number(self) -> int:
        number = 0
        for shift in range(0, 35, 7):
            byte = self._data[self._at]
            self._at += 1
            number |= (byte & 0x7F) << shift
            if byte <= 0x7F:
                return number
        raise IndexError("a number is too large")

    def take(self, count: int) -> bytes:
        taken = self._data[self._at : self._at + count]
        if len(taken) < count:
            raise IndexError("the bytes end too early")
        self._at += count
        return taken

    def rest(self) -> bytes:
        return self._data[self._at :]
