"""What can be read of a damaged bank. Nothing is written to its file."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from tersely.errors import InvalidInputError
from tersely_agents.experience import transfer
from tersely_agents.experience.rows import DamagedError, parse_entry
from tersely_agents.experience.types import TEXTS, Experience, ExperienceError
from tersely_agents.redaction import redact


class BankCheck(NamedTuple):
    """What is left of a bank."""

    experiences: list[Experience]
    """Those that can be recalled, oldest first."""
    damaged: dict[str, str]
    """What is wrong with the others, by id, as `ExperienceBank.damaged` says it."""
    unreadable: int
    """Rows of which not even the id can be read."""

    @property
    def is_whole(self) -> bool:
        return not self.damaged and not self.unreadable


def check_bank(path: str | Path) -> BankCheck:
    """What is left of the bank in a file. Raises ExperienceError where nothing can be read."""
    if not Path(path).is_file():
        raise ExperienceError(f"{path} does not exist. Name the file of an ExperienceBank.")
    experiences: dict[int, Experience] = {}
    damaged: dict[str, str] = {}
    try:
        connection = sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)
        connection.text_factory = bytes
        with contextlib.closing(connection):
            columns = {row[1] for row in connection.execute("PRAGMA table_info(experiences)")}
            if not columns:
                raise ExperienceError(f"{path} holds no experiences that can be read. Restore a copy.")
            count: int = connection.execute("SELECT count(*) FROM experiences").fetchone()[0]
            seen: set[int] = set()
            for number, key, entry, uses, wins, gone, vectors, *newer in _scan(connection, columns):
                if number in seen:
                    continue
                seen.add(number)
                checksum, replaced_by = newer or (None, None)
                if gone is not None or replaced_by is not None:
                    continue
                name = key.decode("utf-8", "backslashreplace") if isinstance(key, bytes) else repr(key)
                try:
                    experiences[number] = parse_entry(name, entry, uses, wins, checksum, vectors)
                except DamagedError as error:
                    damaged[name] = str(error)
    except sqlite3.Error as error:
        raise ExperienceError(f"{path}: {error}. Nothing can be read; restore a copy.") from error
    return BankCheck([experiences[number] for number in sorted(experiences)], damaged, count - len(seen))


def save_experiences(check: BankCheck, path: str | Path) -> int:
    """Write what is left, without secrets, for `ExperienceBank.import_jsonl`. Returns the number.

    Raises InvalidInputError if the file exists.
    """
    if Path(path).exists():
        raise InvalidInputError(f"{path} exists. Name a new file to save to.")
    texts = [{name: redact(getattr(e, name)) for name in TEXTS} for e in check.experiences]
    transfer.write_jsonl(path, [replace(e, **own) for e, own in zip(check.experiences, texts, strict=True)])
    return len(texts)


def _scan(connection: sqlite3.Connection, columns: set[bytes]) -> Iterator[tuple[Any, ...]]:
    """Rows from both ends of the table, as far as each can be read."""
    newer = ", checksum, replaced_by" if b"replaced_by" in columns else ""
    for order in ("ASC", "DESC"):
        with contextlib.suppress(sqlite3.Error, OverflowError):
            yield from connection.execute(
                f"SELECT number, id, CAST(entry AS BLOB), uses, wins, gone, vectors{newer} FROM experiences "
                f"ORDER BY number {order}"
            )
            return
