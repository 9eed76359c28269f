"""Check the paths that callers pass in."""

from __future__ import annotations

from pathlib import Path

from tersely.errors import InvalidInputError


def check_path(path: object, name: str) -> Path:
    """The path. Raises InvalidInputError for what is neither text nor a `Path`, and for an empty one.

    `name` stands in the message.
    """
    if not isinstance(path, str | Path):
        raise InvalidInputError(f"{name} is a {type(path).__name__}. Pass a path as text or as a Path.")
    if not str(path).strip() or "\0" in str(path):
        raise InvalidInputError(f"{name} has the path {str(path)!r}. Pass a path as text or as a Path.")
    return Path(path)
