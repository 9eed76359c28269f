"""Records as JSON: frozen dataclasses are written to a file and read back with every type checked."""

from __future__ import annotations

import json
import re
from dataclasses import MISSING, asdict, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")

_NUMBERS = re.compile(r"\[\n\s+((?:-?[\d.eE+-]+|null)(?:,\n\s+(?:-?[\d.eE+-]+|null))*)\n\s+\]")


def write_record(path: Path, record: Any) -> None:
    """Write a dataclass as JSON: a field a line, a list of numbers on one line. The folder is made."""
    text = json.dumps(asdict(record), indent=1, ensure_ascii=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_NUMBERS.sub(_join_lines, text) + "\n", encoding="utf-8")


def read_record(path: Path, kind: type[T]) -> T:
    """The record of type `kind` that `path` holds. Raises ValueError where the file does not fit the type."""
    return parse_record(kind, json.loads(path.read_text(encoding="utf-8")))


def parse_record(kind: type[T], value: Any) -> T:
    """`value`, as `json.loads` gives it, as an instance of the dataclass `kind`.

    Fields may be numbers, strings, booleans, literals, other dataclasses, `tuple[X, ...]`, `dict[str, X]` and
    `X | None`. Raises ValueError with the place of a field that is missing, unknown or of another type.
    """
    return _parse(kind, value, kind.__name__)


def _join_lines(match: re.Match[str]) -> str:
    return f"[{' '.join(match[1].split())}]"


def _parse(kind: Any, value: Any, place: str) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is UnionType:
        (inner,) = (argument for argument in arguments if argument is not NoneType)
        return None if value is None else _parse(inner, value, place)
    if origin is tuple:
        _check(isinstance(value, list), place, "a list")
        return tuple(_parse(arguments[0], item, f"{place}[{i}]") for i, item in enumerate(value))
    if origin is dict:
        _check(isinstance(value, dict), place, "an object")
        return {key: _parse(arguments[1], item, f"{place}.{key}") for key, item in value.items()}
    if origin is Literal:
        _check(value in arguments, place, f"one of {arguments}")
        return value
    if is_dataclass(kind):
        return _parse_fields(kind, value, place)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    _check(type(value) is kind, place, f"of type {kind.__name__}")
    return value


def _parse_fields(kind: Any, value: Any, place: str) -> Any:
    _check(isinstance(value, dict), place, "an object")
    types = _field_types(kind)
    required = {f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING}
    for name in sorted((required - value.keys()) | (value.keys() - types.keys())):
        raise ValueError(f"{place}.{name} is {'missing' if name in required else 'unknown'}")
    return kind(**{name: _parse(types[name], item, f"{place}.{name}") for name, item in value.items()})


@cache
def _field_types(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _check(holds: bool, place: str, expected: str) -> None:
    if not holds:
        raise ValueError(f"{place} is not {expected}")
