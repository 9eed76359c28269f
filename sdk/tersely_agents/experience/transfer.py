"""Experiences as files of JSON lines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tersely.errors import InvalidInputError
from tersely.runtime.paths import check_path
from tersely_agents.experience.types import Experience
from tersely_agents.jsonl import read_numbered_lines


def write_jsonl(path: str | Path, experiences: Sequence[Experience]) -> int:
    """Write one JSON object per line, and return their number. An existing file is replaced only when all of
    it is written."""
    path = check_path(path, "The file")
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text("".join(json.dumps(e.to_dict()) + "\n" for e in experiences), encoding="utf-8")
    partial.replace(path)
    return len(experiences)


def read_jsonl(path: str | Path) -> list[Experience]:
    """What `write_jsonl` wrote. Raises InvalidInputError that names a line without an experience."""
    path = check_path(path, "The file")
    experiences: list[Experience] = []
    for number, line in read_numbered_lines(path):
        try:
            experiences.append(Experience.from_dict(json.loads(line)))
        except (ValueError, AttributeError) as error:
            raise InvalidInputError(f"{path}, line {number}: {error}") from error
    return experiences
