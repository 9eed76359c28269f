"""Sessions in one SQLite file: an append-only log of events, and the originals of what was shortened.

Write-ahead logging, one transaction for each append. Killing the process loses at most the append under way;
two processes that write to one session cannot both win the same place in its log.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from tersely.chat.messages import Json
from tersely.errors import TerselyError
from tersely.runtime.database import BUSY_S, Database
from tersely.text.redaction import redact, redact_all

_MIGRATIONS = (
    (
        """CREATE TABLE events (
            session TEXT NOT NULL,
            number INTEGER NOT NULL,
            event TEXT NOT NULL,
            PRIMARY KEY (session, number)
        ) WITHOUT ROWID""",
        """CREATE TABLE originals (
            id TEXT NOT NULL,
            session TEXT NOT NULL,
            text TEXT NOT NULL,
            PRIMARY KEY (session, id)
        ) WITHOUT ROWID""",
    ),
)


class StoreError(TerselyError):
    """The file cannot be read or written; the message says why and what to do."""


class ConflictError(StoreError):
    """Another process has written to the session since it was read."""


class EventStore(Protocol):
    """What an `AgentMemory` needs of the place where its sessions are kept."""

    def events(self, session: str) -> list[Json]:
        """The events of a session, in order; none for one that is new. A store may drop those before the last
        reset, except for the first prompt and the pins; then trajectories and counts begin there."""
        ...

    def append(
        self, session: str, number: int, events: Sequence[Json], originals: Sequence[tuple[str, str]] = ()
    ) -> None:
        """Keep events from place `number` on and the originals (id, text), all or nothing."""
        ...

    def original(self, session: str, key: str) -> str | None:
        """The text that was shortened under this id; None for an id that is not known."""
        ...


class MemoryStore:
    """Many sessions in the file at `path`, which is made where it is missing.

    Safe to share between threads. A new file can be read by its owner alone. What looks like a key, a token
    or a password does not get into the file; `redact_secrets=False` writes everything as it is.

    Raises StoreError for a file that cannot be opened, is no database, or was made by a newer version.
    """

    def __init__(self, path: str | Path, *, redact_secrets: bool = True) -> None:
        self.path = Path(path)
        self._redact = redact_secrets
        self._database = Database(self.path, _MIGRATIONS, StoreError, _remedy)

    def events(self, session: str) -> list[Json]:
        """The events of a session, in order; none for one that is new."""
        rows = self._database.rows("SELECT event FROM events WHERE session = ? ORDER BY number", (session,))
        try:
            return [json.loads(row[0]) for row in rows]
        except ValueError as error:
            raise StoreError(
                f"{self.path} is damaged: an event of {session!r} is no JSON. Restore a copy."
            ) from error

    def append(
        self, session: str, number: int, events: Sequence[Json], originals: Sequence[tuple[str, str]] = ()
    ) -> None:
        """Write events from place `number` on and the originals (id, text), all or nothing.

        Raises ConflictError where the place is taken.
        """
        if self._redact:
            events = [redact_all(event) for event in events]
            originals = [(key, redact(text)) for key, text in originals]
        rows = [(session, number + i, json.dumps(e)) for i, e in enumerate(events)]
        # As JSON, because a text may hold what UTF-8 does not: lone surrogates.
        texts = [(key, session, json.dumps(text)) for key, text in originals]

        with self._database.transaction() as connection:
            last = connection.execute(
                "SELECT COALESCE(MAX(number), -1) FROM events WHERE session = ?", (session,)
            ).fetchone()[0]
            if last != number - 1:
                raise ConflictError(
                    f"The session {session!r} in {self.path} has {last + 1} events and not {number}: another "
                    "process writes to it. Open the memory again to go on from there, or use another session."
                )
            connection.executemany("INSERT INTO events VALUES (?, ?, ?)", rows)
            connection.executemany("INSERT OR IGNORE INTO originals VALUES (?, ?, ?)", texts)

    def original(self, session: str, key: str) -> str | None:
        """The text that was shortened under this id; None for an id that is not known."""
        rows = self._database.rows("SELECT text FROM originals WHERE session = ? AND id = ?", (session, key))
        return json.loads(rows[0][0]) if rows else None

    def sessions(self) -> list[str]:
        """Names of all sessions."""
        rows = self._database.rows("SELECT DISTINCT session FROM events ORDER BY session")
        return [row[0] for row in rows]

    def delete(self, session: str) -> None:
        """Forget a session and its originals."""
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM events WHERE session = ?", (session,))
            connection.execute("DELETE FROM originals WHERE session = ?", (session,))

    def close(self) -> None:
        self._database.close()


def original_id(text: str) -> str:
    """The id under which a text is kept: twelve hexadecimal digits of its SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _remedy(error: sqlite3.Error) -> str:
    message = str(error)
    if "readonly" in message or "unable to open" in message:
        return "Check that the folder exists and that it and the file may be written."
    if "full" in message:
        return "Free some space; nothing of this append was written."
    if "locked" in message:
        return f"Another process has held the file for more than {BUSY_S:.0f} s; close it or try again."
    if "not a database" in message or "malformed" in message or "corrupt" in message:
        return "The file is damaged or no database; restore a copy or name another file."
    return "Nothing of this append was written."
