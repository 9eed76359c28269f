"""Experiences as files of JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from tersely.errors import InvalidInputError
from tersely.experience.types import Experience
from tersely.runtime.jsonl import read_numbered_lines


def write_jsonl(path: str | Path, experiences: Iterable[Experience]) -> None:
    """Write one JSON object per line. An existing file is replaced only when all of it is written."""
    partial = Path(f"{path}.partial")
    partial.write_text("".join(json.dumps(e.to_dict()) + "\n" for e in experiences), encoding="utf-8")
    partial.replace(path)


def read_jsonl(path: str | Path) -> list[Experience]:
    """What `write_jsonl` wrote. Raises InvalidInputError that names a line without an experience."""
    experiences: list[Experience] = []
    for number, line in read_numbered_lines(Path(path)):
        try:
            experiences.append(Experience.from_dict(json.loads(line)))
        except (ValueError, AttributeError) as error:
            raise InvalidInputError(f"{path}, line {number}: {error}") from error
    return experiences
