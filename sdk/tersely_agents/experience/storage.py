"""The SQLite file of an experience bank: its schema, and every statement that reads or writes it.

An entry that is replaced stays with its vectors, because it can come back. One that is forgotten or revoked
stays with the reason, but without vectors. Functions that take a connection run inside a transaction of the
caller. Those that take a `Database` only read, except `complete_vectors`, which has its own transaction.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import zlib
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from tersely.errors import InvalidInputError
from tersely.inputs import check_list
from tersely_agents.database import Database
from tersely_agents.experience.types import DamagedError, Experience, ExperienceError, Record, check_success
from tersely_agents.experience.vectors import (
    Embedder,
    Index,
    Vectors,
    embed_experiences,
    pack_row,
    unpack_row,
)

_VERSION = 2
_SCHEMA = (
    """CREATE TABLE experiences (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        entry TEXT NOT NULL,
        run TEXT,
        model TEXT,
        uses INTEGER NOT NULL,
        wins INTEGER NOT NULL,
        vectors BLOB,
        gone TEXT,
        replaced_by TEXT,
        changed TEXT,
        checksum INTEGER
    )""",
    "CREATE INDEX by_run ON experiences (run)",
    "CREATE INDEX by_model ON experiences (model)",
    "CREATE INDEX by_replacement ON experiences (replaced_by)",
    "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
)

_EMBEDDER = "embedder"
"""Name under which the table `facts` keeps name and dimension of the embedder that made the vectors."""
_REVOKED = "revoked run "
"""Start of the name under which the table `facts` keeps a revoked run. The run's name follows."""
_VISIBLE = "gone IS NULL AND replaced_by IS NULL"
"""Condition for entries that can be recalled."""
ENTRY = "id, CAST(entry AS BLOB), uses, wins, checksum, vectors"
"""The columns that `parse_entry` reads."""


def open_database(path: str | Path) -> Database:
    """Open the file at `path`, which is created if it is missing. Raises ExperienceError if it cannot be
    used."""
    remedy = "Check the file, its folder and the free space."
    return Database(path, _VERSION, _SCHEMA, ExperienceError, lambda _: remedy)


def parse_entry(
    key: str, entry: bytes, uses: int, wins: int, checksum: int | None, vectors: bytes | None
) -> Experience:
    """Read the experience in a row. Raises DamagedError."""
    try:
        if checksum is not None and checksum != _checksum(entry, vectors):
            raise DamagedError("its checksum differs")
        experience = replace(Experience.from_dict(json.loads(entry)), uses=uses, wins=wins)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise DamagedError(f"its text cannot be read: {error}") from error
    if experience.id != key:
        raise DamagedError(f"its text has the id {experience.id!r}")
    return experience


def read_experience(database: Database, key: str) -> Experience:
    """Return the entry with this id. Raises KeyError if it is unknown or cannot be recalled, and
    DamagedError."""
    rows = database.rows(f"SELECT {ENTRY} FROM experiences WHERE id = ? AND {_VISIBLE}", (key,))
    if not rows:
        raise KeyError(key)
    return parse_entry(*rows[0])


def read_experiences(database: Database) -> list[Experience]:
    """Return all entries that can be recalled, oldest first."""
    rows = database.rows(f"SELECT {ENTRY} FROM experiences WHERE {_VISIBLE} ORDER BY number")
    experiences: list[Experience] = []
    for row in rows:
        with contextlib.suppress(DamagedError):
            experiences.append(parse_entry(*row))
    return experiences


def read_record(database: Database, key: str) -> Record | None:
    """Return the entry with this id, with any status; None if no entry has it, or it is damaged."""
    statement = f"SELECT {ENTRY}, gone, replaced_by, changed FROM experiences WHERE id = ?"
    for *entry, gone, replaced_by, changed in database.rows(statement, (key,)):
        with contextlib.suppress(DamagedError):
            status = gone or ("replaced" if replaced_by else "current")
            return Record(parse_entry(*entry), status, replaced_by, changed)
    return None


def read_removed(database: Database) -> dict[str, str]:
    """Return the ids of entries that cannot be recalled, and the reasons."""
    statement = "SELECT id, coalesce(gone, 'replaced by ' || replaced_by) FROM experiences"
    return dict(database.rows(f"{statement} WHERE NOT ({_VISIBLE})"))


def read_ids(database: Database) -> set[str]:
    """Return the ids of all entries, including those that are gone."""
    return {key for (key,) in database.rows("SELECT id FROM experiences")}


def read_revoked_runs(database: Database) -> set[str]:
    rows = database.rows("SELECT name FROM facts WHERE name LIKE ?", (f"{_REVOKED}%",))
    return {name.removeprefix(_REVOKED) for (name,) in rows}


def read_index(database: Database, dimension: int) -> tuple[Index, dict[str, str]]:
    """Return the index of the entries that can be recalled, and the problems of damaged entries, by id."""
    keys: list[str] = []
    vectors: list[Vectors] = []
    damaged: dict[str, str] = {}
    for row in database.rows(f"SELECT {ENTRY} FROM experiences WHERE {_VISIBLE} ORDER BY number"):
        try:
            parse_entry(*row)
            vectors.append(unpack_row(row[5], dimension))
            keys.append(row[0])
        except DamagedError as error:
            damaged[row[0]] = str(error)
    return Index(keys, np.array(vectors, np.float32).reshape(-1, 2 * dimension)), damaged


def read_data_version(database: Database) -> int:
    """Return SQLite's number for the state of the file, which changes when another connection writes."""
    return database.rows("PRAGMA data_version")[0][0]


def insert_experience(
    connection: sqlite3.Connection,
    experience: Experience,
    row: Vectors,
) -> None:
    """Write an entry with its vectors. Raises InvalidInputError if its id is known."""
    entry, vectors = json.dumps(experience.to_dict()), pack_row(row)
    values = {
        "id": experience.id,
        "entry": entry,
        "run": experience.origin.run,
        "model": experience.origin.model,
        "uses": experience.uses,
        "wins": experience.wins,
        "vectors": vectors,
        "checksum": _checksum(entry.encode(), vectors),
    }
    names, places = ", ".join(values), ", ".join(f":{name}" for name in values)
    try:
        connection.execute(f"INSERT INTO experiences ({names}) VALUES ({places})", values)
    except sqlite3.IntegrityError as error:
        raise InvalidInputError(
            f"The id {experience.id!r} is known or has been revoked. Leave the id out to get a new one."
        ) from error


def set_replacement(connection: sqlite3.Connection, key: str, by: str | None) -> None:
    """Record that an entry is replaced, or with None that it is current again."""
    connection.execute("UPDATE experiences SET replaced_by = ?, changed = ? WHERE id = ?", (by, _now(), key))


def _restore_replaced(connection: sqlite3.Connection, removed: set[str]) -> None:
    """Undo the replacements by the entries in `removed`, before these are taken out.

    Example: B replaced A, and C replaced B. If B and C are removed, A is current again. If only B is removed,
    C replaces A.
    """
    query = "SELECT id, replaced_by FROM experiences WHERE replaced_by IS NOT NULL AND gone IS NULL"
    successors: dict[str, str] = dict(connection.execute(query).fetchall())
    for key, successor in successors.items():
        if successor in removed and key not in removed:
            by: str | None = successor
            while by in removed:
                by = successors.get(by)
            set_replacement(connection, key, by)


def take_out(
    connection: sqlite3.Connection, reason: str, condition: str, values: tuple[object, ...]
) -> list[str]:
    """Take out the entries for which an SQL condition holds, for good. Return their ids.

    `reason` is "forgotten" or "revoked". Entries that were taken out before stay as they are.
    """
    rows = connection.execute(
        f"SELECT id FROM experiences WHERE gone IS NULL AND {condition} ORDER BY number", values
    )
    keys = [key for (key,) in rows.fetchall()]
    _restore_replaced(connection, set(keys))
    connection.executemany(
        "UPDATE experiences SET gone = ?, changed = ?, vectors = NULL, checksum = NULL WHERE id = ?",
        [(reason, _now(), key) for key in keys],
    )
    return keys


def count_use(connection: sqlite3.Connection, keys: Iterable[str], success: bool) -> None:
    """Add a use to each entry, and a win if the task succeeded. Unknown ids are ignored."""
    wins = int(check_success(success))
    connection.executemany(
        "UPDATE experiences SET uses = uses + 1, wins = wins + ? WHERE id = ?",
        [(wins, key) for key in check_list(keys, str, "keys", "Pass a list of ids.")],
    )


def revoke_run(connection: sqlite3.Connection, run: str) -> None:
    """Record that nothing from a run may be added."""
    connection.execute("INSERT OR IGNORE INTO facts VALUES (?, '')", (_REVOKED + run,))


def complete_vectors(database: Database, embedder: Embedder) -> None:
    """Make the vectors that are missing, or all of them if another embedder made them."""
    name = f"{embedder.name} {embedder.dimension}"
    is_current = (name,) in database.rows("SELECT value FROM facts WHERE name = ?", (_EMBEDDER,))
    condition = "AND vectors IS NULL" if is_current else ""
    sound: list[tuple[bytes, Experience]] = []
    for row in database.rows(f"SELECT {ENTRY} FROM experiences WHERE gone IS NULL {condition}"):
        with contextlib.suppress(DamagedError):
            sound.append((row[1], parse_entry(*row)))
    if not sound and is_current:
        return
    changes: list[tuple[bytes, int, str]] = []
    if sound:
        for (entry, experience), row in zip(
            sound, embed_experiences(embedder, [experience for _, experience in sound]), strict=True
        ):
            packed = pack_row(row)
            changes.append((packed, _checksum(entry, packed), experience.id))
    with database.transaction() as connection:
        connection.executemany(
            "UPDATE experiences SET vectors = ?, checksum = ? WHERE id = ? AND gone IS NULL", changes
        )
        connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (_EMBEDDER, name))


def _checksum(entry: bytes, vectors: bytes | None) -> int:
    return zlib.crc32(vectors or b"", zlib.crc32(entry))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
