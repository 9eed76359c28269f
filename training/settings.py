"""Settings of training programs: a table of a TOML file becomes a dataclass; unknown keys are refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar, cast, get_args

T = TypeVar("T")


def make_settings(kind: type[T], values: object, where: str) -> T:
    """The dataclass `kind` with the keys of a table.

    Raises ValueError naming `where`, for a key that `kind` does not have and for one that is missing.
    """
    if not isinstance(values, Mapping):
        raise ValueError(f"{where} is {values!r}, not a table")
    known = fields(cast(Any, kind))
    if unknown := sorted(set(values) - {f.name for f in known}):
        raise ValueError(
            f"unknown key {unknown[0]!r} in {where}; it can hold {', '.join(f.name for f in known)}"
        )
    needed = [f.name for f in known if f.default is MISSING and f.default_factory is MISSING]
    if missing := [name for name in needed if name not in values]:
        raise ValueError(f"{where} lacks {', '.join(missing)}")
    return kind(**values)


def check_choice(key: str, value: object, kind: Any) -> None:
    """Raises ValueError where `value` is not one of the literals of `kind`."""
    if value not in get_args(kind):
        raise ValueError(f"{key} is {value!r}, not one of {get_args(kind)}")
