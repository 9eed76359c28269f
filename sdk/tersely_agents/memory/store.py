"""Sessions in one SQLite file: an append-only log of events, and the originals of shortened texts.

Each append is one transaction. If the process is killed, at most the current append is lost. If two processes
write to one session, only one of them gets each place in its log.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol, cast

from tersely.errors import InvalidInputError, TerselyError
from tersely.inputs import check_flag, check_list, check_text, show_value
from tersely.messages import Json
from tersely.runtime.paths import check_path
from tersely_agents.database import TIMEOUT_S, Database
from tersely_agents.redaction import redact, redact_all


def row_checksum(*values: object) -> str:
    """Return a checksum of a row. It shows damage that SQLite does not see."""
    return hashlib.sha256("\0".join(map(str, values)).encode("utf-8", "surrogatepass")).hexdigest()[:16]


_VERSION = 2
_SCHEMA = (
    """CREATE TABLE events (
        session TEXT NOT NULL,
        number INTEGER NOT NULL,
        event TEXT NOT NULL,
        checksum TEXT NOT NULL,
        PRIMARY KEY (session, number)
    ) WITHOUT ROWID""",
    """CREATE TABLE originals (
        id TEXT NOT NULL,
        session TEXT NOT NULL,
        text TEXT NOT NULL,
        checksum TEXT NOT NULL,
        PRIMARY KEY (session, id)
    ) WITHOUT ROWID""",
    """CREATE TABLE sessions (
        session TEXT PRIMARY KEY,
        events INTEGER NOT NULL,
        originals INTEGER NOT NULL,
        checksum TEXT NOT NULL
    ) WITHOUT ROWID""",
)


class StoreError(TerselyError):
    """The file cannot be read or written; the message says why and what to do."""


class ConflictError(StoreError):
    """Another process has written to the session since it was read."""


class EventStore(Protocol):
    """A store of the sessions of an `AgentMemory`."""

    def events(self, session: str) -> list[Json]:
        """Return the events of a session, in order; none for a new one. A store may drop events before the
        last reset, except for the first prompt and the pins; then trajectories and counts begin there."""
        ...

    def append(
        self, session: str, number: int, events: Sequence[Json], originals: Sequence[tuple[str, str]] = ()
    ) -> None:
        """Keep events from place `number` on and the originals (id, text), all or nothing."""
        ...

    def original(self, session: str, key: str) -> str | None:
        """Return the original text with this id; None for an unknown id."""
        ...


class MemoryStore:
    """Many sessions in the file at `path`, which is created if it is missing.

    Threads may share it. A new file can be read by its owner alone. Texts that look like a key, a
    token or a password do not get into the file; `redact_secrets=False` writes everything as it is.

    Every row has a checksum, so that damage to the file is an error and never other content. A file that
    cannot be written is opened for reading; appending to it raises StoreError.

    Raises StoreError for a file that cannot be opened, is not a database, or was made by a newer version.
    """

    def __init__(self, path: str | Path, *, redact_secrets: bool = True) -> None:
        self.path = check_path(path, "The file")
        self._redact = check_flag(redact_secrets, "redact_secrets")
        self._database = Database(self.path, _VERSION, _SCHEMA, StoreError, _remedy)

    def events(self, session: str) -> list[Json]:
        """Return the events of a session, in order; none for a new one."""
        _check_name(session)
        # Read the count before the rows, because another process may be adding some.
        written = self._read_counts(session)[0]
        rows = self._query(
            session, "SELECT number, event, checksum FROM events WHERE session = ? ORDER BY number"
        )
        events: list[Json] = []
        for place, (number, event, checksum) in enumerate(rows):
            if number != place:
                raise self._make_damage_error(session, f"Event {place}")
            events.append(self._parse_row(session, f"Event {number}", number, event, checksum))
        if len(events) < written:
            raise self._make_damage_error(session, f"An event after event {len(events) - 1}")
        return events

    def append(
        self, session: str, number: int, events: Sequence[Json], originals: Sequence[tuple[str, str]] = ()
    ) -> None:
        """Write events from place `number` on and the originals (id, text), all or nothing.

        Raises ConflictError if the place is taken, and InvalidInputError for values that cannot be written.
        """
        _check_name(session)
        _check_place(number)
        events = check_list(events, dict, "events", "Pass a list of events, each a dictionary.")
        originals = _check_originals(originals)
        if self._redact:
            events = [redact_all(event) for event in events]
            originals = [(key, redact(text)) for key, text in originals]
        rows = [(session, number + i, json.dumps(e)) for i, e in enumerate(events)]
        # Texts are stored as JSON, because they may hold lone surrogates, which UTF-8 does not have.
        texts = [(key, session, json.dumps(text)) for key, text in originals]
        counts = self._read_counts(session)

        with self._database.transaction() as connection:
            last = connection.execute(
                "SELECT COALESCE(MAX(number), -1) FROM events WHERE session = ?", (session,)
            ).fetchone()[0]
            if last != number - 1:
                raise ConflictError(
                    f"The session {session!r} in {self.path} has {last + 1} events and not {number}: another "
                    "process writes to it. Open the memory again to go on from there, or use another session."
                )
            connection.executemany(
                "INSERT INTO events VALUES (?, ?, ?, ?)", [(*row, row_checksum(*row)) for row in rows]
            )
            before = connection.total_changes
            connection.executemany(
                "INSERT OR IGNORE INTO originals VALUES (?, ?, ?, ?)",
                [(key, name, text, row_checksum(name, key, text)) for key, name, text in texts],
            )
            new = (session, number + len(rows), counts[1] + connection.total_changes - before)
            connection.execute(
                "INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?)", (*new, row_checksum(*new))
            )

    def original(self, session: str, key: str) -> str | None:
        """Return the original text with this id; None for an unknown id."""
        _check_name(session)
        check_text(key, "The id of an original")
        rows = self._query(session, "SELECT text, checksum FROM originals WHERE session = ? AND id = ?", key)
        if rows:
            return self._parse_row(session, f"The original {key}", key, *rows[0])
        written = self._read_counts(session)[1]
        # Damage may have changed the id.
        others = self._query(session, "SELECT id, text, checksum FROM originals WHERE session = ?")
        if len(others) < written:
            raise self._make_damage_error(session, "An original")
        for other in others:
            self._parse_row(session, f"The original {other[0]}", *other)
        return None

    def sessions(self) -> list[str]:
        """Return the names of all sessions."""
        rows = self._database.rows("SELECT DISTINCT session FROM events ORDER BY session")
        return [row[0] for row in rows]

    def delete(self, session: str) -> None:
        """Delete a session and its originals."""
        _check_name(session)
        with self._database.transaction() as connection:
            for table in ("events", "originals", "sessions"):
                connection.execute(f"DELETE FROM {table} WHERE session = ?", (session,))

    def close(self) -> None:
        self._database.close()

    def __reduce__(self) -> tuple[Any, tuple[Path]]:
        """Let copies and pickles open the same file. Raises StoreError for a store in RAM."""
        return partial(MemoryStore, redact_secrets=self._redact), (self._database.find_file(),)

    def _query(self, session: str, statement: str, *values: str) -> list[Any]:
        try:
            return self._database.rows(statement, (session, *values))
        except StoreError as error:
            raise StoreError(f"The session {session!r} cannot be read. {error}") from error

    def _read_counts(self, session: str) -> tuple[int, int]:
        """Return how many events and originals of the session were written."""
        rows = self._query(session, "SELECT events, originals, checksum FROM sessions WHERE session = ?")
        if not rows:
            # One statement, because another process may be writing the first events.
            missing = "NOT EXISTS (SELECT 1 FROM sessions WHERE session = ?)"
            if self._query(session, f"SELECT 1 FROM events WHERE session = ? AND {missing} LIMIT 1", session):
                raise self._make_damage_error(session, "The number of events")
            return 0, 0
        events, originals, checksum = rows[0]
        if checksum != row_checksum(session, events, originals):
            raise self._make_damage_error(session, "The number of events")
        return events, originals

    def _parse_row(self, session: str, what: str, place: object, text: object, checksum: object) -> Any:
        """Return the JSON value in a row. Raises StoreError if the row is not as it was written."""
        if checksum != row_checksum(session, place, text):
            raise self._make_damage_error(session, what)
        try:
            return json.loads(cast("str", text))
        except (ValueError, TypeError, RecursionError) as error:
            raise self._make_damage_error(session, what) from error

    def _make_damage_error(self, session: str, what: str) -> StoreError:
        return StoreError(
            f"{self.path} is damaged: {what} of the session {session!r} is not what was written. Run "
            f"`tersely doctor --session {self.path} --save NEW` to save what can be read, or restore a copy."
        )


def original_id(text: str) -> str:
    """Return the id under which a text is kept: twelve hexadecimal digits of its SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _check_name(session: object) -> None:
    check_text(session, "The session", "Pass its name as text.")


def _check_place(number: object) -> None:
    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
        raise InvalidInputError(f"number is {show_value(number)}. Pass a whole number, 0 or more.")


def _check_originals(originals: object) -> list[tuple[str, str]]:
    remedy = "Pass a list of pairs: id and text."
    pairs: list[tuple[object, ...]] = check_list(originals, tuple, "originals", remedy)
    if not all(len(pair) == 2 and all(isinstance(text, str) for text in pair) for pair in pairs):
        raise InvalidInputError(f"originals has an item that is not a pair of texts. {remedy}")
    return cast("list[tuple[str, str]]", pairs)


def _remedy(error: sqlite3.Error) -> str:
    message = str(error)
    if "I/O" in message:
        return "The file cannot be written, or the disk is full or failing. Check both."
    if "readonly" in message or "unable to open" in message:
        return "Check that the folder exists and that it and the file may be written."
    if "full" in message:
        return "Free some space; nothing of this append was written."
    if "locked" in message:
        return f"Another process has held the file for more than {TIMEOUT_S:.0f} s; close it or try again."
    if "not a database" in message or "malformed" in message or "corrupt" in message or "decode" in message:
        return (
            "The file is damaged or no database; save what can be read with `tersely doctor --session`, "
            "restore a copy or name another file."
        )
    return "Nothing of this append was written."
