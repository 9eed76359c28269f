"""The SQLite file of an experience bank: its schema, and every statement that reads or writes it.

An entry that is replaced, forgotten or revoked stays in the file with the reason, but without vectors.
Functions that take a `Database` read. Functions that take a connection write inside a transaction.
"""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from tersely.errors import InvalidInputError
from tersely.experience.types import Embedder, Experience, ExperienceError, Vectors
from tersely.runtime.database import Database

_MIGRATIONS = (
    (
        """CREATE TABLE experiences (
            number INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            entry TEXT NOT NULL,
            run TEXT,
            model TEXT,
            uses INTEGER NOT NULL,
            wins INTEGER NOT NULL,
            vectors BLOB,
            gone TEXT
        )""",
        "CREATE INDEX by_run ON experiences (run)",
        "CREATE INDEX by_model ON experiences (model)",
        "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    ),
)

_EMBEDDER = "embedder"
"""Fact: name and dimension of the embedder that made the vectors."""
_VECTORS_VERSION = "contents"
"""Fact: a random value that changes whenever a vector does."""
_REVOKED = "revoked run "
"""Start of the name of the fact that a run is revoked."""
_FLOAT = np.dtype("<f4")


def open_database(path: str | Path) -> Database:
    """The database at `path`, created if it is missing. Raises ExperienceError if it cannot be used."""
    return Database(
        path, _MIGRATIONS, ExperienceError, lambda _: "Check the file, its folder and the free space."
    )


def read_experience(database: Database, key: str) -> Experience:
    """The entry with this id. Raises KeyError if there is none or it is gone."""
    rows = database.rows("SELECT entry, uses, wins FROM experiences WHERE id = ? AND gone IS NULL", (key,))
    if not rows:
        raise KeyError(key)
    return _parse(*rows[0])


def read_experiences(database: Database) -> list[Experience]:
    """All entries that are not gone, oldest first."""
    rows = database.rows("SELECT entry, uses, wins FROM experiences WHERE gone IS NULL ORDER BY number")
    return [_parse(*row) for row in rows]


def read_history(database: Database) -> dict[str, str]:
    """Ids of the entries that are gone, and why."""
    return dict(database.rows("SELECT id, gone FROM experiences WHERE gone IS NOT NULL"))


def read_ids(database: Database) -> set[str]:
    """Ids of all entries, also of those that are gone."""
    return {key for (key,) in database.rows("SELECT id FROM experiences")}


def read_revoked_runs(database: Database) -> set[str]:
    """Names of the revoked runs."""
    rows = database.rows("SELECT name FROM facts WHERE name LIKE ?", (f"{_REVOKED}%",))
    return {name.removeprefix(_REVOKED) for (name,) in rows}


def read_vectors(database: Database) -> tuple[list[str], Vectors, Vectors]:
    """Ids of the entries that are not gone, oldest first, and their vectors and those of their problems.

    Both arrays have the shape (entries, dimension).
    """
    rows = database.rows("SELECT id, vectors FROM experiences WHERE gone IS NULL ORDER BY number")
    if not rows:
        empty = np.zeros((0, 0), np.float32)
        return [], empty, empty
    both = np.frombuffer(b"".join(vectors for _, vectors in rows), dtype=_FLOAT).reshape(len(rows), -1)
    half = both.shape[1] // 2
    return [key for key, _ in rows], both[:, :half], both[:, half:]


def read_data_version(database: Database) -> int:
    """SQLite's number for the state of the file, which changes when another connection writes."""
    return database.rows("PRAGMA data_version")[0][0]


def read_vectors_version(database: Database) -> str | None:
    """The value that changes with the vectors; None before the first one is written."""
    return _read_fact(database, _VECTORS_VERSION)


def renew_vectors_version(connection: sqlite3.Connection) -> str:
    """Record that the vectors have changed. Returns the new value."""
    version = uuid.uuid4().hex
    connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (_VECTORS_VERSION, version))
    return version


def insert_experience(
    connection: sqlite3.Connection, experience: Experience, own: Vectors, problem: Vectors
) -> None:
    """Write an entry with its two vectors. Raises InvalidInputError if its id is known."""
    try:
        connection.execute(
            "INSERT INTO experiences (id, entry, run, model, uses, wins, vectors) VALUES (?,?,?,?,?,?,?)",
            (
                experience.id,
                json.dumps(experience.to_dict()),
                experience.origin.run,
                experience.origin.model,
                experience.uses,
                experience.wins,
                _pack(own, problem),
            ),
        )
    except sqlite3.IntegrityError as error:
        raise InvalidInputError(
            f"The id {experience.id!r} is known or has been revoked. Leave the id out to get a new one."
        ) from error


def take_out(
    connection: sqlite3.Connection, reason: str, condition: str, values: tuple[object, ...]
) -> list[str]:
    """Take out the entries for which an SQL condition holds. Returns their ids."""
    rows = connection.execute(
        f"UPDATE experiences SET gone = ?, vectors = NULL WHERE gone IS NULL AND {condition} RETURNING id",
        (reason, *values),
    ).fetchall()
    return [key for (key,) in rows]


def count_use(connection: sqlite3.Connection, keys: Iterable[str], success: bool) -> None:
    """Add a use to each entry, and a win if the task succeeded. Unknown ids are ignored."""
    connection.executemany(
        "UPDATE experiences SET uses = uses + 1, wins = wins + ? WHERE id = ?",
        [(int(success), key) for key in keys],
    )


def revoke_run(connection: sqlite3.Connection, run: str) -> None:
    """Record that nothing from a run may be added."""
    connection.execute("INSERT OR IGNORE INTO facts VALUES (?, '')", (_REVOKED + run,))


def complete_vectors(database: Database, embedder: Embedder) -> None:
    """Make the vectors that are missing, or all of them if another embedder made them."""
    name = f"{embedder.name} {embedder.dimension}"
    size = 2 * embedder.dimension * _FLOAT.itemsize
    is_current = _read_fact(database, _EMBEDDER) == name
    condition = f"AND (vectors IS NULL OR length(vectors) != {size})" if is_current else ""
    rows = database.rows(f"SELECT id, entry FROM experiences WHERE gone IS NULL {condition}")
    if not rows and is_current:
        return
    changes: list[tuple[bytes, str]] = []
    if rows:
        experiences = [Experience.from_dict(json.loads(entry)) for _, entry in rows]
        own, problems = embed_experiences(embedder, experiences)
        changes = [
            (_pack(vector, problem), key)
            for vector, problem, (key, _) in zip(own, problems, rows, strict=True)
        ]
    with database.transaction() as connection:
        connection.executemany("UPDATE experiences SET vectors = ? WHERE id = ?", changes)
        connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (_EMBEDDER, name))
        renew_vectors_version(connection)


def embed_experiences(embedder: Embedder, experiences: Sequence[Experience]) -> tuple[Vectors, Vectors]:
    """The vectors of entries and those of their problems, each of shape (entries, dimension)."""
    vectors = embedder.embed([*(e.key_text for e in experiences), *(e.problem for e in experiences)])
    return vectors[: len(experiences)], vectors[len(experiences) :]


def _read_fact(database: Database, name: str) -> str | None:
    rows = database.rows("SELECT value FROM facts WHERE name = ?", (name,))
    return rows[0][0] if rows else None


def _pack(own: Vectors, problem: Vectors) -> bytes:
    return np.concatenate([own, problem]).astype(_FLOAT).tobytes()


def _parse(entry: str, uses: int, wins: int) -> Experience:
    return replace(Experience.from_dict(json.loads(entry)), uses=uses, wins=wins)
