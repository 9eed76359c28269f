"""What an agent has learned, and where it learned it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tersely.errors import InvalidInputError, TerselyError

Vectors = NDArray[np.float32]

_TEXTS = ("title", "description", "content", "problem")


class ExperienceError(TerselyError):
    """A bank cannot be read or written, or a model's answer holds no experience."""


class Embedder(Protocol):
    """Turns texts into vectors whose dot product says how alike they are."""

    name: str
    """Changes whenever the same text would get another vector."""
    dimension: int

    def embed(self, texts: Sequence[str]) -> Vectors:
        """(texts, dimension), each of length 1."""
        ...


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an experience comes from; what a revocation goes by."""

    run: str | None = None
    model: str | None = None
    created: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    """ISO 8601, UTC."""
    replaces: str | None = None
    """Id of the experience whose place it took."""


@dataclass(frozen=True, slots=True)
class Experience:
    """One lesson (Evolving Rollouts, appendix B.1)."""

    title: str
    description: str
    """When it applies."""
    content: str
    """The lesson itself."""
    problem: str
    """The problem that was being solved."""
    success: bool
    """Whether any of the attempts that it was drawn from succeeded."""
    origin: Origin = field(default_factory=Origin)
    uses: int = 0
    """Times that its use has been reported."""
    wins: int = 0
    """Those after which the task succeeded."""
    id: str = field(default_factory=lambda: uuid.uuid4().hex[:16])

    def __post_init__(self) -> None:
        for name in _TEXTS:
            value: object = getattr(self, name)
            if not isinstance(value, str) or not value.strip():
                raise InvalidInputError(f"An experience has the {name} {value!r}. Pass some text.")
        if not 0 <= self.wins <= self.uses:
            raise InvalidInputError(f"An experience has {self.wins} wins in {self.uses} uses.")

    @property
    def key_text(self) -> str:
        """What it is found by: title and description."""
        return f"{self.title}. {self.description}"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Experience:
        """Raises InvalidInputError for values that are no experience."""
        try:
            given: dict[str, Any] = {**values, "origin": Origin(**values.get("origin", {}))}
            return cls(**given)
        except TypeError as error:
            raise InvalidInputError(f"This is no experience: {error}.") from error


@dataclass(frozen=True, slots=True)
class Recalled:
    experience: Experience
    score: float
    """alpha * similarity to the query + (1 - alpha) * similarity of the problems, at most 1."""
