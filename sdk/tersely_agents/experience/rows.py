"""What a row of the bank's file contains, and whether it is damaged."""

from __future__ import annotations

import json
import zlib
from dataclasses import replace

import numpy as np

from tersely_agents.experience.types import Experience, ExperienceError, Vectors

_FLOAT = np.dtype("<f4")


class DamagedError(ExperienceError):
    """A row of the file cannot be read."""


def pack_vectors(own: Vectors, problem: Vectors) -> bytes:
    """The vectors of an entry and its problem as the file holds them."""
    return np.concatenate([own, problem]).astype(_FLOAT).tobytes()


def unpack_vectors(vectors: bytes | None, dimension: int) -> tuple[Vectors, Vectors]:
    """The vectors of an entry and its problem. Raises DamagedError."""
    if not isinstance(vectors, bytes) or len(vectors) != 2 * dimension * _FLOAT.itemsize:
        raise DamagedError("its vectors have the wrong length")
    both = np.frombuffer(vectors, dtype=_FLOAT)
    if not np.isfinite(both).all():
        raise DamagedError("its vectors contain numbers that are not finite")
    return both[:dimension], both[dimension:]


def compute_checksum(entry: bytes, vectors: bytes | None) -> int:
    """CRC-32 of the text and the vectors of an entry."""
    return zlib.crc32(vectors or b"", zlib.crc32(entry))


def parse_entry(
    key: str, entry: bytes, uses: int, wins: int, checksum: int | None, vectors: bytes | None
) -> Experience:
    """The experience in a row. Raises DamagedError."""
    if checksum is not None and checksum != compute_checksum(entry, vectors):
        raise DamagedError("its checksum differs")
    try:
        experience = replace(Experience.from_dict(json.loads(entry)), uses=uses, wins=wins)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise DamagedError(f"its text cannot be read: {error}") from error
    if experience.id != key:
        raise DamagedError(f"its text has the id {experience.id!r}")
    return experience
