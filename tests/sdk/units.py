"""Units as tests compare them."""

from __future__ import annotations

from tersely.split.sentences import split_units


def list_units(text: str) -> list[tuple[str, str]]:
    """The kind and the text of each unit, in order."""
    return [(unit.kind, text[unit.start : unit.end]) for unit in split_units(text)]
