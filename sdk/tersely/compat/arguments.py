"""Arguments of other compressors' calls: the value they have anyway asks for nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from tersely.errors import InvalidInputError


def refuse(call: str, given: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
    """Raises InvalidInputError for what `call` does not take, and for what means nothing here."""
    unknown = [name for name in given if name not in defaults]
    if unknown:
        raise InvalidInputError(f"{call} has no argument {', '.join(unknown)}. Leave it out.")
    foreign = [name for name, value in given.items() if not _same(value, defaults[name])]
    if foreign:
        raise InvalidInputError(
            f"{', '.join(foreign)}: this has no meaning in tersely, which keeps whole sentences by the "
            f"question. Leave it out of {call}."
        )


def check_texts(value: object, name: str) -> list[str]:
    """A list of texts, for one that has to be one. Raises InvalidInputError for anything else."""
    if isinstance(value, str | bytes) or not isinstance(value, Sequence):
        raise InvalidInputError(f"{name} is no list of texts. Pass a list, even for one.")
    found = list(cast("Sequence[object]", value))
    if not all(isinstance(text, str) for text in found):
        raise InvalidInputError(
            f"{name} is no list of texts. Pass whole texts; tersely finds the sentences itself."
        )
    return cast("list[str]", found)


def _same(value: Any, default: Any) -> bool:
    """Also for values whose comparison is no truth, such as arrays."""
    if isinstance(value, tuple):
        value = list(cast("tuple[object, ...]", value))
    return type(value) is type(default) and bool(value == default)
