"""Settings of training programs: a TOML file becomes a dataclass; unknown keys are refused."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")


def read_settings(kind: type[T], file: Path, **overrides: object) -> T:
    """Read a TOML file into the dataclass `kind`; a field that is a dataclass has a table with its name.

    `overrides` replace what the file says. Raises ValueError, which names the file, for a key that `kind`
    does not have, for a missing key, and for a value that is not one of its literals.
    """
    try:
        return _make(kind, {**tomllib.loads(file.read_text(encoding="utf-8")), **overrides}, "the file")
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error


def _make(kind: type[T], values: object, where: str) -> T:
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
    hints = get_type_hints(kind)
    return kind(**{name: _read_value(name, value, hints[name]) for name, value in values.items()})


def _read_value(name: str, value: object, hint: Any) -> object:
    if is_dataclass(hint):
        return _make(cast("type[object]", hint), value, f"[{name}]")
    if get_origin(hint) is Literal and value not in get_args(hint):
        raise ValueError(f"{name} is {value!r}, not one of {get_args(hint)}")
    return value
