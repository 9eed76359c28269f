"""Experiences: what an agent has learned, and where."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from numbers import Integral
from typing import Any, Literal, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from tersely.errors import InvalidInputError, TerselyError
from tersely.inputs import type_name

Vectors = NDArray[np.float32]

LENGTH_TOLERANCE = 0.01
"""Most that the length of a vector may differ from 1; float16 rounds."""
TEXTS = ("title", "description", "content", "problem")


class ExperienceError(TerselyError):
    """A bank cannot be read or written, or a model's answer contains no experience."""


class Embedder(Protocol):
    """Turns texts into vectors. The dot product of two vectors is the similarity of their texts."""

    name: str
    """Must change when the same text would get another vector."""
    dimension: int

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of length 1, shape (texts, dimension)."""
        ...


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an experience comes from. Experiences can be revoked by run and by model."""

    run: str | None = None
    model: str | None = None
    created: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    """When it was made: ISO 8601, in UTC."""
    replaces: str | None = None
    """Id of the experience that it replaced."""

    def __post_init__(self) -> None:
        for name in ("run", "model", "created", "replaces"):
            value: object = getattr(self, name)
            if not isinstance(value, str) and (value is not None or name == "created"):
                raise InvalidInputError(f"An origin has the {name} {value!r}. Pass text.")


@dataclass(frozen=True, slots=True)
class Experience:
    """One lesson (Evolving, appendix B.1)."""

    title: str
    description: str
    """When it applies."""
    content: str
    """The lesson itself."""
    problem: str
    """The problem that was being solved."""
    success: bool
    """Whether it comes from what succeeded; False for a lesson of what went wrong."""
    origin: Origin = field(default_factory=Origin)
    uses: int = 0
    """How often its use was recorded."""
    wins: int = 0
    """Uses after which the task succeeded."""
    id: str = field(default_factory=lambda: uuid.uuid4().hex[:16])

    def __post_init__(self) -> None:
        for name in (*TEXTS, "id"):
            value: object = getattr(self, name)
            if not isinstance(value, str) or not value.strip():
                raise InvalidInputError(f"An experience has the {name} {value!r}. Pass some text.")
        object.__setattr__(self, "success", check_success(self.success))
        if not isinstance(self.origin, Origin):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInputError(
                f"An experience has an origin that is {type_name(self.origin)}. Pass an Origin."
            )
        for name, count in (("uses", self.uses), ("wins", self.wins)):
            if isinstance(count, bool) or not isinstance(count, Integral):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise InvalidInputError(f"An experience has the {name} {count!r}. Pass a whole number.")
            object.__setattr__(self, name, int(count))  # JSON and SQLite know no other numbers
        if not 0 <= self.wins <= self.uses:
            raise InvalidInputError(
                f"An experience has {self.wins} wins in {self.uses} uses. Wins cannot exceed uses."
            )

    @property
    def key_text(self) -> str:
        """The text that queries are compared with: title and description."""
        return f"{self.title}. {self.description}"

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Experience:
        """The experience of `to_dict`. Raises InvalidInputError if the values are not an experience."""
        try:
            given: dict[str, Any] = {**values, "origin": Origin(**values.get("origin", {}))}
            return cls(**given)
        except TypeError as error:
            raise InvalidInputError(f"This is not an experience: {error}.") from error


@dataclass(frozen=True, slots=True)
class Recalled:
    """A recalled experience and its score."""

    experience: Experience
    score: float
    """alpha * similarity to the query + (1 - alpha) * similarity of the problems, at most 1."""


@dataclass(frozen=True, slots=True)
class Record:
    """An experience in the history of a bank. Its origin says who made it, when, and what it replaced."""

    experience: Experience
    status: Literal["current", "replaced", "forgotten", "revoked"]
    replaced_by: str | None
    """Id of the experience that replaced it; kept if it was forgotten or revoked afterwards."""
    changed: str | None
    """When it got this status: ISO 8601, in UTC; None if unknown or if it has been current ever since."""


def check_success(success: object) -> bool:
    """Whether it was a success, also as numpy says it. Raises InvalidInputError."""
    if not isinstance(success, bool | np.bool_):
        raise InvalidInputError(f"success is {type_name(success)}. Pass True or False.")
    return bool(cast("object", success))


def embed_checked(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """The vectors of texts. Raises ExperienceError that names the embedder if they are no such vectors."""
    given: object = embedder.embed(texts)
    try:
        vectors = np.asarray(given)
    except ValueError as error:
        raise _refuse(embedder, "rows of different lengths") from error
    if vectors.shape != (len(texts), embedder.dimension):
        raise _refuse(embedder, f"the shape {vectors.shape}, not {(len(texts), embedder.dimension)}")
    if not np.issubdtype(vectors.dtype, np.floating):
        raise _refuse(embedder, f"numbers of the type {vectors.dtype}, not floats")
    if not np.isfinite(vectors).all():
        raise _refuse(embedder, "numbers that are not finite")
    vectors = vectors.astype(np.float32)
    lengths = np.linalg.norm(vectors, axis=1)
    if (np.abs(lengths - 1) > LENGTH_TOLERANCE).any():
        raise _refuse(embedder, f"a vector of length {lengths[np.argmax(np.abs(lengths - 1))]:.3g}, not 1")
    return vectors


def _refuse(embedder: Embedder, problem: str) -> ExperienceError:
    return ExperienceError(f"The embedder {embedder.name!r} gave {problem}. Correct the embedder.")
