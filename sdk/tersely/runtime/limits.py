"""Check and limit text from outside: keys, JSON, and the words of a server that a message quotes."""

from __future__ import annotations

import json
from typing import Any

from tersely.errors import InvalidInputError

MAX_VALUES = 1_000_000
"""Largest number of opening brackets and commas in a JSON text. The value after each may take a hundred bytes
of RAM."""
MAX_QUOTED = 300
"""Largest number of characters that an error message quotes from a server."""


def check_key(key: object) -> None:
    """Raise InvalidInputError, without showing the key, if it is empty or cannot be in a header."""
    if isinstance(key, str) and not key.strip():
        raise InvalidInputError("The API key is empty. Pass a key, or None.")
    if not (isinstance(key, str) and key.isascii() and key.isprintable()):
        raise InvalidInputError(
            "The API key has characters that a header cannot hold, such as a line break. Pass the key alone."
        )


def parse_json(data: str | bytes) -> Any:
    """Return the value in a JSON text. Raises ValueError if it is malformed, too deep or too large."""
    encoded = data.encode("utf-8", "replace") if isinstance(data, str) else data
    if sum(map(encoded.count, (b",", b"[", b"{"))) > MAX_VALUES:
        raise ValueError("the JSON has too many values")
    try:
        return json.loads(data, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("the JSON is too deep") from None


def _refuse_constant(name: str) -> None:
    """Refuse NaN and the infinities, which Python reads and other programs do not."""
    raise ValueError(f"{name} is not in JSON")


def clean(text: object) -> str:
    """Return a server's words on one line that a terminal can show, at most `MAX_QUOTED` characters."""
    line = "".join(char if char.isprintable() else " " for char in str(text)[: 4 * MAX_QUOTED])
    return " ".join(line.split())[:MAX_QUOTED].strip()


def repair_surrogates(text: str) -> str:
    """Join pairs of surrogates, and replace lone ones by U+FFFD. Files and databases refuse surrogates."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
