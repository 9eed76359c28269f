"""Experiences: lessons that an agent has learned, and their origin."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from numbers import Integral
from typing import Any, Literal, cast

import numpy as np

from tersely.errors import InvalidInputError, TerselyError
from tersely.inputs import type_name

TEXTS = ("title", "description", "content", "problem")


class ExperienceError(TerselyError):
    """A bank cannot be read or written, or a model's answer contains no experience."""


class DamagedError(ExperienceError):
    """A row of the file is not as it was written."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The run and the model that an experience comes from. `ExperienceBank.revoke` takes either of them."""

    run: str | None = None
    model: str | None = None
    created: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    """Time at which it was made: ISO 8601, in UTC."""
    replaces: str | None = None
    """Id of the experience that it replaced."""

    def __post_init__(self) -> None:
        for name in ("run", "model", "created", "replaces"):
            value: object = getattr(self, name)
            if not isinstance(value, str) and (value is not None or name == "created"):
                raise InvalidInputError(f"An origin has the {name} {value!r}. Pass text.")


@dataclass(frozen=True, slots=True)
class Experience:
    """One lesson (Evolving Rollouts, appendix B.1)."""

    title: str
    description: str
    """Situations to which it applies."""
    content: str
    """The lesson itself."""
    problem: str
    """The problem that was being solved."""
    success: bool
    """True for a lesson from a success, false for a lesson from a failure."""
    origin: Origin = field(default_factory=Origin)
    uses: int = 0
    """Number of times that its use was recorded."""
    wins: int = 0
    """Number of uses after which the task succeeded."""
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
            object.__setattr__(self, name, int(count))  # JSON and SQLite take no numbers of numpy
        if not 0 <= self.wins <= self.uses:
            raise InvalidInputError(
                f"An experience has {self.wins} wins in {self.uses} uses. Wins cannot exceed uses."
            )

    @property
    def key_text(self) -> str:
        """The text that queries are compared with: title and description."""
        return f"{self.title}. {self.description}"

    def to_dict(self) -> dict[str, Any]:
        """Return the experience as JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Experience:
        """Read the values of `to_dict`. Raises InvalidInputError if they are not an experience."""
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
    """An experience in the history of a bank. Its origin names its run, its time, and what it replaced."""

    experience: Experience
    status: Literal["current", "replaced", "forgotten", "revoked"]
    replaced_by: str | None
    """Id of the experience that replaced it, even if this one was forgotten or revoked later."""
    changed: str | None
    """Time at which it got this status: ISO 8601, in UTC; None if unknown, or if it never had another."""


def check_success(success: object) -> bool:
    """Return a bool, also for numpy's. Raises InvalidInputError for anything else."""
    if not isinstance(success, bool | np.bool_):
        raise InvalidInputError(f"success is {type_name(success)}. Pass True or False.")
    return bool(cast("object", success))
