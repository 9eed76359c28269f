"""Check the paths that callers pass in."""

from __future__ import annotations

from pathlib import Path

from tersely.errors import InvalidInputError


def check_path(path: object, name: str) -> Path:
    """Return the path. Raises InvalidInputError unless it is text or a `Path`, and not empty.

    `name` is for the message, such as "The folder".
    """
    if not isinstance(path, str | Path):
        raise InvalidInputError(f"{name} is of type {type(path).__name__}. Pass a path as text or as a Path.")
    if not str(path).strip() or "\0" in str(path):
        raise InvalidInputError(f"{name} has the path {str(path)!r}. Pass a path as text or as a Path.")
    return Path(path)
