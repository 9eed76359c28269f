"""Check arguments of other compressors' calls. A default value is accepted, since it changes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from tersely.errors import InvalidInputError


def refuse(call: str, given: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
    """Raises InvalidInputError for unknown arguments of `call`, and for values without a meaning here."""
    unknown = [name for name in given if name not in defaults]
    if unknown:
        raise InvalidInputError(f"{call} has no argument {', '.join(unknown)}. Leave it out.")
    meaningless = [name for name, value in given.items() if not _is_same(value, defaults[name])]
    if meaningless:
        raise InvalidInputError(
            f"{', '.join(meaningless)}: this has no meaning in tersely, which chooses whole sentences by "
            f"the question. Leave it out of {call}."
        )


def check_texts(value: object, name: str) -> list[str]:
    """`value` as a list of texts. Raises InvalidInputError if it is anything else."""
    if isinstance(value, str | bytes) or not isinstance(value, Sequence):
        raise InvalidInputError(f"{name} is not a list of texts. Pass a list, even for one.")
    items = list(cast("Sequence[object]", value))
    if not all(isinstance(item, str) for item in items):
        raise InvalidInputError(
            f"{name} is not a list of texts. Pass whole texts; tersely finds the sentences itself."
        )
    return cast("list[str]", items)


def _is_same(value: Any, default: Any) -> bool:
    """Whether the value is the default. Works for arrays too, whose comparison is not a bool."""
    if isinstance(value, tuple):
        value = list(cast("tuple[object, ...]", value))
    return type(value) is type(default) and bool(value == default)
