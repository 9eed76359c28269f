"""Change strings and lists of a JSON text and leave every other byte unchanged."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Place = tuple[str | int, ...]
"""Keys and indices that lead to a value."""

_TOKEN = re.compile(r'"(?:[^"\\]+|\\.)*"|[{}\[\],:]', re.DOTALL)


def replace_strings(text: str, new: Mapping[Place, str]) -> str:
    """Return the JSON text with other strings at the places in `new`, which must hold strings now."""
    parts: list[str] = []
    copied = 0
    for match, place in _walk(text):
        if match[0][0] == '"' and (replacement := new.get(tuple(place))) is not None:
            parts += [text[copied : match.start()], json.dumps(replacement)]
            copied = match.end()
    return "".join([*parts, text[copied:]])


def append_items(text: str, key: str, items: Sequence[Any]) -> str:
    """Return the JSON text of an object with more items at the end of its list under `key`.

    Without the key, the list becomes the first value of the object.
    """
    new, start, end = ",".join(map(json.dumps, items)), 0, 0
    for match, place in _walk(text):
        if place == [key] and match[0] == "[":
            start = match.end()
        elif place == [key] and match[0] == "]":
            end = match.start()
    if end:
        comma = "," if text[start:end].strip() else ""
        return f"{text[:end]}{comma}{new}{text[end:]}"
    start = text.index("{") + 1
    comma = "" if text[start:].lstrip().startswith("}") else ","
    return f"{text[:start]}{json.dumps(key)}:[{new}]{comma}{text[start:]}"


def _walk(text: str) -> Iterator[tuple[re.Match[str], list[str | int]]]:
    """Yield every string that is a value, and every bracket, with the place of its value."""
    place: list[str | int] = []
    """Key or index of the current value, in every open object or list."""
    expects_key = False
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token in "{[":
            yield match, place
            expects_key = token == "{"
            place.append("" if expects_key else 0)
        elif token in "}]":
            place.pop()
            expects_key = False
            yield match, place
        elif token == ",":
            last = place[-1]
            expects_key = isinstance(last, str)
            if isinstance(last, int):
                place[-1] = last + 1
        elif token == ":":
            expects_key = False
        elif expects_key:
            place[-1] = json.loads(token, strict=False)
        else:
            yield match, place
