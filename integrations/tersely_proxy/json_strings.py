"""Replace strings of a JSON text and leave every other byte unchanged."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

Place = tuple[str | int, ...]
"""Keys and indices that lead to a value."""

_TOKEN = re.compile(r'"(?:[^"\\]+|\\.)*"|[{}\[\],:]', re.DOTALL)


def replace_strings(text: str, new: Mapping[Place, str]) -> str:
    """Return the JSON text with other strings at the places in `new`, which must hold strings now."""
    parts: list[str] = []
    copied = 0
    place: list[str | int] = []
    """Key or index of the current value, in every open object or list."""
    is_object: list[bool] = []
    expects_key = False
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token == "{":
            place.append("")
            is_object.append(True)
            expects_key = True
        elif token == "[":
            place.append(0)
            is_object.append(False)
        elif token in "}]":
            place.pop()
            is_object.pop()
            expects_key = False
        elif token == ",":
            last = place[-1]
            expects_key = is_object[-1]
            if isinstance(last, int):
                place[-1] = last + 1
        elif token == ":":
            expects_key = False
        elif expects_key:
            place[-1] = json.loads(token, strict=False)
        elif (replacement := new.get(tuple(place))) is not None:
            parts += [text[copied : match.start()], json.dumps(replacement)]
            copied = match.end()
    return "".join([*parts, text[copied:]])
