"""Arguments of other compressors' calls: the value they have anyway asks for nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tersely.errors import InvalidInputError


def refuse(call: str, given: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
    """Raises InvalidInputError for what `call` does not take, and for what means nothing here."""
    unknown = [name for name in given if name not in defaults]
    if unknown:
        raise InvalidInputError(f"{call} has no argument {', '.join(unknown)}. Leave it out.")
    foreign = [name for name, value in given.items() if value != defaults[name]]
    if foreign:
        raise InvalidInputError(
            f"{', '.join(foreign)}: this has no meaning in tersely, which keeps whole sentences by the "
            f"question. Leave it out of {call}."
        )
