"""Write experiences to files of JSON lines, read them back, and save what is left in a damaged bank."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from tersely.errors import InvalidInputError
from tersely.inputs import split_json_lines
from tersely.runtime.paths import check_path
from tersely_agents.database import open_damaged, scan
from tersely_agents.experience.storage import ENTRY, parse_entry
from tersely_agents.experience.types import TEXTS, DamagedError, Experience, ExperienceError
from tersely_agents.redaction import redact


def write_jsonl(path: str | Path, experiences: Sequence[Experience]) -> int:
    """Write one JSON object per line, and return their number. An existing file stays until the new one is
    complete."""
    path = check_path(path, "The file")
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text("".join(json.dumps(e.to_dict()) + "\n" for e in experiences), encoding="utf-8")
    partial.replace(path)
    return len(experiences)


def read_jsonl(path: str | Path) -> list[Experience]:
    """Read a file of `write_jsonl`. Raises InvalidInputError that names a line without an experience."""
    path = check_path(path, "The file")
    experiences: list[Experience] = []
    for number, line in split_json_lines(path.read_text(encoding="utf-8")):
        try:
            experiences.append(Experience.from_dict(json.loads(line)))
        except (ValueError, AttributeError) as error:
            raise InvalidInputError(f"{path}, line {number}: {error}") from error
    return experiences


class BankCheck(NamedTuple):
    """The intact part of a bank, and its damage."""

    experiences: list[Experience]
    """Intact experiences that can be recalled, oldest first."""
    damaged: dict[str, str]
    """Problems of the other experiences, by id, in the words of `ExperienceBank.damaged`."""
    unreadable: int
    """Number of rows that are lost with their ids."""
    damage: str | None
    """SQLite's report of damage to the file; None without any. Rows may be damaged even then."""


def check_bank(path: str | Path) -> BankCheck:
    """Check every row of a bank. Raises ExperienceError if nothing can be read."""
    experiences: dict[int, Experience] = {}
    damaged: dict[str, str] = {}
    numbers: set[int] = set()
    with open_damaged(path, ExperienceError) as (connection, damage):
        if "checksum" not in [row[1] for row in connection.execute("PRAGMA table_info(experiences)")]:
            raise ExperienceError(f"{path} holds no experiences that can be read. Restore a copy.")
        query = f"SELECT number, gone IS NULL AND replaced_by IS NULL, {ENTRY} FROM experiences"
        for number, is_visible, key, *entry in scan(connection, query):
            numbers.add(number)
            if is_visible:
                try:
                    experiences[number] = parse_entry(key, *entry)
                except DamagedError as error:
                    damaged[str(key).encode("ascii", "backslashreplace").decode()] = str(error)
    # The numbers of the rows have no gaps, because rows are never deleted.
    lost = max(numbers, default=0) - len(numbers)
    return BankCheck([experiences[number] for number in sorted(experiences)], damaged, lost, damage)


def save_experiences(experiences: Sequence[Experience], path: str | Path) -> int:
    """Write what could be saved of a bank, without secrets, for `ExperienceBank.import_jsonl`. Return the
    number of experiences.

    Raises InvalidInputError if the file exists.
    """
    if Path(path).exists():
        raise InvalidInputError(f"{path} exists. Name a new file to save to.")
    return write_jsonl(path, [redact_experience(e) for e in experiences])


def redact_experience(experience: Experience) -> Experience:
    """Return the experience without secrets."""
    return replace(experience, **{name: redact(getattr(experience, name)) for name in TEXTS})
