"""The SQLite file of an experience bank: its schema, and every statement that reads or writes it.

An entry that is replaced stays with its vectors, since it can come back. One that is forgotten or revoked
stays with the reason, but without vectors.
Functions that take a `Database` read. Functions that take a connection write inside a transaction.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import uuid
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from tersely.errors import InvalidInputError
from tersely.inputs import check_count, check_list, check_members, type_name
from tersely_agents.database import Database
from tersely_agents.experience.merging import Entry
from tersely_agents.experience.rows import (
    DamagedError,
    compute_checksum,
    pack_vectors,
    parse_entry,
    unpack_vectors,
)
from tersely_agents.experience.types import (
    Embedder,
    Experience,
    ExperienceError,
    Record,
    Vectors,
    check_success,
    embed_checked,
)

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
    (
        "ALTER TABLE experiences ADD COLUMN threshold REAL",
        "ALTER TABLE experiences ADD COLUMN over_success INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE experiences ADD COLUMN replaced_by TEXT",
        "ALTER TABLE experiences ADD COLUMN changed TEXT",
        "ALTER TABLE experiences ADD COLUMN checksum INTEGER",
        """UPDATE experiences SET replaced_by = substr(gone, 13), gone = NULL
            WHERE gone LIKE 'replaced by %'""",
        """UPDATE experiences SET threshold = 0.9, over_success = 1
            WHERE id IN (SELECT replaced_by FROM experiences)""",
        "CREATE INDEX by_replacement ON experiences (replaced_by)",
    ),
)

_EMBEDDER = "embedder"
"""Fact: name and dimension of the embedder that made the vectors."""
_VECTORS_VERSION = "contents"
"""Fact: a random value that changes whenever a vector does."""
_REVOKED = "revoked run "
"""Start of the name of the fact that a run is revoked."""
_VISIBLE = "gone IS NULL AND replaced_by IS NULL"
"""Condition: an entry can be recalled."""
_ENTRY = "id, CAST(entry AS BLOB), uses, wins, checksum, vectors"
"""The columns that `parse_entry` reads."""


def open_database(path: str | Path) -> Database:
    """The database at `path`, created if it is missing. Raises ExperienceError if it cannot be used."""
    return Database(
        path, _MIGRATIONS, ExperienceError, lambda _: "Check the file, its folder and the free space."
    )


def check_embedder(embedder: Embedder) -> Embedder:
    """The embedder. Raises InvalidInputError if it cannot be one."""
    remedy = "Pass an object with embed(), name and dimension, such as SentenceEmbedder()."
    check_members(embedder, ("embed", "name", "dimension"), "The embedder", remedy)
    if not isinstance(embedder.name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInputError(f"The embedder's name is {type_name(embedder.name)}. Give it a name as text.")
    check_count(embedder.dimension, "The embedder's dimension", "numbers")
    return embedder


def read_experience(database: Database, key: str) -> Experience:
    """The entry with this id. Raises KeyError if it is unknown or cannot be recalled."""
    rows = database.rows(f"SELECT {_ENTRY} FROM experiences WHERE id = ? AND {_VISIBLE}", (key,))
    if not rows:
        raise KeyError(key)
    return parse_entry(*rows[0])


def read_experiences(database: Database) -> list[Experience]:
    """All entries that can be recalled, oldest first."""
    rows = database.rows(f"SELECT {_ENTRY} FROM experiences WHERE {_VISIBLE} ORDER BY number")
    experiences: list[Experience] = []
    for row in rows:
        with contextlib.suppress(DamagedError):
            experiences.append(parse_entry(*row))
    return experiences


def read_record(database: Database, key: str) -> Record | None:
    """The entry with this id, whatever its status; None if there is none or it is damaged."""
    statement = f"SELECT {_ENTRY}, gone, replaced_by, changed FROM experiences WHERE id = ?"
    for *entry, gone, replaced_by, changed in database.rows(statement, (key,)):
        with contextlib.suppress(DamagedError):
            status = gone or ("replaced" if replaced_by else "current")
            return Record(parse_entry(*entry), status, replaced_by, changed)
    return None


def read_removed(database: Database) -> dict[str, str]:
    """Ids of the entries that cannot be recalled, and why."""
    statement = "SELECT id, coalesce(gone, 'replaced by ' || replaced_by) FROM experiences"
    return dict(database.rows(f"{statement} WHERE NOT ({_VISIBLE})"))


def read_kept(database: Database, dimension: int) -> tuple[list[Entry], dict[str, str]]:
    """The entries that are neither forgotten nor revoked, oldest first, and what each replaces."""
    rows = database.rows(
        f"""SELECT number, {_ENTRY}, threshold, over_success, replaced_by
        FROM experiences WHERE gone IS NULL ORDER BY number"""
    )
    entries: list[Entry] = []
    replaced: dict[str, str] = {}
    for number, key, entry, uses, wins, checksum, vectors, threshold, over_success, replaced_by in rows:
        try:
            success = parse_entry(key, entry, uses, wins, checksum, vectors).success
            own = unpack_vectors(vectors, dimension)[0]
        except DamagedError:
            success, own = False, np.zeros(dimension, np.float32)
        entries.append(Entry(number, key, success, own, threshold, bool(over_success)))
        if replaced_by is not None:
            replaced[replaced_by] = key
    return entries, replaced


def read_entry(database: Database, key: str, dimension: int) -> Entry:
    """What merging reads of an entry. Raises DamagedError."""
    row = database.rows(
        f"SELECT number, {_ENTRY}, threshold, over_success FROM experiences WHERE id = ?", (key,)
    )[0]
    experience = parse_entry(*row[1:7])
    return Entry(row[0], key, experience.success, unpack_vectors(row[6], dimension)[0], row[7], bool(row[8]))


def read_ids(database: Database) -> set[str]:
    """Ids of all entries, also of those that are gone."""
    return {key for (key,) in database.rows("SELECT id FROM experiences")}


def read_revoked_runs(database: Database) -> set[str]:
    """Names of the revoked runs."""
    rows = database.rows("SELECT name FROM facts WHERE name LIKE ?", (f"{_REVOKED}%",))
    return {name.removeprefix(_REVOKED) for (name,) in rows}


def read_vectors(database: Database, dimension: int) -> tuple[list[str], Vectors, Vectors, dict[str, str]]:
    """Ids of the sound entries that can be recalled, oldest first, their vectors and those of their problems.

    Both arrays have the shape (entries, dimension). The last value gives ids of damaged entries, and why.
    """
    rows = database.rows(f"SELECT {_ENTRY} FROM experiences WHERE {_VISIBLE} ORDER BY number")
    keys: list[str] = []
    vectors: list[tuple[Vectors, Vectors]] = []
    damaged: dict[str, str] = {}
    for row in rows:
        try:
            parse_entry(*row)
            vectors.append(unpack_vectors(row[5], dimension))
            keys.append(row[0])
        except DamagedError as error:
            damaged[row[0]] = str(error)
    if not keys:
        empty = np.zeros((0, dimension), np.float32)
        return [], empty, empty, damaged
    return keys, np.stack([v[0] for v in vectors]), np.stack([v[1] for v in vectors]), damaged


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
    connection: sqlite3.Connection,
    experience: Experience,
    own: Vectors,
    problem: Vectors,
    threshold: float | None,
    over_success: bool,
) -> None:
    """Write an entry with its two vectors. Raises InvalidInputError if its id is known."""
    entry, vectors = json.dumps(experience.to_dict()), pack_vectors(own, problem)
    try:
        connection.execute(
            """INSERT INTO experiences
            (id, entry, run, model, uses, wins, vectors, threshold, over_success, checksum)
            VALUES (?,?,?,?,?,?,?,?,?,?)""",
            (
                experience.id,
                entry,
                experience.origin.run,
                experience.origin.model,
                experience.uses,
                experience.wins,
                vectors,
                threshold,
                over_success,
                compute_checksum(entry.encode(), vectors),
            ),
        )
    except sqlite3.IntegrityError as error:
        raise InvalidInputError(
            f"The id {experience.id!r} is known or has been revoked. Leave the id out to get a new one."
        ) from error


def set_replacement(connection: sqlite3.Connection, key: str, by: str | None) -> None:
    """Record that an entry is replaced, or with None that it is current again."""
    connection.execute("UPDATE experiences SET replaced_by = ?, changed = ? WHERE id = ?", (by, now(), key))


def set_replaces(connection: sqlite3.Connection, key: str, replaces: str | None) -> None:
    """Write into an entry what it replaces."""
    (entry, vectors) = connection.execute(
        "SELECT CAST(entry AS BLOB), vectors FROM experiences WHERE id = ?", (key,)
    ).fetchone()
    with contextlib.suppress(ValueError, KeyError, TypeError):  # a damaged entry stays as it is
        values = json.loads(entry)
        values["origin"]["replaces"] = replaces
        text = json.dumps(values)
        connection.execute(
            "UPDATE experiences SET entry = ?, checksum = ? WHERE id = ?",
            (text, compute_checksum(text.encode(), vectors), key),
        )


def find_kept(connection: sqlite3.Connection, condition: str, values: tuple[object, ...]) -> list[str]:
    """Ids of the entries, replaced ones too, for which an SQL condition holds."""
    rows = connection.execute(
        f"SELECT id FROM experiences WHERE gone IS NULL AND {condition} ORDER BY number", values
    )
    return [key for (key,) in rows.fetchall()]


def take_out(connection: sqlite3.Connection, reason: str, keys: Sequence[str]) -> None:
    """Take out entries for good."""
    connection.executemany(
        "UPDATE experiences SET gone = ?, changed = ?, vectors = NULL, checksum = NULL WHERE id = ?",
        [(reason, now(), key) for key in keys],
    )


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
    is_current = _read_fact(database, _EMBEDDER) == name
    condition = "AND vectors IS NULL" if is_current else ""
    rows = database.rows(f"SELECT {_ENTRY} FROM experiences WHERE gone IS NULL {condition}")
    sound: list[tuple[str, bytes, Experience]] = []
    for row in rows:
        with contextlib.suppress(DamagedError):
            sound.append((row[0], row[1], parse_entry(*row)))
    if not sound and is_current:
        return
    changes: list[tuple[bytes, int, str]] = []
    if sound:
        own, problems = embed_experiences(embedder, [experience for _, _, experience in sound])
        for (key, entry, _), vector, problem in zip(sound, own, problems, strict=True):
            packed = pack_vectors(vector, problem)
            changes.append((packed, compute_checksum(entry, packed), key))
    with database.transaction() as connection:
        connection.executemany(
            "UPDATE experiences SET vectors = ?, checksum = ? WHERE id = ? AND gone IS NULL", changes
        )
        connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (_EMBEDDER, name))
        renew_vectors_version(connection)


def embed_experiences(embedder: Embedder, experiences: Sequence[Experience]) -> tuple[Vectors, Vectors]:
    """The vectors of entries and those of their problems, each of shape (entries, dimension).

    Raises ExperienceError if the embedder gives no vectors of length 1.
    """
    texts = [*(e.key_text for e in experiences), *(e.problem for e in experiences)]
    vectors = embed_checked(embedder, texts)
    return vectors[: len(experiences)], vectors[len(experiences) :]


def now() -> str:
    """The time, ISO 8601, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _read_fact(database: Database, name: str) -> str | None:
    rows = database.rows("SELECT value FROM facts WHERE name = ?", (name,))
    return rows[0][0] if rows else None
